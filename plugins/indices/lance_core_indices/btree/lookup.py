"""`PageLookup`: the bounds of all pages in memory, checked and searched by bisection."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import to_numpy
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.indices import (
    IndexFolder,
    Positions,
    SortedValues,
    is_any_above,
    search_key,
    some_keys,
)
from lance_core_indices.btree.layout import (
    BATCH_SIZE,
    PAGE_DATA,
    PAGE_LOOKUP,
    PARTITION_PAGES,
    RANGE_PARTITIONED,
    UNSTATED_BATCH_SIZE,
)

_MAX_BATCH_SIZE = 1 << 32


class PageFile(NamedTuple):
    """A file with pages ``first`` to ``stop`` (exclusive) of an index."""

    name: str
    first: int
    stop: int


class PageLookup:
    """The bounds of the pages. Raises `CorruptFileError` if they are not those of sorted pages."""

    def __init__(self, folder: IndexFolder) -> None:
        name = _lookup_name(folder)
        reader = self._reader = folder.reader(name)
        self.minima, self.maxima = reader.arrays(["min", "max"])
        self.num_pages = len(self.minima)
        self.batch_size = _batch_size(reader.metadata)
        self.files = _page_files(name, reader.metadata, self.num_pages)
        for column in (self.minima, self.maxima):
            if column.type != folder.kind:
                raise CorruptFileError(f"the bounds are of type {column.type}, not {folder.kind}")
        self._is_numbered: bool | None = None
        self.first_page = int(self.maxima.null_count)
        """The number of the first page that has a value other than null."""
        self.first_lower = int(self.minima.null_count)
        """The first page that starts with a value."""
        self._null_pages = self.num_null_pages if self.first_lower or self.first_page else 0
        self._lower = SortedValues(self.minima.slice(self.first_lower))
        self._upper = SortedValues(self.maxima.slice(self.first_page))
        self.value_bytes = self._lower.nbytes + self._upper.nbytes
        """Approximate bytes of the bounds."""
        self._check_order()

    @property
    def nbytes(self) -> int:
        """Approximate bytes in memory."""
        # The keys of some types are copies of the values.
        return 2 * self.value_bytes + 4 * self.num_pages

    @cached_property
    def null_counts(self) -> npt.NDArray[np.uint32]:
        """The number of nulls in each page, read on first use. Raises `CorruptFileError`.

        Nulls come first. So pages have none if no bound is null, and few queries need the numbers.
        """
        counts = _numbers(*self._reader.arrays(["null_count"]))
        if pa.types.is_null(self.minima.type):
            # pylance counts no nulls in columns of this type.
            counts = np.full(self.num_pages, self.batch_size, np.uint32)
        self._check_nulls(counts)
        return counts

    @property
    def num_null_pages(self) -> int:
        """The number of pages that contain nulls: the first ones."""
        return int(np.count_nonzero(self.null_counts))

    def count_nulls(self, numbers: Positions) -> int:
        """The number of nulls in the pages ``numbers``."""
        return int(self.null_counts[numbers].sum()) if self._null_pages else 0

    def check_order_of_pages(self) -> None:
        """Raise `CorruptFileError` unless page i of the index is row i of ``page_lookup.lance``.

        A caller that compares each value with the bounds of its page need not call it. The numbers
        of nulls are checked, too.
        """
        if self._is_numbered is None:
            numbers = _numbers(*self._reader.arrays(["page_idx"]))
            self._is_numbered = bool((numbers == np.arange(self.num_pages)).all())
            self._is_numbered &= len(self.null_counts) == self.num_pages
        if not self._is_numbered:
            raise CorruptFileError("the pages are not numbered in ascending order", PAGE_LOOKUP)

    def lower(self, numbers: Positions) -> npt.NDArray[Any]:
        """The keys of the first values of pages, none of which may start with a null."""
        return some_keys(self._lower.keys, numbers - self.first_lower)

    def upper(self, numbers: Positions) -> npt.NDArray[Any]:
        """The keys of the last values of pages, none of which may end with a null."""
        return some_keys(self._upper.keys, numbers - self.first_page)

    def pages_of(self, key: pa.Array) -> range:
        """The pages that may have the value with ``key``, an array of one."""
        first, _ = search_key(self._upper.keys, key)
        _, stop = search_key(self._lower.keys, key)
        return range(first + self.first_page, stop + self.first_lower)

    def ends_of(self, keys: pa.Array, *, after: bool) -> tuple[Positions, npt.NDArray[np.bool_]]:
        """For each of ``keys``, where the first value is that is not below it (``after``: above).

        This is the number of a page, and True if the value may be inside of the page; else it is
        the first of the page. The number of pages means that there is no such value.
        """
        pages = self._upper.search(keys, after=after) + self.first_page
        # Pages that start with a value below the key: the value is inside the last one of them.
        below = self._lower.search(keys, after=after) + self.first_lower
        return pages, (pages < below) & (pages < self.num_pages)

    def _check_nulls(self, null_counts: npt.NDArray[np.uint32]) -> None:
        """Nulls are at the start of the first pages."""
        count = int(np.count_nonzero(null_counts))
        if not (count or self.first_page or self.first_lower):
            return
        all_null = to_numpy(self.maxima.is_null())
        starts_with_null = to_numpy(self.minima.is_null())
        has_nulls = np.arange(self.num_pages) < count
        is_valid = (
            ((null_counts > 0) == has_nulls).all()
            and (starts_with_null == has_nulls).all()
            and (all_null == (np.arange(self.num_pages) < self.first_page)).all()
            and count - self.first_page in (0, 1)
            and (null_counts <= self.batch_size).all()
        )
        if not is_valid:
            raise CorruptFileError("the pages do not start with the nulls")

    def _check_order(self) -> None:
        shift = self.first_lower - self.first_page
        lower, upper = self._lower.keys, self._upper.keys
        next_lower = lower.slice(1 - shift)
        if is_any_above(lower, upper.slice(shift)) or is_any_above(
            upper.slice(0, len(next_lower)), next_lower
        ):
            raise CorruptFileError("the bounds of the pages are not in ascending order")


def _numbers(column: pa.Array) -> npt.NDArray[np.uint32]:
    if column.type != pa.uint32() or column.null_count:
        raise CorruptFileError("the number of nulls or of a page is not a 32-bit number")
    numbers: npt.NDArray[np.uint32] = to_numpy(column)
    return numbers


def _lookup_name(folder: IndexFolder) -> str:
    """The lookup of the index, or of the only partition in the folder."""
    if PAGE_LOOKUP not in folder.sizes:
        parts = [name for name in folder.sizes if name.startswith("part_") and PAGE_LOOKUP in name]
        if len(parts) == 1:
            return parts[0]
    return PAGE_LOOKUP


def _batch_size(metadata: Any) -> int:
    text = metadata.get(BATCH_SIZE, str(UNSTATED_BATCH_SIZE))
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < _MAX_BATCH_SIZE:
        raise CorruptFileError(f"the rows of a page are {text!r}", PAGE_LOOKUP, field=BATCH_SIZE)
    return int(text)


def _page_files(lookup: str, metadata: Any, num_pages: int) -> tuple[PageFile, ...]:
    """The files of the pages: one, or one for each partition."""
    if metadata.get(RANGE_PARTITIONED, "false") != "true":
        return (PageFile(lookup.replace(PAGE_LOOKUP, PAGE_DATA), 0, num_pages),)
    files, first = [], 0
    try:
        for part, count in json.loads(metadata.get(PARTITION_PAGES, "")):
            files.append(PageFile(f"part_{part:d}_{PAGE_DATA}", first, first + int(count)))
            first += int(count)
            if count < 0 or part < 0:
                raise ValueError("a number is negative")
    except (ValueError, TypeError) as error:
        raise CorruptFileError(f"{error}", lookup, field=PARTITION_PAGES) from None
    if first != num_pages:
        raise CorruptFileError(
            f"the partitions have {first} pages together, expected {num_pages}",
            lookup,
            field=PARTITION_PAGES,
        )
    return tuple(files)
