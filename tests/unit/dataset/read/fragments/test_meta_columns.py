from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import RowVersions
from tests.scan_numbers import tune
from tests.table_surgery import edit_fragment

VERSIONS = ["_row_created_at_version", "_row_last_updated_at_version"]


def written(path: Path, *, stable: bool = True) -> lance.LanceDataset:
    """Three fragments of 4, 4 and 2 rows, in versions 1, 1 and 2; row 1 is deleted."""
    rows = pa.table({"a": pa.array(range(8))})
    lance.write_dataset(rows, path, max_rows_per_file=4, enable_stable_row_ids=stable)
    dataset = lance.write_dataset(pa.table({"a": pa.array([8, 9])}), path, mode="append")
    dataset.delete("a = 1")
    return dataset


def versions_of(*versions: int) -> bytes:
    return RowVersions.of_rows(np.array(versions, np.uint64)).to_bytes()


def test_versions_of_rows_are_columns(tmp_path: Path) -> None:
    dataset = written(tmp_path / "t")
    table = dataset.to_table(columns=["a", *VERSIONS])
    assert table.schema.types == [pa.int64(), pa.uint64(), pa.uint64()]
    assert table["_row_created_at_version"].to_pylist() == [1] * 7 + [2, 2]
    assert table["_row_last_updated_at_version"].to_pylist() == [1] * 7 + [2, 2]
    taken = dataset.take([8, 0], columns=VERSIONS)
    assert taken.to_pydict() == {name: [2, 1] for name in VERSIONS}


def test_without_stable_row_ids_all_rows_are_of_version_one(tmp_path: Path) -> None:
    dataset = written(tmp_path / "t", stable=False)
    assert dataset.to_table(columns=VERSIONS).to_pydict() == {name: [1] * 9 for name in VERSIONS}
    assert dataset.count_rows("_row_created_at_version > 1") == 0


def test_fragments_that_store_no_versions_are_of_version_one(tmp_path: Path) -> None:
    def without(fragment: table_pb2.DataFragment) -> None:
        fragment.ClearField("inline_created_at_versions")
        fragment.ClearField("inline_last_updated_at_versions")

    dataset = edit_fragment(written(tmp_path / "t"), without, 2)
    assert dataset.to_table(columns=VERSIONS).to_pydict() == {name: [1] * 9 for name in VERSIONS}


def test_versions_of_single_rows_are_read_and_filtered(tmp_path: Path) -> None:
    def change(fragment: table_pb2.DataFragment) -> None:
        fragment.inline_last_updated_at_versions = versions_of(1, 3, 3, 2)

    dataset = edit_fragment(written(tmp_path / "t"), change, 1)
    found = dataset.to_table(filter="_row_last_updated_at_version = 3")
    assert found.to_pydict() == {"a": [5, 6]}
    updated = dataset.to_table(columns={"v": "_row_last_updated_at_version + 1"})
    assert updated["v"].to_pylist() == [2, 2, 2, 2, 4, 4, 3, 3, 3]


@pytest.mark.parametrize(
    ("condition", "fragments", "rows"),
    [
        ("_rowid IN (2, 9)", [0, 2], [2, 9]),
        ("_rowid = 5", [1], [5]),
        ("_rowid = 1", [0], []),
        ("_rowid > 100", [], []),
        ("_rowid > 3 AND a < 9", [1, 2], [4, 5, 6, 7, 8]),
        ("_rowid > 100 OR a < 9", [0, 1, 2], [0, 2, 3, 4, 5, 6, 7, 8]),
        ("NOT (_rowid >= 4)", [0], [0, 2, 3]),
        ("_rowaddr < 4294967297", [0, 1], [0, 2, 3, 4]),
        ("_rowoffset BETWEEN 3 AND 6", [1], [4, 5, 6, 7]),
        ("_row_created_at_version = 2", [2], [8, 9]),
        ("_row_last_updated_at_version < 2", [0, 1], [0, 2, 3, 4, 5, 6, 7]),
        ("_row_last_updated_at_version IS NULL", [], []),
        ("_rowid = 5 AND a / 0 = 1", [0, 1, 2], None),
    ],
)
def test_a_filter_on_meta_columns_reads_only_fragments_that_may_have_rows(
    tmp_path: Path, condition: str, fragments: list[int], rows: list[int] | None
) -> None:
    dataset = written(tmp_path / "t")
    scanner = dataset.scanner(filter=condition)
    assert f"num_fragments={len(fragments)}," in scanner.explain_plan()
    if rows is not None:
        assert scanner.to_table()["a"].to_pylist() == rows
        assert scanner.count_rows() == len(rows)


@pytest.mark.parametrize("gap", [0, 1, 4096])
@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize(
    "condition",
    [
        "_rowid = 40",
        "_rowid IN (0, 1, 2, 3, 30, 31, 55, 77, 900)",
        f"_rowid IN ({', '.join(map(str, range(0, 90, 3)))})",
        "_rowid IN (4, 40, 70) AND _rowid IN (40, 70, 71)",
        "_rowid = 3 OR _rowid = 50 OR _rowaddr = 4294967296",
        "_rowid IN (1, 50) AND _rowaddr IN (1, 4294967306)",
        "_rowaddr IN (2, 4294967299, 8589934592, 99999999999)",
        "_rowid IN (30, 31) AND a > 30",
        "NOT (_rowid IN (30, 31))",
        "_rowid IN (5, NULL)",
        "_rowid = NULL",
        "_rowid IN (-1, 5)",
    ],
)
def test_rows_chosen_by_id_or_address_are_those_of_a_whole_scan(
    tmp_path: Path, condition: str, stable: bool, gap: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, rows={"max_gap": gap})
    rows = pa.table({"a": pa.array(range(80))})
    options = {"max_rows_per_file": 40, "enable_stable_row_ids": stable}
    dataset = lance.write_dataset(rows, tmp_path / "t", **options)
    dataset.update({"a": "a + 1000"}, "a % 10 = 1")
    dataset.delete("a = 30 OR a = 1031")
    columns = ["a", "_rowid", "_rowaddr"]
    found = dataset.to_table(columns=columns, filter=condition)
    tune(monkeypatch, rows={"max_named": -1})
    assert found == dataset.to_table(columns=columns, filter=condition)
    assert dataset.count_rows(condition) == found.num_rows
    part = dataset.scanner(columns=columns, filter=condition, fragments=dataset.get_fragments()[:1])
    assert part.to_table() == found.filter(pc.less(found["_rowaddr"], 1 << 32))


def test_the_ids_of_a_fragment_need_not_ascend(tmp_path: Path) -> None:
    def change(fragment: table_pb2.DataFragment) -> None:
        ids = np.array([70, 3, 90, 41], np.uint64)
        fragment.inline_row_ids = RowIdSequence.from_ids(ids).to_bytes()

    dataset = edit_fragment(written(tmp_path / "t"), change, 1)
    assert dataset.to_table(filter="_rowid IN (3, 90)")["a"].to_pylist() == [3, 5, 6]
    assert dataset.to_table(filter="_rowid > 80")["a"].to_pylist() == [6]


def _external(fragment: table_pb2.DataFragment) -> None:
    fragment.external_created_at_versions.path = "versions"


def _too_few(fragment: table_pb2.DataFragment) -> None:
    fragment.inline_created_at_versions = versions_of(1, 2)


@pytest.mark.parametrize(
    ("change", "error"), [(_external, UnsupportedFeatureError), (_too_few, CorruptFileError)]
)
def test_versions_that_cannot_be_read_are_an_error_where_they_are_needed(
    tmp_path: Path, change: Callable[[table_pb2.DataFragment], None], error: type[Exception]
) -> None:
    dataset = edit_fragment(written(tmp_path / "t"), change)
    assert dataset.to_table().num_rows == 9
    with pytest.raises(error, match="version"):
        dataset.to_table(columns=["_row_created_at_version"])
