"""Select the encodings of many small columns at once, and create their dictionaries.

The results are those of the other modules of this package for fields without options.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.arrow.strings import is_text
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, packed_bytes
from lance_core.encodings.v2_1.codecs.rle import entries
from lance_core.encodings.v2_1.codecs.values import VariableWidth
from lance_core.encodings.v2_1.selection.blocks import codec_without_runs
from lance_core.encodings.v2_1.selection.cost import CHUNK_VALUES, Integers
from lance_core.encodings.v2_1.selection.dictionary import (
    DIVISOR,
    INDEX_BYTES,
    MAX_ITEMS,
    MIN_SAMPLE,
    MIN_VALUES,
    SIZE_RATIO,
    UNIQUE_RATIO,
    sample,
    sample_size,
)
from lance_core.encodings.v2_1.selection.values import MIN_TEXT
from lance_core.encodings.version import FileVersion

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
    from lance_core.encodings.kernels.numpy.dictionary_codes import Codes
    from lance_core.encodings.v2_1.levels.repdef import BoolArray, LevelArray


Rows = npt.NDArray[np.unsignedinteger]
"""A row of values for each column."""

CODECS = ("flat", "inline_bitpacking", "rle")


def values_mask(counts: Int64Array) -> BoolArray | None:
    """For rows of ``counts`` values, padded to the longest: True at values; None if all are."""
    most = int(counts.max())
    return None if most == counts.min() else np.arange(most) < counts[:, None]


class ColumnValues(NamedTuple):
    """Values of columns c: value i is ``data[edges[c, i]:edges[c, i + 1]]``.

    Column c has ``counts[c]`` values; its last edge is repeated up to those of the longest column.
    Values of variable width have offsets of ``offset_bytes``; it is 0 for others.
    """

    data: Bytes
    edges: Int64Array
    counts: Int64Array
    offset_bytes: int = 0

    def select(self, columns: npt.NDArray[np.intp]) -> ColumnValues:
        """The ``columns``, which ascend; all columns are not copied."""
        if len(columns) == len(self.edges):
            return self
        return self._replace(edges=self.edges[columns], counts=self.counts[columns])

    def texts(self, column: int) -> VariableWidth:
        """The values, of variable width, of one column."""
        edges = self.edges[column, : self.counts[column] + 1]
        first, last = int(edges[0]), int(edges[-1])
        wide: Int64Array = edges - first
        offsets = wide.astype(np.int32) if self.offset_bytes == 4 else wide
        return VariableWidth(offsets, pa.py_buffer(self.data[first:last]))

    def joined(self, kernels: Kernels) -> tuple[Bytes, Int64Array]:
        """The bytes of all columns without gaps, and the offsets of all values in them."""
        starts, stops = self.edges[:, 0], self.edges[:, -1]
        data, ends = kernels.gather_variable(self.data, starts, stops)
        edges = (self.edges + (ends[:-1] - starts)[:, None])[:, : int(self.counts.max())]
        is_value = values_mask(self.counts)
        offsets = edges.reshape(-1) if is_value is None else edges[is_value]
        return np.frombuffer(data, np.uint8), np.append(offsets, ends[-1])

    def codes(self, most: Int64Array, kernels: Kernels) -> tuple[Codes, Int64Array, Int64Array]:
        """See `Kernels.dictionary_codes`; columns with more items than ``most`` may have codes."""
        edges, width = self.edges.reshape(-1), self.edges.shape[1]
        is_ragged = values_mask(self.counts) is not None
        # The padding of shorter columns are empty values, perhaps the only ones of their column.
        limit = int(most.max()) + is_ragged
        codes, counts, firsts = kernels.dictionary_codes(
            self.data, edges, len(self.edges), np.arange(width - 1), limit
        )
        table = codes.reshape(len(self.edges), -1)
        if is_ragged:
            owners, positions = np.divmod(firsts, width)
            is_item = positions < self.counts[owners]
            counts -= np.bincount(owners[~is_item], minlength=len(counts))
            firsts = firsts[is_item]
        return table, counts, firsts


class ColumnItems(NamedTuple):
    """The items of dictionaries: item i is ``data[offsets[i]:offsets[i + 1]]``.

    Column c has the items ``edges[c]`` to ``edges[c + 1]``. Items of variable width have offsets of
    ``offset_bytes``; it is 0 for others.
    """

    data: pa.Buffer
    offsets: Int64Array
    edges: Int64Array
    offset_bytes: int


class ColumnDictionaries(NamedTuple):
    """Dictionaries of the columns at ``positions``: a row of ``codes`` and the items of each."""

    positions: npt.NDArray[np.intp]
    codes: Codes
    items: ColumnItems


def column_dictionaries(
    values: ColumnValues, positions: npt.NDArray[np.intp], kernels: Kernels
) -> ColumnDictionaries | None:
    """The dictionaries of those columns at ``positions`` for which a dictionary is likely to pay.

    None if there is none.
    """
    counts = values.counts[positions]
    most_bytes = (_sizes(values)[positions] * SIZE_RATIO).astype(np.int64)
    may_have = (counts >= MIN_VALUES) & (most_bytes >= counts * INDEX_BYTES)
    if not may_have.any():
        return None
    positions, most_bytes = positions[may_have], most_bytes[may_have]
    chosen = values.select(positions)
    counts = chosen.counts
    most = np.minimum(counts // DIVISOR, MAX_ITEMS)
    codes, items, firsts = chosen.codes(most, kernels)
    starts, stops = chosen.edges.reshape(-1)[firsts], chosen.edges.reshape(-1)[firsts + 1]
    has_dictionary = items <= most
    # Columns with too many items for any have no firsts.
    stored = np.bincount(firsts // chosen.edges.shape[1], minlength=len(items))
    totals = edges_of(stops - starts)[edges_of(stored)]
    sizes = np.diff(totals) + (items + 1) * values.offset_bytes
    has_dictionary &= sizes + counts * INDEX_BYTES <= most_bytes
    for column in np.flatnonzero(has_dictionary).tolist():
        own = codes[column, : counts[column]]
        has_dictionary[column] = _sample_repeats(own, int(items[column]), int(most[column]))
    if not has_dictionary.any():
        return None
    is_stored = np.repeat(has_dictionary, stored)
    data, offsets = kernels.gather_variable(values.data, starts[is_stored], stops[is_stored])
    stored_items = ColumnItems(data, offsets, edges_of(items[has_dictionary]), values.offset_bytes)
    return ColumnDictionaries(positions[has_dictionary], codes[has_dictionary], stored_items)


def _sample_repeats(codes: Codes, items: int, most: int) -> bool:
    """True if a sample of values, of which there are ``items``, promises at most ``most`` items."""
    count, size = len(codes), sample_size(len(codes))
    if size < MIN_SAMPLE:
        return True

    def is_few(num_distinct: int) -> bool:
        ratio = num_distinct / size
        return ratio < UNIQUE_RATIO and ceil(ratio * count) <= most

    return is_few(items) or is_few(int(np.count_nonzero(np.bincount(codes[sample(count)]))))


def _sizes(values: ColumnValues) -> Int64Array:
    """Bytes of values and offsets of each column."""
    sizes: Int64Array = values.edges[:, -1] - values.edges[:, 0]
    sizes += (values.counts + 1) * values.offset_bytes
    return sizes


def texts_are_short(values: ColumnValues, type_: pa.DataType) -> BoolArray:
    """For each column of texts of ``type_``, if they are too few bytes for FSST."""
    if not is_text(type_):
        return np.ones(len(values.edges), np.bool_)
    return _sizes(values) < MIN_TEXT


def number_codecs(words: Rows, counts: Int64Array, kernels: Kernels) -> npt.NDArray[np.int8]:
    """For each row of ``counts`` integers, the number of its codec in `CODECS`.

    ``words`` is padded with zeros to as many whole chunks of 1024 values as each row needs.
    """
    width, sizes = words.itemsize, counts * words.itemsize
    widths = kernels.chunk_widths(words.reshape(-1)).reshape(len(words), -1)
    packed = widths.sum(axis=1) * packed_bytes(1) + widths.shape[1] * width
    packed = np.minimum(packed, sizes)
    codecs: npt.NDArray[np.int8] = (packed < sizes).astype(np.int8)
    max_entries = np.minimum(packed, sizes - 1) // (width + 1)
    codecs[_runs_fit(words, counts, max_entries)] = CODECS.index("rle")
    return codecs


def level_codecs(
    levels: LevelArray | None, edges: Int64Array, context: EncodeContext
) -> list[tuple[str, int]]:
    """The codec of the levels of each column, see `encode_levels`, and the bits of the highest.

    Column c has the levels ``edges[c]`` to ``edges[c + 1]``, at least one. Without runs, the number
    of levels matters only up to one chunk.
    """
    if levels is None:
        return [("", 0)] * (len(edges) - 1)
    is_new = context.version >= FileVersion.V2_2
    widths = np.frexp(np.maximum.reduceat(levels, edges[:-1]))[1].tolist()
    differs = levels[1:] != levels[:-1]
    codecs = []
    known: dict[tuple[int, int], tuple[str, int]] = {}
    for (start, stop), width in zip(pairwise(edges.tolist()), widths, strict=True):
        key = stop - start if is_new else min(stop - start, CHUNK + 1), width
        if key not in known:
            integers = _levels(levels[start:stop], width, context)
            most = integers.most_block_runs if is_new else 0
            known[key] = codec_without_runs(integers), most
        codec, most = known[key]
        if np.count_nonzero(differs[start : stop - 1]) < most:
            integers = _levels(levels[start:stop], width, context)
            if integers.runs_beat(integers.block_size, in_chunks=False):
                codec = "rle"
        codecs.append((codec, width))
    return codecs


def _levels(levels: LevelArray, width: int, context: EncodeContext) -> Integers:
    """Levels, of which the highest has ``width`` bits."""
    return Integers(levels, np.full(-(-len(levels) // CHUNK), width), context.kernels)


def _runs_fit(rows: Rows, counts: Int64Array, max_entries: Int64Array) -> BoolArray:
    """For each row of ``counts`` values, if it has at most ``max_entries`` entries of runs."""
    rows, is_value = rows[:, : int(counts.max())], values_mask(counts)
    differs = rows[:, 1:] != rows[:, :-1]
    if is_value is not None:
        differs &= is_value[:, 1:]
    fits: BoolArray = np.count_nonzero(differs, axis=1) < max_entries
    chosen = np.flatnonzero(fits)
    if len(chosen):
        begins = np.ones((len(chosen), rows.shape[1]), np.bool_)
        begins[:, 1:] = differs[chosen]
        begins[:, ::CHUNK_VALUES] = True
        if is_value is not None:
            begins &= is_value[chosen]
        lengths = np.diff(np.flatnonzero(begins), append=begins.size)
        stops = np.count_nonzero(begins, axis=1).cumsum()
        lengths[stops - 1] -= rows.shape[1] - counts[chosen]  # without the padding
        totals = np.add.reduceat(entries(lengths), np.append(0, stops[:-1]))
        fits[chosen] = totals <= max_entries[chosen]
    return fits
