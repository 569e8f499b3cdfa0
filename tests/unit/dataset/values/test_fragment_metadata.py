"""`DataFile` and `DeletionFile`: what pylance's users may do with them."""

from __future__ import annotations

import json
import pickle

import pytest

from lance_core import FragmentMetadata
from lance_core.fragment import DataFile, DeletionFile

FILE = DataFile("a.lance", [0, 1], [0, 1], 2, 1, 7)


def test_a_path_is_text_that_may_be_called() -> None:
    assert FILE.path == "a.lance"
    assert repr(FILE.path) == "'a.lance'"
    again = pickle.loads(pickle.dumps(FILE))
    assert again == FILE
    for file in (FILE, again):
        with pytest.warns(DeprecationWarning, match=r"use DataFile\.path"):
            assert file.path() == "a.lance"  # type: ignore[operator]


def test_metadata_survives_json() -> None:
    deletions = DeletionFile(1, 2, "array", 3)
    assert deletions.asdict() == {
        "read_version": 1,
        "id": 2,
        "file_type": "array",
        "num_deleted_rows": 3,
        "base_id": None,
    }
    metadata = FragmentMetadata(4, [FILE], 10, deletions)
    assert FragmentMetadata.from_json(json.dumps(metadata.to_json())) == metadata
