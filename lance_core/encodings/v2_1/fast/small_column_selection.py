"""Select the encodings of many small columns at once, and create their dictionaries.

The results are those of the other modules of this package for fields without options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.arrow.strings import is_text
from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, packed_bytes
from lance_core.encodings.v2_1.codecs.rle import entries
from lance_core.encodings.v2_1.codecs.values import VariableWidth
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
from lance_core.encodings.v2_1.selection.values import MIN_TEXT

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
    from lance_core.encodings.kernels.numpy.dictionary_codes import Codes
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

    def texts(self, column: int) -> VariableWidth:
        """The values, of variable width, of one column."""
        edges = self.edges[column]
        first, last = int(edges[0]), int(edges[-1])
        offsets = (edges - first).astype(np.int32 if self.offset_bytes == 4 else np.int64)
        return VariableWidth(offsets, pa.py_buffer(self.data[first:last]))

    def joined(self, kernels: Kernels) -> tuple[Bytes, Int64Array]:
        """The bytes of all columns without gaps, and the offsets of all values in them."""
        starts, stops = self.edges[:, 0], self.edges[:, -1]
        data, ends = kernels.gather_variable(self.data, starts, stops)
        edges = self.edges + (ends[:-1] - starts)[:, None]
        return np.frombuffer(data, np.uint8), np.append(edges[:, :-1].reshape(-1), ends[-1])

    def codes(
        self, positions: Int64Array, most: int, kernels: Kernels
    ) -> tuple[Codes, Int64Array, Int64Array]:
        """See `Kernels.dictionary_codes`."""
        edges = self.edges.reshape(-1)
        return kernels.dictionary_codes(self.data, edges, len(self.edges), positions, most)


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
    count = values.edges.shape[1] - 1
    if count < MIN_VALUES or not len(positions):
        return None
    chosen = values.select(positions)
    most, most_bytes = max_items(count), (_sizes(chosen) * SIZE_RATIO).astype(np.int64)
    may_have = most_bytes >= count * INDEX_BYTES
    rows = sample(count)
    if len(rows) >= MIN_SAMPLE:
        ratio = chosen.codes(rows, len(rows), kernels)[1] / len(rows)
        may_have &= (ratio < UNIQUE_RATIO) & (np.ceil(ratio * count) <= most)
    if not may_have.any():
        return None
    chosen, positions = chosen.select(np.flatnonzero(may_have)), positions[may_have]
    codes, counts, firsts = chosen.codes(np.arange(count), most, kernels)
    starts, stops = chosen.edges.reshape(-1)[firsts], chosen.edges.reshape(-1)[firsts + 1]
    has_dictionary = counts <= most
    stored = counts * has_dictionary  # columns with too many items have no firsts
    totals = edges_of(stops - starts)[edges_of(stored)]
    sizes = np.diff(totals) + (counts + 1) * values.offset_bytes
    has_dictionary &= sizes + count * INDEX_BYTES <= most_bytes[may_have]
    if not has_dictionary.any():
        return None
    is_stored = np.repeat(has_dictionary, stored)
    data, offsets = kernels.gather_variable(values.data, starts[is_stored], stops[is_stored])
    items = ColumnItems(data, offsets, edges_of(counts[has_dictionary]), values.offset_bytes)
    return ColumnDictionaries(
        positions[has_dictionary], codes.reshape(-1, count)[has_dictionary], items
    )


def _sizes(values: ColumnValues) -> Int64Array:
    """Bytes of values and offsets of each column."""
    sizes: Int64Array = values.edges[:, -1] - values.edges[:, 0]
    sizes += values.edges.shape[1] * values.offset_bytes
    return sizes


def texts_are_short(values: ColumnValues, type_: pa.DataType) -> BoolArray:
    """For each column of texts of ``type_``, if they are too few bytes for FSST."""
    if not is_text(type_):
        return np.ones(len(values.edges), np.bool_)
    return _sizes(values) < MIN_TEXT


def number_codecs(words: Rows, count: int, kernels: Kernels) -> npt.NDArray[np.int8]:
    """For each row of ``count`` integers, the number of its codec in `CODECS`.

    ``words`` is padded with zeros to whole chunks of 1024 values.
    """
    width, size = words.itemsize, count * words.itemsize
    widths = kernels.chunk_widths(words.reshape(-1)).reshape(len(words), -1)
    packed = widths.sum(axis=1) * packed_bytes(1) + widths.shape[1] * width
    packed = np.minimum(packed, size)
    codecs: npt.NDArray[np.int8] = (packed < size).astype(np.int8)
    max_entries = np.minimum(packed, size - 1) // (width + 1)
    codecs[_runs_fit(words[:, :count], max_entries, CHUNK_VALUES)] = CODECS.index("rle")
    return codecs


def levels_have_runs(definition: npt.NDArray[np.uint16], kernels: Kernels) -> BoolArray:
    """For each row of levels, of which one is 1 and none is greater, if 2.2 files store runs."""
    count = definition.shape[1]
    widths = np.ones(-(-count // CHUNK), np.int64)
    max_entries = Integers(definition[0], widths, kernels).most_block_runs
    return _runs_fit(definition, np.full(len(definition), max_entries), count)


def _runs_fit(rows: Rows, max_entries: Int64Array, per_chunk: int) -> BoolArray:
    """For each row, if it has at most ``max_entries`` entries of runs.

    Runs end at multiples of ``per_chunk`` values.
    """
    runs = 1 + np.count_nonzero(rows[:, 1:] != rows[:, :-1], axis=1)
    fits: BoolArray = runs <= max_entries
    chosen = np.flatnonzero(fits)
    if len(chosen):
        values = rows[chosen]
        begins = np.ones(values.shape, np.bool_)
        np.not_equal(values[:, 1:], values[:, :-1], out=begins[:, 1:])
        begins[:, ::per_chunk] = True
        lengths = np.diff(np.flatnonzero(begins), append=values.size)
        counts = np.count_nonzero(begins, axis=1)
        totals = np.add.reduceat(entries(lengths), counts.cumsum() - counts)
        fits[chosen] = totals <= max_entries[chosen]
    return fits
