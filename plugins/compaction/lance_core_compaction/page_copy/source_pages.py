"""The pages of many data files as arrays: what a copy of pages must know, and nothing else.

Positions, sizes, rows and priorities are parsed for all pages at once; everything else of a page,
in particular its encoding, stays serialized (``middle``). A ``Page`` message has its fields in the
order of their numbers: buffer offsets, buffer sizes, rows, encoding, priority, checksums. Only the
first and the priority change in a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import edges_of
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.stored_pages import (
    COLUMN_ENCODING_TAG,
    COLUMN_PAGES_TAG,
    SLACK,
    TABLE_ENTRY,
    ByteArray,
    Ints,
    PageMessages,
    RawColumns,
    column_ranges,
    single_pages,
)

_COLUMN_BUFFERS = frozenset({0x1A, 0x22})
"""Tags of the fields of ``ColumnMetadata`` for buffers outside of pages."""


@dataclass(frozen=True, eq=False)
class SourcePages:
    """The pages of columns of several files.

    Column ``c`` of file ``f`` has number ``first_column[f] + c``; its pages are
    ``first_page[number]`` to ``first_page[number + 1]``. The buffers of page ``p`` are
    ``first_buffer[p]`` to ``first_buffer[p + 1]`` in ``offsets`` and ``sizes``.
    ``raw[middle_starts[p]:middle_stops[p]]`` are the serialized fields between buffer offsets and
    priority, ``raw[sums_starts[p]:sums_stops[p]]`` the field of the checksums, which may be absent.
    ``encodings`` are the serialized ``Encoding`` messages of the columns.
    """

    raw: bytes
    first_column: tuple[int, ...]
    encodings: tuple[bytes, ...]
    first_page: Ints
    rows: Ints
    priorities: Ints
    middle_starts: Ints
    middle_stops: Ints
    encoding_starts: Ints
    sums_starts: Ints
    sums_stops: Ints
    first_buffer: Ints
    offsets: Ints
    sizes: Ints
    data_ends: Ints

    @cached_property
    def file_pages(self) -> Ints:
        """The first page of each file, and the number of all pages."""
        pages: Ints = self.first_page[np.array(self.first_column)]
        return pages

    def files_of(self, pages: Ints) -> Ints:
        """The number of the file of each of ``pages``."""
        files: Ints = np.searchsorted(self.file_pages, pages, "right") - 1
        return files

    def sizes_of(self, pages: Ints) -> Ints:
        """The bytes of the buffers of each of ``pages``."""
        sizes: Ints = self.byte_ends[pages + 1] - self.byte_ends[pages]
        return sizes

    def num_buffers_of(self, pages: Ints) -> Ints:
        """The number of buffers of each of ``pages``."""
        counts: Ints = self.first_buffer[pages + 1] - self.first_buffer[pages]
        return counts

    @property
    def has_sums(self) -> bool:
        """True if a page has checksums."""
        return bool((self.sums_stops > self.sums_starts).any())

    @cached_property
    def row_ends(self) -> Ints:
        """The total rows of all pages before each page, and of all pages; one more than pages."""
        return edges_of(self.rows)

    @cached_property
    def byte_ends(self) -> Ints:
        """The total buffer bytes of all pages before each page, and of all; one more than pages."""
        return edges_of(self.sizes)[self.first_buffer]


def source_pages(files: Sequence[RawColumns], paths: Sequence[str]) -> SourcePages:
    """Parse the column metadata of ``files``; ``paths`` name the files in errors.

    Raises `CorruptFileError`, or `UnsupportedFeatureError` if a column has buffers outside of pages
    or its metadata fields are in an unusual order.
    """
    try:
        return _parse(files)
    except (CorruptFileError, UnsupportedFeatureError):
        for file, path in zip(files, paths, strict=True):
            try:
                _parse([file])
            except CorruptFileError as error:
                raise error.at(path=path) from None
            except UnsupportedFeatureError as error:
                raise UnsupportedFeatureError(f"{path!r}: {error}") from None
        raise


def _parse(files: Sequence[RawColumns]) -> SourcePages:
    raw = b"".join([*(file.raw_metadata for file in files), SLACK])
    data = np.frombuffer(raw, np.uint8)
    begins, ends = column_ranges(files)
    columns = _single_pages(data, begins, ends) or _columns(raw, begins, ends)
    pages = PageMessages(data, columns.starts, columns.stops)
    counts = [len(file.raw_table) // TABLE_ENTRY for file in files]
    first_column = tuple(accumulate(counts, initial=0))
    edges = columns.first_page[np.array(first_column)]
    data_ends = np.array([file.position for file in files], np.int64)
    buffers_of_file = np.diff(pages.first_buffer[edges])
    _check_inside(pages.offsets, pages.sizes, np.repeat(data_ends, buffers_of_file))
    return SourcePages(
        raw,
        first_column,
        columns.encodings,
        columns.first_page,
        pages.rows,
        pages.priorities,
        pages.middle_starts,
        pages.middle_stops,
        pages.encoding_starts,
        pages.sums_starts,
        columns.stops,
        pages.first_buffer,
        pages.offsets,
        pages.sizes,
        data_ends,
    )


class _Columns(NamedTuple):
    """The positions of the pages of columns, and the columns' encodings; see `SourcePages`."""

    encodings: tuple[bytes, ...]
    first_page: Ints
    starts: Ints
    stops: Ints


def _single_pages(data: ByteArray, begins: Ints, ends: Ints) -> _Columns | None:
    """The columns in the byte ranges if all have one page and the same encoding; else None.

    So are the columns of small files, of which there are many.
    """
    single = single_pages(data, begins, ends)
    if not single.is_single.all():
        return None
    pages = np.arange(len(begins) + 1)
    return _Columns((single.encoding,) * len(begins), pages, single.starts, ends)


def _columns(raw: bytes, begins: Ints, ends: Ints) -> _Columns:
    """Walk over the ``ColumnMetadata`` messages in the byte ranges."""
    encodings: list[bytes] = []
    page_starts: list[int] = []
    page_stops: list[int] = []
    first_page = [0]
    for start, stop in zip(begins.tolist(), ends.tolist(), strict=True):
        position, encoding = start, b""
        while position < stop:
            tag, length = raw[position], raw[position + 1]
            position += 2
            if length >= 0x80:
                length, position = _long_varint(raw, position - 1)
            end = position + length
            if end > stop:
                raise CorruptFileError("the bytes are not a valid ColumnMetadata message")
            if tag == COLUMN_PAGES_TAG:
                page_starts.append(position)
                page_stops.append(end)
            elif tag == COLUMN_ENCODING_TAG:
                encoding = raw[position:end]
            elif tag in _COLUMN_BUFFERS:
                raise UnsupportedFeatureError("a column has buffers outside of its pages")
            else:
                raise UnsupportedFeatureError(f"unknown column metadata with tag {tag}")
            position = end
        encodings.append(encoding)
        first_page.append(len(page_starts))
    arrays = (np.array(numbers, np.int64) for numbers in (first_page, page_starts, page_stops))
    return _Columns(tuple(encodings), *arrays)


def _long_varint(raw: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := raw[position]) >= 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        position += 1
    return value | byte << shift, position + 1


def _check_inside(offsets: Ints, sizes: Ints, ends: Ints) -> None:
    wrong = np.flatnonzero((offsets > ends) | (sizes > ends - offsets))
    if len(wrong):
        offset, size, end = (int(values[wrong[0]]) for values in (offsets, sizes, ends))
        raise CorruptFileError(
            f"a buffer at {offset} with {size} bytes reaches into the metadata or beyond the file; "
            f"data ends at {end}"
        )
