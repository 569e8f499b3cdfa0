"""Find the copied pages that become one page (`lance_core_compaction.page_copy.mergeable_pages`).

Every page of a column costs readers a fixed time. Pages whose buffers can follow each other become
one page of the usual size without decoding. Mini-block pages of numbers do so only if they are
small enough to be worth it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.stored_pages import TABLE_BYTES, ColumnParser, Ints, byte_ranges
from lance_core.hookspecs.stores import ByteRange
from lance_core_compaction.page_copy.mergeable_pages import (
    AnyForm,
    CodeForm,
    NumberForm,
    PageForm,
    page_form,
)
from lance_core_compaction.page_copy.source_pages import SourcePages

MIN_READ_BYTES = 128 << 10
"""Minimum bytes of pages to merge that must be read; more requests for smaller ones cost more than
pages that stay small."""

MAX_PAGE_BYTES, MAX_BYTES = 1 << 20, 8 << 20
"""Maximum bytes of a page that merges, and of a merged page.

A larger page has little to gain; and readers that decode pages in threads would have fewer of them.
"""

MAX_NUMBER_BYTES = 128 << 10
"""Maximum bytes of the unpacked numbers of a mini-block page that merges.

To read, unpack and pack them takes 2 to 4 ns a number, so about 50 µs for a page of this size. Each
scan of such a page takes 10 to 30 µs more than one of its numbers in a large page, so a few scans
make up for it.
"""

MAX_NULLABLE_ROWS = 8192
"""Maximum rows of a mini-block page of numbers with nulls that merges: levels make it take longer,
and each scan of larger pages takes less time for each row."""

_MAX_UNPACKED_BYTES = 4 << 20
"""Maximum bytes of the unpacked numbers of a merged page: threads hold a few of them."""

MAX_CODE_BYTES, _MAX_MERGED_CODES = 64 << 10, 1280 << 10
"""Maximum bytes of a page of FSST codes that merges, and of a merged page.

To merge it takes 2 to 3 ns a byte. Each scan of such a page takes 20 to 40 µs more than one of its
strings in a large page.
"""

_MAX_ENCODING_BYTES = 512
"""Maximum bytes of the encoding of a page that merges, without the symbols of FSST codes."""

_STAYS = -1
"""Instead of the number of a form: the page does not merge."""

MINI_BLOCK_BUFFERS = 2
"""Buffers of a mini-block page without dictionary and lists: chunk words and chunks."""


class MergedPages(NamedTuple):
    """The pages at positions ``first`` to ``stop`` of a list, which have ``num_rows`` rows.

    ``forms`` are those of its pages. ``ranges`` is given if the bytes of one range of the file of
    each page, one after the other, are the only buffer, and large enough to be copied by the store.
    """

    first: int
    stop: int
    num_rows: int
    forms: list[AnyForm]
    ranges: Sequence[ByteRange] | None = None

    @property
    def is_packed(self) -> bool:
        """True for numbers and FSST codes, which are unpacked and packed again."""
        return not isinstance(self.forms[0], PageForm)


def merge_groups(
    table: SourcePages,
    pages: Ints,
    lists: Sequence[int],
    parser: ColumnParser,
    *,
    must_copy: bool,
) -> list[MergedPages]:
    """The groups of two or more of ``pages`` that become one page each.

    ``lists``: the positions at which the pages of another column or other rows begin.
    ``must_copy``: True if only pages merge that have one buffer of `MIN_READ_BYTES`. Raises
    `CorruptFileError` for an encoding that is not a message.
    """
    positions = np.flatnonzero(_may_merge(table, pages, must_copy=must_copy))
    forms, of_page = _forms_of(table, pages[positions], parser)
    positions, of_page = positions[of_page != _STAYS], of_page[of_page != _STAYS]
    if not len(positions):
        return []
    pages = pages[positions]
    # Numbers have at least one bit.
    bits = np.array([form.codec.bits if isinstance(form, NumberForm) else 0 for form in forms])
    bits, rows = bits[of_page], table.rows[pages]
    sizes = np.where(bits > 0, rows * bits // 8, table.sizes_of(pages))
    groups = []
    for start, end in _runs(positions, _keys(forms)[of_page], lists):
        most = _most_bytes(forms[of_page[start]])
        for first, stop in _parts(sizes[start:end], most):
            at = slice(start + first, start + stop)
            own = [forms[number] for number in of_page[at].tolist()]
            position, count = int(positions[at.start]), int(rows[at].sum())
            ranges = _ranges(table, pages[at], own)
            groups.append(MergedPages(position, position + len(own), count, own, ranges))
    return groups


def _may_merge(table: SourcePages, pages: Ints, *, must_copy: bool) -> npt.NDArray[np.bool_]:
    """False for pages that do not merge, whatever their form is."""
    sizes = table.sizes_of(pages)
    may_merge: npt.NDArray[np.bool_] = (sizes <= MAX_PAGE_BYTES) & (table.rows[pages] > 0)
    encoding = table.middle_stops[pages] - table.encoding_starts[pages]
    is_short = encoding <= _MAX_ENCODING_BYTES
    if must_copy:
        may_merge &= is_short & (table.num_buffers_of(pages) == 1) & (sizes >= MIN_READ_BYTES)
        return may_merge
    codes = (encoding > TABLE_BYTES) & (encoding <= TABLE_BYTES + _MAX_ENCODING_BYTES)
    may_merge &= is_short | (codes & (sizes <= MAX_CODE_BYTES))
    return may_merge


def _forms_of(table: SourcePages, pages: Ints, parser: ColumnParser) -> tuple[list[AnyForm], Ints]:
    """The forms of ``pages``, and for each page the number of its form.

    The number is `_STAYS` for pages that do not merge. The pages of a form have the same encoding
    and number of rows; the symbols of FSST codes are those of one of the pages.
    """
    parsed = _ParsedEncodings(parser)
    raw = table.raw
    starts, stops = table.encoding_starts[pages].tolist(), table.middle_stops[pages].tolist()
    rows = table.rows[pages].tolist()
    of_page = np.array(
        [
            parsed.number(raw[start:stop], count)
            for start, stop, count in zip(starts, stops, rows, strict=True)
        ],
        np.int64,
    )
    forms = parsed.forms
    merging = np.flatnonzero(of_page != _STAYS)
    is_wrong = ~_have_buffers(table, pages[merging], of_page[merging], parsed.least)
    of_page[merging[is_wrong]] = _STAYS
    return forms, of_page


class _ParsedEncodings:
    """The forms of encodings, each of which is parsed once.

    ``least``: the minimum bytes of each buffer of a page, for each of the ``forms``.
    """

    def __init__(self, parser: ColumnParser) -> None:
        self.forms: list[AnyForm] = []
        self.least: list[list[int]] = []
        self._parser = parser
        self._numbers: dict[tuple[bytes, bytes, int], int] = {}
        self._symbols_at: dict[int, int] = {}

    def number(self, encoding: bytes, num_rows: int) -> int:
        """The number of the form of a page of ``num_rows`` rows; `_STAYS` if it does not merge."""
        number = self._numbers.get(self._key(encoding, num_rows))
        if number is None:
            number = self._parsed(encoding, num_rows)
            # The key is another one if this was the first encoding with symbols at their place.
            self._numbers[self._key(encoding, num_rows)] = number
        return number

    def _key(self, encoding: bytes, num_rows: int) -> tuple[bytes, bytes, int]:
        """Equal for encodings that are parsed once: those of one size differ in their symbols."""
        at = self._symbols_at.get(len(encoding), len(encoding))
        return encoding[:at], encoding[at + TABLE_BYTES :], num_rows

    def _parsed(self, encoding: bytes, num_rows: int) -> int:
        form = page_form(self._parser.page_encoding(encoding), num_rows)
        if form is None or not _is_small(form, num_rows):
            return _STAYS
        if isinstance(form, CodeForm):
            if len(form.symbols) != TABLE_BYTES:
                return _STAYS
            self._symbols_at.setdefault(len(encoding), encoding.index(form.symbols))
        self.forms.append(form)
        self.least.append(_min_sizes(form, num_rows))
        return len(self.forms) - 1


def _is_small(form: AnyForm, num_rows: int) -> bool:
    if not isinstance(form, NumberForm):
        return True
    if form.levels and num_rows > MAX_NULLABLE_ROWS:
        return False
    return num_rows * form.codec.bits <= 8 * MAX_NUMBER_BYTES


def _most_bytes(form: AnyForm) -> int:
    """Maximum bytes of a merged page."""
    if isinstance(form, CodeForm):
        return _MAX_MERGED_CODES
    return _MAX_UNPACKED_BYTES if isinstance(form, NumberForm) else MAX_BYTES


def _min_sizes(form: AnyForm, num_rows: int) -> list[int]:
    """The minimum bytes of each buffer of a page."""
    if isinstance(form, PageForm):
        return form.buffer_bytes(num_rows)
    return [0] * MINI_BLOCK_BUFFERS


def _have_buffers(
    table: SourcePages, pages: Ints, of_page: Ints, least: Sequence[Sequence[int]]
) -> npt.NDArray[np.bool_]:
    """True for pages with as many buffers, and as large ones, as those of their form have."""
    counts = np.array(list(map(len, least)), np.int64)
    has_buffers: npt.NDArray[np.bool_] = table.num_buffers_of(pages) == counts[of_page]
    for number in range(max(counts, default=0)):
        # No file has more bytes than fit into 63 bits.
        sizes = [
            min(lengths[number], (1 << 63) - 1) if number < len(lengths) else 0 for lengths in least
        ]
        chosen = np.flatnonzero(has_buffers & (number < counts[of_page]))
        stored = table.sizes[table.first_buffer[pages[chosen]] + number]
        has_buffers[chosen] = stored >= np.array(sizes, np.int64)[of_page[chosen]]
    return has_buffers


def _keys(forms: Sequence[AnyForm]) -> Ints:
    """A number for each form, equal for forms whose pages merge."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(form.key, len(known)) for form in forms], np.int64)


def _runs(positions: Ints, keys: Ints, lists: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of two or more neighbouring pages with the same key, as spans of ``positions``."""
    is_first = np.ones(len(positions), np.bool_)
    is_first[1:] = (np.diff(positions) != 1) | (np.diff(keys) != 0) | np.isin(positions[1:], lists)
    edges = np.append(np.flatnonzero(is_first), len(positions))
    for run in np.flatnonzero(np.diff(edges) > 1).tolist():
        yield int(edges[run]), int(edges[run + 1])


def _parts(sizes: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Spans of two or more pages with up to ``most`` bytes, in the order of ``sizes``."""
    ends = np.cumsum(sizes)
    first = before = 0
    while first < len(sizes) - 1:
        stop = max(first + 1, int(ends.searchsorted(before + most, "right")))
        if stop > first + 1:
            yield first, stop
        first, before = stop, int(ends[stop - 1])


def _ranges(
    table: SourcePages, pages: Ints, forms: Sequence[AnyForm]
) -> Sequence[ByteRange] | None:
    """See `MergedPages`."""
    form = forms[0]
    if not isinstance(form, PageForm) or form.adjustment or len(form.bits) != 1:
        return None
    bits = table.rows[pages] * (form.bits[0] or 0)
    sizes = (bits + 7) // 8
    if int(sizes.min()) < MIN_READ_BYTES or (bits[:-1] % 8).any():
        return None
    starts = table.offsets[table.first_buffer[pages]]
    return byte_ranges(starts.tolist(), (starts + sizes).tolist())
