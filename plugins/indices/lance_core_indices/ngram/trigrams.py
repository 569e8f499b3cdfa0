"""The trigrams of strings: windows of three characters, as numbers.

A string is converted to lower case and folded to ASCII, code point by code point. Each window of
three ASCII letters or digits gives the token 37² v₀ + 37 v₁ + v₂, where a digit has the values 1 to
10, and a letter 11 to 36. Capitals that remain after folding have the values that the same
formula, byte - 86, gives modulo 256. So tokens are below 2¹⁹, and different windows may have the
same token: tokens find candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_values, offset_dtype
from lance_core_indices.ngram.ascii_folding import FOLDED_RUNS

Codes: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
"""Of characters: the value + 1; 0 for characters that are not in a trigram."""

WIDTH = 3
"""Characters of a token."""

_BASE = 37
_ONES = _BASE * _BASE + _BASE + 1
"""What a token has too much if it is calculated from codes."""

MAX_TOKEN = 255 * _ONES
"""No token is higher."""

MAX_SLICE_BYTES = 1 << 20
"""Bytes of text that are processed at once, which bounds temporary memory."""

_NUM_CODE_POINTS = 0x20000
"""No code point from here on folds to ASCII."""

_NUM_CODES = 257
"""From this code on, the table has numbers of texts of several characters."""


class Trigrams(NamedTuple):
    """For each window of some strings its token, and the position of the string."""

    tokens: npt.NDArray[np.uint32]
    positions: npt.NDArray[np.uint32]


class TrigramPart(NamedTuple):
    """The trigrams of the strings from ``start`` to ``stop`` (exclusive); positions begin at 0."""

    trigrams: Trigrams
    start: int
    stop: int


class _Folding(NamedTuple):
    """``codes`` by code point; ``texts``: codes of texts, padded, of ``lengths``."""

    codes: npt.NDArray[np.uint16]
    texts: npt.NDArray[np.uint16]
    lengths: npt.NDArray[np.int64]


def trigrams(values: pa.Array) -> Iterator[TrigramPart]:
    """The trigrams of strings without nulls, in parts; a string may have equal ones.

    Raises `InvalidInputError` for strings that are not UTF-8.
    """
    if not len(values):
        return
    dtype = offset_dtype(values.type)
    _, raw_offsets, raw_data = values.buffers()
    offsets = np.frombuffer(raw_offsets, dtype)[values.offset :][: len(values) + 1]
    data = np.frombuffer(raw_data or b"", np.uint8)
    start = 0
    while start < len(values):
        limit = int(offsets[start]) + MAX_SLICE_BYTES
        stop = max(start + 1, int(np.searchsorted(offsets, limit, side="right")) - 1)
        ends = offsets[start : stop + 1].astype(np.int64)
        windows = _windows(*_codes(data[ends[0] : ends[-1]], ends - ends[0]))
        yield TrigramPart(windows, start, stop)
        start = stop


def tokens_of(text: str) -> frozenset[int]:
    """The different tokens of a text."""
    if len(text) < WIDTH and text.isascii():
        return frozenset()
    parts = trigrams(from_values([text], pa.large_string()))
    return frozenset(token for part in parts for token in np.unique(part.trigrams.tokens).tolist())


def _windows(codes: Codes, lengths: npt.NDArray[np.int64]) -> Trigrams:
    if len(codes) < WIDTH:
        return Trigrams(np.empty(0, np.uint32), np.empty(0, np.uint32))
    full = codes != 0
    full = full[2:] & full[1:-1] & full[:-2]
    ends = np.cumsum(lengths)
    # The last two windows of a string reach into the next one.
    for crossing in (ends - 1, ends - 2):
        full[crossing[(crossing >= 0) & (crossing < len(full))]] = False
    wide = codes.astype(np.uint32)
    tokens = wide[:-2] * (_BASE * _BASE) + wide[1:-1] * _BASE + wide[2:]
    positions = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
    return Trigrams(tokens[full] - np.uint32(_ONES), positions[:-2][full])


def _codes(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
) -> tuple[Codes, npt.NDArray[np.int64]]:
    """The codes of all characters, and how many of them each string has."""
    if not len(data) or data.max() < 0x80:
        return _ascii_codes()[data], np.diff(offsets)
    try:
        text = data.tobytes().decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"a string to index is not UTF-8: {error}") from None
    folding = _folding()
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    codes = folding.codes[np.minimum(points, _NUM_CODE_POINTS - 1)]
    # Each character has one byte that does not continue another one.
    before = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])
    lengths = np.diff(before[offsets])
    long = np.flatnonzero(codes >= _NUM_CODES)
    return _expanded(codes, lengths, long) if len(long) else (codes, lengths)


def _expanded(
    codes: npt.NDArray[np.uint16], lengths: npt.NDArray[np.int64], long: npt.NDArray[np.int64]
) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Replace the numbers of texts, which are at ``long``, by the texts."""
    folding = _folding()
    texts = codes[long] - _NUM_CODES
    added = folding.lengths[texts] - 1
    counts = np.ones(len(codes), np.int64)
    counts[long] += added
    expanded = np.repeat(codes, counts)
    starts = long + np.cumsum(added) - added
    for column in range(folding.texts.shape[1]):
        here = added >= column
        expanded[starts[here] + column] = folding.texts[texts[here], column]
    owners = np.searchsorted(np.cumsum(lengths), long, side="right")
    more = np.bincount(owners, added, len(lengths)).astype(np.int64)
    return expanded, lengths + more


def _code(character: str) -> int:
    if not character.isalnum():
        return 0
    byte = ord(character)
    value = byte - ord("0") + 1 if character.isdigit() else (byte - ord("a") + 11) % 256
    return value + 1


@cache
def _ascii_codes() -> npt.NDArray[np.uint8]:
    return np.array([_code(chr(byte).lower()) for byte in range(128)], np.uint8)


@cache
def _folding() -> _Folding:
    codes = np.zeros(_NUM_CODE_POINTS, np.uint16)
    codes[:128] = _ascii_codes()
    texts: dict[str, int] = {}
    for start, run in FOLDED_RUNS.items():
        for point, text in enumerate(run.split(), start):
            long = len(text) > 1
            codes[point] = _NUM_CODES + texts.setdefault(text, len(texts)) if long else _code(text)
    lengths = np.array([len(text) for text in texts])
    padded = np.zeros((len(texts), int(lengths.max())), np.uint16)
    for number, text in enumerate(texts):
        padded[number, : len(text)] = [_code(character) for character in text]
    return _Folding(codes, padded, lengths)
