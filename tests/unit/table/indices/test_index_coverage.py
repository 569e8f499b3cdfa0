"""Which indices stay valid when rows move."""

from __future__ import annotations

import uuid

import pytest

from lance_core.table.indices.index_coverage import has_row_ids
from lance_core.table.indices.index_metadata import IndexDetails, IndexMetadata


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        ("BTreeIndexDetails", 0, True),
        ("BTreeIndexDetails", 1, False),
        ("LabelListIndexDetails", 1, True),
        ("VectorIndexDetails", 99, True),
        ("ZoneMapIndexDetails", 0, False),
        ("NobodyKnowsDetails", 0, False),
    ],
)
def test_indices_refer_to_rows_by_id_up_to_a_version(
    kind: str, version: int, expected: bool
) -> None:
    details = IndexDetails(f"/lance.table.{kind}")
    index = IndexMetadata(uuid.uuid4(), "x", (0,), index_details=details, index_version=version)
    assert has_row_ids(index) is expected
