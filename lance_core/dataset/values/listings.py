"""The dictionaries that versions, tags and branches are listed as, with the names of pylance."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict


class Version(TypedDict):
    """A version; ``timestamp`` is in the local time zone, ``metadata`` has totals as texts."""

    version: int
    timestamp: datetime
    metadata: dict[str, str]


class VersionRef(TypedDict):
    """The number of a version."""

    version: int


class Tag(TypedDict):
    """A tag; ``branch`` is None for the main branch, ``manifest_size`` is in bytes."""

    branch: str | None
    version: int
    created_at: datetime | None
    updated_at: datetime | None
    manifest_size: int
    metadata: dict[str, str]


class Branch(TypedDict):
    """A branch: the version of its parent (None: the main branch) that it starts from.

    ``create_at``: seconds since 1970. ``branch_identifier``: for each branch on the way from the
    main one, the version that it starts from and its unique name.
    """

    parent_branch: str | None
    branch_identifier: list[tuple[int, str]]
    parent_version: int
    create_at: int
    manifest_size: int
    metadata: dict[str, str]


class DatasetStats(TypedDict):
    """Counts of deleted rows, of fragments, and of those with few rows."""

    num_deleted_rows: int
    num_fragments: int
    num_small_files: int
