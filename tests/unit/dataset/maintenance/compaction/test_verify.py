"""Checksums of rows before and after a compaction."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.maintenance.compaction.checksum import checksum
from lance_core.errors import CompactionError, CorruptFileError
from tests.each_case import each_case
from tests.unit.dataset.maintenance.compaction.compaction_tables import table_of


def test_a_compaction_is_verified_after_other_changes(uri: str) -> None:
    dataset = table_of(uri, [10] * 4)
    dataset.delete("i = 3")
    dataset.optimize.compact_files(target_rows_per_fragment=20)
    lance.write_dataset(pa.table({"i": [100]}), dataset, mode="append")
    dataset.checkout_latest()
    dataset.delete("i = 7")
    check = dataset.optimize.verify()
    assert (check.read_version, check.version, check.num_rows) == (4, 5, 39)
    assert len(check.checksums) == 1


def test_other_rows_are_found(uri: str) -> None:
    dataset = table_of(uri, [10] * 2)
    other = table_of(uri + "2", [20])
    (group,) = lance.optimize.Compaction.plan(dataset, {}).tasks
    result = group.execute(dataset)
    name = result.new_fragments[0].files[0].path
    wrong = lance.write_dataset(pa.table({"i": [*range(19), 77]}), uri + "3")
    data = Path(wrong.uri) / "data" / wrong.get_fragments()[0].metadata.files[0].path
    lance.optimize.Compaction.commit(dataset, [result])
    (Path(uri) / "data" / name).write_bytes(data.read_bytes())
    with pytest.raises(CorruptFileError, match="the rows of fragments 0, 1 before"):
        lance.dataset(uri).optimize.verify()
    assert other.count_rows() == 20


def test_without_a_compaction_there_is_nothing_to_verify(uri: str) -> None:
    with pytest.raises(CompactionError, match="no version up to 2 is a compaction"):
        table_of(uri, [10]).optimize.verify()


def test_files_that_a_cleanup_has_removed_cannot_be_verified(uri: str) -> None:
    dataset = table_of(uri, [10, 10])
    dataset.optimize.compact_files()
    for version in (1, 2):
        for fragment in dataset.checkout_version(version).get_fragments():
            (Path(uri) / "data" / fragment.metadata.files[0].path).unlink()
    with pytest.raises(CompactionError, match="cannot be verified"):
        lance.dataset(uri).optimize.verify()


def sums(array: pa.Array) -> str:
    return checksum([pa.record_batch([array], ["a"])])


@each_case(
    "values, kind",
    [
        ([1, None, 3], pa.int64()),
        ([math.nan, 0.0, None], pa.float32()),
        (["a", None, "", "bcd"], pa.string()),
        ([b"a", None, b""], pa.large_binary()),
        (["a", None, ""], pa.string_view()),
        ([True, None, False], pa.bool_()),
        ([None, None], pa.null()),
        ([b"ab", None], pa.binary(2)),
        ([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}], pa.struct({"x": "i4", "y": "str"})),
        ([[1, 2], None, [], [None]], pa.list_(pa.int8())),
        ([[1, 2], None, [3, None]], pa.list_(pa.int8(), 2)),
        ([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.int8())),
        (["a", "b", None, "a"], pa.dictionary(pa.int8(), pa.string())),
        (
            [[{"x": [1]}], None, [{"x": None}, None]],
            pa.list_(pa.struct({"x": pa.list_(pa.int32())})),
        ),
    ],
)
def test_a_checksum_depends_on_values_only(values: list[object], kind: pa.DataType) -> None:
    plain = pa.array(values, kind)
    longer = pa.array([values[0], *values, values[0]], kind)
    assert sums(longer.slice(1, len(values))) == sums(plain)
    if len(set(map(str, values))) > 1:
        assert sums(pa.array(values[::-1], kind)) != sums(plain)


def test_bytes_below_nulls_do_not_count() -> None:
    valid = pa.py_buffer(bytes([0b101]))
    one = pa.Array.from_buffers(pa.int8(), 3, [valid, pa.py_buffer(bytes([1, 2, 3]))])
    other = pa.Array.from_buffers(pa.int8(), 3, [valid, pa.py_buffer(bytes([1, 9, 3]))])
    assert sums(one) == sums(other)
    assert sums(pa.array(["ab", "c"])) != sums(pa.array(["a", "bc"]))
