"""Progress of fragments as files of a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core import FragmentMetadata
from lance_core.progress import FileSystemFragmentWriteProgress


def test_a_mark_exists_while_a_fragment_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "progress"
    progress = FileSystemFragmentWriteProgress(str(folder), {"worker": "w1"})
    fragment = FragmentMetadata(5, [], 0)
    progress.begin(fragment)
    mark = folder / "fragment_5.in_progress"
    assert json.loads(mark.read_text()) == {"fragment_id": 5, "metadata": {"worker": "w1"}}
    assert json.loads((folder / "fragment_5.json").read_text()) == fragment.to_json()
    progress.complete(fragment)
    assert [path.name for path in folder.iterdir()] == ["fragment_5.json"]


def test_a_write_reports_to_a_folder(tmp_path: Path) -> None:
    progress = FileSystemFragmentWriteProgress((tmp_path / "progress").as_uri())
    lance_core.write_dataset(
        pa.table({"a": range(10)}), tmp_path / "t", max_rows_per_file=5, progress=progress
    )
    assert [path.name for path in (tmp_path / "progress").iterdir()] == ["fragment_0.json"]


def test_a_folder_without_a_file_system_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        FileSystemFragmentWriteProgress("nothing://x")


def test_a_fragment_with_an_id_reports_it(tmp_path: Path) -> None:
    progress = FileSystemFragmentWriteProgress(str(tmp_path / "progress"))
    rows = pa.table({"a": range(10)})
    made = lance_core.LanceFragment.create(tmp_path / "t", rows, fragment_id=3, progress=progress)
    begun = (tmp_path / "progress" / "fragment_3.json").read_text()
    assert FragmentMetadata.from_json(begun).files[0].path == made.files[0].path
    assert not (tmp_path / "progress" / "fragment_3.in_progress").exists()
