"""Variable-length integers: 7 bits a byte, the lowest first, the highest bit on all but the last.

Arrays of them, without a loop over the numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.numbered_runs import numbered_runs

_MAX_BYTES = 5
"""Bytes of a 32-bit number at most."""


def decode_varints(data: npt.NDArray[np.uint8]) -> tuple[Integers, Integers]:
    """All numbers in ``data``, and for each the offset of the byte after it.

    Raises ``ValueError`` if the last one has no end, or one is longer than those of 32 bits.
    """
    ends = np.flatnonzero(data < 0x80) + 1
    if not len(data):
        return ends, ends
    if not len(ends) or ends[-1] != len(data):
        raise ValueError("the last number has no end")
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    lengths = ends - starts
    if lengths.max() > _MAX_BYTES:
        raise ValueError(f"a number has {lengths.max()} bytes")
    shifts = 7 * (np.arange(len(data)) - np.repeat(starts, lengths))
    return np.add.reduceat((data & 0x7F).astype(np.int64) << shifts, starts), ends


def encode_varints(numbers: Integers) -> tuple[npt.NDArray[np.uint8], Integers]:
    """The bytes of all ``numbers``, from 0 to 2**32 - 1, and how many bytes each has."""
    lengths = np.ones(len(numbers), np.int64)
    for bits in range(7, 7 * _MAX_BYTES, 7):
        lengths += numbers >= 1 << bits
    owners, byte_numbers = numbered_runs(lengths)
    data = ((numbers[owners] >> (7 * byte_numbers)) & 0x7F).astype(np.uint8)
    data[byte_numbers < lengths[owners] - 1] |= 0x80
    return data, lengths
