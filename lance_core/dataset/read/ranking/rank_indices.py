"""Rank the rows that an index covers, without those that are deleted or excluded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from lance_core.dataset.read.columns.searched_field import searched_field
from lance_core.dataset.read.sources.prefilter.stored_indices import open_index
from lance_core.dataset.read.sources.prefilter.usable_indices import usable_indices, warn_of_failure
from lance_core.dataset.read.sources.row_locations import addresses_at, live_locations
from lance_core.errors import CorruptFileError, InvalidInputError, LanceError
from lance_core.index.base import RowNumbers
from lance_core.index.ranking import AllowedRows, Hits, RankedIndex, merged
from lance_core.index.type_checks import unchecked
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.row_flags import RowFlags

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.read.sources.prefilter.usable_indices import (
        CoveringSegment,
        UsableIndex,
    )
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RankingIndex:
    """An index that answers ``query``: ``opened`` are its segments, in the order of ``stored``."""

    stored: UsableIndex
    opened: tuple[RankedIndex, ...]
    query: RankedQuery


def ranking_index(snapshot: Snapshot, query: RankedQuery) -> RankingIndex | None:
    """The first index of the column that can answer ``query``; None if there is none.

    An index that cannot be opened is left out with a warning: its rows are ranked by their values.
    """
    for index in column_indices(snapshot, query.column) if query.uses_indices else ():
        try:
            opened = _opened(snapshot, index)
            answered = (
                query.for_index([unchecked(segment) for segment in opened]) if opened else None
            )
        except InvalidInputError:  # of the query, see `RankedQuery.for_index`
            raise
        except (LanceError, OSError) as error:
            warn_of_failure(snapshot, index.name, error)
        else:
            if answered is not None:
                return RankingIndex(index, opened, answered)
    return None


def column_indices(snapshot: Snapshot, column: str) -> Sequence[UsableIndex]:
    """The indices of a column that cover rows, also those that do not rank."""
    if snapshot.file.index_section is None:
        return ()
    field = searched_field(snapshot.schema, column).lineage[-1]
    return usable_indices(snapshot).of_field(snapshot, field.id)


def _opened(snapshot: Snapshot, index: UsableIndex) -> tuple[RankedIndex, ...]:
    """The segments of ``index``; none if it does not rank its rows."""
    segments = []
    for segment in index.segments:
        opened = open_index(snapshot, segment.stored, index.spec)
        if not isinstance(opened, RankedIndex):
            return ()
        segments.append(opened)
    return tuple(segments)


def rank_index(
    snapshot: Snapshot, index: RankingIndex, rows: RowFlags | None, count: int
) -> list[Hits]:
    """The best ``count`` rows of all segments for each query, by address.

    ``rows``: those that may be returned; None for all live ones.
    """
    query = index.query
    best: list[list[Hits]] = [[] for _ in range(query.num_queries)]
    for segment, opened in zip(index.stored.segments, index.opened, strict=True):
        answers, may_have_all = None, rows is None and not segment.has_row_ids
        if may_have_all and live_rows(snapshot, segment.fragments).is_whole:
            # Mostly an index has no other rows either, so that none has to be masked.
            answers = _by_address(snapshot, segment, opened.top(query, count, None))
        if answers is None:
            allowed = allowed_rows(snapshot, segment, rows)
            if segment.has_row_ids and query.is_final and 0 < count < snapshot.num_rows:
                ranked = _top_with_ties(opened, query, count, allowed)
            else:
                ranked = opened.top(query, count, allowed)
            answers = _by_address(snapshot, segment, ranked)
        if answers is None:
            name = index.stored.name
            raise CorruptFileError(f"index {name!r} has rows that the table has not")
        for of_query, hits in zip(best, answers, strict=True):
            of_query.append(hits)
    return [merged(of_query, count, ascending=query.ascending) for of_query in best]


def _by_address(
    snapshot: Snapshot, segment: CoveringSegment, answers: Sequence[Hits]
) -> Sequence[Hits] | None:
    """The hits of a segment by address; None if a row is not one that the segment covers."""
    live = live_rows(snapshot, segment.fragments)
    moved = []
    for hits in answers:
        addresses, exist = _addresses(snapshot, segment, hits.rows)
        if not (exist.all() and live.are_physical_rows(addresses)):
            return None
        moved.append(hits._replace(rows=addresses))
    return moved


def _top_with_ties(
    opened: RankedIndex, query: RankedQuery, count: int, allowed: AllowedRows
) -> Sequence[Hits]:
    """The best ``count`` rows of a segment with row ids, and all with the score of the last one.

    Of rows with equal scores an index returns those with the lowest ids; others may be before them
    in the table.
    """
    num_rows = count
    while True:
        num_rows *= 4
        answers = opened.top(query, num_rows, allowed)
        if not any(
            len(hits.rows) >= num_rows and hits.scores[-1] == hits.scores[count - 1]
            for hits in answers
        ):
            return answers


def allowed_rows(
    snapshot: Snapshot, segment: CoveringSegment, rows: RowFlags | None
) -> AllowedRows:
    """Those of ``rows``, or of all live ones, that ``segment`` covers.

    Masking a number that no row of the table has had raises `CorruptFileError`.
    """
    live = live_rows(snapshot, segment.fragments)
    allowed = live if rows is None else rows.within(segment.fragments.__contains__)
    end = _end_of_numbers(snapshot, segment)

    def mask(numbers: RowNumbers) -> Mask:
        if len(numbers) and numbers.max() >= end:
            raise CorruptFileError(f"index has row {numbers.max()}, which the table never had")
        addresses, exist = _addresses(snapshot, segment, numbers)
        return exist & allowed.contains(addresses)

    return AllowedRows(mask, allowed.count / max(1, int(live.sizes.sum())))


def _end_of_numbers(snapshot: Snapshot, segment: CoveringSegment) -> int:
    """A number above those of all rows that the table has had, in the form of the segment."""
    manifest = snapshot.manifest
    if segment.has_row_ids:
        return manifest.next_row_id
    ids = manifest.fragments.counts.ids
    last = max(manifest.max_fragment_id or 0, int(ids.max(initial=0)))
    return (last + 1) << 32


def _addresses(
    snapshot: Snapshot, segment: CoveringSegment, rows: RowNumbers
) -> tuple[RowNumbers, Mask]:
    """Where the rows of a segment are now, by address, and True for those that exist."""
    if not segment.has_row_ids:
        return usable_indices(snapshot).map.moved(rows)
    locations = live_locations(snapshot, rows)
    exist = locations >= 0
    return addresses_at(snapshot, np.where(exist, locations, 0)), exist


_live: WeakKeyDictionary[Snapshot, dict[bytes, RowFlags]] = WeakKeyDictionary()
"""A cache: the live rows of the fragments of a segment, by these fragments."""


def live_rows(snapshot: Snapshot, fragments: BitMap) -> RowFlags:
    """The live rows of ``fragments``."""
    known, key = _live.setdefault(snapshot, {}), fragments.serialize()
    if key not in known:
        members = [snapshot.fragment(id_) for id_ in fragments]
        sizes = {fragment.id: snapshot.physical_rows(fragment) for fragment in members}
        deleted = {fragment.id: snapshot.deleted_offsets(fragment) for fragment in members}
        with_deletions = {
            id_: rows for id_, rows in deleted.items() if rows is not None and len(rows)
        }
        live = (
            (id_, np.delete(np.arange(sizes[id_]), rows)) for id_, rows in with_deletions.items()
        )
        known[key] = RowFlags.of(sizes, live, sizes.keys() - with_deletions.keys())
    return known[key]
