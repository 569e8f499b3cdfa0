"""Read the pages that become one page, as the buffers of that page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lance_core.errors import CorruptFileError, PluginError
from lance_core.hookspecs.file_versions import DecodeContext
from lance_core.hookspecs.stored_pages import (
    GAP,
    BufferSlices,
    ColumnParser,
    EncodeContext,
    Encoded,
    FixedWidth,
    ForeignEncoding,
    Ints,
    LayoutPage,
    Levels,
    MiniBlockLayout,
    PageLayout,
    encode_levels,
    joined_bits,
    low_retention_pool,
    mini_block_page,
)
from lance_core.hookspecs.stores import BytesLike
from lance_core_compaction.page_copy.code_pages import shared_codes
from lance_core_compaction.page_copy.file_bytes import FileBytes
from lance_core_compaction.page_copy.merge_groups import (
    MINI_BLOCK_BUFFERS,
    MergedPages,
    merge_groups,
)
from lance_core_compaction.page_copy.mergeable_pages import (
    CodeForm,
    NumberForm,
    PageForm,
    merge_ends,
    merged_encoding,
)
from lance_core_compaction.page_copy.number_pages import (
    joined_numbers,
    numbers_of,
    packed_numbers,
    repacked_page,
)
from lance_core_compaction.page_copy.source_pages import SourcePages
from lance_core_compaction.page_copy.stored_pages import StoredPages, joined_levels

MAX_KEPT_BYTES = 4 << 20
"""Maximum bytes of freed buffers that are kept for the next pages, which are about as large."""


class MergedBuffers(NamedTuple):
    """The buffers of a page of ``num_rows``, each in parts, and its serialised encoding."""

    num_rows: int
    buffers: Sequence[Sequence[BytesLike]]
    encoding: bytes


class PageMerges:
    """Finds pages that merge, and reads them.

    Pages of files that are not mapped merge only if they have one buffer of `MIN_READ_BYTES`.
    """

    def __init__(self, table: SourcePages, content: FileBytes, context: EncodeContext) -> None:
        version = context.version
        self._table = table
        self._content = content
        self._parser = ColumnParser(version, 0)
        self._encode_context = context
        self._context = DecodeContext(GAP, content.ranges.end, version, context.registry)

    def find(self, pages: Ints, lists: Sequence[int]) -> list[MergedPages]:
        """The groups of ``pages`` that become one page each; see `merge_groups`."""
        must_copy = not self._content.has_views
        return merge_groups(self._table, pages, lists, self._parser, must_copy=must_copy)

    def read(self, pages: Ints, merged: MergedPages) -> Sequence[MergedBuffers]:
        """The buffers of ``pages``, the pages of ``merged``, as those of one page.

        Returns all pages unchanged if one page of them would take more space. Raises
        `CorruptFileError`, which names the file, if chunks contradict the format, or if the ends of
        strings do not ascend.
        """
        try:
            with low_retention_pool(max_kept=MAX_KEPT_BYTES):
                buffers = self._read(pages, merged)
                return self._unchanged(pages) if buffers is None else [buffers]
        except (CorruptFileError, PluginError):
            owners = self._table.files_of(pages)
            for number, owner in enumerate(owners.tolist()):
                own = pages[number : number + 1]
                rows, form = int(self._table.rows[own[0]]), merged.forms[number]
                try:
                    self._read(own, MergedPages(number, number + 1, rows, [form]))
                except (CorruptFileError, PluginError) as error:
                    raise error.at(path=self._content.path(owner)) from None
            raise

    def _read(self, pages: Ints, merged: MergedPages) -> MergedBuffers | None:
        if merged.is_packed:
            page = self._packed(pages, merged)
            if page is None:
                return None
            encoding = page.layout.SerializeToString()
            return MergedBuffers(merged.num_rows, [[buffer] for buffer in page.buffers], encoding)
        forms = [form for form in merged.forms if isinstance(form, PageForm)]
        buffers, adjustment = self._joined(pages, forms)
        encoding = self.encoding(pages, merged, adjustment)
        return MergedBuffers(merged.num_rows, buffers, encoding)

    def _unchanged(self, pages: Ints) -> list[MergedBuffers]:
        """Mini-block pages as they are."""
        unchanged = []
        buffers = [self._slices(pages, number, None) for number in range(MINI_BLOCK_BUFFERS)]
        for number, rows in enumerate(self._table.rows[pages].tolist()):
            layout = PageLayout(mini_block_layout=self._message(pages, number))
            own = [[slices[number]] for slices in buffers]
            unchanged.append(MergedBuffers(rows, own, layout.SerializeToString()))
        return unchanged

    def encoding(self, pages: Ints, merged: MergedPages, adjustment: int = 0) -> bytes:
        """The encoding of the merged page; ``adjustment``: what is added to the ends of nulls."""
        encoding = self._parser.page_encoding(self._raw(int(pages[0])))
        assert not isinstance(encoding, ForeignEncoding)
        return merged_encoding(encoding, merged.num_rows, adjustment)

    def _packed(self, pages: Ints, merged: MergedPages) -> LayoutPage | None:
        """Numbers or FSST codes, which are unpacked and packed again."""
        if isinstance(merged.forms[0], CodeForm):
            return self._codes(pages)
        codecs = [
            (form.codec.name, form.levels) for form in merged.forms if isinstance(form, NumberForm)
        ]
        edges = [number for number in range(1, len(codecs)) if codecs[number] != codecs[number - 1]]
        if not edges and codecs[0] == ("inline_bitpacking", b""):
            return repacked_page(self._message(pages, 0), self._stored(pages), self._context)
        values, levels = self._numbers(pages, [0, *edges, len(codecs)])
        # If any page is packed, the merged one is.
        packed = (number for number, (codec, _) in enumerate(codecs) if codec != "flat")
        message = self._message(pages, next(packed, 0))
        return self._page(message, levels, packed_numbers(message, values, self._context))

    def _numbers(self, pages: Ints, edges: Sequence[int]) -> tuple[FixedWidth, Levels]:
        """The numbers of ``pages``, which are of the same form between ``edges``."""
        values, levels = [], []
        for start, stop in pairwise(edges):
            own = self._stored(pages[start:stop])
            unpacked = own.unpacked(self._message(pages, start), self._context)
            values.append(numbers_of(unpacked, self._context))
            levels.append(unpacked.levels(self._context))
        return joined_numbers(values), joined_levels(levels)

    def _codes(self, pages: Ints) -> LayoutPage | None:
        messages = [self._message(pages, number) for number in range(len(pages))]
        unpacked = self._stored(pages).unpacked(messages[0], self._context)
        levels = unpacked.levels(self._context)
        symbols = [message.value_compression.fsst.symbol_table for message in messages]
        shared = shared_codes(unpacked, symbols, self._context)
        del unpacked  # its bytes are as many as those of the new page
        if shared is None:
            return None
        encoded = shared.encoded(self._context)
        del shared
        return self._page(messages[0], levels, encoded)

    def _page(self, message: MiniBlockLayout, levels: Levels, values: Encoded) -> LayoutPage | None:
        context = self._encode_context
        return mini_block_page(
            levels,
            values,
            lambda part, edges: encode_levels(part, edges, context),
            message.has_large_chunk,
            context.kernels,
        )

    def _message(self, pages: Ints, number: int) -> MiniBlockLayout:
        encoding = self._parser.page_encoding(self._raw(int(pages[number])))
        assert isinstance(encoding, PageLayout)
        return encoding.mini_block_layout

    def _stored(self, pages: Ints) -> StoredPages:
        words, chunks = (self._slices(pages, number, None) for number in range(MINI_BLOCK_BUFFERS))
        joined = words.joined(self._context.kernels.join_slices)
        return StoredPages(joined, words.sizes, chunks, self._table.rows[pages])

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
            slices = self._slices(pages, number, (rows * bits + 7) // 8)
            if forms[0].adjustment:
                texts = self._slices(pages, number + 1, None)
                ends = np.require(slices.joined(join).view(np.uint64), requirements="W")
                adjustments = np.array([form.adjustment for form in forms], np.uint64)
                lengths = merge_ends(ends, rows, adjustments, texts.sizes)
                adjustment = int(lengths.sum()) + 1
                buffers += [[ends.data], list(texts.first(lengths))]
            elif (rows[:-1] * bits % 8).any():
                buffers.append([joined_bits(slices.joined(join), rows * bits)])
            else:
                buffers.append(list(slices))
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
        table = self._table
        return table.raw[int(table.encoding_starts[page]) : int(table.middle_stops[page])]
