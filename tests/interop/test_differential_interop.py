"""Random tables, exchanged with pylance: `tox -e matrix` runs thousands of other cases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from tests.interop.differential.cases import draw_case
from tests.interop.differential.compare import first_difference, schema_difference
from tests.interop.differential.fields import Celsius
from tests.interop.differential.running import DIFFERENT, EQUAL, REFUSED, run

SEEDS = range(10_020, 10_024)


@pytest.mark.usefixtures("without_waiting_for_the_disk")
def test_both_libraries_read_the_same_of_random_tables(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in SEEDS:
        outcome = run(draw_case(seed), tmp_path / str(seed))
        assert outcome.kind != DIFFERENT, f"seed {seed}: {outcome.why}"
        counts[outcome.kind] += 1
    assert counts[EQUAL] > 5 * counts[REFUSED]


DICTIONARY = pa.dictionary(pa.int8(), pa.string())
DIFFERENT_VALUES = [
    (pa.array([1, None]), pa.array([1, 0])),
    (pa.array([0.0]), pa.array([-0.0])),
    (pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()),
    (pa.array([[], [1]]), pa.array([None, [1]], pa.list_(pa.int64()))),
    (pa.array([[1], [2, 3]]), pa.array([[1, 2], [3]])),
    (pa.array([{"x": 1}, None]), pa.array([{"x": 1}, {"x": None}])),
    (pa.array([{"x": None}]), pa.array([{"x": 0}])),
    (pa.array([[1, None]], pa.list_(pa.int8(), 2)), pa.array([[1, 2]], pa.list_(pa.int8(), 2))),
    (pa.array([1.0], pa.float64()), pa.array([2.0], pa.float64())),
]
SAME_VALUES = [
    (pa.array([float("nan"), -0.0]), pa.array([float("nan"), -0.0])),
    (
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), ["a", "b"]),
        pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), ["b", "a"]),
    ),
    (
        pa.array([[9], [1, 2]], pa.list_(pa.int8())).slice(1),
        pa.array([[1, 2]], pa.list_(pa.int8())),
    ),
    (
        pa.StructArray.from_arrays([pa.array([1, 2])], ["x"], mask=pa.array([True, False])),
        pa.array([None, {"x": 2}]),
    ),
]


def test_a_difference_in_values_is_found_whatever_holds_them() -> None:
    for found, expected in DIFFERENT_VALUES:
        for wrapped in (lambda array: array, _in_lists, _in_structs, _in_extension):
            tables = [pa.table({"c": wrapped(array)}) for array in (found, expected)]
            assert first_difference(*tables) is not None, (found, expected)
            assert first_difference(tables[0], tables[0]) is None


def test_what_means_the_same_values_is_no_difference() -> None:
    for found, expected in SAME_VALUES:
        for wrapped in (lambda array: array, _in_lists, _in_structs):
            tables = [pa.table({"c": wrapped(array)}) for array in (found, expected)]
            assert first_difference(*tables) is None, (found, expected)


def test_a_difference_in_fields_is_found() -> None:
    field = pa.field("c", pa.list_(pa.field("item", pa.int8(), False)), metadata={"k": "v"})
    others = [
        field.with_nullable(False),
        field.remove_metadata(),
        pa.field("c", pa.list_(pa.int8()), metadata={"k": "v"}),
        field.with_name("d"),
    ]
    for other in others:
        assert schema_difference(pa.schema([field]), pa.schema([other])) is not None
    assert schema_difference(pa.schema([field], {"k": "v"}), pa.schema([field])) is not None
    assert schema_difference(pa.schema([field]), pa.schema([field])) is None


def _in_lists(array: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(array)], pa.int32()), array)


def _in_structs(array: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([array], ["m"])


def _in_extension(array: pa.Array) -> pa.Array:
    if array.type != pa.float64():
        return array
    return pa.ExtensionArray.from_storage(Celsius(), array)
