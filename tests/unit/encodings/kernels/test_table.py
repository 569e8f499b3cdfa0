"""Which provider's inner loop is used."""

from __future__ import annotations

from typing import Any

import pytest

from lance_core.encodings.kernels import LOOPS, NUMPY, NUMPY_KERNELS, KernelSpec, kernel_table
from lance_core.errors import PluginConflictError, UnsupportedFeatureError

PLAIN = ("builtin", NUMPY_KERNELS)


def mine(sample: Any) -> tuple[bytes, ...]:
    return (b"mine",)


SPEC = KernelSpec("mine", {"fsst_train": mine})


def test_what_a_provider_lacks_stays_with_numpy() -> None:
    table = kernel_table([PLAIN, ("one", SPEC)])
    assert table.fsst_train([b"text"]) == (b"mine",)
    others = [name for name in LOOPS if name != "fsst_train"]
    assert all(getattr(table, name) is getattr(NUMPY, name) for name in others)
    assert NUMPY.fsst_train([b"text"]) != (b"mine",)


def test_the_highest_rank_is_used_in_any_order() -> None:
    lower = KernelSpec("lower", {"fsst_train": len})
    upper = KernelSpec("upper", {"fsst_train": mine}, rank=2)
    for offered in ([PLAIN, ("a", lower), ("b", upper)], [("b", upper), ("a", lower), PLAIN]):
        assert kernel_table(offered).fsst_train is mine


def test_a_loop_of_two_providers_is_an_error_that_names_both_when_it_is_used() -> None:
    table = kernel_table([PLAIN, ("'a' of a 1.0", SPEC), ("'b' of b 2.0", SPEC)])
    assert table.fsst_encode is NUMPY.fsst_encode
    with pytest.raises(PluginConflictError, match=r"'fsst_train'.*'a' of a 1.0.*'b' of b 2.0"):
        table.fsst_train([b"text"])


def test_a_loop_that_nobody_has_is_an_error_when_it_is_used() -> None:
    with pytest.raises(UnsupportedFeatureError, match="fsst_decode"):
        kernel_table([("one", SPEC)]).fsst_decode()  # type: ignore[call-arg]  # never gets there


def test_the_loop_that_numpy_lacks_is_none_without_a_provider() -> None:
    assert NUMPY.copy_ranges is None
    spec = KernelSpec("mine", {"copy_ranges": mine})
    assert kernel_table([PLAIN, ("one", spec)]).copy_ranges is mine


def test_a_table_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="fsst_train"):
        NUMPY.fsst_train = mine  # type: ignore[method-assign]  # what must fail
