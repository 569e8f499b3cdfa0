"""The metadata of many files is read at once if they are alike, else file by file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import lance_core
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import CorruptFileError
from lance_core_compaction.page_copy.copy_inputs import copy_inputs
from lance_core_compaction.page_copy.field_layout import field_layouts
from tests.each_case import each_case
from tests.unit.compaction.compaction_tables import table_of


def inputs(uri: str, **options: Any) -> tuple[list[tuple[str, int]], mock.Mock]:
    """The file and the pages of each copied file, and the calls that open files one by one."""
    snapshot = lance_core.dataset(uri, **options).snapshot
    layouts = field_layouts(snapshot.schema.fields, snapshot.storage_version)
    fragments = list(snapshot.manifest.fragments)
    with mock.patch.object(
        Snapshot, "reader", autospec=True, side_effect=Snapshot.reader
    ) as opened:
        found = copy_inputs(snapshot, fragments, layouts, snapshot.storage_version, is_strict=False)
    pages = found.table.file_pages.tolist()
    counts = [stop - start for start, stop in pairwise(pages)]
    return list(zip([file.path for file in found.files], counts, strict=True)), opened


@each_case("version", ["2.0", "2.1", "2.2"])
def test_files_that_are_alike_are_not_opened_one_by_one(tmp_path: Path, version: str) -> None:
    table_of(str(tmp_path), [3, 4, 5], data_storage_version=version)
    found, opened = inputs(str(tmp_path))
    assert [count for _, count in found] == [1, 1, 1]
    assert not opened.called


def test_files_with_other_columns_are_opened_one_by_one(tmp_path: Path) -> None:
    uri = str(tmp_path)
    table_of(uri, [3, 4]).add_columns({"j": "i + 1", "k": "i + 2"})
    found, opened = inputs(uri)
    assert [count for _, count in found] == [1, 2, 1, 2]
    assert opened.call_count == 4


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    dataset = table_of(str(tmp_path), [3, 4, 5])
    name = dataset.get_fragments()[1].data_files()[0].path
    path = tmp_path / "data" / name
    path.write_bytes(path.read_bytes()[:-4] + b"DAMN")
    with pytest.raises(CorruptFileError, match="does not end with") as caught:
        inputs(str(tmp_path))
    assert caught.value.path == f"data/{name}"


def test_files_of_several_places_are_opened_one_by_one(tmp_path: Path) -> None:
    clone = table_of(str(tmp_path / "t"), [3, 4]).shallow_clone(str(tmp_path / "c"), None)
    lance_core.write_dataset(clone.to_table(), clone, mode="append")
    found, opened = inputs(str(tmp_path / "c"), allow_base_paths=str(tmp_path / "t"))
    assert [count for _, count in found] == [1, 1, 1]
    assert opened.call_count == 3
