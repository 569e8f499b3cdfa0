"""`Vocabulary`: sorted terms, in which those are found that are a few edits away from a word."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core_text.loops.near_terms import SortedLetters


class Near(NamedTuple):
    """Terms, the nearest first and then in order, and how many edits each is away."""

    terms: list[str]
    distances: list[int]


class Vocabulary:
    """Distinct terms, sorted by their bytes, which is the order of their characters."""

    def __init__(self, terms: pa.Array) -> None:
        self._terms = terms
        self._letters = SortedLetters(*_letters(terms))

    @property
    def nbytes(self) -> int:
        """The bytes in memory beside the terms."""
        return self._letters.nbytes

    def near(self, word: str, edits: int, prefix: int, count: int | None = None) -> Near:
        """The ``count`` nearest terms, or all, see `SortedLetters.near`."""
        indices, distances = self._letters.near(word, edits, prefix)
        order = np.argsort(distances, kind="stable")[:count]
        return Near(
            self._terms.take(from_numpy(indices[order])).to_pylist(), distances[order].tolist()
        )


def _letters(terms: pa.Array) -> tuple[np.ndarray, Integers]:
    """The characters of all terms, one after the other, and the offsets of each term."""
    lengths = to_numpy(pc.utf8_length(terms)).astype(np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    if not len(terms):
        return np.empty(0, np.uint32), offsets
    _, ends, data = terms.buffers()
    own = np.frombuffer(ends, np.int64)[terms.offset : terms.offset + len(terms) + 1]
    text = bytes(memoryview(data or b"")[own[0] : own[-1]]).decode()
    return np.frombuffer(text.encode("utf-32-le"), np.uint32), offsets
