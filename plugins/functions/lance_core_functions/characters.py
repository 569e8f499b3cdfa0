"""Texts as arrays of code points, for functions that Arrow has no kernel for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.arrays import edges_of, from_numpy, spans_index

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MAX_CODE = 0x10FFFF
"""The highest code point."""

_UTF8_SIZES = (0x80, 0x800, 0x10000)
"""The first code points that take two, three and four bytes in UTF-8."""


@dataclass(frozen=True, slots=True)
class Characters:
    """Texts as code points: text ``i`` is ``codes[edges[i]:edges[i + 1]]``.

    ``is_null``: the texts that are NULL; they have no code points.
    """

    codes: npt.NDArray[np.uint32]
    edges: Int64Array
    is_null: BoolArray

    @property
    def lengths(self) -> Int64Array:
        """The number of code points of each text."""
        return np.diff(self.edges)

    def spans(self, starts: Int64Array, stops: Int64Array) -> Characters:
        """Of each text, the code points from ``starts[i]`` to ``stops[i]`` (exclusive).

        Positions are counted from 0; those outside of the text are cut off.
        """
        lengths = self.lengths
        low = np.clip(starts, 0, lengths)
        high = np.maximum(np.clip(stops, 0, lengths), low)
        first = self.edges[:-1]
        codes = self.codes[spans_index(first + low, first + high)]
        return Characters(codes, edges_of(high - low), self.is_null)

    def distinct(self) -> tuple[Int64Array, Int64Array]:
        """The distinct code points in order, and for each code point its index in them."""
        is_used = np.zeros(MAX_CODE + 1, bool)
        is_used[self.codes] = True
        distinct = np.flatnonzero(is_used)
        index = np.zeros(MAX_CODE + 1, np.int64)
        index[distinct] = np.arange(len(distinct))
        return distinct, index[self.codes]

    def texts(self, data_type: pa.DataType) -> pa.Array:
        """The texts as an array of the string type ``data_type``."""
        data = self.codes.astype("<u4", copy=False).tobytes().decode("utf-32-le").encode()
        sizes = np.ones(len(self.codes), np.int64)
        for first in _UTF8_SIZES:
            sizes += self.codes >= first
        return text_array(edges_of(sizes)[self.edges], data, self.is_null, data_type)


def characters(texts: pa.Array) -> Characters:
    """The code points of ``texts``."""
    is_null = np.asarray(texts.is_null())
    edges, data = text_bytes(texts)
    # Bytes 10xxxxxx continue a character of UTF-8; each other byte begins one.
    begins = edges_of((data & 0xC0) != 0x80)
    codes = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), "<u4")
    return Characters(codes, begins[edges], is_null)


def count_before(texts: pa.Array, offsets: Int64Array) -> Int64Array:
    """The number of characters before a byte of each text."""
    edges, data = text_bytes(texts)
    begins = edges_of((data & 0xC0) != 0x80)
    counts: Int64Array = begins[edges[:-1] + offsets] - begins[edges[:-1]]
    return counts


def text_bytes(texts: pa.Array) -> tuple[Int64Array, npt.NDArray[np.uint8]]:
    """The bytes of all texts, and where each begins and ends in them; NULL has none."""
    large = pc.fill_null(texts.cast(pa.large_string()), "")
    _, offsets, data = large.buffers()
    edges = np.frombuffer(offsets, np.int64)[large.offset :][: len(large) + 1]
    values = np.frombuffer(data or b"", np.uint8)[edges[0] : edges[-1]]
    return edges - edges[0], values


def text_array(
    edges: Int64Array, data: Any, is_null: BoolArray, data_type: pa.DataType
) -> pa.Array:
    """Texts from UTF-8 bytes: text ``i`` is ``data[edges[i]:edges[i + 1]]``, or NULL."""
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(data)]
    texts = pa.LargeStringArray.from_buffers(len(edges) - 1, *buffers[1:])
    if is_null.any():
        texts = pc.if_else(from_numpy(is_null), pa.scalar(None, texts.type), texts)
    return texts.cast(data_type)
