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


class Postings(NamedTuple):
    """The documents that have a term, ascending, and how often each has it."""

    documents: Integers
    frequencies: Integers


def decode_blocks(data: Bytes, offsets: Integers, length: int, layout: BlockLayout) -> Postings:
    """The postings of one list of ``length`` documents.

    Block i is ``data[offsets[i] : offsets[i + 1]]``. Raises ``ValueError`` for a list that is not
    well formed.
    """
    size = layout.size
    full, rest = divmod(length, size)
    if len(offsets) - 1 != full + bool(rest):
        raise ValueError(f"{len(offsets) - 1} blocks for {length} documents")
    documents, frequencies = _full_blocks(data, offsets[: full + 1], layout)
    if rest:
        last = data[offsets[full] + layout.header : offsets[full + 1]]
        more = _plain_rest(last, rest) if layout.has_plain_rest else _varint_rest(last, rest)
        documents = np.concatenate([documents, more.documents])
        frequencies = np.concatenate([frequencies, more.frequencies])
    if (documents[1:] <= documents[:-1]).any():
        raise ValueError("documents do not ascend")
    if length and frequencies.min() < 1:
        raise ValueError("a document has the term not once")
    return Postings(documents, frequencies)


def _full_blocks(data: Bytes, offsets: Integers, layout: BlockLayout) -> Postings:
    if len(offsets) < 2:
        return Postings(np.empty(0, np.int64), np.empty(0, np.int64))
    starts, ends = offsets[:-1] + layout.header, offsets[1:]
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
    expected = exceptions if num_exceptions is None else exceptions + 2 * num_exceptions
    if frequency_widths.max() > 32 or (expected != ends).any():
        raise ValueError("a block has another length than its frequencies")
    documents = np.cumsum(unpack(data, starts, widths, lanes), axis=1) + first[:, None]
    frequencies = unpack(data, packed, frequency_widths, lanes)
    if num_exceptions is not None and num_exceptions.any():
        _add_exceptions(data, exceptions, num_exceptions, frequency_widths, frequencies)
    return Postings(documents.reshape(-1), frequencies.reshape(-1))


def _add_exceptions(
    data: Bytes, starts: Integers, counts: Integers, widths: Integers, frequencies: Integers
) -> None:
    """Add the high bits of exceptions, pairs of an index in the block and these bits."""
    blocks = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(blocks)) - np.repeat(np.cumsum(counts) - counts, counts)
    places = starts[blocks] + 2 * number
    high = data[places + 1].astype(np.int64) << widths[blocks]
    frequencies[blocks, data[places]] |= high


def _plain_rest(data: Bytes, count: int) -> Postings:
    if len(data) != 8 * count:
        raise ValueError(f"{len(data)} bytes for {count} documents")
    numbers = np.frombuffer(data.tobytes(), "<u4").astype(np.int64)
    return Postings(numbers[:count], numbers[count:])


def _varint_rest(data: Bytes, count: int) -> Postings:
    numbers, _ = decode_varints(data)
    if len(numbers) != 2 * count:
        raise ValueError(f"{len(numbers)} numbers for {count} documents")
    return Postings(np.cumsum(numbers[:count]), numbers[count:])
