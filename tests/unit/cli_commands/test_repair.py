"""Damage of each kind is found by `verify` and mended by `plan_repair`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.cli import main
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core_cli import plan_repair, verify
from lance_core_cli.repairing.columns_of_nulls import with_nulls
from lance_core_cli.repairing.plan import Action

ROWS, FRAGMENTS = 400, 3


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """A table of three fragments with an index, a deletion file and, in version 2, all rows."""
    rows = pa.table({"a": np.arange(ROWS * FRAGMENTS), "t": ["text"] * (ROWS * FRAGMENTS)})
    path = tmp_path / "table"
    table = lance_core.write_dataset(rows, path, max_rows_per_file=ROWS)
    table.create_scalar_index("a", "BTREE")
    table.delete(f"a = {ROWS + 1}")
    return str(path)


def overwrite(path: Path, at: int = 0, count: int = 64) -> None:
    data = bytearray(path.read_bytes())
    data[at : at + count] = b"\xa5" * count
    path.write_bytes(data)


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def data_file(uri: str, fragment: int) -> Path:
    (file,) = lance_core.dataset(uri).get_fragments()[fragment].metadata.files
    return Path(uri) / "data" / file.path


def names(uri: str) -> list[tuple[str, str]]:
    report = verify(lance_core.dataset(uri), "full")
    assert [p.text for p in report.problems if not p.text] == []
    return [(problem.what, problem.name) for problem in report.problems]


def test_a_whole_table_is_whole(uri: str) -> None:
    done: list[tuple[int, int]] = []
    report = verify(lance_core.dataset(uri), "full", lambda *args: done.append(args))
    assert report.is_whole
    assert (report.versions, report.fragments, report.rows) == (3, 3, ROWS * FRAGMENTS - 1)
    assert report.indices == 1
    assert report.unchecked == []
    assert done == [(1, 3), (2, 3), (3, 3)]
    assert plan_repair(uri).steps == []


def test_a_damaged_column_becomes_null_and_the_rest_stays(uri: str) -> None:
    before = lance_core.dataset(uri).to_table(with_row_address=True)
    overwrite(data_file(uri, 1))
    assert names(uri) == [("column", "a of fragment 1")]
    plan = plan_repair(uri)
    assert [(step.option, step.is_chosen) for step in plan.steps] == [
        ("--drop-fragment 1", False),
        ("--null-column 1:a", False),
    ]
    assert len(plan.left) == 1
    plan = plan_repair(uri, [("null-column", "1:a")])
    assert plan.left == []
    table = plan.apply()
    assert names(uri) == []
    after = table.to_table(with_row_address=True)
    assert after.drop_columns("a") == before.drop_columns("a")
    kept = after.filter(after.column("a").is_valid())
    assert kept.column("a").to_pylist() == [*range(ROWS), *range(2 * ROWS, 3 * ROWS)]
    assert table.to_table(filter=f"a = {ROWS - 1} OR a = {2 * ROWS}").num_rows == 2
    assert [index.num_rows_indexed for index in table.describe_indices()] == [2 * ROWS]
    assert lance_core.dataset(uri, 3).version == 3


def test_a_fragment_with_blobs_is_not_written_again(tmp_path: Path) -> None:
    columns = [pa.array(range(ROWS)), lance_core.blob_array([b"x"] * ROWS)]
    schema = pa.schema([pa.field("a", pa.int64()), lance_core.blob_field("b")])
    uri = str(tmp_path / "blobs")
    rows = pa.table(columns, schema=schema)
    table = lance_core.write_dataset(rows, uri, data_storage_version="2.2")
    with pytest.raises(UnsupportedFeatureError, match="column 'b' has blobs of version 2"):
        with_nulls(table, [(table.get_fragments()[0], "a")])
    assert lance_core.dataset(uri).version == 1


def test_a_fragment_is_left_out(uri: str) -> None:
    data_file(uri, 2).unlink()
    assert names(uri) == [("fragment", "2")]
    table = plan_repair(uri, [("drop-fragment", 2)]).apply()
    assert names(uri) == []
    assert table.count_rows() == 2 * ROWS - 1


def test_without_a_deletion_file_rows_come_back_on_request(uri: str) -> None:
    only(Path(uri), "_deletions/*").unlink()
    assert names(uri) == [("deletion file", "of fragment 1")]
    options = [step.option for step in plan_repair(uri).steps]
    assert options == ["--drop-fragment 1", "--undelete 1"]
    table = plan_repair(uri, [("undelete", 1)]).apply()
    assert names(uri) == []
    assert sorted(table.to_table(["a"])["a"].to_pylist()) == [*range(ROWS * FRAGMENTS)]


def test_a_damaged_index_is_dropped(uri: str) -> None:
    overwrite(only(Path(uri), "_indices/*/page_lookup.lance"))
    assert names(uri) == [("index", "a_idx")]
    table = plan_repair(uri).apply()
    assert names(uri) == []
    assert table.describe_indices() == []
    assert table.count_rows(f"a < {ROWS}") == ROWS


def test_an_index_that_finds_other_rows_is_dropped(uri: str, tmp_path: Path) -> None:
    """Its files are those of a table with other values."""
    rows = pa.table({"a": np.arange(ROWS * FRAGMENTS)[::-1], "t": ["text"] * (ROWS * FRAGMENTS)})
    other = lance_core.write_dataset(rows, tmp_path / "other", max_rows_per_file=ROWS)
    other.create_scalar_index("a", "BTREE")
    for name in ("page_lookup.lance", "page_data.lance"):
        wrong = only(tmp_path / "other", f"_indices/*/{name}")
        only(Path(uri), f"_indices/*/{name}").write_bytes(wrong.read_bytes())
    found = names(uri)
    assert found
    assert set(found) == {("index", "a_idx")}
    assert [step.option for step in plan_repair(uri).chosen] == ["--drop-index a_idx"]


def newest_manifest(uri: str) -> Path:
    return min((Path(uri) / "_versions").iterdir())


@pytest.mark.parametrize("count", [1, 2])
def test_damaged_newest_manifests_are_followed_by_the_newest_version_that_is_whole(
    count: int, uri: str
) -> None:
    for path in sorted((Path(uri) / "_versions").iterdir())[:count]:
        overwrite(path)
    plan = plan_repair(uri)
    assert [step.text for step in plan.chosen] == [
        f"restore version {3 - count}, the newest that is whole"
    ]
    table = plan.apply()
    assert (table.version, table.count_rows()) == (4, ROWS * FRAGMENTS)
    table.insert(table.to_table()[:1])
    assert lance_core.dataset(uri).count_rows() == ROWS * FRAGMENTS + 1
    assert names(uri) == [("version", str(4 - n)) for n in range(count, 0, -1)]


def test_an_older_version_is_restored_on_request(uri: str) -> None:
    only(Path(uri), "_deletions/*").unlink()
    table = plan_repair(uri, restore=True).apply()
    assert (table.version, table.count_rows()) == (4, ROWS * FRAGMENTS)
    assert names(uri) == []


def test_there_is_nothing_to_restore(uri: str) -> None:
    for fragment in range(FRAGMENTS):
        data_file(uri, fragment).unlink()
    with pytest.raises(InvalidInputError, match=r"no version of .* is whole"):
        plan_repair(uri, restore=True)


@pytest.mark.parametrize(
    "asked",
    [
        *(("drop-fragment", 0), ("null-column", "1:t"), ("null-column", "x")),
        *(("undelete", 1), ("drop-tag", "good"), ("set-aside", 1)),
    ],
)
def test_what_is_whole_is_not_given_up(asked: tuple[Action, object], uri: str) -> None:
    overwrite(data_file(uri, 1))
    with pytest.raises(InvalidInputError, match="nothing there is damaged"):
        plan_repair(uri, [asked])


def test_a_table_that_changed_is_not_repaired_by_an_old_plan(uri: str) -> None:
    overwrite(data_file(uri, 1))
    plan = plan_repair(uri, [("drop-fragment", 1)])
    table = lance_core.dataset(uri)
    table.delete("t = 'text' AND _rowaddr < 10")
    assert plan.apply().count_rows() == 2 * ROWS - 10


Printed = Callable[..., tuple[int, list[str], str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Printed:
    def run(*arguments: str) -> tuple[int, list[str], str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err

    return run


def test_the_words_on_the_screen_lead_from_the_error_to_a_whole_table(
    uri: str, run: Printed
) -> None:
    assert run("verify", uri)[0] == 0
    overwrite(data_file(uri, 1))
    code, lines, error = run("verify", uri)
    assert code == 1
    assert lines[0].startswith("damaged: column a of fragment 1: file 'data/")
    assert f"lance-core repair {uri}" in error
    code, lines, _ = run("repair", uri)
    assert code == 1
    assert lines[1:] == [
        f"with --drop-fragment 1: leave out fragment 1, {ROWS - 1} rows",
        f"with --null-column 1:a: make a null in the {ROWS - 1} rows of fragment 1",
    ]
    code, lines, _ = run("repair", uri, "--null-column", "1:a")
    assert (code, lines[-1]) == (0, "nothing was changed: add --apply")
    code, lines, error = run("repair", uri, "--null-column", "1:a", "--apply")
    assert (code, error) == (0, "")
    assert lines[-1] == (f"version 4 is the repaired table; undo: lance-core restore {uri} 3")
    assert run("verify", uri, "--level", "full")[0] == 0
    assert run("repair", uri)[1] == ["nothing is damaged"]


def test_programs_get_json(uri: str, run: Printed) -> None:
    overwrite(newest_manifest(uri))
    code, (line,), _ = run("verify", uri, "--json")
    report = json.loads(line)
    assert code == 1
    assert [problem["what"] for problem in report["problems"]] == ["version"]
    code, (line,), _ = run("repair", uri, "--json")
    assert json.loads(line)["steps"][0]["action"] == "restore"
    assert code == 0


def test_a_store_that_refuses_is_not_damage(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:  # root reads everything: let the system refuse by itself
        real = os.open

        def refuse(path: object, *args: object, **options: object) -> int:
            if str(path).endswith(data_file_name):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args, **options)

        data_file_name = data_file(uri, 0).name
        table = lance_core.dataset(uri)
        monkeypatch.setattr(os, "open", refuse)
    else:
        data_file(uri, 0).chmod(0)
        table = lance_core.dataset(uri)
    with pytest.raises(OSError, match="ermission"):
        verify(table)
