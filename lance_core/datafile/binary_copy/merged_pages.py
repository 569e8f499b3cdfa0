"""Copied pages that become one page (`lance_core.encodings.mergeable_pages`).

Every page of a column costs readers a fixed time. Pages whose buffers can follow each other become
one page of the usual size without decoding. Mini-block pages of numbers do so only if they are
small enough to be worth it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import le
from typing import NamedTuple

import numpy as np

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout, PageLayout
from lance_core.concurrency.fork_safe import cached_property
from lance_core.datafile.binary_copy.file_bytes import FileBytes
from lance_core.datafile.binary_copy.source_pages import SourcePages
from lance_core.datafile.column_metadata import ColumnParser
from lance_core.datafile.joined_ranges import GAP
from lance_core.datafile.varints import Ints
from lance_core.encodings.arrow.fixed_width import joined_bits
from lance_core.encodings.arrow.memory_pool import low_retention_pool
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.mergeable_pages import (
    NumberForm,
    PageForm,
    merge_ends,
    merged_encoding,
    page_form,
)
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_1.pages.mini_block.number_pages import (
    NumberPages,
    joined_numbers,
    number_page,
    numbers_of,
    repacked_page,
)
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core.store.base import ByteRange, BytesLike, byte_ranges
from lance_core.store.range_arrays import BufferSlices

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

_MAX_UNPACKED_BYTES = 8 << 20
"""Maximum bytes of the unpacked numbers of a merged page, as of pages that are written."""

_MAX_ENCODING_BYTES = 512
"""Maximum bytes of the encoding of a page that merges. Larger ones have the symbols of strings; to
parse them for each page would take longer than the rest of the search."""

_NUMBER_BUFFERS = 2
"""Buffers of a mini-block page without dictionary and lists: chunk words and chunks."""


class MergedPages(NamedTuple):
    """The pages at positions ``first`` to ``stop`` of a list, which have ``num_rows`` rows.

    ``forms`` are those of its pages. ``ranges`` is given if the bytes of one range of the file of
    each page, one after the other, are the only buffer, and large enough to be copied by the store.
    """

    first: int
    stop: int
    num_rows: int
    forms: list[PageForm | NumberForm]
    ranges: Sequence[ByteRange] | None = None

    @property
    def is_packed(self) -> bool:
        """True for numbers, which are unpacked and packed again."""
        return isinstance(self.forms[0], NumberForm)


class MergedBuffers(NamedTuple):
    """The buffers of a merged page, each in parts, and its serialised encoding."""

    buffers: Sequence[Sequence[BytesLike]]
    encoding: bytes


class PageMerges:
    """Finds pages that merge, and reads them.

    Pages of files that are not mapped merge only if they have one buffer of `MIN_READ_BYTES`.
    """

    def __init__(
        self,
        table: SourcePages,
        content: FileBytes,
        version: FileVersion,
        registry: EncodingRegistry,
    ) -> None:
        self._table = table
        self._content = content
        self._parser = ColumnParser(version, 0)
        self._context = DecodeContext(GAP, content.ranges.end, version, registry)
        self._known: dict[tuple[bytes, int], PageForm | NumberForm | None] = {}

    def find(self, pages: Ints, lists: Sequence[int]) -> list[MergedPages]:
        """The groups of two or more of ``pages`` that become one page each.

        ``lists``: the positions at which the pages of another column or other rows begin.
        """
        table = self._table
        sizes = table.sizes_of(pages)
        may_merge = sizes < MAX_PAGE_BYTES
        may_merge &= table.middle_stops[pages] - table.encoding_starts[pages] <= _MAX_ENCODING_BYTES
        if not self._content.has_views:
            is_single = table.first_buffer[pages + 1] - table.first_buffer[pages] == 1
            may_merge &= is_single & (sizes >= MIN_READ_BYTES)
        starts = frozenset(lists)
        found: list[MergedPages] = []
        run, run_bytes = MergedPages(0, 0, 0, []), 0
        places = np.flatnonzero(may_merge)
        numbers = pages[places]
        for place, page, stored, rows in zip(
            places.tolist(),
            numbers.tolist(),
            sizes[places].tolist(),
            table.rows[numbers].tolist(),
            strict=True,
        ):
            form = self._form(page, rows)
            if form is None:
                continue
            own, most = stored, MAX_BYTES
            if isinstance(form, NumberForm):
                own, most = rows * form.codec.bits // 8, _MAX_UNPACKED_BYTES
            is_next = place == run.stop and place not in starts and run_bytes + own <= most
            if is_next and run.forms and form.key == run.forms[0].key:
                run.forms.append(form)
                run = MergedPages(run.first, place + 1, run.num_rows + rows, run.forms)
                run_bytes += own
            else:
                found.append(run)
                run, run_bytes = MergedPages(place, place + 1, rows, [form]), own
        return [
            one._replace(ranges=self._ranges(pages[one.first : one.stop], one.forms))
            for one in (*found, run)
            if len(one.forms) > 1
        ]

    def _ranges(
        self, pages: Ints, forms: Sequence[PageForm | NumberForm]
    ) -> Sequence[ByteRange] | None:
        """See `MergedPages`."""
        form = forms[0]
        if not isinstance(form, PageForm) or form.adjustment or len(form.bits) != 1:
            return None
        table = self._table
        bits = table.rows[pages] * (form.bits[0] or 0)
        sizes = (bits + 7) // 8
        if int(sizes.min()) < MIN_READ_BYTES or (bits[:-1] % 8).any():
            return None
        starts = table.offsets[table.first_buffer[pages]]
        return byte_ranges(starts.tolist(), (starts + sizes).tolist())

    def _form(self, page: int, rows: int) -> PageForm | NumberForm | None:
        """None for a page that does not merge with others."""
        raw = self._raw(page)
        key = raw, rows
        if key not in self._known:
            self._known[key] = page_form(self._parser.page_encoding(raw), rows)
        form = self._known[key]
        if form is None or not rows:
            return None
        first, stop = self._edges[page], self._edges[page + 1]
        if isinstance(form, NumberForm):
            is_small = rows * form.codec.bits <= 8 * MAX_NUMBER_BYTES
            return form if is_small and stop - first == _NUMBER_BUFFERS else None
        wanted, stored = form.buffer_bytes(rows), self._sizes[first:stop]
        return form if len(wanted) == len(stored) and all(map(le, wanted, stored)) else None

    def read(self, pages: Ints, merged: MergedPages) -> MergedBuffers:
        """The buffers of ``pages``, the pages of ``merged``, as those of one page.

        Raises `CorruptFileError`, which names the file, if the chunks of numbers contradict the
        format, or if the ends of strings do not ascend.
        """
        try:
            with low_retention_pool(keeps_large=True):
                return self._read(pages, merged)
        except CorruptFileError:
            owners = self._table.files_of(pages)
            for number, owner in enumerate(owners.tolist()):
                own = pages[number : number + 1]
                rows, form = int(self._table.rows[own[0]]), merged.forms[number]
                try:
                    self._read(own, MergedPages(number, number + 1, rows, [form]))
                except CorruptFileError as error:
                    raise error.at(path=self._content.path(owner)) from None
            raise

    def _read(self, pages: Ints, merged: MergedPages) -> MergedBuffers:
        if merged.is_packed:
            return self._packed(pages, merged)
        forms = [form for form in merged.forms if isinstance(form, PageForm)]
        buffers, adjustment = self._joined(pages, forms)
        return MergedBuffers(buffers, self.encoding(pages, merged, adjustment))

    def encoding(self, pages: Ints, merged: MergedPages, adjustment: int = 0) -> bytes:
        """The encoding of the merged page; ``adjustment``: what is added to the ends of nulls."""
        encoding = self._parser.page_encoding(self._raw(int(pages[0])))
        assert not isinstance(encoding, ForeignEncoding)
        return merged_encoding(encoding, merged.num_rows, adjustment)

    def _packed(self, pages: Ints, merged: MergedPages) -> MergedBuffers:
        """Numbers, which are unpacked and packed again."""
        codecs = [form.codec.name for form in merged.forms if isinstance(form, NumberForm)]
        edges = [place for place in range(1, len(codecs)) if codecs[place] != codecs[place - 1]]
        message = self._message(pages, 0)
        if not edges and codecs[0] != "flat":
            layout, buffers = repacked_page(message, self._stored(pages), self._context)
        else:
            parts = [
                numbers_of(
                    self._message(pages, start), self._stored(pages[start:stop]), self._context
                )
                for start, stop in pairwise([0, *edges, len(codecs)])
            ]
            if edges and codecs[0] == "flat":
                message = self._message(pages, edges[0])
            layout, buffers = number_page(message, joined_numbers(parts), self._context)
        return MergedBuffers([[buffer] for buffer in buffers], layout.SerializeToString())

    def _message(self, pages: Ints, place: int) -> MiniBlockLayout:
        encoding = self._parser.page_encoding(self._raw(int(pages[place])))
        assert isinstance(encoding, PageLayout)
        return encoding.mini_block_layout

    def _stored(self, pages: Ints) -> NumberPages:
        words, chunks = (self._slices(pages, number, None) for number in range(_NUMBER_BUFFERS))
        joined = words.joined(self._context.kernels.join_slices)
        return NumberPages(joined, words.sizes, chunks, self._table.rows[pages])

    def _joined(
        self, pages: Ints, forms: Sequence[PageForm]
    ) -> tuple[list[Sequence[BytesLike]], int]:
        """The bytes of values, bitmaps and strings, and what is added to the ends of nulls."""
        join = self._context.kernels.join_slices
        rows = self._table.rows[pages]
        buffers: list[Sequence[BytesLike]] = []
        adjustment = 0
        for number, bits in enumerate(forms[0].bits):
            if bits is None:
                continue
            found = self._slices(pages, number, (rows * bits + 7) // 8)
            if forms[0].adjustment:
                texts = self._slices(pages, number + 1, None)
                ends = np.require(found.joined(join).view(np.uint64), requirements="W")
                adjustments = np.array([form.adjustment for form in forms], np.uint64)
                lengths = merge_ends(ends, rows, adjustments, texts.sizes)
                adjustment = int(lengths.sum()) + 1
                buffers += [[ends.data], list(texts.first(lengths))]
            elif (rows[:-1] * bits % 8).any():
                buffers.append([joined_bits(found.joined(join), rows * bits)])
            else:
                buffers.append(list(found))
        return buffers, adjustment

    def _slices(self, pages: Ints, number: int, sizes: Ints | None) -> BufferSlices:
        """The first ``sizes`` bytes, or all, of buffer ``number`` of each page."""
        table = self._table
        at = table.first_buffer[pages] + number
        owners = table.files_of(pages)
        return self._content.slices(
            owners, table.offsets[at], table.sizes[at] if sizes is None else sizes
        )

    def _raw(self, page: int) -> bytes:
        return self._table.raw[self._starts[page] : self._stops[page]]

    @cached_property
    def _starts(self) -> list[int]:
        found: list[int] = self._table.encoding_starts.tolist()
        return found

    @cached_property
    def _stops(self) -> list[int]:
        found: list[int] = self._table.middle_stops.tolist()
        return found

    @cached_property
    def _edges(self) -> list[int]:
        found: list[int] = self._table.first_buffer.tolist()
        return found

    @cached_property
    def _sizes(self) -> list[int]:
        found: list[int] = self._table.sizes.tolist()
        return found
