"""Texts of what a version stores."""

from __future__ import annotations

from pathlib import Path

import lance_core
from lance_core import debug


def test_texts_name_what_is_stored(tmp_path: Path) -> None:
    dataset = lance_core.write_dataset({"a": [1, 2, 3]}, tmp_path, data_storage_version="2.1")
    dataset.delete("a = 2")
    fragment = dataset.get_fragments()[0].metadata
    assert 'name: "a"' in debug.format_schema(dataset)
    text = debug.format_fragment(fragment, dataset)
    assert "file_major_version: 2" in text
    assert "num_deleted_rows: 1" in text
    manifest = debug.format_manifest(dataset)
    assert "version: 2\n" in manifest
    assert "rows: 2\n" in manifest
    assert text in manifest
    newest, oldest = debug.list_transactions(dataset)
    assert "Delete" in newest
    assert "Overwrite" in oldest
    assert debug.list_transactions(dataset, 1) == [newest]
