"""A copy has the bytes of its source, is finished when it was interrupted, and grows with it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.cli import main
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.file import LanceFileSession
from lance_core_cli import copy_table


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Three versions with an index, deleted rows, a tag and a branch."""
    uri = str(tmp_path / "source")
    table = lance_core.write_dataset(pa.table({"a": range(100)}), uri, max_rows_per_file=40)
    table.create_scalar_index("a", "BTREE")
    table.delete("a = 7")
    table.tags.create("good", 2)
    table.create_branch("side").insert(pa.table({"a": [1000]}))
    return uri


def contents(uri: str) -> dict[str, bytes]:
    session = LanceFileSession(uri)
    return {path: session.read_range(path, 0, n) for path, n in session.file_sizes().items() if n}


@pytest.mark.parametrize("place", ["{folder}/copy", "memory://{folder.name}/copy"])
def test_a_copy_has_the_bytes_of_its_source(source: str, tmp_path: Path, place: str) -> None:
    target = place.format(folder=tmp_path)
    done: list[tuple[int, int]] = []
    report = copy_table(source, target, progress=lambda *args: done.append(args))
    assert contents(target) == contents(source)
    assert (report.versions, report.files_before) == (5, 0)
    assert report.files == len(done) == len(LanceFileSession(source).file_sizes())
    assert done[-1] == (report.bytes, report.bytes)
    copy = lance_core.dataset(target)
    assert copy.count_rows("a < 10") == 9
    assert copy.checkout_version("good").count_rows() == 100
    assert copy.checkout_version(("side", None)).count_rows() == 100
    assert copy.describe_indices()[0].num_rows_indexed == 99


def test_a_copy_goes_on_where_it_was_interrupted(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = str(tmp_path / "copy")
    real, copied = LanceFileSession.copy_file, []

    def stops(self: LanceFileSession, path: str, other: LanceFileSession) -> None:
        if len(copied) == 4:
            raise KeyboardInterrupt
        copied.append(path)
        real(self, path, other)

    monkeypatch.setattr(LanceFileSession, "copy_file", stops)
    with pytest.raises(KeyboardInterrupt):
        copy_table(source, target)
    assert not list(Path(target).glob("_versions/*"))  # no version before all of its files
    monkeypatch.undo()
    assert copy_table(source, target).files_before == 4
    assert contents(target) == contents(source)
    lance_core.dataset(source).insert(pa.table({"a": [5000]}))
    report = copy_table(source, target)
    assert contents(target) == contents(source)
    assert report.files < report.files_before
    assert lance_core.dataset(target).count_rows() == 100


def test_other_tables_stay_as_they_are(source: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    lance_core.write_dataset(pa.table({"b": [1]}), other)
    before = contents(str(other))
    with pytest.raises(InvalidInputError, match="is another table"):
        copy_table(source, str(other))
    grown = str(tmp_path / "grown")
    copy_table(source, grown)
    lance_core.dataset(grown).insert(pa.table({"a": [1]}))
    with pytest.raises(InvalidInputError, match="the source has not its _versions"):
        copy_table(source, grown)
    assert contents(str(other)) == before


def test_versions_that_others_record_are_not_copied(source: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"file\+sql has records of versions"):
        copy_table(source, f"file+sql://{tmp_path}/copy")


def test_the_command_says_what_it_did(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "copy")
    assert main(["copy", source, target, "--to-option", "durability=fast"]) == 0
    assert capsys.readouterr().out.startswith(f"5 versions in {target}: copied ")
    assert main(["copy", source, target, "--json", "--level", "full"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["files"], report["problems"]) == (2, [])  # tags and branches are copied again
    lost = next(Path(source, "data").iterdir()).name
    for place in (source, target):
        Path(place, "data", lost).unlink()
    assert main(["copy", source, target]) == 1
    assert main(["copy", source, target, "--to-option", "x"]) == 1
    assert "NAME=VALUE" in capsys.readouterr().err
