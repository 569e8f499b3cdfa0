"""Analyzers whose words are the longest runs of some characters: ``simple`` and ``whitespace``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.analyzers import Analyzer, Words
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
        found = self.encoded_words(texts, with_places=True)
        texts, positions = found.texts.astype(np.int64), found.positions.astype(np.int64)
        words = found.distinct.take(pa.array(found.codes))
        return Words(words, texts, positions, found.starts, found.stops)

    def encoded_words(self, texts: pa.Array, *, with_places: bool) -> EncodedWords:
        """The words as numbers; ``with_places``: with their bytes in the texts."""
        return encoded_runs(TextBytes.of(texts), self.word_bytes, with_places=with_places)


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
