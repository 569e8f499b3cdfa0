"""Select the encodings of the numbers and levels of many small columns at once.

The results are those of `lance_core.encodings.v2_1.selection.values` and ``blocks`` for fields
without options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lance_core.encodings.kernels.numpy.bitpacking import CHUNK, packed_bytes
from lance_core.encodings.v2_1.codecs.rle import entries
from lance_core.encodings.v2_1.selection.cost import CHUNK_VALUES, Integers

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.levels.repdef import BoolArray

Rows = npt.NDArray[np.unsignedinteger]
"""A row of values for each column."""

CODECS = ("flat", "inline_bitpacking", "rle")


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
