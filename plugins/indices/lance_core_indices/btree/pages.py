"""`BTreePages`: rows of pages, read from files in few requests, and cached.

The *position* of a row is page·batch_size + offset in the page. Positions ascend with the values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.hookspecs.concurrency import LruCache
from lance_core.hookspecs.indices import (
    IndexBatch,
    IndexFileReader,
    IndexFolder,
    Positions,
    RowNumbers,
    RowSet,
    count_parts,
    is_ascending,
    key_bytes,
    search_key,
    search_keys,
    some_keys,
    sort_keys,
)
from lance_core_indices.btree.layout import PAGE_DATA
from lance_core_indices.btree.lookup import PageFile, PageLookup

CACHE_BYTES = 32 << 20
"""Maximum bytes of single pages that an open index keeps."""

SPAN_BYTES = 128 << 20
"""Maximum bytes of a span, which is kept: neighbouring pages that were read for one query."""

_MAX_SINGLE_PAGES = 64
"""Maximum pages of a query that are cached one by one."""

_SPAN_DENSITY = 8
"""If one of so many neighbouring pages is needed, all are read: this is faster than to select."""

_GROUP_BYTES = 32 << 20
"""Bytes of pages that are read at once for a query that needs more than `SPAN_BYTES`."""

_MAX_ROWS = 4 << 20
"""Maximum row numbers that are in memory before they become a `RowSet`."""

_STREAM_BYTES, _MIN_STREAM_BYTES = 16 << 20, 256 << 10
"""Approximate bytes of a file that are read at once when all rows are read: of several files that
are read at the same time each has a part of them, but at least so many."""

_MAX_PAGE_BYTES = 64 << 20
"""Bytes of a page above which it is not read whole: bisection reads some of its values."""


class PageRows:
    """Rows of one page or of several, in order: the keys of values, and row numbers.

    Rows with nulls, which have no key, come first.
    """

    __slots__ = ("keys", "rows")

    def __init__(self, keys: pa.Array, rows: RowNumbers) -> None:
        self.keys = keys
        self.rows = rows

    @property
    def nbytes(self) -> int:
        return key_bytes(self.keys) + self.rows.nbytes

    def search(self, keys: pa.Array, *, after: bool) -> Positions:
        """For each of ``keys``, the offset of the first row not below it (``after``: above it)."""
        num_nulls = len(self.rows) - len(self.keys)
        return num_nulls + search_keys(self.keys, keys, after=after)

    def rows_of(self, key: pa.Array) -> RowNumbers:
        """The rows with ``key``, an array of one."""
        num_nulls = len(self.rows) - len(self.keys)
        first, stop = search_key(self.keys, key)
        return self.rows[num_nulls + first : num_nulls + stop]


class LoadedPages(NamedTuple):
    """The rows of the pages ``numbers``; those of each page begin at one of ``starts``."""

    page: PageRows
    numbers: Positions
    starts: Positions

    def has(self, first: int, last: int) -> bool:
        """True if these are neighbouring pages that include all from ``first`` to ``last``."""
        start, end = int(self.numbers[0]), int(self.numbers[-1])
        return start <= first <= last <= end and end - start < len(self.numbers)

    def offsets(self, positions: Positions, size: int) -> Positions:
        """The offsets in ``page`` of positions in these pages.

        The last page of a file may be short: a position after its last row means this row.
        """
        index = np.searchsorted(self.numbers, positions // size)
        last = np.append(self.starts[1:], len(self.page.rows)) - 1
        offsets: Positions = np.minimum(self.starts[index] + positions % size, last[index])
        return offsets


class BTreePages:
    """The pages of an index. Thread-safe."""

    def __init__(self, folder: IndexFolder, lookup: PageLookup) -> None:
        self._folder = folder
        self._lookup = lookup
        self._cache: LruCache[int, PageRows] = LruCache(CACHE_BYTES, lambda page: page.nbytes)
        self._span: LoadedPages | None = None
        # A lookup with pages too few would give wrong rows without a page being read.
        self.num_rows = sum(self._reader(file).num_rows for file in lookup.files)
        # A span has only pages that a lookup of many values needs.
        self._has_spans = lookup.num_pages > _MAX_SINGLE_PAGES
        self._row_bytes = 8 + -(-lookup.value_bytes // max(1, 2 * lookup.num_pages))
        stored = sum(folder.sizes.get(file.name) or 0 for file in lookup.files)
        self._row_bytes = max(self._row_bytes, stored // max(1, self.num_rows))
        self._page_bytes = lookup.batch_size * self._row_bytes
        rows = min(lookup.batch_size, self.num_rows)
        self.has_long_values = rows * self._row_bytes > _MAX_PAGE_BYTES
        """True if pages are too large to be read whole, so that `bisect` finds positions."""

    @property
    def nbytes(self) -> int:
        """Approximate maximum bytes of the cached pages."""
        total: int = self._lookup.num_pages * self._lookup.batch_size * self._row_bytes
        return min(CACHE_BYTES, total) + (min(SPAN_BYTES, total) if self._has_spans else 0)

    def around(self, number: int) -> PageRows:
        """The rows of page ``number``, and perhaps of its neighbours."""
        span = self._span
        if span is not None and span.has(number, number):
            return span.page
        return self._cache.get(number, partial(self._one, number))

    def groups(self, first: Positions, stop: Positions) -> Sequence[tuple[int, int]]:
        """Groups of ranges, by their numbers, whose first and last pages are loaded together.

        The ranges are of the pages ``first`` to ``stop`` (exclusive), and ascend. Empty if the
        pages of all can be in memory at once.
        """
        if (int(stop[-1]) - int(first[0])) * self._page_bytes <= SPAN_BYTES or len(first) < 2:
            return ()
        ends = np.unique(np.concatenate([first, stop - 1]))
        if len(ends) * self._page_bytes <= SPAN_BYTES:
            return ()
        numbers = np.searchsorted(ends, first) // max(1, _GROUP_BYTES // self._page_bytes)
        edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(first)]
        return list(pairwise(edges))

    def load(self, numbers: Positions) -> LoadedPages:
        """The rows of the pages ``numbers``, which ascend strictly, and perhaps of others."""
        span = self._span
        if span is not None and span.has(int(numbers[0]), int(numbers[-1])):
            return span
        if len(numbers) <= _MAX_SINGLE_PAGES:
            return self._load_single(numbers)
        every = np.arange(numbers[0], numbers[-1] + 1)
        if len(every) > _SPAN_DENSITY * len(numbers):
            return self._read(numbers)
        if len(every) * self._page_bytes > SPAN_BYTES:
            return self._read(numbers)
        span = self._read(every)
        if span.page.nbytes <= SPAN_BYTES:
            self._span = span
        return span

    def _load_single(self, numbers: Positions) -> LoadedPages:
        """`load` by the cache of single pages."""
        if len(numbers) == 1:
            number = int(numbers[0])
            page = self._cache.get(number, partial(self._one, number))
            return LoadedPages(page, numbers, np.zeros(1, np.int64))
        missing = numbers[[number not in self._cache for number in numbers.tolist()]]
        if len(missing):
            loaded = self._read(missing)
            self._keep(loaded)
            if len(missing) == len(numbers):
                return loaded
        pages = [
            self._cache.get(page_number, partial(self._one, page_number))
            for page_number in numbers.tolist()
        ]
        starts = np.cumsum([0, *(len(page.rows) for page in pages[:-1])])
        keys = pa.concat_arrays([page.keys for page in pages])
        page = PageRows(keys, np.concatenate([page.rows for page in pages]))
        return LoadedPages(page, numbers, starts)

    def bisect(self, positions: Positions, keys: pa.Array, *, after: bool) -> Positions:
        """For each of ``keys``, the position of the first row not below it (``after``: above it).

        ``positions``: where the search starts, each in another page or not; it ends with the page.
        Reads single values, so that memory is bounded by few of them.
        """
        step = max(1, _MAX_PAGE_BYTES // self._row_bytes)
        size = self._lookup.batch_size
        lows = [np.empty(0, np.int64)]
        for start in range(0, len(keys), step):
            keys_of_step = keys.slice(start, step)
            low = positions[start : start + step].copy()
            high = np.minimum((low // size + 1) * size, self._last_position(low))
            while (is_open := low < high).any():
                middle = np.where(is_open, (low + high) >> 1, low - (low == high))
                values = self._keys_at(np.maximum(middle, 0))
                below = (pc.less_equal if after else pc.less)(values, keys_of_step)
                is_below = to_numpy(below) & is_open
                low = np.where(is_below, middle + 1, low)
                high = np.where(is_below | ~is_open, high, middle)
            lows.append(low)
        return np.concatenate(lows)

    def _last_position(self, positions: Positions) -> Positions:
        """The position after the last row of the file that has each of ``positions``."""
        size, ends = self._lookup.batch_size, np.empty(len(positions), np.int64)
        for file in self._lookup.files:
            inside = (positions >= file.first * size) & (positions < file.stop * size)
            ends[inside] = file.first * size + self._reader(file).num_rows
        return ends

    def _keys_at(self, positions: Positions) -> pa.Array:
        """The keys of single rows."""
        size, keys_of_files = self._lookup.batch_size, []
        rows, inverse = np.unique(positions, return_inverse=True)
        for file in self._lookup.files:
            own_rows = rows[(rows >= file.first * size) & (rows < file.stop * size)]
            if len(own_rows):
                count_parts(len(own_rows))
                taken = self._reader(file).taken_arrays(own_rows - file.first * size, ["values"])
                keys_of_files.append(sort_keys(self._values(taken[0])))
        keys = keys_of_files[0] if len(keys_of_files) == 1 else pa.concat_arrays(keys_of_files)
        return keys if len(keys) == len(positions) else keys.take(from_numpy(inverse))

    def prewarm(self) -> None:
        """Load pages until the caches are full; of a large index those of the smallest values."""
        if self.has_long_values:
            return
        limit = SPAN_BYTES if self._has_spans else CACHE_BYTES
        most = limit // (self._lookup.batch_size * self._row_bytes)
        # Pages without a value come first.
        numbers = np.arange(self._lookup.first_page, self._lookup.num_pages)[: max(1, most)]
        if self._has_spans and len(numbers):
            self._span = self._read(numbers)
        elif len(numbers):
            self.load(numbers)

    def row_set(self, starts: Positions, stops: Positions) -> RowSet:
        """The rows at ranges of positions, which ascend and do not overlap."""
        self._lookup.check_order_of_pages()
        sets = []
        for file in self._lookup.files:
            reader = self._reader(file)
            first = file.first * self._lookup.batch_size
            low = np.clip(starts - first, 0, reader.num_rows)
            high = np.clip(stops - first, 0, reader.num_rows)
            columns = [_ids_name(reader)]
            sets += [
                RowSet.of(_ids(*_read_ranges(reader, columns, *part))) for part in _parts(low, high)
            ]
        return sets[0] if len(sets) == 1 else RowSet.union(sets)

    def batches(self, num_streams: int) -> Iterator[IndexBatch]:
        """See `OpenBTree.batches`."""
        most = max(_STREAM_BYTES // num_streams, _MIN_STREAM_BYTES)
        self._lookup.check_order_of_pages()
        for file in self._lookup.files:
            reader, size = self._reader(file), self._folder.sizes.get(file.name) or 0
            total = reader.num_rows
            step = min(1 << 18, most * total // max(1, size))
            step = max(1, min(step, most // self._row_bytes))
            for start in range(0, total, step):
                columns = ["values", _ids_name(reader)]
                values, ids = reader.arrays(columns, start, min(total, start + step))
                yield IndexBatch(self._values(values), _ids(ids))

    def _one(self, number: int) -> PageRows:
        return self._read(np.array([number])).page

    def _keep(self, loaded: LoadedPages) -> None:
        """Cache each of the pages."""
        page = loaded.page
        nulls = len(page.rows) - len(page.keys)
        starts = loaded.starts.tolist()
        stops = [*starts[1:], len(page.rows)]
        for number, start, stop in zip(loaded.numbers.tolist(), starts, stops, strict=True):
            keys = page.keys.slice(max(0, start - nulls), stop - max(start, nulls))
            self._cache.get(number, partial(PageRows, keys, page.rows[start:stop]))

    def _read(self, numbers: Positions) -> LoadedPages:
        """`load` without a cache. Raises `CorruptFileError` for rows that the lookup excludes."""
        count_parts(len(numbers))
        size, pages, lengths = self._lookup.batch_size, [], []
        for file in self._lookup.files:
            own_pages = numbers[(numbers >= file.first) & (numbers < file.stop)] - file.first
            if not len(own_pages):
                continue
            reader = self._reader(file)
            stops = np.minimum((own_pages + 1) * size, reader.num_rows)
            columns = ["values", _ids_name(reader)]
            pages.append(_read_ranges(reader, columns, own_pages * size, stops))
            lengths.append(stops - own_pages * size)
        values, ids = (
            pages[0] if len(pages) == 1 else map(pa.concat_arrays, zip(*pages, strict=True))
        )
        starts = np.cumsum(np.concatenate([[0], *lengths]))[:-1]
        keys = sort_keys(self._values(values))
        page = PageRows(keys.slice(values.null_count) if values.null_count else keys, _ids(ids))
        self._check(numbers, page, starts)
        return LoadedPages(page, numbers, starts)

    def _values(self, values: pa.Array) -> pa.Array:
        if values.type != self._folder.kind:
            reason = f"the values are of type {values.type}, not {self._folder.kind}"
            raise CorruptFileError(reason, PAGE_DATA)
        return values

    def _check(self, numbers: Positions, page: PageRows, starts: Positions) -> None:
        """Raise `CorruptFileError` unless the rows are sorted, within the bounds of the lookup."""
        lookup, keys = self._lookup, page.keys
        num_nulls = len(page.rows) - len(keys)
        first = np.maximum(starts, num_nulls) - num_nulls
        last = np.append(starts[1:], len(page.rows)) - 1 - num_nulls
        with_minima = numbers >= lookup.first_lower
        is_valid = (
            not keys.null_count
            and num_nulls == lookup.count_nulls(numbers)
            and (last >= 0).all()
            and is_ascending(keys)
            and (some_keys(keys, first[with_minima]) == lookup.lower(numbers[with_minima])).all()
            and (some_keys(keys, last) == lookup.upper(numbers)).all()
        )
        if not is_valid:
            reason = "the values of a page are not in order, or not in its bounds"
            raise CorruptFileError(reason, PAGE_DATA)

    def _reader(self, file: PageFile) -> IndexFileReader:
        """The open file. Raises `CorruptFileError` if it has not as many rows as its pages."""
        reader = self._folder.reader(file.name)
        pages = -(-reader.num_rows // self._lookup.batch_size)
        if pages != file.stop - file.first:
            raise CorruptFileError(
                f"{reader.num_rows} rows fill {pages} pages, expected {file.stop - file.first}",
                file.name,
            )
        return reader


def _ids_name(reader: IndexFileReader) -> str:
    """The column of row numbers, which had another name in the first releases."""
    return "ids" if "ids" in reader.names else "row_ids"


def _ids(column: pa.Array) -> RowNumbers:
    if column.type != pa.uint64() or column.null_count:
        raise CorruptFileError("a row number is not a 64-bit number", PAGE_DATA, field="ids")
    return to_numpy(column)


def _read_ranges(
    reader: IndexFileReader, columns: Sequence[str], starts: Positions, stops: Positions
) -> list[pa.Array]:
    """The columns of ranges of rows that ascend and do not overlap."""
    if stops[-1] - starts[0] == (stops - starts).sum():
        return reader.arrays(columns, int(starts[0]), int(stops[-1]))
    return reader.taken_arrays(expand(starts, stops), columns)


def expand(starts: Positions, stops: Positions) -> Positions:
    """All numbers of ranges."""
    lengths = stops - starts
    shifts = starts - np.concatenate([[0], np.cumsum(lengths)[:-1]])
    numbers: Positions = np.arange(lengths.sum()) + np.repeat(shifts, lengths)
    return numbers


def _parts(starts: Positions, stops: Positions) -> Iterator[tuple[Positions, Positions]]:
    """The ranges that are not empty, in groups of up to `_MAX_ROWS` rows."""
    has_rows = stops > starts
    starts, stops = starts[has_rows], stops[has_rows]
    while len(starts):
        rows = np.cumsum(stops - starts)
        number = int(np.searchsorted(rows, _MAX_ROWS))
        if number >= len(starts):
            yield starts, stops
            return
        cut = int(stops[number] - (rows[number] - _MAX_ROWS))
        yield starts[: number + 1], np.append(stops[:number], cut)
        starts, stops = np.append(cut, starts[number + 1 :]), stops[number:]
        if starts[0] == stops[0]:
            starts, stops = starts[1:], stops[1:]
