"""The blocks of a posting list: which documents have a term, and how often.

A block has 128 documents, or 256 in format 3, in ascending order. In formats 1 and 2 it begins with
its best score as float32. A full block has the first document, the packed differences of each from
the one before it, and the packed frequencies; in format 3, frequencies that would need many more
bits than the others are exceptions. The last block of a list, if it is not full, has plain numbers
(format 1) or varints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.bit_packing import LANE_VALUES, packed_bytes, unpack
from lance_core_text.postings.varints import decode_varints

Bytes = npt.NDArray[np.uint8]

MAX_VARINT_SHIFT = 28
"""The bits before the last byte of the longest varint."""


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """How blocks are laid out.

    ``size``: documents of a full block, 128 or 256. ``has_score``: False in format 3.
    ``has_plain_rest``: True if the last block has plain numbers, as in format 1.
    """

    size: int = 128
    has_score: bool = True
    has_plain_rest: bool = False

    @property
    def lanes(self) -> int:
        """Lanes of packed numbers."""
        return self.size // LANE_VALUES

    @property
    def header(self) -> int:
        """Bytes before the documents."""
        return 4 if self.has_score else 0

    def scored_lengths(self, lengths: Integers) -> Integers:
        """The lengths of documents as scores have them: format 3 has their four highest bits."""
        if self.has_score:
            return lengths
        low = np.maximum(np.frexp(lengths)[1] - 4, 0).astype(np.int64)
        truncated: Integers = (lengths >> low) << low
        return truncated


class Postings(NamedTuple):
    """The documents that have a term, ascending, and how often each has it."""

    documents: Integers
    frequencies: Integers


def decode_blocks(
    data: Bytes, offsets: Integers, lengths: Integers, layout: BlockLayout
) -> Postings:
    """The postings of lists with these numbers of documents, one list after the other.

    Block i is ``data[offsets[i] : offsets[i + 1]]``. Raises ``ValueError`` for a list that is not
    well formed.
    """
    size = layout.size
    of_lists = -(-lengths // size)
    if len(offsets) - 1 != of_lists.sum():
        raise ValueError(f"{len(offsets) - 1} blocks for {lengths.sum()} documents")
    counts = np.full(len(offsets) - 1, size)
    lasts = (np.cumsum(of_lists) - 1)[lengths > 0]
    counts[lasts] = (lengths[lengths > 0] - 1) % size + 1
    starts = np.cumsum(counts) - counts
    total = int(counts.sum())
    postings = Postings(np.empty(total, np.int64), np.empty(total, np.int64))
    is_full = counts == size
    for own, decode in ((is_full, _full_blocks), (~is_full, _rest_blocks)):
        if own.any():
            blocks = _Blocks(offsets[:-1][own], offsets[1:][own], counts[own])
            indices = np.repeat(starts[own] - blocks.firsts, blocks.counts)
            indices += np.arange(len(indices))
            part = decode(data, blocks, layout)
            postings.documents[indices], postings.frequencies[indices] = part
    firsts = (np.cumsum(lengths) - lengths)[lengths > 0]
    ascends = postings.documents[1:] > postings.documents[:-1]
    ascends[firsts[firsts > 0] - 1] = True
    if not ascends.all():
        raise ValueError("documents do not ascend")
    if total and postings.frequencies.min() < 1:
        raise ValueError("a document has the term not once")
    return postings


class _Blocks(NamedTuple):
    """Some blocks: where each starts and ends, and its documents."""

    starts: Integers
    ends: Integers
    counts: Integers

    @property
    def firsts(self) -> Integers:
        """The documents of all blocks before each."""
        return np.cumsum(self.counts) - self.counts


def _full_blocks(data: Bytes, blocks: _Blocks, layout: BlockLayout) -> Postings:
    starts, ends = blocks.starts + layout.header, blocks.ends
    lanes = layout.lanes
    if (starts + 5 > ends).any():
        raise ValueError("a block ends in its header")
    first = np.zeros(len(starts), np.int64)
    for number in range(4):
        first |= data[starts + number].astype(np.int64) << (8 * number)
    widths = data[starts + 4].astype(np.int64)
    starts = starts + 5
    of_frequencies = starts + packed_bytes(1, lanes) * widths
    header = 1 if layout.has_score else 2
    if widths.max() > 32 or (of_frequencies + header > ends).any():
        raise ValueError("a block is shorter than its documents")
    frequency_widths = data[of_frequencies].astype(np.int64)
    num_exceptions = None if layout.has_score else data[of_frequencies + 1].astype(np.int64)
    packed = of_frequencies + header
    exceptions = packed + packed_bytes(1, lanes) * frequency_widths
    if frequency_widths.max() > 32 or (exceptions > ends).any():
        raise ValueError("a block is shorter than its frequencies")
    documents = np.cumsum(unpack(data, starts, widths, lanes), axis=1) + first[:, None]
    frequencies = unpack(data, packed, frequency_widths, lanes)
    last = exceptions
    if num_exceptions is not None:
        bounds = _Blocks(exceptions, ends, num_exceptions)
        last = _add_exceptions(data, bounds, frequency_widths, frequencies)
    if (last != ends).any():
        raise ValueError("a block has another length than its frequencies")
    return Postings(documents.reshape(-1), frequencies.reshape(-1))


def _add_exceptions(
    data: Bytes, exceptions: _Blocks, widths: Integers, frequencies: Integers
) -> Integers:
    """Add the high bits of exceptions: the index in the block, and these bits as a varint.

    Returns where the exceptions of each block end. All blocks are read at once, one exception after
    the other, of which a block has few.
    """
    offsets = exceptions.starts.copy()
    for number in range(int(exceptions.counts.max(initial=0))):
        own = np.flatnonzero(exceptions.counts > number)
        if (offsets[own] >= exceptions.ends[own]).any():
            raise ValueError("a block ends in its exceptions")
        indices = data[offsets[own]]
        offsets[own] += 1
        going, shift = np.arange(len(own)), 0
        high = np.zeros(len(own), np.int64)
        while len(going):
            at = offsets[own[going]]
            if shift > MAX_VARINT_SHIFT or (at >= exceptions.ends[own[going]]).any():
                raise ValueError("an exception has no end")
            high[going] |= (data[at] & 0x7F).astype(np.int64) << shift
            offsets[own[going]] += 1
            going, shift = going[data[at] >= 0x80], shift + 7
        frequencies[own, indices] |= high << widths[own]
    return offsets


def _rest_blocks(data: Bytes, blocks: _Blocks, layout: BlockLayout) -> Postings:
    """Blocks that are not full: all documents of one, then all frequencies."""
    starts = blocks.starts + layout.header
    lengths = blocks.ends - starts
    if (lengths < 0).any():
        raise ValueError("a block ends in its header")
    shifts = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    rest = data[shifts + np.arange(len(shifts))]
    counts = blocks.counts
    if layout.has_plain_rest:
        if (lengths != 8 * counts).any():
            raise ValueError("a block has other bytes than its documents")
        numbers = rest.view("<u4").astype(np.int64)
    else:
        numbers, ends = decode_varints(rest)
        # Each block ends with the last one of its numbers.
        last = 2 * np.cumsum(counts) - 1
        if len(numbers) != 2 * counts.sum() or (ends[last] != np.cumsum(lengths)).any():
            raise ValueError("a block has another number of documents")
    firsts = np.repeat(blocks.firsts, counts)
    own = firsts + np.arange(len(firsts))
    documents, frequencies = numbers[own], numbers[own + np.repeat(counts, counts)]
    if not layout.has_plain_rest:  # differences
        sums = np.cumsum(documents)
        begins = blocks.firsts
        documents = sums - np.repeat(sums[begins] - documents[begins], counts)
    return Postings(documents, frequencies)
