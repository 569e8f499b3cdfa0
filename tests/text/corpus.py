"""Texts of few words, by a seed, and BM25 by its definition in 64 bits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

WORDS = 60
"""Distinct words; word i is about i times as rare as the first one."""


def texts(count: int, seed: int = 1, longest: int = 20) -> list[str | None]:
    """Texts such as ``"w3 w0 w17"``; some are null, empty, or have no words."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, WORDS + 1)
    found: list[str | None] = []
    for length in random.integers(1, longest, count):
        words = random.choice(WORDS, size=length, p=shares / shares.sum())
        found.append(" ".join(f"w{word}" for word in words))
    found[3:6] = [None, "", "..."]
    return found


def bm25(documents: Sequence[Sequence[str]], query: Sequence[str]) -> dict[int, float]:
    """The score of each document that has a word of ``query``; empty ones do not count."""
    there = [words for words in documents if words]
    average = sum(map(len, there)) / max(1, len(there))
    scores: dict[int, float] = {}
    for word in query:
        number = sum(word in words for words in there)
        idf = math.log((len(there) - number + 0.5) / (number + 0.5) + 1)
        for row, words in enumerate(documents):
            times = words.count(word)
            if times:
                norm = 1.2 * (0.25 + 0.75 * len(words) / average)
                scores[row] = scores.get(row, 0) + idf * 2.2 * times / (times + norm)
    return scores


def ranked(scores: dict[int, float]) -> list[int]:
    """The rows, best first; those of nearly equal scores ascend."""
    return sorted(scores, key=lambda row: (-np.float32(scores[row]).round(5), row))
