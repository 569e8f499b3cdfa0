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
from lance_core.byte_ranges import BufferSlices, RangeArrays, concatenated
from lance_core.encodings.arrow.coalesced_take import span_places
from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.v2_1.codecs import fsst
from lance_core.encodings.v2_1.fast.dictionary_blocks import Blocks, block_array
from lance_core.encodings.v2_1.fast.page_descriptions import (
    DescribedPages,
    PageCache,
)
from lance_core.encodings.v2_1.pages.leaf_values import dictionary_items
from lance_core.encodings.v2_1.pages.mini_block.chunk_reader import ChunkBytes, ChunkedPages
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import PageWords, tables_of_pages
from lance_core.encodings.v2_1.pages.page_dictionaries import PageItems
from lance_core.encodings.v2_1.pages.validation import BUFFER_ALIGNMENT
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Int64Array, Rows
    from lance_core.encodings.page_arrays import PageArrays
    from lance_core.encodings.v2_1.pages.base import LeafPart
    from lance_core.encodings.v2_1.pages.mini_block.reader import MiniBlockPlan

MAX_RUN_BYTES = 64 << 20
"""Maximum stored bytes of pages to read together."""


class MiniBlockRun(NamedTuple):
    """The pages ``numbers`` of ``table``, all with the encoding fingerprint of ``plan``."""

    plan: MiniBlockPlan
    table: PageArrays
    numbers: Int64Array
    cache: PageCache

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """The ``rows`` of the pages, counted from the start of the first page of the run."""
        pages = self.cache.chunked(self.numbers)
        if pages is not None:
            return (yield from pages.decode(rows, context))
        self._check()
        known = self.cache.descriptions
        new = known.missing(self.numbers)
        descriptions = self._descriptions(new)
        starts, stops = self.table.buffers(self.numbers, 1)
        num_rows = int(self.table.num_rows[self.numbers].sum())
        # If all bytes are needed, fetch them in the same round.
        is_early = len(new) > 0 and isinstance(rows, RowRange) and len(rows) == num_rows
        if is_early:
            ranges, begins = span_places(0, starts, stops, context.coalesce_gap)
            buffers = yield concatenated([descriptions, ranges])
        elif len(new):
            buffers = yield descriptions
        if len(new):
            block = self._described(new, buffers[: len(descriptions)], context)
            known = self.cache.descriptions = known.with_block(new, block)
        pages, num_chunks = self._chunked(known.of(self.numbers, context.kernels.join_slices))
        self.cache.keep(self.numbers, pages)
        if not is_early:
            return (yield from pages.decode(rows, context))
        positions = pages.table.starts + np.repeat(begins - starts, num_chunks)
        read = ChunkBytes.of(buffers[len(descriptions) :], positions, context)
        return pages.part(rows, np.arange(pages.num_chunks), read, context)

    def _of_messages(
        self, numbers: Int64Array, value: Callable[[MiniBlockLayout], int]
    ) -> Int64Array:
        """A value of the message of each of the pages ``numbers``."""
        kinds = self.table.kinds[numbers]
        used, which = kinds[:1], kinds
        if len(self.table.encodings) > 1:  # most columns of numbers have one: all kinds are 0
            used, which = np.unique(kinds, return_inverse=True)
        messages = [self.table.encodings[kind].mini_block_layout for kind in used.tolist()]
        return np.array([value(message) for message in messages], np.int64)[which]

    @property
    def _num_items(self) -> Int64Array:
        """The values of each page or, with lists, its levels."""
        return self._of_messages(self.numbers, lambda message: message.num_items)

    def _check(self) -> None:
        """Raise `CorruptFileError` unless the buffers are aligned and all rows have a value."""
        table, pages = self.table, self.numbers
        starts = table.starts[spans_index(table.edges[pages], table.edges[pages + 1])]
        if (starts % BUFFER_ALIGNMENT).any():
            raise CorruptFileError("a buffer of a page is not aligned")
        if not self.plan.kinds.max_rep and (self._num_items != table.num_rows[pages]).any():
            raise CorruptFileError("a page has another number of values than rows")

    def _descriptions(self, new: Int64Array) -> RangeArrays:
        """The ranges that describe the pages ``new``: all of one kind, then all of the next."""
        numbers = [0, *range(2, 2 + self.plan.has_dictionary + self.plan.has_lists)]
        buffers = self.table.edges[new] + np.array(numbers)[:, None]
        return RangeArrays(self.table.starts[buffers.ravel()], self.table.stops[buffers.ravel()])

    def _described(
        self, new: Int64Array, buffers: Sequence[pa.Buffer], context: DecodeContext
    ) -> DescribedPages:
        """The descriptions of the pages ``new`` from the buffers for `_descriptions`."""
        plan, count, join = self.plan, len(new), context.kernels.join_slices
        slices = BufferSlices.of(buffers)
        words, index = slices[:count], slices[:0]
        rep_sizes = num_items = np.zeros(count, np.int64)
        if plan.has_lists:
            index = slices[len(slices) - count :]
            rep_sizes = index.sizes
        items = None
        if plan.has_dictionary:
            num_items = self._of_messages(new, lambda message: message.num_dictionary_items)
            items = block_array(
                plan.message.dictionary,
                Blocks(slices[count : 2 * count], num_items),
                lambda values: dictionary_items(values, plan.scope.type, context),
                context,
            )
            if len(items) != num_items.sum():
                raise CorruptFileError("a dictionary has another number of items than it says")
        return DescribedPages(
            words.joined(join), words.sizes, index.joined(join), rep_sizes, items, num_items
        )

    def _chunked(self, known: DescribedPages) -> tuple[ChunkedPages, Int64Array]:
        """The chunks of all pages, and the number of chunks of each page."""
        plan, table = self.plan, self.table
        chunks, num_chunks = tables_of_pages(
            PageWords(
                known.words,
                known.sizes,
                plan.message.has_large_chunk,
                self._num_items,
                table.num_rows[self.numbers],
                table.buffers(self.numbers, 1),
                (known.rep_index, known.rep_sizes) if plan.has_lists else None,
            )
        )
        owners = None if known.items is None else PageItems.of(known.num_items, num_chunks)
        symbols = None
        if plan.message.value_compression.WhichOneof("compression") == "fsst":
            kinds = table.kinds[self.numbers].tolist()
            messages = [table.encodings[kind].mini_block_layout for kind in kinds]
            stored = [message.value_compression.fsst for message in messages]
            symbols = fsst.tables_of_pages(stored, num_chunks.tolist())
        chunked = ChunkedPages(
            plan.message,
            plan.form,
            plan.kinds,
            plan.scope.type,
            chunks,
            0,
            known.items,
            owners,
            symbols,
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
