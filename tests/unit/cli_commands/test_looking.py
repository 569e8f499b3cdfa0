"""The commands that look at tables."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.cli import main


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Two versions of a table with a nested column and a column that would clear a terminal."""
    rows = pa.table({"a": [1, 2], "s": [{"x": 1.5}, {"x": None}], "bad\n\x1b[2J": ["é", "f"]})
    path = str(tmp_path / "table")
    lance_core.write_dataset(rows, path)
    lance_core.write_dataset(rows, path, mode="append")
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(arguments) == 0
    return capsys.readouterr().out.splitlines()


def test_versions_are_listed(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = printed(capsys, "versions", table)
    assert first.startswith("1  20")
    assert first.endswith("2 rows  Overwrite")
    assert second.endswith("4 rows  Append")


def test_one_version_is_listed(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["versions", table, "--version", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("1  ")


def test_the_schema_is_listed(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "schema", table, "--option", "durability=fast") == [
        "   0  a: int64",
        "   1  s: struct",
        "   2    x: double",
        "   3  bad\\n\\x1b[2J: string",
    ]


def test_files_are_listed(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    newest = printed(capsys, "files", table)
    assert [line for line in newest if not line.startswith(" ")] == [
        "fragment 0: 2 rows",
        "fragment 1: 2 rows",
    ]
    assert newest[1].startswith("  data/")
    assert "  version 2.2  " in newest[1]
    assert newest[1].endswith("fields 0,2,3")
    assert len(printed(capsys, "files", table, "--version", "1")) == 2


def test_indices_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = lance_core.write_dataset(
        pa.table({"x": range(10), "t": ["a\x1b[2J"] * 10}), tmp_path, max_rows_per_file=5
    )
    assert printed(capsys, "indices", str(tmp_path)) == []
    dataset.create_scalar_index("x", "BTREE")
    dataset.create_scalar_index("t", "ZONEMAP", "zones\x1b[2J")
    dataset.insert(pa.table({"x": [10], "t": ["b"]}))
    next((tmp_path / "_indices").glob("*/zonemap.lance")).unlink()
    lines = printed(capsys, "indices", str(tmp_path))
    (size,) = {index.total_size_bytes for index in dataset.describe_indices()[:1]}
    assert lines[0] == f"x_idx: BTree of x, {size} bytes"
    assert lines[1] == "  10 of 11 rows indexed, segments: 1"
    assert "  2 fragments  built from version 1  " in lines[2]
    assert "max 9" in lines[2]
    assert lines[3].startswith("zones\\x1b[2J: ZoneMap of t, ")
    assert "damaged no object at" in lines[5]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["versions", "/nowhere/at/all"], "not found"),
        (["schema", "wat://x/y"], "no plugin provides"),
        (["files", "/nowhere", "--option", "durability"], "NAME=VALUE"),
        (["head", "TABLE", "--columns", "b"], "b"),
        (["count", "TABLE", "--filter", "a >"], "a >"),
        (["diff", "TABLE", "1", "7"], "7"),
    ],
)
def test_an_error_is_one_line_and_the_status_1(
    arguments: list[str], text: str, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([table if argument == "TABLE" else argument for argument in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("lance-core: ")
    assert text in captured.err
    assert captured.err.count("\n") == 1


def test_rows_are_counted_and_shown(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "count", table) == ["4"]
    assert printed(capsys, "count", table, "--filter", "a > 1") == ["2"]
    assert printed(capsys, "head", table, "--rows", "2", "--columns", "a,s") == [
        "a=1  s={'x': 1.5}",
        "a=2  s={'x': None}",
    ]


def test_the_size_of_each_column_is_told(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    summary, *columns = map(json.loads, printed(capsys, "stats", table, "--json"))
    assert (summary["rows"], summary["fragments"], summary["deleted_rows"]) == (4, 2, 0)
    assert [column["column"] for column in columns] == ["a", "s", "bad\n\x1b[2J"]
    assert sum(column["bytes"] for column in columns) == summary["data_bytes"] > 0
    lines = printed(capsys, "stats", table)
    assert "rows: 4" in lines
    assert lines[-1].endswith("  bad\\n\\x1b[2J")


def test_versions_are_compared(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "diff", table, "2", "2") == []
    assert printed(capsys, "diff", table, "1", "2") == [
        "rows: 2 -> 4",
        "fragments: added 1",
        "version 2: Append",
    ]
    dataset = lance_core.dataset(table)
    dataset.create_scalar_index("a", "BTREE")
    dataset.drop_columns(["s"])
    dataset.delete("a = 2")
    lines = printed(capsys, "diff", table, "2", "5")
    assert lines[:3] == [
        "rows: 4 -> 2",
        "columns: removed s",
        "fragments: replaced 0, 1",
    ]
    assert "indices: added a_idx" in lines
    assert lines[-1] == "version 5: Delete"


@pytest.mark.parametrize("end", ["parquet", "csv", "arrow"])
def test_rows_go_to_a_file_and_back(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pa.table({"a": [1, 2, 3], "t": ["x", "y", "z"]})
    lance_core.write_dataset(rows, tmp_path / "one")
    file, two = str(tmp_path / f"rows.{end}"), str(tmp_path / "two")
    exported = printed(capsys, "export", str(tmp_path / "one"), file, "--filter", "a > 1")
    assert exported == [f"2 rows in {file}"]
    assert printed(capsys, "import", file, two) == ["2 rows in version 1"]
    assert printed(capsys, "import", file, two, "--mode", "append") == ["4 rows in version 2"]
    assert lance_core.dataset(two).to_table()[:2] == rows[1:]
    assert main(["import", file, two]) == 1
    assert "exists" in capsys.readouterr().err
    assert main(["export", two, str(tmp_path / "rows.xls")]) == 1
    assert "ends in none of .parquet" in capsys.readouterr().err
