"""Words that are runs of some bytes or characters, as numbers of distinct words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.analyzers import Integers, Words
from lance_core.hookspecs.arrays import to_numpy
from lance_core_text.analyzers.letters import is_letter_byte, letters
from lance_core_text.analyzers.text_bytes import (
    TextBytes,
    large_strings,
    numbers_in_texts,
    substrings,
)
from lance_core_text.loops.library import is_compiled, native

_MAX_WORDS = (1 << 31) - 1
"""Words of all texts that the compiled loop counts at most."""

_NONE, _WORD, _LEAD = range(3)
"""Kinds of bytes: in no word, in a word, or the first of a character that decides."""


Numbers = npt.NDArray[np.int32]


class WordBytes(NamedTuple):
    """Which bytes and characters are in words.

    ``kinds``: of each byte. ``points``: True for the characters that are in words; empty if bytes
    decide.
    """

    classes: npt.NDArray[np.uint8]
    points: npt.NDArray[np.bool_]

    def mask(self, data: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """True for each byte that is in a word."""
        if len(self.points):
            return is_letter_byte(data)
        is_word: npt.NDArray[np.bool_] = self.classes == _WORD
        return is_word[data]


def letter_bytes() -> WordBytes:
    """Words are runs of letters and digits."""
    classes = np.zeros(256, np.uint8)
    classes[:128] = letters()[:128]
    classes[0xC0:] = _LEAD
    return WordBytes(classes, letters())


def other_bytes(excluded: bytes) -> WordBytes:
    """Words are runs of all bytes but those."""
    classes = np.full(256, _WORD, np.uint8)
    classes[list(excluded)] = _NONE
    return WordBytes(classes, np.empty(0, np.bool_))


class EncodedWords(NamedTuple):
    """The words of texts. ``codes``: for each, its index in ``distinct``, by first occurrence.

    The other arrays are those of `Words`; ``starts`` and ``stops`` may be empty.
    """

    distinct: pa.Array
    codes: Numbers
    texts: Numbers
    positions: Numbers
    starts: Integers
    stops: Integers

    def with_codes(self, distinct: pa.Array, numbers: Integers) -> EncodedWords:
        """The words with other numbers, by their codes; those with one below 0 are left out."""
        if is_compiled():
            size = native.replace_codes(numbers, *self[1:])  # in place
            return self._replace(distinct=distinct).some(slice(size))
        words = self._replace(distinct=distinct, codes=numbers[self.codes].astype(np.int32))
        has_code = words.codes >= 0
        return words if has_code.all() else words.some(has_code)

    def some(self, which: Any) -> EncodedWords:
        """Those at some positions."""
        numbers = (self.codes[which], self.texts[which], self.positions[which])
        if not len(self.starts):
            return EncodedWords(self.distinct, *numbers, self.starts, self.stops)
        return EncodedWords(self.distinct, *numbers, self.starts[which], self.stops[which])


def encoded_runs(texts: TextBytes, word_bytes: WordBytes, *, with_offsets: bool) -> EncodedWords:
    """The words of texts; ``with_offsets``: with ``starts`` and ``stops``."""
    data, offsets = texts
    most = (len(data) + len(offsets) - 1) // 2
    if not is_compiled() or most > _MAX_WORDS:
        words = encoded(runs(texts, word_bytes.mask(data)))
        return words if with_offsets else words._replace(starts=_NOTHING, stops=_NOTHING)
    # Pages of memory that are not written are not taken.
    codes, owners, positions = (np.empty(most, np.int32) for _ in range(3))
    starts, stops = (np.empty(most if with_offsets else 0, np.int64) for _ in range(2))
    first = np.empty(most, np.int64)
    last = np.empty(most + 1, np.int64)  # its last number is that of distinct words
    arrays = (codes, owners, positions, starts, stops)
    size = native.split_words(
        data,
        np.ascontiguousarray(offsets),
        word_bytes.classes,
        word_bytes.points,
        *arrays,
        first,
        last,
    )
    distinct = substrings(data, first[: last[most]], last[: last[most]])
    return EncodedWords(distinct, *arrays).some(slice(size))


def encoded(words: Words) -> EncodedWords:
    """The words that an analyzer returns."""
    distinct = words.words.dictionary_encode()
    codes = to_numpy(distinct.indices).astype(np.int32)
    # Copies, since `with_codes` changes arrays, and those of an analyzer may be one twice.
    texts, positions = np.array(words.texts, np.int32), np.array(words.positions, np.int32)
    starts, stops = np.array(words.starts, np.int64), np.array(words.stops, np.int64)
    return EncodedWords(distinct.dictionary, codes, texts, positions, starts, stops)


def runs(texts: TextBytes, mask: npt.NDArray[np.bool_]) -> Words:
    """The words that are runs of the bytes for which ``mask`` is True, by numpy."""
    data, offsets = texts
    begins = np.zeros(len(data) + 1, np.bool_)
    begins[offsets] = True  # a word ends with its text
    follows = np.zeros(len(data) + 1, np.bool_)
    np.logical_and(mask[1:], mask[:-1], out=follows[1:-1])
    follows &= ~begins
    starts = np.flatnonzero(mask & ~follows[:-1])
    stops = np.flatnonzero(mask & ~follows[1:]) + 1
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(stops - starts)])
    owners = texts.owners(starts)
    bases = offsets[owners]
    return Words(
        large_strings(data[mask], ends),
        owners,
        numbers_in_texts(owners),
        starts - bases,
        stops - bases,
    )


_NOTHING = np.empty(0, np.int64)
