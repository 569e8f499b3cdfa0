"""Packed structs: one column in files, and structs like any other in tables."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lance_core

MARKS = [
    (key, value) for key in ("packed", "lance-encoding:packed") for value in ("true", "no", "")
]


def packed_table(mark: tuple[str, str]) -> pa.Table:
    """Two columns around a struct that is marked as packed in a way that some writer honours."""
    members = pa.struct([pa.field("x", pa.int32(), False), pa.field("y", pa.float64(), False)])
    point = pa.field("s", members, metadata=dict([mark]))
    rows = pa.array([{"x": i, "y": i / 2} for i in range(50)], members)
    schema = pa.schema([("before", pa.int64()), point, ("after", pa.string())])
    return pa.table([range(50), rows, [str(i) for i in range(50)]], schema=schema)


@pytest.fixture(params=MARKS, ids=["=".join(mark) for mark in MARKS])
def table(request: pytest.FixtureRequest) -> pa.Table:
    return packed_table(request.param)


def test_packed_structs_are_read_whole_and_in_parts(tmp_path: object, table: pa.Table) -> None:
    uri = f"{tmp_path}/table"
    lance_core.write_dataset(table, uri, data_storage_version="2.0")
    check_parts(lance_core.dataset(uri), table)


def check_parts(dataset: lance_core.LanceDataset, table: pa.Table) -> None:
    """Reads and takes of the struct and of its members equal those of ``table``."""
    assert dataset.to_table() == table
    found = dataset.to_table(columns=["s.y", "after", "s.x"], filter="s.x > 40 AND s.y < 24")
    assert found.to_pydict() == {
        "s.y": [i / 2 for i in range(41, 48)],
        "after": [str(i) for i in range(41, 48)],
        "s.x": list(range(41, 48)),
    }
    assert dataset.take([7, 3], ["s.y"]).to_pydict() == {"s": [{"y": 3.5}, {"y": 1.5}]}
    assert dataset.take([7]).to_pylist() == table.slice(7, 1).to_pylist()
