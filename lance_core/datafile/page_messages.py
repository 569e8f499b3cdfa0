"""The ``Page`` messages of many columns, parsed at once.

A ``Page`` message has its fields in the order of their numbers: buffer offsets, buffer sizes, rows,
encoding, priority, checksums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.datafile.column_metadata import (
    COLUMN_ENCODING_TAG,
    COLUMN_PAGES_TAG,
    MAX_PAGE_ROWS,
    PAGE_SUMS,
)
from lance_core.datafile.varints import Bytes, Ints, packed_varints, varints_at
from lance_core.encodings.arrow.spans import edges_of
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

PAGE_OFFSETS, _PAGE_SIZES, _PAGE_ROWS, _PAGE_ENCODING, PAGE_PRIORITY = 0x0A, 0x12, 0x18, 0x22, 0x28
"""Tags of the fields of ``ColumnMetadata.Page``."""

SLACK = bytes(16)
"""Padding after the metadata, so that a number at its end is read without checks of bounds."""


class SinglePages(NamedTuple):
    """The columns of many that have one page, no buffers of their own and the same ``encoding``.

    ``encoding`` is a serialized ``Encoding``. Column c is such a column if ``is_single[c]``; its
    page then starts at ``starts[c]`` and ends with the column.
    """

    encoding: bytes
    is_single: npt.NDArray[np.bool_]
    starts: Ints


def single_pages(data: Bytes, begins: Ints, ends: Ints) -> SinglePages:
    """Find the pages of the ``ColumnMetadata`` messages in the byte ranges of ``data``.

    ``data`` ends with `SLACK`. The encoding is that of the first column.
    """
    none = SinglePages(b"", np.zeros(len(begins), np.bool_), begins)
    if not len(begins) or ends[0] - begins[0] < 2:
        return none
    first = int(begins[0])
    size = 2 + int(data[first + 1])
    head = data[first : first + size]
    if head[0] != COLUMN_ENCODING_TAG or size >= 0x82:
        return none
    is_single = ends - begins >= size + 2
    at = np.where(is_single, begins, first)
    is_single &= (data[at[:, None] + np.arange(size)] == head).all(1)
    at += size
    is_single &= data[at] == COLUMN_PAGES_TAG
    lengths, starts = varints_at(data, np.where(is_single, at + 1, len(data) - len(SLACK)))
    is_single &= starts + lengths == ends
    return SinglePages(head[2:].tobytes(), is_single, starts)


class PageMessages:
    """Parses the ``Page`` messages in the byte ranges ``starts`` to ``stops`` of ``data``."""

    def __init__(self, data: Bytes, starts: Ints, stops: Ints) -> None:
        self._data = data
        self._stops = stops
        offsets, at = self._bytes_field(starts, PAGE_OFFSETS)
        self.middle_starts = at
        sizes, at = self._bytes_field(at, _PAGE_SIZES)
        self.rows, at = self._number(at, _PAGE_ROWS)
        (encodings, at) = self._bytes_field(at, _PAGE_ENCODING)
        self.middle_stops = at
        self.encoding_starts = encodings[0]
        self.priorities, at = self._number(at, PAGE_PRIORITY)
        self.sums_starts, at = at, self._after_sums(at)
        if (at != stops).any():
            raise UnsupportedFeatureError("pages with metadata that is unknown or in another order")
        if (encodings[0] == encodings[1]).any():
            raise CorruptFileError("the encoding of a page is missing")
        if len(self.rows) and self.rows.max() > MAX_PAGE_ROWS:
            raise CorruptFileError(f"a page cannot have {self.rows.max()} rows")
        self.offsets, counts = packed_varints(data, *offsets)
        self.sizes, others = packed_varints(data, *sizes)
        if (counts != others).any():
            raise CorruptFileError("a page has unequal numbers of buffer offsets and sizes")
        self.first_buffer = edges_of(counts)

    @property
    def sums(self) -> tuple[Ints, Ints]:
        """The byte ranges of the checksums of each page, without tag and length."""
        stops, has_sums = self._stops, self.sums_starts < self._stops
        lengths = np.where(has_sums, self.sums_starts + len(PAGE_SUMS), len(self._data) - 1)
        starts = np.where(has_sums, varints_at(self._data, lengths)[1], stops)
        return starts, stops

    def _bytes_field(self, at: Ints, tag: int) -> tuple[tuple[Ints, Ints], Ints]:
        """The range of each page's field with this tag, and the position after it."""
        present = (self._data[at] == tag) & (at < self._stops)
        lengths, starts = varints_at(self._data, at + 1)
        stops = starts + lengths
        if (present & ((stops > self._stops) | (stops < starts))).any():
            raise CorruptFileError("a part of a page is outside of its metadata")
        after = np.where(present, stops, at)
        return (np.where(present, starts, at), after), after

    def _after_sums(self, at: Ints) -> Ints:
        """The position after each page's checksums, which reach to the end of the page."""
        present = (self._data[at] == PAGE_SUMS[0]) & (self._data[at + 1] == PAGE_SUMS[1])
        present &= at + len(PAGE_SUMS) < self._stops
        lengths, starts = varints_at(self._data, at + len(PAGE_SUMS))
        return np.where(present, starts + lengths, at)

    def _number(self, at: Ints, tag: int) -> tuple[Ints, Ints]:
        """The number in each page's field with this tag, and the position after it."""
        present = (self._data[at] == tag) & (at < self._stops)
        values, stops = varints_at(self._data, at + 1)
        return np.where(present, values, 0), np.where(present, stops, at)
