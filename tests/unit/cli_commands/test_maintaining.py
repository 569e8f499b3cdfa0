"""The commands that keep a table small and fast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core
from lance_core.cli import main


@pytest.fixture
def uri(tmp_path: Path) -> str:
    path = str(tmp_path / "t.lance")
    table = lance_core.write_dataset(pa.table({"id": range(10)}), path)
    for start in range(10, 40, 10):
        table.insert(pa.table({"id": range(start, start + 10)}))
    return path


def record(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    return json.loads(line)


def test_fragments_are_merged(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", uri, "--target-rows", "20"]) == 0
    assert capsys.readouterr().out.endswith(": 4 fragments became 2\n")
    assert record(capsys, "compact", uri)["fragments_added"] == 1
    assert main(["compact", uri]) == 0
    assert capsys.readouterr().out == "nothing to compact\n"
    assert lance_core.dataset(uri).count_rows() == 40


def test_old_versions_are_removed_after_a_look(
    uri: str, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    assert record(capsys, "cleanup", uri)["versions_removed"] == 0
    planned = record(capsys, "cleanup", uri, "--keep", "2", "--dry-run")
    assert (planned["dry_run"], len(lance_core.dataset(uri).versions())) == (True, 4)
    assert main(["cleanup", uri, "--older-than", "0", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("would remove ")
    assert len(recwarn) >= 0  # versions of the last minutes stay, with a warning


def test_an_index_is_created_and_brought_up_to_date(
    uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", uri, "id", "--type", "zonemap"]) == 0
    assert capsys.readouterr().out == "version 5: ZoneMap index id_idx covers 40 of 40 rows\n"
    lance_core.dataset(uri).insert(pa.table({"id": [99]}))
    assert record(capsys, "index", uri, "--update", "id_idx")["rows_indexed"] == 41
    assert main(["index", uri, "--update"]) == 0
    assert capsys.readouterr().out == "the indices lack no rows\n"
    for arguments, text in (
        ((), "name either a COLUMN"),
        (("id", "--update"), "name either a COLUMN"),
        (("--update", "other"), "there is no index 'other'; the table has id_idx"),
        (("id", "--name", "id_idx"), "id_idx"),
    ):
        assert main(["index", uri, *arguments]) == 1
        assert text in capsys.readouterr().err


def test_an_older_version_becomes_the_newest(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", uri, "2"]) == 0
    assert capsys.readouterr().out == "version 5 is as version 2: 20 rows\n"
    assert record(capsys, "restore", uri, "4") == {"version": 6, "restored": 4, "rows": 40}
    assert main(["restore", uri, "77"]) == 1
    assert "77" in capsys.readouterr().err
