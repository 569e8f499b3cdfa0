"""`OpenBTree`: search a BTREE index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import from_numpy, offset_dtype
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.indices import (
    EMPTY,
    IndexBatch,
    IndexFolder,
    IndexQuery,
    InRange,
    IsIn,
    IsNull,
    OpenIndex,
    Positions,
    RowSet,
    SearchResult,
    StartsWith,
    sort_key_indices,
    sort_keys,
)
from lance_core_indices.btree.layout import PAGE_LOOKUP
from lance_core_indices.btree.lookup import PageLookup
from lance_core_indices.btree.pages import BTreePages, LoadedPages, expand

_MAX_WHOLE_PAGES = 64
"""Maximum pages of a query that are read whole and cached. Of larger ones only the pages with ends
of ranges are read whole; of the pages between only row numbers."""


class OpenBTree(OpenIndex):
    """An open index. The rows of each query are ranges of positions in the sorted rows."""

    def __init__(self, folder: IndexFolder) -> None:
        self.kind = folder.kind
        try:
            self._lookup = PageLookup(folder)
        except CorruptFileError as error:
            raise error.at(path=PAGE_LOOKUP) from error
        self._pages = BTreePages(folder, self._lookup)

    @property
    def batch_size(self) -> int:
        """Number of rows in a page; the last page may have fewer."""
        return self._lookup.batch_size

    @property
    def num_rows(self) -> int:
        """Number of indexed rows."""
        return self._pages.num_rows

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The rows of a page."""
        return {"zone_size": self.batch_size}

    @property
    def nbytes(self) -> int:
        """Bytes in memory of the bounds of pages, the cached pages and the set of nulls."""
        nulls: int = 2 * self._null_stop
        return self._lookup.nbytes + self._pages.nbytes + nulls

    def search(self, query: IndexQuery, *, with_nulls: bool = False) -> SearchResult:
        """See `OpenIndex.search`."""
        if isinstance(query, IsNull):
            return SearchResult(
                self._nulls, EMPTY if with_nulls else None, self._lookup.num_null_pages
            )
        assert isinstance(query, IsIn | InRange | StartsWith)
        rows, num_pages = self._find(query)
        return SearchResult(rows, self._nulls if with_nulls else None, num_pages)

    def statistics(self) -> Mapping[str, Any]:
        """The bounds as text, and the number of pages.

        Like pylance's: the minimum is that of the first page with a value, which may be null.
        """
        lookup = self._lookup
        return {
            "max": _text(lookup.maxima[-1:]),
            "min": _text(lookup.minima[lookup.first_page :]),
            "num_pages": lookup.num_pages,
        }

    def batches(self, num_streams: int = 1) -> Iterator[IndexBatch]:
        """All rows in order; of ``num_streams`` that are read at the same time, smaller batches."""
        return self._pages.batches(num_streams)

    def prewarm(self) -> None:
        """Read the pages, as many as the caches hold, and the null rows."""
        self._pages.prewarm()
        _ = self._nulls

    @cached_property
    def _null_stop(self) -> int:
        """The position after the last null."""
        count = self._lookup.num_null_pages if self._lookup.first_lower else 0
        if not count:
            return 0
        return (count - 1) * self.batch_size + int(self._lookup.null_counts[count - 1])

    @cached_property
    def _nulls(self) -> RowSet:
        """The rows with nulls: the first ones."""
        if not self._lookup.num_null_pages:
            return EMPTY
        number = self._null_stop // self.batch_size
        has_values = number < self._lookup.num_pages > self._lookup.first_page
        if has_values and not self._pages.has_long_values:
            # Checks that the values after the nulls begin where the lookup says so.
            self._pages.load(np.array([number]))
        return self._pages.row_set(np.zeros(1, np.int64), np.array([self._null_stop]))

    def _find(self, query: IsIn | InRange | StartsWith) -> tuple[RowSet, int]:
        """The rows of a query, and the number of pages that may have such rows."""
        size = self._lookup.batch_size
        if self._lookup.first_page == self._lookup.num_pages:
            return EMPTY, 0
        has_long_values = self._pages.has_long_values
        if isinstance(query, IsIn) and len(query.values) == 1 and not has_long_values:
            result = self._find_one(sort_keys(query.values))
            if result is not None:
                return result
        starts, stops = self._ends(query)
        first = starts.positions // size
        stop = -(-(stops.positions + stops.inside) // size)
        has_rows = stop > first
        if not has_rows.any():
            return EMPTY, 0
        starts, stops = starts.only(has_rows), stops.only(has_rows)
        first, stop = first[has_rows], stop[has_rows]
        groups = () if has_long_values else self._pages.groups(first, stop)
        if not len(groups):
            return self._within(starts, stops)
        sets = [self._within(starts.part(*group), stops.part(*group))[0] for group in groups]
        return RowSet.union(sets), len(_covered(first, stop))

    def _within(self, starts: _Ends, stops: _Ends) -> tuple[RowSet, int]:
        """`_find` for ranges that have rows of some page."""
        size, has_long_values = self._lookup.batch_size, self._pages.has_long_values
        first = starts.positions // size
        pages = _covered(first, -(-(stops.positions + stops.inside) // size))
        if has_long_values:
            low, high = starts.bisected(self._pages), stops.bisected(self._pages)
            return self._pages.row_set(low[high > low], high[high > low]), len(pages)
        searched = pages
        if len(pages) > _MAX_WHOLE_PAGES:
            inside = [end.positions[end.inside] // size for end in (starts, stops)]
            searched = np.unique(np.concatenate(inside))
        if not len(searched):
            return self._pages.row_set(starts.positions, stops.positions), len(pages)
        loaded = self._pages.load(searched)
        low, high = starts.exact(loaded, size), stops.exact(loaded, size)
        has_rows = high > low
        low, high = low[has_rows], high[has_rows]
        is_loaded = len(searched) == len(pages) or loaded.has(int(pages[0]), int(pages[-1]))
        if not is_loaded or not len(low):
            return self._pages.row_set(low, high), len(pages)
        low, high = loaded.offsets(low, size), loaded.offsets(high - 1, size) + 1
        rows = loaded.page.rows
        rows = rows[low[0] : high[0]] if len(low) == 1 else rows[expand(low, high)]
        return RowSet.of(rows), len(pages)

    def _find_one(self, key: pa.Array) -> tuple[RowSet, int] | None:
        """`_find` for the value with ``key``; None if several pages may have it."""
        pages = self._lookup.pages_of(key)
        if len(pages) > 1:
            return None
        if not pages:
            return EMPTY, 0
        return RowSet.of(self._pages.around(pages.start).rows_of(key)), 1

    def _ends(self, query: IsIn | InRange | StartsWith) -> tuple[_Ends, _Ends]:
        """The starts and the ends of the ranges of a query; the ranges ascend, without overlap."""
        if isinstance(query, IsIn):
            keys = sort_keys(query.values)
            if len(keys) > 1:
                keys = keys.unique()
                keys = keys.take(from_numpy(sort_key_indices(keys)))
            return self._ends_at(keys, after=False), self._ends_at(keys, after=True)
        if isinstance(query, StartsWith):
            prefix = query.prefix.encode()
            return self._ends_at(self._text_key(prefix), after=False), self._text_end(prefix)
        lower, upper = query.lower, query.upper
        start, stop = _end_at(self._null_stop), _end_at(self._lookup.num_pages * self.batch_size)
        if lower is not None:
            keys = sort_keys(pa.repeat(lower, 1))
            start = self._ends_at(keys, after=not query.includes_lower)
        if upper is not None:
            stop = self._ends_at(sort_keys(pa.repeat(upper, 1)), after=query.includes_upper)
        return start, stop

    def _ends_at(self, keys: pa.Array, *, after: bool) -> _Ends:
        pages, inside = self._lookup.ends_of(keys, after=after)
        positions = pages * self._lookup.batch_size
        return _Ends(np.maximum(positions, self._null_stop), inside, keys, after)

    def _text_key(self, text: bytes) -> pa.Array:
        type_ = sort_keys(self._lookup.minima[:0]).type
        edges = np.array([0, len(text)], offset_dtype(type_))
        return pa.Array.from_buffers(type_, 1, [None, pa.py_buffer(edges), pa.py_buffer(text)])

    def _text_end(self, prefix: bytes) -> _Ends:
        """The end of all texts that start with ``prefix``."""
        shorter = prefix.rstrip(b"\xff")
        if not shorter:
            return _end_at(self._lookup.num_pages * self.batch_size)
        return self._ends_at(self._text_key(shorter[:-1] + bytes([shorter[-1] + 1])), after=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Ends of ranges of positions.

    An end ``inside`` of a page is at an unknown position in this page, from ``positions`` on: at
    the first value that is not below its key (``after``: that is above it).
    """

    positions: Positions
    inside: npt.NDArray[np.bool_]
    keys: pa.Array
    after: bool

    def only(self, mask: npt.NDArray[np.bool_]) -> _Ends:
        """The ends for which ``mask`` is True."""
        if mask.all():
            return self
        keys = self.keys.filter(from_numpy(mask)) if self.inside.any() else self.keys
        return _Ends(self.positions[mask], self.inside[mask], keys, self.after)

    def part(self, start: int, stop: int) -> _Ends:
        """The ends from ``start`` to ``stop`` (exclusive) of several."""
        part = slice(start, stop)
        keys = self.keys.slice(start, stop - start)
        return _Ends(self.positions[part], self.inside[part], keys, self.after)

    @property
    def _keys_inside(self) -> pa.Array:
        """The keys of the ends ``inside`` of a page."""
        return self.keys if self.inside.all() else self.keys.filter(from_numpy(self.inside))

    def bisected(self, pages: BTreePages) -> Positions:
        """The positions, by reading single values of the pages of all ends ``inside`` of one."""
        if not self.inside.any():
            return self.positions
        positions = self.positions.copy()
        own = positions[self.inside]
        positions[self.inside] = pages.bisect(own, self._keys_inside, after=self.after)
        return positions

    def exact(self, loaded: LoadedPages, size: int) -> Positions:
        """The positions, with the pages of all ends ``inside`` of one."""
        if not self.inside.any():
            return self.positions
        page = self.positions[self.inside] // size
        shift = page * size - loaded.starts[np.searchsorted(loaded.numbers, page)]
        positions = self.positions.copy()
        positions[self.inside] = loaded.page.search(self._keys_inside, after=self.after) + shift
        return positions


def _end_at(position: int) -> _Ends:
    return _Ends(np.array([position]), np.zeros(1, np.bool_), pa.nulls(1), after=False)


def _covered(starts: Positions, stops: Positions) -> Positions:
    """The numbers in ranges that ascend and overlap by at most their ends."""
    if len(starts) == 1:
        return np.arange(starts[0], stops[0])
    return np.unique(expand(starts, stops))


_BINARY = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary


def _text(value: pa.Array) -> str:
    """The first value as pylance shows it, but decimals as numbers."""
    value_type, types = value.type, pa.types
    if not len(value) or not value[0].is_valid:
        return "NULL"
    if (
        types.is_binary(value_type)
        or types.is_large_binary(value_type)
        or types.is_fixed_size_binary(value_type)
    ):
        return str(value[0].as_py().hex().upper())
    if types.is_timestamp(value_type) or types.is_time(value_type):
        value = sort_keys(value)
    text = str(value.cast(pa.string())[0])
    return "NaN" if text == "nan" else text
