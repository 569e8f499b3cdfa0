"""`Vocabulary`: sorted terms, in which those are found that are a few edits away from a word."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.analyzers import Integers


class Near(NamedTuple):
    """Terms, ascending, and how many edits each is away."""

    terms: list[str]
    distances: list[int]


class Vocabulary:
    """Distinct terms, sorted by their bytes, which is the order of their characters."""

    def __init__(self, terms: pa.Array) -> None:
        self._terms = terms
        texts = np.array(terms.to_pylist() or [""], np.str_)
        # One term a row, one character a column; 0 after the end of a term.
        self._letters = texts.view(np.uint32).reshape(len(texts), -1)[: len(terms)]
        self._lengths = np.count_nonzero(self._letters, axis=1)

    @property
    def nbytes(self) -> int:
        """The bytes in memory beside the terms."""
        return int(self._letters.nbytes + self._lengths.nbytes)

    def near(self, word: str, edits: int, prefix: int) -> Near:
        """The terms that become ``word`` by up to ``edits`` inserted, removed or other characters.

        The first ``prefix`` characters must be those of the word. Prefixes of terms are compared
        once for all terms that have them, and terms are left out once their prefix is too far away.
        """
        letters = np.array([ord(letter) for letter in word], np.uint32)
        alive = np.flatnonzero(np.abs(self._lengths - len(letters)) <= edits)
        fixed = letters[:prefix]
        if len(fixed) and len(alive):
            if len(fixed) > self._letters.shape[1]:
                return Near([], [])
            alive = alive[(self._letters[alive, : len(fixed)] == fixed).all(axis=1)]
        # The distances of the prefix of each alive term from all prefixes of the word.
        groups = np.zeros(len(alive), np.int64)
        rows = np.arange(len(letters) + 1)[None]
        found: list[tuple[Integers, Integers]] = []
        for place in range(self._letters.shape[1] + 1):
            is_end = self._lengths[alive] == place
            distances = rows[groups, -1]
            done = is_end & (distances <= edits)
            found.append((alive[done], distances[done]))
            left = ~is_end & (rows.min(axis=1, initial=edits + 1) <= edits)[groups]
            alive, groups = alive[left], groups[left]
            if not len(alive):
                break
            own = self._letters[alive, place]
            is_new = np.append(True, (groups[1:] != groups[:-1]) | (own[1:] != own[:-1]))
            firsts = np.flatnonzero(is_new)
            rows = _next_rows(rows[groups[firsts]], own[firsts], letters)
            groups = np.cumsum(is_new) - 1
        places = np.concatenate([part for part, _ in found])
        order = np.argsort(places)
        distances = np.concatenate([part for _, part in found])[order]
        return Near(self._terms.take(pa.array(places[order])).to_pylist(), distances.tolist())


def _next_rows(
    rows: Integers, letters: npt.NDArray[np.uint32], word: npt.NDArray[np.uint32]
) -> Integers:
    """The distances of prefixes that are one letter longer than those of ``rows``."""
    replaced = rows[:, :-1] + (letters[:, None] != word)
    best = np.minimum(replaced, rows[:, 1:] + 1)
    first = rows[:, :1] + 1
    # A letter of the word may be left out: the least of all distances before, plus the steps.
    steps = np.arange(rows.shape[1])
    found: Integers = np.minimum.accumulate(np.hstack([first, best]) - steps, axis=1) + steps
    return found
