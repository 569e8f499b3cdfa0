"""pandas is optional: without it everything works that does not return data frames."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from tests.each_case import each_case

ROWS = 300
NUMBERS = list(range(ROWS))
COLUMNS = {
    "i": pa.array(NUMBERS, pa.int64()),
    "u8": pa.array([n % 200 for n in NUMBERS], pa.uint8()),
    "f16": pa.array(NUMBERS).cast(pa.float32()).cast(pa.float16()),
    "f": pa.array(NUMBERS).cast(pa.float64()),
    "b": pa.array([n % 2 == 0 for n in NUMBERS]),
    "s": pa.array([f"text {n % 7}" for n in NUMBERS]),
    "d": pa.array(NUMBERS, pa.int32()).cast(pa.date32()),
    "t": pa.array(NUMBERS).cast(pa.timestamp("us", "UTC")),
    "n": pa.array(NUMBERS).cast(pa.decimal128(19, 0)),
    "dict": pa.array([f"text {n % 7}" for n in NUMBERS]).dictionary_encode(),
    "l": pa.array([[n, n + 1] for n in NUMBERS]),
}
INDEXED = {
    "BTREE": ("i", "u8", "f16", "f", "b", "s", "d", "t", "n"),
    "BITMAP": ("i", "u8", "b", "s", "d", "n"),
    "ZONEMAP": ("i", "u8", "f", "s", "d", "t"),
    "BLOOMFILTER": ("i", "s"),
    "LABEL_LIST": ("l",),
    "NGRAM": ("s",),
}
SELECTED = {
    "i = 3": 1,
    "i IN (1, 2)": 2,
    "i + 1 > 200": 100,
    "u8 < 3": 6,
    "f16 > 1.5": 298,
    "f BETWEEN 1 AND 2": 2,
    "b": 150,
    "s LIKE '%3'": 43,
    "d > date '1970-01-11'": 289,
    "t > timestamp '1970-01-01T00:00:00.000200Z'": 99,
    "n = 7": 1,
    "dict = 'text 1'": 43,
    "array_has(l, 5)": 2,
}


@pytest.fixture(autouse=True)
def pandas_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pandas"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pandas", None)


@each_case("version", ["2.2", "2.1", "2.0"])
def test_every_type_is_written_and_filtered(tmp_path: Path, version: str) -> None:
    table = pa.table(COLUMNS)
    dataset = lance.write_dataset(table, tmp_path / "t", data_storage_version=version)
    assert dataset.to_table().equals(table)
    for condition, rows in SELECTED.items():
        assert dataset.to_table(filter=condition).num_rows == rows, condition
    assert dataset.count_rows(pc.field("i") > 3) == 296


def test_every_type_is_indexed(tmp_path: Path) -> None:
    fast = {"durability": "fast"}
    dataset = lance.write_dataset(pa.table(COLUMNS), tmp_path / "t", storage_options=fast)
    for kind, columns in INDEXED.items():
        for column in columns:
            dataset.create_scalar_index(column, kind, name=f"{column}_{kind}".lower())
    for condition, rows in SELECTED.items():
        assert dataset.count_rows(condition) == rows, condition


def test_files_of_0_1_are_written_and_filtered(tmp_path: Path) -> None:
    table = pa.table(COLUMNS).drop(["l"])
    dataset = lance.write_dataset(table, tmp_path / "t", data_storage_version="legacy")
    assert dataset.to_table().equals(table)
    assert dataset.count_rows("i > 3 AND f < 200") == 196


def test_rows_are_changed_sorted_taken_and_compacted(tmp_path: Path) -> None:
    table = pa.table(COLUMNS)
    dataset = lance.write_dataset(table, tmp_path / "t", max_rows_per_file=100)
    dataset.update({"f": "f + 1"}, where="i > 290")
    dataset.delete("i >= 298")
    dataset.add_columns({"z": "i * 2"})
    merge = dataset.merge_insert("i").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(dataset.to_table().slice(0, 10))
    dataset.optimize.compact_files()
    assert dataset.to_table(columns=["i"], order_by=["i"])["i"].to_pylist() == NUMBERS[:298]
    assert dataset.take([0, 5]).num_rows == 2
    assert dataset.sample(3).num_rows == 3
