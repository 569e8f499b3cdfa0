"""Parts of one index that processes write under its UUID, before another one merges them.

It is the way of older pylance releases. A part is a segment of some fragments; a file in the folder
of the index has its metadata until all of them are merged.
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.dataset.maintenance.indices import existing_segments
from lance_core.dataset.maintenance.indices.create import NewIndex, create_uncommitted
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.index import Index, to_uuid
from lance_core.errors import InvalidInputError
from lance_core.table.indices.index_metadata import (
    IndexMetadata,
    parse_index_section,
    serialize_index_section,
)
from lance_core.table.paths import INDICES

_SUFFIX = ".part"


def write_part(
    snapshot: Snapshot,
    new: NewIndex,
    fragment_ids: Iterable[int],
    environment: Environment = SYSTEM,
) -> None:
    """Write the part of some fragments. Raises what `create_index_uncommitted` raises."""
    if new.uuid is None:
        raise InvalidInputError(
            "an index of some fragments is a segment: use create_index_uncommitted(..., "
            "fragment_ids=...) and commit_existing_index_segments; or pass index_uuid, the same "
            "for all fragments, and call merge_index_metadata"
        )
    folder = _folder(to_uuid(new.uuid))
    part = create_uncommitted(snapshot, replace(new, uuid=None), fragment_ids, environment)
    data = serialize_index_section([part.to_stored()])
    assert data is not None
    snapshot.root.store.put(f"{folder}/{part.uuid}{_SUFFIX}", data)


def merge_parts(snapshot: Snapshot, index_uuid: str, environment: Environment = SYSTEM) -> None:
    """Write the files of an index of all its parts, which are then removed.

    Raises `InvalidInputError` without parts, and what `existing_segments.merge` raises.
    """
    uuid, store = to_uuid(index_uuid), snapshot.root.store
    paths = [file.path for file in store.list(_folder(uuid)) if file.path.endswith(_SUFFIX)]
    if not paths:
        raise InvalidInputError(f"index {index_uuid} has no parts: create them with fragment_ids")
    parts = [part for path in sorted(paths) for part in parse_index_section(bytes(store.get(path)))]
    segments = [Index.of(part) for part in parts]
    existing_segments.merge(snapshot, segments, environment, uuid)
    _remove(snapshot, parts, paths)


def _folder(uuid: uuids.UUID) -> str:
    return f"{INDICES}/{uuid}"


def _remove(snapshot: Snapshot, parts: Sequence[IndexMetadata], paths: Sequence[str]) -> None:
    files = [f"{_folder(part.uuid)}/{file.path}" for part in parts for file in part.files]
    for path in [*files, *paths]:
        snapshot.root.store.delete(path)
