"""Analyzers whose words are the longest runs of some characters: ``simple`` and ``whitespace``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.analyzers import Analyzer, Words
from lance_core_text.analyzers.letters import is_letter_byte
from lance_core_text.analyzers.text_bytes import TextBytes, large_strings, numbers_in_texts

_IS_NO_SPACE = np.ones(256, np.bool_)
_IS_NO_SPACE[[9, 10, 12, 13, 32]] = False
"""False for the bytes between words: the white space of ASCII without the vertical tab."""


class SimpleAnalyzer(Analyzer):
    """Words are runs of letters and digits."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        found = TextBytes.of(texts)
        return runs(found, is_letter_byte(found.data))


class WhitespaceAnalyzer(Analyzer):
    """Words are separated by white space of ASCII."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        found = TextBytes.of(texts)
        return runs(found, _IS_NO_SPACE[found.data])


def runs(texts: TextBytes, mask: npt.NDArray[np.bool_]) -> Words:
    """The words that are runs of the bytes for which ``mask`` is True."""
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
