"""Select the encodings of many small columns at once, and create their dictionaries.

The results are those of the other modules of this package for fields without options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, packed_bytes
from lance_core.encodings.v2_1.codecs.rle import entries
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth
from lance_core.encodings.v2_1.selection.cost import CHUNK_VALUES, Integers
from lance_core.encodings.v2_1.selection.dictionary import (
    INDEX_BYTES,
    MIN_SAMPLE,
    MIN_VALUES,
    SIZE_RATIO,
    UNIQUE_RATIO,
    max_items,
    sample,
)

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array, Offsets
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
    from lance_core.encodings.kernels.numpy.dictionary_codes import Codes
    from lance_core.encodings.v2_1.codecs.values import Values
    from lance_core.encodings.v2_1.levels.repdef import BoolArray


Rows = npt.NDArray[np.unsignedinteger]
"""A row of values for each column."""

CODECS = ("flat", "inline_bitpacking", "rle")


class ColumnValues(NamedTuple):
    """Values of columns c: value i is ``data[edges[c, i]:edges[c, i + 1]]``.

    Values of variable width have offsets of ``offset_bytes``; it is 0 for others.
    """

    data: Bytes
    edges: Int64Array
    offset_bytes: int = 0

    def select(self, columns: npt.NDArray[np.intp]) -> ColumnValues:
        """The ``columns``, which ascend; all columns are not copied."""
        if len(columns) == len(self.edges):
            return self
        return self._replace(edges=self.edges[columns])

    def codes(
        self, places: Int64Array, most: int, kernels: Kernels
    ) -> tuple[Codes, Int64Array, Int64Array]:
        """See `Kernels.dictionary_codes`."""
        edges = self.edges.reshape(-1)
        return kernels.dictionary_codes(self.data, edges, len(self.edges), places, most)


class ColumnDictionaries(NamedTuple):
    """Dictionaries of the columns at ``places``: a row of ``codes`` and the items of each."""

    places: npt.NDArray[np.intp]
    codes: Codes
    items: list[Values]


def column_dictionaries(
    values: ColumnValues, places: npt.NDArray[np.intp], kernels: Kernels
) -> ColumnDictionaries:
    """The dictionaries of those columns at ``places`` for which a dictionary is likely to pay."""
    count = values.edges.shape[1] - 1
    nothing = ColumnDictionaries(places[:0], np.zeros((0, count), np.uint32), [])
    if count < MIN_VALUES or not len(places):
        return nothing
    chosen = values.select(places)
    most, most_bytes = max_items(count), (_sizes(chosen) * SIZE_RATIO).astype(np.int64)
    may_have = most_bytes >= count * INDEX_BYTES
    rows = sample(count)
    if len(rows) >= MIN_SAMPLE:
        ratio = chosen.codes(rows, len(rows), kernels)[1] / len(rows)
        may_have &= (ratio < UNIQUE_RATIO) & (np.ceil(ratio * count) <= most)
    if not may_have.any():
        return nothing
    chosen, places = chosen.select(np.flatnonzero(may_have)), places[may_have]
    codes, counts, firsts = chosen.codes(np.arange(count), most, kernels)
    starts, stops = chosen.edges.reshape(-1)[firsts], chosen.edges.reshape(-1)[firsts + 1]
    found = counts <= most
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts * found, out=ends[1:])
    totals = np.concatenate([np.zeros(1, np.int64), np.cumsum(stops - starts)])[ends]
    sizes = np.diff(totals) + (counts + 1) * values.offset_bytes
    found &= sizes + count * INDEX_BYTES <= most_bytes[may_have]
    keep = np.flatnonzero(found)
    data, offsets = kernels.gather_variable(values.data, starts, stops)
    spans = [slice(int(ends[column]), int(ends[column + 1]) + 1) for column in keep]
    items = [_items(data, offsets[span], values.offset_bytes) for span in spans]
    return ColumnDictionaries(places[keep], codes.reshape(-1, count)[keep], items)


def _sizes(values: ColumnValues) -> Int64Array:
    """Bytes of values and offsets of each column."""
    sizes: Int64Array = values.edges[:, -1] - values.edges[:, 0]
    sizes += values.edges.shape[1] * values.offset_bytes
    return sizes


def _items(data: pa.Buffer, offsets: Int64Array, offset_bytes: int) -> Values:
    """The values between consecutive offsets."""
    first, last = int(offsets[0]), int(offsets[-1])
    own = data.slice(first, last - first)
    if not offset_bytes:
        count = len(offsets) - 1
        return FixedWidth(own, (last - first) * 8 // max(count, 1), count)
    own_offsets: Offsets = offsets - first
    return VariableWidth(own_offsets.astype(np.int32) if offset_bytes == 4 else own_offsets, own)


def number_codecs(words: Rows, count: int, kernels: Kernels) -> npt.NDArray[np.int8]:
    """For each row of ``count`` integers, the number of its codec in `CODECS`.

    ``words`` is padded with zeros to whole chunks of 1024 values.
    """
    width, size = words.itemsize, count * words.itemsize
    widths = kernels.chunk_widths(words.reshape(-1)).reshape(len(words), -1)
    packed = widths.sum(axis=1) * packed_bytes(1) + widths.shape[1] * width
    packed = np.minimum(packed, size)
    codecs: npt.NDArray[np.int8] = (packed < size).astype(np.int8)
    room = np.minimum(packed, size - 1) // (width + 1)
    codecs[_runs_fit(words[:, :count], room, CHUNK_VALUES)] = CODECS.index("rle")
    return codecs


def levels_have_runs(definition: npt.NDArray[np.uint16], kernels: Kernels) -> BoolArray:
    """For each row of levels, of which one is 1 and none is greater, if 2.2 files store runs."""
    count = definition.shape[1]
    widths = np.ones(-(-count // CHUNK), np.int64)
    room = Integers(definition[0], widths, kernels).most_block_runs
    return _runs_fit(definition, np.full(len(definition), room), count)


def _runs_fit(rows: Rows, room: Int64Array, per_chunk: int) -> BoolArray:
    """For each row, if it has at most as many entries of runs as there is room for.

    Runs end at multiples of ``per_chunk`` values.
    """
    runs = 1 + np.count_nonzero(rows[:, 1:] != rows[:, :-1], axis=1)
    found: BoolArray = runs <= room
    chosen = np.flatnonzero(found)
    if len(chosen):
        values = rows[chosen]
        begins = np.ones(values.shape, np.bool_)
        np.not_equal(values[:, 1:], values[:, :-1], out=begins[:, 1:])
        begins[:, ::per_chunk] = True
        lengths = np.diff(np.flatnonzero(begins), append=values.size)
        counts = np.count_nonzero(begins, axis=1)
        totals = np.add.reduceat(entries(lengths), counts.cumsum() - counts)
        found[chosen] = totals <= room[chosen]
    return found
