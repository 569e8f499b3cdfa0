"""Posting lists as blocks of any format, see `lance_core_text.postings.blocks`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.loops.encoding import BlockEncoder, Numbers
from lance_core_text.loops.library import is_compiled
from lance_core_text.postings.bit_packing import packed_bytes
from lance_core_text.postings.blocks import BlockLayout
from lance_core_text.postings.numbered_runs import numbered_runs
from lance_core_text.postings.varints import encode_varints
from lance_core_text.scoring.bm25 import Floats
from lance_core_text.write.byte_pieces import Bytes, place_bytes, place_packed, widths_of

MAX_EXCEPTIONS = 31
"""Exceptions of a block at most."""


class BlockBounds(NamedTuple):
    """The postings of each block, from ``starts`` on, and how many blocks each list has."""

    starts: Integers
    counts: Integers
    of_lists: Integers

    @classmethod
    def of(cls, lengths: Integers, size: int) -> BlockBounds:
        """The blocks of ``size`` documents of lists with these lengths, one after the other."""
        of_lists = -(-lengths // size)
        lists, number = numbered_runs(of_lists)
        starts = (np.cumsum(lengths) - lengths)[lists] + size * number
        counts = np.minimum(size, lengths[lists] - size * number)
        return cls(starts, counts, of_lists)


def encode_blocks(
    bounds: BlockBounds,
    documents: Numbers,
    frequencies: Numbers,
    scores: Floats,
    layout: BlockLayout,
) -> tuple[Bytes, Integers]:
    """The bytes of all blocks, and the offset of each and of the end.

    ``scores``: the best score of each block, for layouts that have it. Documents ascend in each
    list.
    """
    if is_compiled():
        encoder = BlockEncoder(documents, frequencies, bounds.counts, bounds.of_lists)
        return encoder.blocks(scores, layout)
    documents, frequencies = documents.astype(np.int64), frequencies.astype(np.int64)
    starts, counts, _ = bounds
    full = np.flatnonzero(counts == layout.size)
    rest = np.flatnonzero(counts < layout.size)
    unit = packed_bytes(1, layout.lanes)
    indices = starts[full, None] + np.arange(layout.size)
    own, times = documents[indices], frequencies[indices]
    deltas = np.diff(own, axis=1, prepend=own[:, :1])
    widths, frequency_widths = widths_of(deltas), widths_of(times)
    if not layout.has_score:
        frequency_widths = _widths_with_exceptions(times, frequency_widths, unit)
    exceptions = _Exceptions.of(times, frequency_widths)
    of_rest, rest_bytes = _encode_rest(bounds, rest, documents, frequencies, layout)
    header = 6 if layout.has_score else 7
    sizes = np.full(len(starts), layout.header, np.int64)
    sizes[full] += header + unit * (widths + frequency_widths) + exceptions.sizes
    sizes[rest] += of_rest
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    out = np.zeros(int(offsets[-1]), np.uint8)
    if layout.has_score:
        _place_numbers(out, offsets[:-1], scores.astype("<f4").view(np.uint8))
    cursors = offsets[full] + layout.header
    if len(full):
        _place_numbers(out, cursors, own[:, 0].astype("<u4").view(np.uint8))
    out[cursors + 4] = widths
    place_packed(out, cursors + 5, deltas, widths)
    cursors = cursors + 5 + unit * widths
    out[cursors] = frequency_widths
    if not layout.has_score:
        cursors = cursors + 1
        out[cursors] = exceptions.counts
        place_bytes(out, cursors + 1 + unit * frequency_widths, exceptions.sizes, exceptions.data)
    low = times & ((1 << frequency_widths[:, None]) - 1)
    place_packed(out, cursors + 1, low, frequency_widths)
    place_bytes(out, offsets[rest] + layout.header, of_rest, rest_bytes)
    return out, offsets


def _widths_with_exceptions(times: Integers, widths: Integers, unit: int) -> Integers:
    """The widths of frequencies with which blocks are shortest; equal ones have the higher width.

    ``unit``: the bytes of a block for each bit. Higher frequencies are exceptions, each with a byte
    and a varint.
    """
    best, sizes = widths.copy(), unit * widths
    for fewer in range(1, int(widths.max(initial=0)) + 1):
        width = np.maximum(widths - fewer, 0)
        high = times >> width[:, None]
        counts = np.count_nonzero(high, axis=1)
        size = unit * width + counts
        for bits in range(0, 32, 7):
            size += np.count_nonzero(high >> bits, axis=1)
        is_better = (widths >= fewer) & (size < sizes) & (counts <= MAX_EXCEPTIONS)
        best[is_better], sizes[is_better] = width[is_better], size[is_better]
    return best


class _Exceptions(NamedTuple):
    """The frequencies of blocks that have more bits than their width.

    ``counts`` and ``sizes``: how many a block has, and their bytes; ``data``: those of all blocks,
    for each exception its index in the block, and its high bits as a varint.
    """

    counts: Integers
    sizes: Integers
    data: Bytes

    @classmethod
    def of(cls, times: Integers, widths: Integers) -> _Exceptions:
        """The exceptions, in the order of the block."""
        high = times >> widths[:, None]
        blocks, indices = np.nonzero(high)
        varints, lengths = encode_varints(high[blocks, indices])
        ends = np.cumsum(1 + lengths)
        starts = ends - 1 - lengths
        data = np.empty(len(blocks) + len(varints), np.uint8)
        data[starts] = indices
        place_bytes(data, starts + 1, lengths, varints)
        counts = np.bincount(blocks, minlength=len(times))
        sizes = np.bincount(blocks, weights=1 + lengths, minlength=len(times))
        return cls(counts, sizes.astype(np.int64), data)


def _encode_rest(
    bounds: BlockBounds,
    rest: Integers,
    documents: Integers,
    frequencies: Integers,
    layout: BlockLayout,
) -> tuple[Integers, Bytes]:
    """The bytes of blocks that are not full, and how many each has.

    They have documents, as numbers or as differences, then frequencies.
    """
    counts = bounds.counts[rest]
    firsts = np.cumsum(counts) - counts
    owners, number = numbered_runs(counts)
    indices = bounds.starts[rest][owners] + number
    own = documents[indices].astype(np.int64)
    if not layout.has_plain_rest:
        deltas = np.diff(own, prepend=0)
        deltas[firsts] = own[firsts]
        own = deltas
    numbers = np.empty(2 * len(owners), np.int64)
    first_place = 2 * firsts[owners] + number
    numbers[first_place] = own
    numbers[first_place + counts[owners]] = frequencies[indices]
    if layout.has_plain_rest:
        return 8 * counts, numbers.astype("<u4").view(np.uint8)
    data, lengths = encode_varints(numbers)
    owners = np.repeat(np.arange(len(rest)), 2 * counts)
    of_rest = np.bincount(owners, weights=lengths, minlength=len(rest)).astype(np.int64)
    return of_rest, data


def _place_numbers(out: Bytes, starts: Integers, data: Bytes) -> None:
    """Place a number of 4 bytes at each start."""
    out[starts[:, None] + np.arange(4)] = data.reshape(-1, 4)
