"""Analyzers whose words are the longest runs of some characters: ``simple`` and ``whitespace``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.analyzers import Analyzer, Words
from lance_core.hookspecs.arrays import from_numpy
from lance_core_text.analyzers.text_bytes import TextBytes
from lance_core_text.loops.word_runs import (
    EncodedWords,
    WordBytes,
    encoded_runs,
    letter_bytes,
    other_bytes,
)

_SPACES = bytes([9, 10, 12, 13, 32])
"""The bytes between words: the white space of ASCII without the vertical tab."""


class RunsAnalyzer(Analyzer):
    """Words are runs of some bytes or characters."""

    @property
    @abstractmethod
    def word_bytes(self) -> WordBytes:
        """Which they are."""

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        encoded = self.encoded_words(texts, with_offsets=True)
        texts, positions = encoded.texts.astype(np.int64), encoded.positions.astype(np.int64)
        words = encoded.distinct.take(from_numpy(encoded.codes))
        return Words(words, texts, positions, encoded.starts, encoded.stops)

    def encoded_words(self, texts: pa.Array, *, with_offsets: bool) -> EncodedWords:
        """The words as numbers; ``with_offsets``: with their bytes in the texts."""
        return encoded_runs(TextBytes.of(texts), self.word_bytes, with_offsets=with_offsets)


class SimpleAnalyzer(RunsAnalyzer):
    """Words are runs of letters and digits."""

    @property
    def word_bytes(self) -> WordBytes:
        return letter_bytes()


class WhitespaceAnalyzer(RunsAnalyzer):
    """Words are separated by white space of ASCII."""

    @property
    def word_bytes(self) -> WordBytes:
        return other_bytes(_SPACES)
