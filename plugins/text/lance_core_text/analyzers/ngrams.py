"""The analyzer ``ngram``: words are all sequences of some characters, across spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.analyzers import Analyzer, Words
from lance_core_text.analyzers.text_bytes import TextBytes, substrings


class NgramAnalyzer(Analyzer):
    """Sequences of ``min_ngram_length`` to ``max_ngram_length`` characters.

    With ``prefix_only``, only those at the beginning of a text. All have the position 0.
    """

    def words(self, texts: pa.Array, parameters: Mapping[str, Any]) -> Words:
        text_bytes = TextBytes.of(texts)
        data, offsets = text_bytes
        # The starts of characters; past the last one, the end of the bytes.
        characters = np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))
        firsts = np.searchsorted(characters, offsets)
        owners = np.repeat(np.arange(len(offsets) - 1), np.diff(firsts))
        lasts = firsts[owners + 1]  # one past the last character of the text of each character
        every = np.arange(len(owners))
        if parameters["prefix_only"]:
            every = np.flatnonzero(every == firsts[owners])
        sizes = range(parameters["min_ngram_length"], parameters["max_ngram_length"] + 1)
        begins = [every[every + size <= lasts[every]] for size in sizes]
        number = np.concatenate([np.full(len(b), s) for b, s in zip(begins, sizes, strict=True)])
        first = np.concatenate(begins)
        order = np.lexsort((number, first))
        first, number = first[order], number[order]
        starts, stops, owner = characters[first], characters[first + number], owners[first]
        bases = offsets[owner]
        return Words(
            substrings(data, starts, stops),
            owner,
            np.zeros(len(owner), np.int64),
            starts - bases,
            stops - bases,
        )
