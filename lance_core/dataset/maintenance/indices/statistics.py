"""Statistics of an index, and loading it into memory."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable
from typing import Any

from lance_core.dataset.maintenance.indices.covered_rows import CoveredRows
from lance_core.dataset.maintenance.indices.create import segments_named
from lance_core.dataset.maintenance.indices.describe import type_label
from lance_core.dataset.maintenance.indices.segments import is_untrained
from lance_core.dataset.read.sources.prefilter.stored_indices import (
    missing_plugins,
    open_index,
    spec_of,
)
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.index import to_uuid
from lance_core.errors import IndexNotFoundError, InvalidTypeError, UnsupportedFeatureError
from lance_core.table.indices.index_metadata import IndexMetadata


def index_statistics(snapshot: Snapshot, name: str) -> dict[str, Any]:
    """The statistics of an index; see `LanceStats.index_stats`."""
    segments = segments_named(snapshot, name)
    per_segment = [_of_segment(snapshot, segment) for segment in segments]
    covered = CoveredRows(snapshot)
    num_fragments, rows = len(covered.existing(segments)), covered.count(segments)
    times = [segment.created_at for segment in segments if segment.created_at is not None]
    return {
        "index_type": type_label(segments),
        "name": name,
        "num_indices": len(segments),
        "num_segments": len(segments),
        "indices": per_segment,
        "segments": per_segment,
        "num_indexed_fragments": num_fragments,
        "num_indexed_rows": rows,
        "num_unindexed_fragments": len(snapshot.manifest.fragments) - num_fragments,
        "num_unindexed_rows": snapshot.num_rows - rows,
        "num_indexed_rows_per_delta": [covered.count([segment]) for segment in segments],
        "updated_at_timestamp_ms": max(times, default=None),
    }


def _of_segment(snapshot: Snapshot, segment: IndexMetadata) -> dict[str, Any]:
    spec = spec_of(segment)
    return (
        {}
        if spec is None or is_untrained(spec, segment)
        else dict(open_index(snapshot, segment, spec).statistics())
    )


def prewarm(
    snapshot: Snapshot, name: str, uuids_: Iterable[str | uuids.UUID] | None = None
) -> None:
    """Load an index, or some of its segments; see `LanceDataset.prewarm_index`."""
    segments = {segment.uuid: segment for segment in segments_named(snapshot, name)}
    if uuids_ is None:
        chosen = list(segments)
    elif isinstance(uuids_, str | uuids.UUID):
        raise InvalidTypeError(f"index_segments is a list of the UUIDs of segments, got {uuids_!r}")
    else:
        chosen = [to_uuid(str(text)) for text in uuids_]
    for uuid in chosen:
        if uuid not in segments:
            raise IndexNotFoundError(f"Lance index not found: name={name}, segment {uuid}")
        spec = spec_of(segments[uuid])
        if spec is None:
            raise UnsupportedFeatureError(
                f"index {name!r} has a type or version not known here"
                f"{missing_plugins([segments[uuid]])}"
            )
        if not is_untrained(spec, segments[uuid]):
            open_index(snapshot, segments[uuid], spec).prewarm()
