"""Rank the rows that indices cover, without those that are deleted or excluded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from lance_core.dataset.read.sources.prefilter.stored_indices import open_index
from lance_core.dataset.read.sources.prefilter.usable_indices import usable_indices, warn_of_failure
from lance_core.dataset.read.sources.pruning import field_at
from lance_core.dataset.read.sources.row_places import addresses_at, live_places
from lance_core.errors import CorruptFileError, InvalidInputError, LanceError
from lance_core.index.base import RowNumbers
from lance_core.index.ranking import AllowedRows, Hits, RankedIndex, merged
from lance_core.index.type_checks import unchecked
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.path import parse_path
from lance_core.table.indices.row_set import RowSet

if TYPE_CHECKING:
    import numpy.typing as npt
    from pyroaring import BitMap

    from lance_core.dataset.read.ranking.row_flags import RowFlags
    from lance_core.dataset.read.sources.prefilter.usable_indices import UsableIndex
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery


@dataclass(frozen=True, slots=True, eq=False)
class OpenSegment:
    """An opened segment of an index. ``fragments``: those whose rows it answers for."""

    index: RankedIndex
    fragments: BitMap
    has_row_ids: bool


@dataclass(frozen=True, slots=True, eq=False)
class RankingIndex:
    """An index that answers ``query``, with all its segments."""

    name: str
    query: RankedQuery
    segments: tuple[OpenSegment, ...]
    fragments: BitMap


def ranking_index(snapshot: Snapshot, query: RankedQuery) -> RankingIndex | None:
    """The first index of the column that can answer ``query``; None if there is none.

    An index that cannot be opened is left out with a warning: its rows are ranked by their values.
    """
    if snapshot.file.index_section is None or not query.uses_indices:
        return None
    field = field_at(snapshot, parse_path(query.column))
    if field is None:
        return None
    for index in usable_indices(snapshot).of_field(snapshot, field.id):
        try:
            opened = _opened(snapshot, index, query)
            if opened is not None:
                segments = [unchecked(segment.index) for segment in opened.segments]
                return replace(opened, query=opened.query.with_segments(segments))
        except InvalidInputError:  # of the query, see `RankedQuery.with_segments`
            raise
        except (LanceError, OSError) as error:
            warn_of_failure(snapshot, index.name, error)
    return None


def _opened(snapshot: Snapshot, index: UsableIndex, query: RankedQuery) -> RankingIndex | None:
    segments = []
    for segment in index.segments:
        opened = open_index(snapshot, segment.stored, index.spec)
        own = query.for_index(unchecked(opened))
        if own is None or not isinstance(opened, RankedIndex):
            return None
        query = own
        segments.append(OpenSegment(opened, segment.fragments, segment.has_row_ids))
    return RankingIndex(index.name, query, tuple(segments), index.fragments)


def rank_index(
    snapshot: Snapshot, index: RankingIndex, rows: RowSet | RowFlags | None, count: int
) -> list[Hits]:
    """The best ``count`` rows of all segments for each query, by address.

    ``rows``: the addresses of the rows that may be returned; None for all live ones.
    """
    query = index.query
    best: list[list[Hits]] = [[] for _ in range(query.num_queries)]
    for segment in index.segments:
        addressing = Addressing(snapshot, segment)
        allowed = _allowed(snapshot, segment, addressing, rows)
        answers = segment.index.top(query, count, allowed)
        for mine, hits in zip(best, answers, strict=True):
            addresses, exist = addressing.addresses(hits.rows)
            if not (exist.all() and _are_in_fragments(snapshot, addresses)):
                raise CorruptFileError(f"index {index.name!r} has rows that the table has not")
            mine.append(Hits(addresses, hits.scores))
    return [merged(mine, count, ascending=query.ascending) for mine in best]


def _are_in_fragments(snapshot: Snapshot, addresses: RowNumbers) -> bool:
    """True if each address is below the number of physical rows of its fragment."""
    ordered = np.sort(addresses)
    ids = ordered >> np.uint64(32)
    is_last = np.append(ids[1:] != ids[:-1], True)[: len(ids)]
    return all(
        address & 0xFFFFFFFF < snapshot.physical_rows(snapshot.fragment(address >> 32))
        for address in ordered[is_last].tolist()
    )


class Addressing:
    """Where the rows of a segment are now."""

    def __init__(self, snapshot: Snapshot, segment: OpenSegment) -> None:
        self._snapshot = snapshot
        self._has_row_ids = segment.has_row_ids
        self._map = usable_indices(snapshot).map

    def addresses(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        """The address of each row, and True if there is such a row now."""
        if not self._has_row_ids:
            return self._map.moved(rows)
        places = live_places(self._snapshot, rows)
        exist = places >= 0
        return addresses_at(self._snapshot, np.where(exist, places, 0)), exist


def _allowed(
    snapshot: Snapshot,
    segment: OpenSegment,
    addressing: Addressing,
    rows: RowSet | RowFlags | None,
) -> AllowedRows:
    """The rows of a segment that are alive, in a fragment that it covers, and among ``rows``."""
    allowed: RowSet | RowFlags = live_rows(snapshot, segment.fragments)
    share = 1.0
    if rows is not None:
        allowed = rows.within(segment.fragments.__contains__)
        total = sum(snapshot.physical_rows(snapshot.fragment(id_)) for id_ in segment.fragments)
        share = count_rows(snapshot, allowed) / max(1, total)

    def mask(numbers: RowNumbers) -> npt.NDArray[np.bool_]:
        addresses, exist = addressing.addresses(numbers)
        return exist & allowed.contains(addresses)

    return AllowedRows(mask, share)


def count_rows(snapshot: Snapshot, rows: RowSet | RowFlags) -> int:
    """The number of rows in ``rows``, among them those of whole fragments."""
    if not isinstance(rows, RowSet):
        return rows.count
    return sum(
        snapshot.physical_rows(snapshot.fragment(id_)) if bitmap is None else len(bitmap)
        for id_, bitmap in rows.bitmaps.items()
    )


_live: WeakKeyDictionary[Snapshot, dict[int, BitMap | None]] = WeakKeyDictionary()
"""A cache: the live rows of fragments, None for all."""


def live_rows(snapshot: Snapshot, fragments: Iterable[int]) -> RowSet:
    """The live rows of ``fragments``."""
    known, bitmaps = _live.setdefault(snapshot, {}), {}
    for id_ in fragments:
        if id_ not in known:
            known[id_] = _live_offsets(snapshot, id_)
        bitmaps[id_] = known[id_]
    return RowSet(bitmaps)


def _live_offsets(snapshot: Snapshot, fragment_id: int) -> BitMap | None:
    from pyroaring import BitMap

    fragment = snapshot.fragment(fragment_id)
    deleted = snapshot.deleted_offsets(fragment)
    if deleted is None or not len(deleted):
        return None
    live = BitMap(deleted).flip(0, snapshot.physical_rows(fragment))
    live.run_optimize()  # few deleted rows take little memory
    return live
