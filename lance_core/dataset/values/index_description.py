"""`IndexDescription` and `IndexSegmentDescription`: what a table says about its indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True)
class IndexSegmentDescription:
    """A segment of an index.

    ``fragment_ids``: the fragments that it covers, perhaps some that do not exist any more.
    ``size_bytes``: the bytes of its files, None if they are not recorded.
    """

    uuid: str
    fragment_ids: frozenset[int]
    dataset_version_at_last_update: int
    index_version: int
    created_at: datetime | None
    size_bytes: int | None
    base_id: int | None
    covering_fields: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class IndexDescription:
    """An index with all its segments.

    ``index_type``: the name of the type, ``"Unknown"`` for an index of a type or version that this
    library does not know. ``num_rows_indexed``: live rows in the fragments that it covers.
    ``details``: the parameters that the table states of the index.
    """

    name: str
    type_url: str
    index_type: str
    num_rows_indexed: int
    fields: list[int]
    field_names: list[str]
    segments: list[IndexSegmentDescription]
    details: Mapping[str, Any] = field(default_factory=dict)
    total_size_bytes: int | None = None
