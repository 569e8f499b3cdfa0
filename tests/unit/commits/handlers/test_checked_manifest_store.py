"""No row of a plugin's back-end is followed that is not what the interface says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lance_core.commits.handlers.checked_manifest_store import checked_rows
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import ObjectExistsError, OutcomeUnknownError, StoreError
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore

ENTRY = ManifestEntry(1, "t/_versions/1.manifest", 100, "tag")


class Rows(MemoryManifestStore):
    """Returns ``row``, and ends writes with ``end``."""

    row: Any = None
    end: Any = None

    def get(self, base_uri: str, version: int) -> Any:
        return self.row

    def get_latest(self, base_uri: str) -> Any:
        return self.row

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> Any:
        super().put_if_absent(base_uri, entry)
        return self.end


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"version": "1"}, "whose version is"),
        ({"version": True}, "whose version is"),
        ({"version": 0}, "whose version is 0"),
        ({"version": 1 << 64}, f"whose version is {1 << 64}"),
        ({"path": b"x"}, "whose path is"),
        ({"size": "1"}, "whose size is"),
        ({"size": -1}, "whose size is -1"),
        ({"etag": 5}, "whose etag is"),
    ],
)
def test_rows_with_wrong_fields_are_refused(wrong: dict[str, Any], match: str) -> None:
    rows = Rows()
    checked = checked_rows(rows, "back-end 'rows'", str)
    rows.row = replace(ENTRY, **wrong)
    with pytest.raises(StoreError, match=f"back-end 'rows'.*{match}"):
        checked.get("t", 1)
    with pytest.raises(StoreError, match=f"back-end 'rows'.*{match}"):
        checked.get_latest("t")
    rows.row = ENTRY.path
    with pytest.raises(StoreError, match="a ManifestEntry or None"):
        checked.get("t", 1)


@pytest.mark.parametrize("row", [ENTRY, replace(ENTRY, size=None, etag=None), None])
def test_right_rows_are_returned(row: ManifestEntry | None) -> None:
    rows = Rows()
    rows.row = row
    checked = checked_rows(rows, "rows", str)
    assert checked.get("t", 1) is checked.get_latest("t") is row


def test_the_row_of_another_version_is_refused() -> None:
    rows = Rows()
    rows.row = ENTRY
    with pytest.raises(StoreError, match="the row of version 1"):
        checked_rows(rows, "rows", str).get("t", 2)
    rows.row = replace(ENTRY, version=1 << 63 | 5)
    with pytest.raises(StoreError, match="detached version"):
        checked_rows(rows, "rows", str).get_latest("t")


def test_writes_reach_the_back_end_and_a_result_leaves_their_outcome_unknown() -> None:
    inner = MemoryManifestStore()
    checked = checked_rows(inner, "rows", str)
    checked.put_if_absent("t", ENTRY)
    assert inner.get("t", 1) == ENTRY
    with pytest.raises(ObjectExistsError):
        checked.put_if_absent("t", ENTRY)
    checked.put_if_present("t", replace(ENTRY, size=7))
    assert inner.get("t", 1) == replace(ENTRY, size=7)
    checked.delete("t")
    assert inner.get("t", 1) is None
    rows = Rows()
    rows.end = False
    with pytest.raises(OutcomeUnknownError, match="put_if_absent"):
        checked_rows(rows, "rows", str).put_if_absent("t", ENTRY)
