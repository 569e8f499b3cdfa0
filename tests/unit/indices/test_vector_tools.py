"""Tools of vector indices by the names of pylance's modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lance_core import indices
from lance_core.indices import builder, ivf, pq

WITHOUT_PLUGINS = """
from lance_core.errors import PluginNotFoundError
from lance_core.indices import builder, ivf, pq
for module, name in ((builder, "IndicesBuilder"), (ivf, "IvfModel"), (pq, "PqModel")):
    try: getattr(module, name)
    except PluginNotFoundError as error: assert f"provides the tool {name!r}" in str(error), error
    else: raise AssertionError(module)
"""


def test_a_tool_is_the_same_object_under_both_names() -> None:
    pytest.importorskip("lance_core_vector")
    assert ivf.IvfModel is indices.IvfModel
    assert pq.PqModel is indices.PqModel
    assert builder.IndicesBuilder is indices.IndicesBuilder


def test_other_names_are_missing() -> None:
    for module in (builder, ivf, pq):
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            module.nothing  # noqa: B018


def test_without_the_plugin_the_error_names_the_tool() -> None:
    command = [sys.executable, "-c", WITHOUT_PLUGINS]
    environment = {"LANCE_CORE_DISABLE_PLUGINS": "all", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
