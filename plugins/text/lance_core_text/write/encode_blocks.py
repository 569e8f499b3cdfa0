"""Posting lists as blocks of format 2, see `lance_core_text.postings.blocks`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.varints import encode_varints
from lance_core_text.scoring.bm25 import Floats
from lance_core_text.write.byte_pieces import Bytes, place_bytes, place_packed, widths_of

BLOCK_SIZE = 128

_HEADER = 4
"""Bytes of the best score of a block."""


class BlockBounds(NamedTuple):
    """The postings of each block, from ``starts`` on, and how many blocks each list has."""

    starts: Integers
    counts: Integers
    of_lists: Integers

    @classmethod
    def of(cls, lengths: Integers) -> BlockBounds:
        """The blocks of lists with these lengths, one after the other."""
        of_lists = -(-lengths // BLOCK_SIZE)
        lists = np.repeat(np.arange(len(lengths)), of_lists)
        number = np.arange(len(lists)) - np.repeat(np.cumsum(of_lists) - of_lists, of_lists)
        starts = (np.cumsum(lengths) - lengths)[lists] + BLOCK_SIZE * number
        counts = np.minimum(BLOCK_SIZE, lengths[lists] - BLOCK_SIZE * number)
        return cls(starts, counts, of_lists)


def encode_blocks(
    bounds: BlockBounds, documents: Integers, frequencies: Integers, scores: Floats
) -> tuple[Bytes, Integers]:
    """The bytes of all blocks, and the offset of each and of the end.

    ``scores``: the best score of each block. Documents ascend in each list.
    """
    starts, counts, _ = bounds
    full = np.flatnonzero(counts == BLOCK_SIZE)
    rest = np.flatnonzero(counts < BLOCK_SIZE)
    places = starts[full, None] + np.arange(BLOCK_SIZE)
    own, times = documents[places], frequencies[places]
    deltas = np.diff(own, axis=1, prepend=own[:, :1])
    widths, frequency_widths = widths_of(deltas), widths_of(times)
    numbers, owners = _rest_numbers(bounds, rest, documents, frequencies)
    data, lengths = encode_varints(numbers)
    sizes = np.full(len(starts), _HEADER, np.int64)
    sizes[full] += 6 + 16 * (widths + frequency_widths)
    of_rest = np.bincount(owners, weights=lengths, minlength=len(rest)).astype(np.int64)
    sizes[rest] += of_rest
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    out = np.zeros(int(offsets[-1]), np.uint8)
    _place_numbers(out, offsets[:-1], scores.astype("<f4").view(np.uint8))
    place = offsets[full] + _HEADER
    if len(full):
        _place_numbers(out, place, own[:, 0].astype("<u4").view(np.uint8))
    out[place + 4] = widths
    place_packed(out, place + 5, deltas, widths)
    place = place + 5 + 16 * widths
    out[place] = frequency_widths
    place_packed(out, place + 1, times, frequency_widths)
    place_bytes(out, offsets[rest] + _HEADER, of_rest, data)
    return out, offsets


def _rest_numbers(
    bounds: BlockBounds, rest: Integers, documents: Integers, frequencies: Integers
) -> tuple[Integers, Integers]:
    """What blocks that are not full have: differences of documents, then frequencies.

    The second array has the index in ``rest`` of the block of each number.
    """
    counts = bounds.counts[rest]
    owners = np.repeat(np.arange(len(rest)), counts)
    firsts = np.cumsum(counts) - counts
    number = np.arange(len(owners)) - np.repeat(firsts, counts)
    places = bounds.starts[rest][owners] + number
    own = documents[places]
    deltas = np.diff(own, prepend=0)
    deltas[firsts] = own[firsts]
    numbers = np.empty(2 * len(owners), np.int64)
    first_place = 2 * firsts[owners] + number
    numbers[first_place] = deltas
    numbers[first_place + counts[owners]] = frequencies[places]
    return numbers, np.repeat(np.arange(len(rest)), 2 * counts)


def _place_numbers(out: Bytes, starts: Integers, data: Bytes) -> None:
    """Place a number of 4 bytes at each start."""
    out[starts[:, None] + np.arange(4)] = data.reshape(-1, 4)
