"""Read consecutive mini-block pages with equal encodings as if they were one page.

Writers start a new page after about 65,000 levels, and each append starts a new file. What a page
needs is decided once for all pages that have the same encoding fingerprint; further steps, from
chunk words to Arrow arrays, are one numpy or kernel call for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.encodings.arrow.coalesced_take import span_ranges, spans_index
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.v2_1.codecs import fsst
from lance_core.encodings.v2_1.codecs.blocks import Blocks, block_arrays
from lance_core.encodings.v2_1.pages.leaf_values import dictionary_items
from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkBytes, ChunkedPages
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import PageWords, tables_of_pages
from lance_core.encodings.v2_1.pages.page_dictionaries import PageItems
from lance_core.encodings.v2_1.pages.validation import BUFFER_ALIGNMENT
from lance_core.errors import CorruptFileError
from lance_core.store.base import ByteRange, byte_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
    from lance_core.encodings.page_arrays import PageArrays
    from lance_core.encodings.v2_1.pages.base import LeafPart
    from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan

MAX_RUN_BYTES = 64 << 20
"""Maximum stored bytes of pages to read together."""


class PageDescription(NamedTuple):
    """What is read once of a page: its chunk words, repetition index and dictionary items."""

    words: pa.Buffer
    rep_index: pa.Buffer | None
    items: pa.Array | None


class MiniBlockRun(NamedTuple):
    """The pages ``numbers`` of ``table``, all with the encoding fingerprint of ``plan``.

    ``known`` caches descriptions by page number.
    """

    plan: MiniBlockPlan
    table: PageArrays
    numbers: Int64Array
    known: dict[int, PageDescription]

    @property
    def messages(self) -> list[MiniBlockLayout]:
        """The message of each page."""
        found = [self.table.encodings[kind] for kind in self.table.kinds[self.numbers].tolist()]
        return [one.mini_block_layout for one in found]

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """The ``rows`` of the pages, counted from the start of the first page of the run."""
        self._check_alignment()
        starts, stops = self.table.buffers(self.numbers, 1)
        counts = self.table.num_rows[self.numbers]
        messages = self.messages
        items = np.array([message.num_items for message in messages], np.int64)
        if not self.plan.kinds.max_rep and (items != counts).any():
            raise CorruptFileError("a page has another number of values than rows")
        new = [number for number in self.numbers.tolist() if number not in self.known]
        wanted = self._descriptions(new)
        is_whole = isinstance(rows, RowRange) and len(rows) == int(counts.sum())
        early = bool(new) and is_whole  # all bytes are needed, so fetch them in the same round
        ranges: list[ByteRange] = []
        cuts = None
        if early:
            ranges, cuts = span_ranges(0, starts, stops, context.coalesce_gap)
        buffers: Sequence[pa.Buffer] = ()
        if new:
            buffers = yield [*wanted, *ranges]
            self._describe(new, buffers[: len(wanted)], context)
        pages, num_chunks = self._chunked(messages, items, starts, stops)
        if cuts is None:
            return (yield from pages.decode(rows, context))
        moved = ChunkBytes.of(buffers[len(wanted) :], cuts, starts)
        shift = np.repeat(moved.positions - starts, num_chunks)
        read = ChunkBytes(moved.data, pages.table.starts + shift)
        return pages.part(rows, np.arange(pages.num_chunks), read, context)

    def _check_alignment(self) -> None:
        table, pages = self.table, self.numbers
        starts = table.starts[spans_index(table.edges[pages], table.edges[pages + 1])]
        if (starts % BUFFER_ALIGNMENT).any():
            raise CorruptFileError("a buffer of a page is not aligned")

    @property
    def _described_buffers(self) -> list[int]:
        """The numbers of the buffers of a page that describe it."""
        plan = self.plan
        return [0, *range(2, 2 + plan.has_dictionary + plan.has_lists)]

    def _descriptions(self, new: Sequence[int]) -> list[ByteRange]:
        """The ranges that describe the pages ``new``: all of one kind, then all of the next."""
        if not new:
            return []
        pages = np.array(new, np.int64)
        ranges: list[ByteRange] = []
        for number in self._described_buffers:
            starts, stops = self.table.buffers(pages, number)
            ranges += byte_ranges(starts.tolist(), stops.tolist())
        return ranges

    def _describe(
        self, new: Sequence[int], buffers: Sequence[pa.Buffer], context: DecodeContext
    ) -> None:
        """Store the descriptions of the pages ``new``."""
        plan, count = self.plan, len(new)
        words = buffers[:count]
        indices: Sequence[pa.Buffer | None] = [None] * count
        items: Sequence[pa.Array | None] = [None] * count
        if plan.has_lists:
            indices = buffers[-count:]
        if plan.has_dictionary:
            kinds = self.table.kinds[np.array(new, np.int64)].tolist()
            sizes = [
                self.table.encodings[kind].mini_block_layout.num_dictionary_items for kind in kinds
            ]
            items = block_arrays(
                plan.message.dictionary,
                Blocks(buffers[count : 2 * count], sizes),
                lambda values: dictionary_items(values, plan.scope.type, context),
                context,
            )
        for number, *found in zip(new, words, indices, items, strict=True):
            self.known[number] = PageDescription(*found)

    def _chunked(
        self,
        messages: Sequence[MiniBlockLayout],
        num_items: Int64Array,
        starts: Int64Array,
        stops: Int64Array,
    ) -> tuple[ChunkedPages, Int64Array]:
        """The chunks of all pages, and the number of chunks of each page."""
        plan = self.plan
        known = [self.known[number] for number in self.numbers.tolist()]
        indices = [one.rep_index for one in known if one.rep_index is not None]
        words = PageWords(
            [one.words for one in known],
            plan.message.has_large_chunk,
            num_items,
            self.table.num_rows[self.numbers],
            (starts, stops),
            indices if plan.has_lists else None,
        )
        table, num_chunks = tables_of_pages(words)
        found = [one.items for one in known if one.items is not None]
        items = owners = None
        if found:
            owners = PageItems.of(found, num_chunks.tolist())
            items = pa.concat_arrays(found)
        symbols = None
        if plan.message.value_compression.WhichOneof("compression") == "fsst":
            stored = [message.value_compression.fsst for message in messages]
            symbols = fsst.tables_of_pages(stored, num_chunks.tolist())
        chunked = ChunkedPages(
            plan.message, plan.form, plan.kinds, plan.scope.type, table, 0, items, owners, symbols
        )
        return chunked, num_chunks


def encoding_fingerprint(message: MiniBlockLayout, type_: pa.DataType) -> bytes:
    """A key that pages with equal encodings share; empty for pages that are read separately.

    These belong to a dictionary column, or have values that may be long: one array could not hold
    the bytes of many such pages.
    """
    encoding = message.value_compression.WhichOneof("compression")
    is_long = is_variable(type_) and encoding not in ("variable", "fsst")
    has_dictionary = message.HasField("dictionary")
    if has_dictionary:
        is_long = False
    if is_long or pa.types.is_struct(type_) or pa.types.is_dictionary(type_):
        return b""
    if has_dictionary and not 0 < message.num_dictionary_items <= message.num_items:
        return b""
    same = MiniBlockLayout()
    same.CopyFrom(message)
    same.ClearField("num_items")
    same.ClearField("num_dictionary_items")
    if encoding == "fsst":
        same.value_compression.fsst.ClearField("symbol_table")
    return same.SerializeToString(deterministic=True)
