"""Checks of other people's encodings and kernels change nothing that is right."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.kernels import LOOPS, NUMPY_KERNELS, Kernels, kernel_table
from lance_core.encodings.kernels.checked_kernels import checked_kernels
from lance_core.encodings.kernels.result_rules import RULES
from lance_core.encodings.kernels.table import OPTIONAL_LOOPS
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.plugins import PluginManager, builtin
from lance_core.plugins.checked_results import encodings_of, kernels_of
from lance_core.plugins.loading import Contribution, PluginSource, load
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case
from tests.unit.encodings.plugin_values.test_value_encoding import field

VERSIONS = [FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2]
CHANCE = np.random.default_rng(7)
NUMBERS = CHANCE.integers(0, 900, 3000)
ARRAYS = {
    "integers": pa.array(NUMBERS),
    "nulls": pa.array(NUMBERS, mask=NUMBERS % 7 == 0),
    "runs": pa.array(np.repeat(NUMBERS[:60], 50)),
    "floats": pa.array(NUMBERS / 3),
    "texts": pa.array([f"a text with number {number}" for number in NUMBERS]),
    "large texts": pa.array([f"{number}" * 90 for number in NUMBERS]),
    "lists": pa.array([list(range(n % 5)) if n % 3 else None for n in NUMBERS.tolist()]),
    "vectors": pa.array(
        NUMBERS.astype(np.float32).reshape(-1, 3).tolist(), pa.list_(pa.float32(), 3)
    ),
    "booleans": pa.array(NUMBERS % 2 == 0),
}


def stranger(distribution: str) -> Contribution:
    """The built-in plugin, as if a distribution provided it."""
    loaded = load(PluginSource("some", distribution, lambda: builtin))
    assert isinstance(loaded, Contribution)
    return loaded


def registry(of: Contribution) -> EncodingRegistry:
    kernels = kernel_table(("some", spec) for spec in kernels_of(of))
    return EncodingRegistry((("some", spec) for spec in encodings_of(of)), kernels=kernels)


@each_case("version", VERSIONS, ids=str)
@each_case("name", ARRAYS)
def test_checked_encodings_and_kernels_store_the_same_bytes_and_read_the_same_values(
    version: FileVersion, name: str
) -> None:
    array = ARRAYS[name]
    kind = field(array.type, {})
    plain = StoredField.write(kind, [array], registry(stranger("lance-core 1.0")), version)
    checked = StoredField.write(kind, [array], registry(stranger("strange 1.0")), version)
    assert checked.data == plain.data
    for rows in (
        RowRange(0, len(array)),
        RowIndices(np.arange(3, len(array), 250)),
        RowRange(5, 6),
    ):
        values = pa.concat_arrays(checked.read(rows))
        assert values.equals(array.take(pa.array(rows.numbers)))


def test_plugins_of_this_project_are_not_wrapped_and_all_others_are() -> None:
    for own in ("lance-core 1.0", "lance-core-kernels 0.1.0"):
        contribution = stranger(own)
        assert encodings_of(contribution) == list(contribution.encodings)
        assert kernels_of(contribution) == list(contribution.kernels)
    other = stranger("lance-core-kernels-of-others 1.0")
    for spec, before in zip(encodings_of(other), other.encodings, strict=True):
        assert spec.decoder is not before.decoder
    assert kernels_of(other)[0].loops["unpack_inline"] is not NUMPY_KERNELS.loops["unpack_inline"]


def test_the_manager_uses_the_loops_of_this_project_as_they_are() -> None:
    table = PluginManager(entry_points=False).encodings.kernels
    assert all(getattr(table, name) is NUMPY_KERNELS.loops[name] for name in LOOPS)


def test_each_kernel_has_types_that_are_checked() -> None:
    rules = set(RULES) | {"check_levels", "copy_ranges"}  # they return nothing
    rules.add("fsst_train")  # single texts
    assert rules == set(LOOPS) | set(OPTIONAL_LOOPS)
    assert set(checked_kernels(NUMPY_KERNELS, "some").loops) == set(LOOPS)


def test_a_rank_keeps_its_meaning_with_checks() -> None:
    spec = dataclasses.replace(NUMPY_KERNELS, loops=MappingProxyType({}), rank=5)
    assert checked_kernels(spec, "some").rank == 5
    with pytest.raises(AttributeError):
        Kernels.no_such_kernel  # type: ignore[attr-defined]  # noqa: B018
