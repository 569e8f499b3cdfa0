"""Which characters are letters or digits, as the analyzer ``simple`` understands them.

They are the characters of Unicode with the property Alphabetic, and all numbers. The table is data,
because that of Python's ``unicodedata`` is another one in each version of Python.
"""

from __future__ import annotations

import functools
from importlib import resources

import numpy as np
import numpy.typing as npt

from lance_core_text.analyzers.text_bytes import Bytes

_NUM_CODE_POINTS = 0x110000


@functools.cache
def letters() -> npt.NDArray[np.bool_]:
    """For each code point, True if it is a letter or digit."""
    table = np.zeros(_NUM_CODE_POINTS, np.bool_)
    text = resources.files("lance_core_text.analyzers").joinpath("data/letters.txt").read_text()
    for part in text.split():
        first, _, last = part.partition("-")
        table[int(first, 16) : int(last or first, 16) + 1] = True
    table.setflags(write=False)
    return table


def is_letter_byte(data: Bytes) -> npt.NDArray[np.bool_]:
    """For each byte of valid UTF-8, True if it is of a letter or digit."""
    known = letters()
    mask: npt.NDArray[np.bool_] = known[:256].copy()
    mask[128:] = False
    is_letter = mask[data]
    leads = np.flatnonzero(data >= 0xC0)
    if len(leads):
        points, lengths = code_points(data, leads)
        of_letters = known[points]
        leads, lengths = leads[of_letters], lengths[of_letters]
        for number in range(4):
            is_letter[leads[lengths > number] + number] = True
    return is_letter


def code_points(
    data: Bytes, leads: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The characters whose first bytes are at ``leads``, not ASCII, and their bytes, 2 to 4."""
    first = data[leads].astype(np.int64)
    lengths = 2 + (first >= 0xE0).astype(np.int64) + (first >= 0xF0)
    points = first & (0x7F >> lengths)
    for number in range(1, 4):
        has = lengths > number
        points[has] = (points[has] << 6) | (data[leads[has] + number] & 0x3F)
    return points, lengths
