"""Posting lists as bytes, by compiled loops; `lance_core_text.write` has the same in numpy.

Documents, frequencies and positions are those of all lists. ``counts``: the documents of each
block; ``of_lists``: the blocks of each list. Results are bytes, and the offset of each value and of
the end.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.loops.library import native
from lance_core_text.postings.blocks import BlockLayout

Bytes = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[Any]
"""Integers that fit in 32 bits."""

_BLOCK_BYTES, _BYTES_OF_POSTING = 24, 12
_STREAM_BYTES, _BYTES_OF_POSITION = 8, 5
_ENTRY_BYTES, _BYTES_OF_PAIR = 8, 6
"""Bytes at most; pages of memory that are not written are not taken."""

_GROUP_BLOCKS = 32


class BlockEncoder:
    """Encodes the postings of some lists."""

    def __init__(
        self, documents: Numbers, frequencies: Numbers, counts: Integers, of_lists: Integers
    ) -> None:
        own = np.ascontiguousarray(documents, np.int32)
        self._lists = own, np.ascontiguousarray(frequencies, np.int32), counts, of_lists
        self._num_postings = len(documents)
        self._num_blocks = len(counts)
        self._of_lists = of_lists

    def blocks(
        self, scores: npt.NDArray[np.float32], layout: BlockLayout
    ) -> tuple[Bytes, Integers]:
        """The blocks. ``scores``: the best one of each, for layouts that have it."""
        size = _BLOCK_BYTES * self._num_blocks + _BYTES_OF_POSTING * self._num_postings
        out, offsets = np.empty(size, np.uint8), np.empty(self._num_blocks + 1, np.int64)
        own = np.ascontiguousarray(scores if layout.has_score else scores[:0], np.float32)
        flags = (layout.size, layout.has_score, layout.has_plain_rest)
        size = native.encode_blocks(*self._lists, *flags, own, out, offsets)
        return out[:size].copy(), offsets

    def streams(self, positions: Numbers) -> tuple[Bytes, Integers]:
        """The streams of positions, one a block."""
        size = _STREAM_BYTES * self._num_blocks + _BYTES_OF_POSITION * len(positions)
        out, offsets = np.empty(size, np.uint8), np.empty(self._num_blocks + 1, np.int64)
        own = np.ascontiguousarray(positions, np.int32)
        size = native.encode_streams(*self._lists, own, out, offsets)
        return out[:size].copy(), offsets

    def impacts(self, rounded: Bytes) -> tuple[Bytes, Integers, Integers]:
        """The entries of impacts, and how many each list has.

        ``rounded``: the number of the length of each document.
        """
        entries = self._num_blocks + int((-(-self._of_lists // _GROUP_BLOCKS)).sum())
        size = _ENTRY_BYTES * entries + 2 * _BYTES_OF_PAIR * self._num_postings
        out, offsets = np.empty(size, np.uint8), np.empty(entries + 1, np.int64)
        of_entries = np.empty(len(self._of_lists), np.int64)
        own = np.ascontiguousarray(rounded, np.uint8)
        size = native.encode_impacts(*self._lists, own, out, offsets, of_entries)
        return out[:size].copy(), offsets, of_entries
