"""Where the documents of a posting list have the term, in three layouts.

The positions of a document ascend. They are returned for all documents one after the other: as many
for each as its frequency is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.bit_packing import packed_bytes, unpack
from lance_core_text.postings.varints import decode_varints

_GROUP = 128
"""Positions of a packed group."""

_LANES = 4


class Streams(NamedTuple):
    """Where the streams of blocks of documents are, and how many documents each block has."""

    starts: Integers
    ends: Integers
    counts: Integers


def decode_streams(
    data: npt.NDArray[np.uint8], streams: Streams, frequencies: Integers
) -> Integers:
    """The positions in one stream for each block of documents, as formats 2 and 3 have them.

    A stream has the differences of positions, the first one of each document from 0: packed groups
    of 128, and varints for the rest. Raises ``ValueError`` for a stream that is not well formed.
    """
    firsts = np.cumsum(streams.counts) - streams.counts
    if int(streams.counts.sum()) != len(frequencies):
        raise ValueError("streams of positions have other documents")
    totals = np.add.reduceat(frequencies, firsts) if len(firsts) else np.empty(0, np.int64)
    starts, widths, rests = [], [], []
    triples = zip(streams.starts.tolist(), streams.ends.tolist(), totals.tolist(), strict=True)
    for start, end, total in triples:
        offset = start
        for _ in range(total // _GROUP):
            if offset >= end or data[offset] > 32:
                raise ValueError("a stream of positions ends too early")
            starts.append(offset + 1)
            widths.append(int(data[offset]))
            offset += 1 + packed_bytes(widths[-1], _LANES)
        if offset > end:
            raise ValueError("a stream of positions ends too early")
        rests.append((offset, end, total % _GROUP))
    packed = unpack(data, np.array(starts, np.int64), np.array(widths, np.int64), _LANES)
    numbers, _ = decode_varints(
        np.concatenate([data[:0], *(data[start:end] for start, end, _ in rests)])
    )
    if len(numbers) != sum(count for _, _, count in rests):
        raise ValueError("a stream of positions has another number of them")
    parts, group, number = [], 0, 0
    for total, (_, _, rest) in zip(totals.tolist(), rests, strict=True):
        groups = total // _GROUP
        parts += [packed[group : group + groups].reshape(-1), numbers[number : number + rest]]
        group, number = group + groups, number + rest
    deltas = np.concatenate([np.empty(0, np.int64), *parts])
    return _summed(deltas, frequencies)


def decode_lists(documents: pa.Array, frequencies: Integers) -> Integers:
    """The positions in lists of blocks for each document, as format 1 has them.

    ``documents``: a list of binary values for each document: the number of positions, then blocks
    of 128, each its first position and packed differences, and plain numbers for the rest.
    """
    parts: list[Integers] = []
    for blocks, frequency in zip(documents.to_pylist(), frequencies.tolist(), strict=True):
        left = frequency
        if not blocks or len(blocks[0]) != 4 or int.from_bytes(blocks[0], "little") != left:
            raise ValueError("a document has another number of positions")
        for block in blocks[1:]:
            data = np.frombuffer(block, np.uint8)
            if left >= _GROUP:
                width = int(data[4]) if len(data) >= 5 else 33
                if width > 32 or len(data) != 5 + packed_bytes(width, _LANES):
                    raise ValueError("a block of positions has another length")
                start = int.from_bytes(block[:4], "little")
                packed = unpack(data, np.array([5]), np.array([width]), _LANES)[0]
                parts.append(start + np.cumsum(packed))
                left -= _GROUP
            else:
                if len(data) != 4 * left:
                    raise ValueError("a block of positions has another length")
                parts.append(np.frombuffer(block, "<u4").astype(np.int64))
                left = 0
        if left:
            raise ValueError("a document has another number of positions")
    return np.concatenate([np.empty(0, np.int64), *parts])


def _summed(deltas: Integers, counts: Integers) -> Integers:
    """The sums of ``deltas`` so far, of each of ``counts`` successive ones for itself."""
    if not len(deltas):
        return deltas
    sums = np.cumsum(deltas)
    firsts = np.cumsum(counts) - counts
    positions: Integers = sums - np.repeat(sums[firsts] - deltas[firsts], counts)
    return positions
