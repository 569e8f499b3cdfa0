"""Columns of texts as numpy arrays: their bytes, offsets, and parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import to_scalar

Bytes = npt.NDArray[np.uint8]


class TextBytes(NamedTuple):
    """The bytes of texts: those of text i are ``data[offsets[i] : offsets[i + 1]]``.

    A null text has no bytes.
    """

    data: Bytes
    offsets: Integers

    @classmethod
    def of(cls, texts: pa.Array) -> TextBytes:
        """The bytes of an array of large strings, without a copy if no text is null."""
        if texts.null_count:
            texts = texts.fill_null(to_scalar("", texts.type))
        _, offsets, data = texts.buffers()
        count, start = len(texts), texts.offset
        if not count:
            return cls(np.empty(0, np.uint8), np.zeros(1, np.int64))
        ends = np.frombuffer(offsets, np.int64)[start : start + count + 1]
        every = np.frombuffer(data or b"", np.uint8)
        return cls(every[ends[0] : ends[-1]], ends - ends[0])

    def owners(self, starts: Integers) -> Integers:
        """The index of the text that each of ``starts``, ascending offsets in ``data``, is in."""
        counts = np.diff(np.searchsorted(starts, self.offsets))
        return np.repeat(np.arange(len(counts)), counts)


def large_strings(data: Bytes, offsets: Integers) -> pa.Array:
    """An array of large strings with these bytes."""
    buffers: Sequence[pa.Buffer | None] = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, list(buffers))


def substrings(data: Bytes, starts: Integers, stops: Integers) -> pa.Array:
    """Large strings with the bytes ``starts`` to ``stops``, which may overlap."""
    lengths = stops - starts
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    indices = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return large_strings(data[indices], offsets)


def numbers_in_texts(owners: Integers) -> Integers:
    """The number of each word among those of its text; ``owners`` are the texts, ascending."""
    every = np.arange(len(owners))
    if not len(owners):
        return every
    is_first = np.append(True, owners[1:] != owners[:-1])
    firsts = np.flatnonzero(is_first)
    return every - np.repeat(firsts, np.diff(np.append(firsts, len(owners))))
