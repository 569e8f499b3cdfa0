"""Optional libraries by the names of pylance's module."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

from lance_core import dependencies
from tests.each_case import each_case

FLAGS = {
    "_NUMPY_AVAILABLE": "numpy",
    "_PANDAS_AVAILABLE": "pandas",
    "_POLARS_AVAILABLE": "polars",
    "_PYDANTIC_AVAILABLE": "pydantic",
    "_TORCH_AVAILABLE": "torch",
    "_HUGGING_FACE_AVAILABLE": "datasets",
}


@each_case("flag, library", list(FLAGS.items()))
def test_a_flag_is_true_if_the_library_is_installed(flag: str, library: str) -> None:
    assert getattr(dependencies, flag) is (importlib.util.find_spec(library) is not None)


def test_a_library_is_the_module() -> None:
    assert dependencies.numpy is np
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dependencies.nothing  # noqa: B018


def test_a_library_that_is_not_installed_is_reported_as_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match="torch"):
        dependencies.torch  # noqa: B018
