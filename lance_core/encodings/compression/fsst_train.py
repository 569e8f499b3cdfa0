"""Finding the symbols that shorten a text most, after Boncz, Neumann and Leis (FSST, VLDB 2020).

Starting from no symbols, a sample is cut into symbols and single bytes; what occurs often, and
pairs of neighbours, joined, become the candidates for the next round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array

MAX_SYMBOLS = 255
MAX_LENGTH = 8

_ROUNDS = 5
_SAMPLE_BYTES = 16 << 10
_PIECE = 512


def fsst_train(sample: Sequence[bytes]) -> tuple[bytes, ...]:
    """See `lance_core.encodings.kernels.fsst_train`."""
    symbols: list[bytes] = []
    for _ in range(_ROUNDS):
        gains: Counter[bytes] = Counter()
        known = set(symbols)
        for text in sample:
            _count(text, known, gains)
        symbols = _best(gains)
    return tuple(symbols)


def fsst_sample(data: pa.Buffer, starts: Int64Array, stops: Int64Array) -> list[bytes]:
    """Pieces of evenly spread strings, about 16 KiB in total."""
    lengths = stops - starts
    count, total = int(np.count_nonzero(lengths)), int(lengths.sum())
    if not count:
        return []
    average = min(_PIECE, max(1, total // count))
    step = max(1, count * average // _SAMPLE_BYTES)
    if count == len(lengths):
        firsts, lasts = starts[::step], stops[::step]
    else:
        full = np.flatnonzero(lengths)[::step]
        firsts, lasts = starts[full], stops[full]
    view = memoryview(data)
    pieces, size = [], 0
    for start, stop in zip(firsts.tolist(), lasts.tolist(), strict=True):
        for begin in range(start, stop, max(_PIECE, (stop - start) // 16)):
            piece = bytes(view[begin : min(stop, begin + _PIECE)])
            pieces.append(piece)
            size += len(piece)
        if size > 2 * _SAMPLE_BYTES:
            break
    return pieces


def _count(text: bytes, symbols: set[bytes], gains: Counter[bytes]) -> None:
    """Cut ``text`` into symbols and add to each, and to each pair, the bytes that it covers."""
    position, before = 0, b""
    while position < len(text):
        length = min(MAX_LENGTH, len(text) - position)
        while length > 1 and text[position : position + length] not in symbols:
            length -= 1
        found = text[position : position + length]
        gains[found] += length
        if len(before) + length <= MAX_LENGTH and before:
            gains[before + found] += len(before) + length
        before = found
        position += length


def _best(gains: Counter[bytes]) -> list[bytes]:
    """The candidates that gain most. A single byte saves its escape, which counts double.

    The first occurrence does not count: what the sample has once is there by chance.
    """
    weighed = {
        text: (gain - len(text)) * (2 if len(text) == 1 else 1)
        for text, gain in gains.items()
        if gain > len(text)
    }
    ranked = sorted(weighed, key=lambda text: (-weighed[text], text))
    chosen: list[bytes] = []
    prefixes: set[bytes] = set()
    for text in ranked:
        if len(chosen) == MAX_SYMBOLS:
            break
        if len(text) >= 3:
            if text[:3] in prefixes:
                continue
            prefixes.add(text[:3])
        chosen.append(text)
    return chosen
