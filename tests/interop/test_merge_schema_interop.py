"""pylance reads tables whose appends added columns, and appends to them."""

from __future__ import annotations

from pathlib import Path

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from tests.unit.dataset.write.test_merge_schema import NEW, OLD, merged


@pytest.mark.parametrize("stable", [False, True])
def test_pylance_reads_added_columns_and_members_and_appends(tmp_path: Path, stable: bool) -> None:
    uri = str(tmp_path / "t.lance")
    lance_core.write_dataset(OLD, uri, enable_stable_row_ids=stable).delete("id = 2")
    table = merged(NEW, uri)
    assert pylance.dataset(uri).to_table().to_pylist() == [
        {"id": 1, "s": {"x": 1, "y": None}, "l": [{"a": 1, "b": None}], "v": None},
        {"id": 3, "s": {"x": 2, "y": "q"}, "l": [{"a": 2, "b": True}], "v": [1.5]},
    ]
    merged(pa.table({"id": [4]}), uri)
    pylance.write_dataset(pa.table({"id": [5]}), uri, mode="append")
    rows = lance_core.dataset(uri).to_table(with_row_id=True)
    assert rows.equals(pylance.dataset(uri).to_table(with_row_id=True))
    assert rows["id"].to_pylist() == [1, 3, 4, 5]
    assert table.version == 3


def test_pylance_reads_columns_that_an_empty_table_got(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    merged(OLD, uri).delete("true")
    merged(NEW, uri)
    assert pylance.dataset(uri).to_table()["v"].to_pylist() == [[1.5]]
