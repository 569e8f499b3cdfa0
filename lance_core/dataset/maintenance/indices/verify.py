"""Compare an index with the values that its rows have now."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from lance_core.dataset.maintenance.indices.create import segments_named
from lance_core.dataset.maintenance.indices.segments import (
    index_parts,
    is_untrained,
    uses_row_ids,
)
from lance_core.dataset.read.sources.prefilter.stored_indices import (
    index_type,
    missing_plugins,
    spec_of,
)
from lance_core.dataset.read.sources.row_locations import addresses_at, live_locations
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.index_problem import IndexProblem
from lance_core.errors import UnsupportedFeatureError
from lance_core.table.indices.index_metadata import IndexMetadata


def verify(snapshot: Snapshot, name: str, limit: int) -> list[IndexProblem]:
    """The first ``limit`` problems of an index; see `LanceDataset.verify_index`."""
    segments = segments_named(snapshot, name)
    return list(islice(_problems(snapshot, segments), limit))


def _problems(snapshot: Snapshot, segments: tuple[IndexMetadata, ...]) -> Iterator[IndexProblem]:
    spec = spec_of(segments[0])
    if spec is None:
        raise UnsupportedFeatureError(
            f"index {segments[0].name!r} cannot be verified{missing_plugins(segments)}"
        )
    trained = [segment for segment in segments if not is_untrained(spec, segment)]
    parts = index_parts(snapshot, trained, spec)
    for segment, part in zip(trained, parts, strict=True):
        for problem in index_type(spec).verify(part):
            address = _address(snapshot, segment, problem.row)
            yield IndexProblem(
                str(segment.uuid),
                None if address is None else address >> 32,
                None if address is None else address & 0xFFFFFFFF,
                problem.text,
            )


def _address(snapshot: Snapshot, segment: IndexMetadata, row: int) -> int | None:
    if not uses_row_ids(snapshot, segment):
        return row
    locations = live_locations(snapshot, np.array([row], np.uint64))
    return None if locations[0] < 0 else int(addresses_at(snapshot, locations)[0])
