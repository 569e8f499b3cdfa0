"""Find the FSST symbols that shorten a text most (Boncz, Neumann and Leis, FSST, VLDB 2020).

Starting without symbols, each round cuts a sample into symbols and single bytes. The frequent
ones, and frequent neighbours concatenated, become the candidates for the next round. The result
is the symbol set of the round with the shortest encoded sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.decoding import Int64Array

MAX_SYMBOLS = 255
"""Maximum symbols of a table: one code stands for a byte that no symbol has."""

MAX_LENGTH = 8
"""Maximum bytes of a symbol."""

_ROUNDS = 8
_SAMPLE_BYTES = 16 << 10
_MIN_SAMPLE_BYTES = 4 << 10
_SAMPLE_SHARE = 16
"""Maximum and minimum bytes of a sample; in between, it is one sixteenth of the text.

Training takes longer than encoding for texts of less than about 256 KiB.
"""
_PIECE = 128
_STEPS = (0.7548776662466927, 0.5698402909980532)
"""Steps of a two-dimensional low-discrepancy sequence (multiples modulo 1).

They spread samples evenly and avoid resonance with periodic data.
"""


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
    """Pieces of strings spread over the data, 4 to 16 KiB in total; deterministic.

    Takes at most 128 bytes of each string, so that many strings contribute: a long piece of
    repetitive text adds little. Pieces begin at multiples of 128 bytes.
    """
    full = np.flatnonzero(stops != starts)
    if not len(full):
        return []
    total = int(stops.sum() - starts.sum())
    size = min(_SAMPLE_BYTES, max(_MIN_SAMPLE_BYTES, total // _SAMPLE_SHARE))
    average = min(_PIECE, max(1, total // len(full)))
    count = -(-size // average)
    numbers = np.arange(count)
    row_at, piece_at = (numbers * step % 1.0 for step in _STEPS)
    if count < len(full):
        # Divide the strings into ``count`` strata and take one string at a varying place in each.
        full = full[((numbers + row_at) * (len(full) / count)).astype(np.int64)]
    begins, ends = starts[full], stops[full]
    pieces = -(-(ends - begins) // _PIECE)
    begins = begins + _PIECE * (piece_at[: len(full)] * pieces).astype(np.int64)
    stops = np.minimum(ends, begins + _PIECE)
    joined = np.frombuffer(data, np.uint8)[spans_index(begins, stops)].tobytes()
    edges = np.cumsum(stops - begins).tolist()
    return [joined[start:stop] for start, stop in pairwise([0, *edges])]


def _count(text: bytes, symbols: set[bytes], gains: Counter[bytes]) -> int:
    """Cut ``text`` greedily into symbols; return the encoded size in bytes.

    Adds to ``gains`` the covered bytes of each symbol, of each pair of neighbouring symbols, and of
    each symbol extended by the first byte of the next one.
    """
    position, before, codes = 0, b"", 0
    while position < len(text):
        length = min(MAX_LENGTH, len(text) - position)
        while length > 1 and text[position : position + length] not in symbols:
            length -= 1
        symbol = text[position : position + length]
        codes += 1 if symbol in symbols else 2  # an escape and the byte
        gains[symbol] += length
        if before:
            if len(before) + length <= MAX_LENGTH:
                gains[before + symbol] += len(before) + length
            if length > 1 and len(before) < MAX_LENGTH:
                gains[before + symbol[:1]] += len(before) + 1
        before = symbol
        position += length
    return codes


def _best(gains: Counter[bytes]) -> list[bytes]:
    """The candidates with the highest gain. Single bytes count double, as they save an escape.

    The first occurrence of a text is not counted: a text that occurs once is not a pattern.
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
        # The encoder finds only one symbol per first three bytes (see `fsst_encode`).
        if len(text) >= 3:
            if text[:3] in prefixes:
                continue
            prefixes.add(text[:3])
        chosen.append(text)
    return chosen
