"""Finding the symbols that shorten a text most, after Boncz, Neumann and Leis (FSST, VLDB 2020).

Starting from no symbols, a sample is cut into symbols and single bytes; what occurs often, and
pairs of neighbours, joined, become the candidates for the next round. The symbols of the round that
made the fewest codes are the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array

MAX_SYMBOLS = 255
MAX_LENGTH = 8

_ROUNDS = 8
_SAMPLE_BYTES = 16 << 10
_PIECE = 128
_STEPS = (0.7548776662466927, 0.5698402909980532)
"""Multiples of these, modulo 1, are spread evenly over a square and keep no time with the rows."""


def fsst_train(sample: Sequence[bytes]) -> tuple[bytes, ...]:
    """See `lance_core.encodings.kernels.Kernels.fsst_train`."""
    symbols: list[bytes] = []
    best: tuple[int, Sequence[bytes]] = (2 * sum(map(len, sample)), ())
    for number in range(_ROUNDS + 1):
        gains: Counter[bytes] = Counter()
        known = set(symbols)
        codes = sum(_count(text, known, gains) for text in sample)
        if number and codes < best[0]:
            best = codes, symbols
        symbols = _best(gains)
    return tuple(best[1])


def fsst_sample(data: pa.Buffer, starts: Int64Array, stops: Int64Array) -> list[bytes]:
    """Pieces of strings here and there, about 16 KiB in total; the same strings give the same ones.

    At most 128 bytes of a string, so that there are many: texts that repeat themselves show little
    in a long piece. Pieces begin at multiples of 128 bytes.
    """
    lengths = stops - starts
    full = np.flatnonzero(lengths)
    if not len(full):
        return []
    average = min(_PIECE, max(1, int(lengths.sum()) // len(full)))
    count = -(-_SAMPLE_BYTES // average)
    numbers = np.arange(count)
    row_at, piece_at = (numbers * step % 1.0 for step in _STEPS)
    if count < len(full):
        full = full[((numbers + row_at) * (len(full) / count)).astype(np.int64)]
    begins, ends = starts[full], stops[full]
    pieces = -(-(ends - begins) // _PIECE)
    begins = begins + _PIECE * (piece_at[: len(full)] * pieces).astype(np.int64)
    view = memoryview(data)
    return [
        bytes(view[begin : min(end, begin + _PIECE)])
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]


def _count(text: bytes, symbols: set[bytes], gains: Counter[bytes]) -> int:
    """Cut ``text`` into symbols; the bytes of codes that these take.

    Adds to each symbol, to each pair and to each with the first byte of the next one the bytes that
    it covers.
    """
    position, before, codes = 0, b"", 0
    while position < len(text):
        length = min(MAX_LENGTH, len(text) - position)
        while length > 1 and text[position : position + length] not in symbols:
            length -= 1
        found = text[position : position + length]
        codes += 1 if found in symbols else 2
        gains[found] += length
        if before:
            if len(before) + length <= MAX_LENGTH:
                gains[before + found] += len(before) + length
            if length > 1 and len(before) < MAX_LENGTH:
                gains[before + found[:1]] += len(before) + 1
        before = found
        position += length
    return codes


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
