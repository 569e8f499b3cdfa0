"""Run the searches of a condition: the rows that the scan must read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_core.dataset.read.sources.prefilter.conditions import Truth
from lance_core.dataset.read.sources.prefilter.searches import Search, SearchTree
from lance_core.dataset.read.sources.prefilter.stored_indices import open_index
from lance_core.dataset.read.sources.prefilter.usable_indices import usable_indices
from lance_core.dataset.read.sources.row_locations import Selector, addresses_at, locations_with
from lance_core.errors import CorruptFileError
from lance_core.index.loads import Loads
from lance_core.index.queries import InRange
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.row_set import EMPTY, RowSet

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.dataset.read.sources.prefilter.usable_indices import UsableIndex
    from lance_core.dataset.snapshot.snapshot import Snapshot


class FailedSearchError(Exception):
    """The search of ``index`` failed because of ``error``."""

    def __init__(self, index: UsableIndex, error: Exception) -> None:
        super().__init__(str(error))
        self.index = index
        self.error = error


@dataclass(frozen=True, slots=True, eq=False)
class CandidateRows:
    """The addresses of ``rows`` in ``fragments`` that satisfy the searches; some may be deleted.

    ``num_pages``: pages, zones and bitmaps of indices that were compared. ``loads``: what the
    searches loaded.
    """

    rows: RowSet
    fragments: BitMap
    num_pages: int
    loads: Loads


def candidate_rows(snapshot: Snapshot, tree: SearchTree) -> CandidateRows:
    """The result of the searches. Raises `FailedSearchError` if one fails."""
    run = _Run(snapshot, tree.fragments)
    with Loads() as loads:
        rows = run.rows(tree)
    return CandidateRows(rows, run.fragments, run.num_pages, loads)


class _Run:
    def __init__(self, snapshot: Snapshot, fragments: BitMap) -> None:
        self.fragments = fragments
        self.num_pages = 0
        self._snapshot = snapshot
        self._map = usable_indices(snapshot).map

    def rows(self, tree: SearchTree) -> RowSet:
        """The addresses of rows in the fragments that all searches cover."""
        if isinstance(tree, Search):
            try:
                return self._searched(tree)
            except Exception as error:  # of an index, which the scan does not need
                raise FailedSearchError(tree.index, error) from error
        if not tree.is_all:
            return RowSet.union(self.rows(part) for part in tree.parts)
        common = self.rows(tree.parts[0])
        for part in tree.parts[1:]:
            if not common:
                break
            common = common & self.rows(part)
        return common

    def _searched(self, search: Search) -> RowSet:
        index, lookup = search.index, search.lookup
        if isinstance(lookup.query, InRange) and lookup.query.is_reversed:
            return EMPTY
        with_nulls = lookup.truth in (Truth.FALSE, Truth.NOT_FALSE)
        rows, nulls = [], []
        for segment in index.segments:
            fragments = segment.fragments & self.fragments
            opened = open_index(self._snapshot, segment.stored, index.spec)
            result = opened.search(lookup.index_query, with_nulls=with_nulls)
            self.num_pages += result.num_pages
            rows.append(self._addresses(result.rows, fragments, segment.has_row_ids))
            if with_nulls:
                if result.nulls is None:
                    raise CorruptFileError("the index does not know its null values")
                nulls.append(self._addresses(result.nulls, fragments, segment.has_row_ids))
        true = RowSet.union(rows) if len(rows) > 1 else rows[0]
        if lookup.truth is Truth.TRUE:
            return true
        null = RowSet.union(nulls)
        if lookup.truth is Truth.NOT_FALSE:
            return true | null
        return self._complement(true | null, search.index.fragments & self.fragments)

    def _addresses(self, rows: RowSet, fragments: BitMap, has_row_ids: bool) -> RowSet:
        """The addresses of ``rows`` in ``fragments``; raises `CorruptFileError` for others there.

        Of a row with a stable row id, these are the addresses of all its versions: all but the
        current one are marked as deleted.
        """
        rows = self._of_ids(rows) if has_row_ids else self._map.moved_set(rows)
        rows = rows.within(fragments.__contains__)
        for fragment_id, bitmap in rows.bitmaps.items():
            fragment = self._snapshot.fragment(fragment_id)
            if bitmap and bitmap.max() >= self._snapshot.physical_rows(fragment):
                raise CorruptFileError(f"the index has a row that fragment {fragment_id} has not")
        return rows

    def _of_ids(self, rows: RowSet) -> RowSet:
        """The addresses of rows with stable row ids."""
        numbers = rows.numbers()
        if len(numbers) and numbers[-1] >= self._snapshot.manifest.next_row_id:
            raise CorruptFileError(f"the index has row id {numbers[-1]}, which no row has had")
        positions = locations_with(self._snapshot, Selector.IDS, numbers)
        return RowSet.of(addresses_at(self._snapshot, positions))

    def _complement(self, rows: RowSet, fragments: BitMap) -> RowSet:
        """The rows of ``fragments`` that are not in ``rows``."""
        from pyroaring import BitMap

        bitmaps: dict[int, BitMap | None] = dict.fromkeys(fragments)
        for fragment_id, bitmap in rows.bitmaps.items():
            del bitmaps[fragment_id]
            if bitmap is not None:
                fragment = self._snapshot.fragment(fragment_id)
                rest = BitMap(range(self._snapshot.physical_rows(fragment))) - bitmap
                if rest:
                    bitmaps[fragment_id] = rest
        return RowSet(bitmaps)
