"""Terms that are a few edits away from a word, and the place of a term, among sorted ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.loops.library import is_compiled, native

Letters = npt.NDArray[np.uint32]

_MAX_WORD = 1024
"""Characters of a word that the compiled loop compares at most."""

_MAX_EDITS = 8


class Near(NamedTuple):
    """The places of terms, ascending, and how many edits each is away."""

    indices: Integers
    distances: Integers


class SortedLetters:
    """The characters of distinct terms, which are sorted by their bytes, as characters are.

    Those of term i are ``letters[offsets[i] : offsets[i + 1]]``.
    """

    def __init__(self, letters: Letters, offsets: Integers) -> None:
        self._letters = letters
        self._offsets = offsets
        self._shared = np.empty(len(offsets) - 1 if is_compiled() else 0, np.uint16)
        if len(self._shared):
            native.count_shared(letters, offsets, self._shared)

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return int(self._letters.nbytes + self._offsets.nbytes + self._shared.nbytes)

    def near(self, word: str, edits: int, prefix: int) -> Near:
        """The terms that become ``word`` by up to ``edits`` inserted, removed or other characters.

        The first ``prefix`` characters must be those of the word, or all of a shorter word.
        """
        letters = np.array([ord(letter) for letter in word], np.uint32)
        count = len(self._offsets) - 1
        is_known = is_compiled() and len(self._shared) == count
        if not is_known or len(word) > _MAX_WORD or edits > _MAX_EDITS:
            return _near_by_numpy(self._letters, self._offsets, letters, edits, prefix)
        indices, distances = np.empty(count, np.int64), np.empty(count, np.int64)
        size = native.near_terms(
            self._letters,
            self._offsets,
            self._shared,
            letters,
            edits,
            min(prefix, _MAX_WORD),
            indices,
            distances,
        )
        return Near(indices[:size].copy(), distances[:size].copy())


def index_of(terms: pa.Array, term: str) -> int | None:
    """The index of ``term`` among sorted large strings; None if it is not there."""
    term_bytes = term.encode()
    if is_compiled():
        _, offsets, data = terms.buffers()
        start, count = terms.offset, len(terms)
        if not count:
            return None
        ends = np.frombuffer(offsets, np.int64)[start : start + count + 1]
        index = native.find_term(np.frombuffer(data or b"", np.uint8), ends, term_bytes)
        return None if index < 0 else index
    low, high = 0, len(terms)
    while low < high:
        middle = (low + high) // 2
        if terms[middle].as_buffer().to_pybytes() < term_bytes:
            low = middle + 1
        else:
            high = middle
    return low if low < len(terms) and terms[low].as_py() == term else None


def _near_by_numpy(
    flat: Letters, offsets: Integers, letters: Letters, edits: int, prefix: int
) -> Near:
    """What `SortedLetters.near` returns.

    Prefixes of terms are compared once for all terms that have them, and terms are left out once
    their prefix is too far away.
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    alive = np.flatnonzero(np.abs(lengths - len(letters)) <= edits)
    fixed = letters[:prefix]
    for position, letter in enumerate(fixed):
        alive = alive[lengths[alive] > position]
        alive = alive[flat[starts[alive] + position] == letter]
    # The distances of the prefix of each alive term from all prefixes of the word.
    groups = np.zeros(len(alive), np.int64)
    rows = np.arange(len(letters) + 1)[None]
    near: list[tuple[Integers, Integers]] = []
    for position in range(len(letters) + edits + 1):
        is_end = lengths[alive] == position
        distances = rows[groups, -1]
        done = is_end & (distances <= edits)
        near.append((alive[done], distances[done]))
        left = ~is_end & (rows.min(axis=1, initial=edits + 1) <= edits)[groups]
        alive, groups = alive[left], groups[left]
        if not len(alive):
            break
        own = flat[starts[alive] + position]
        is_new = np.append(True, (groups[1:] != groups[:-1]) | (own[1:] != own[:-1]))
        firsts = np.flatnonzero(is_new)
        rows = _next_rows(rows[groups[firsts]], own[firsts], letters)
        groups = np.cumsum(is_new) - 1
    indices = np.concatenate([part for part, _ in near])
    order = np.argsort(indices)
    return Near(indices[order], np.concatenate([part for _, part in near])[order])


def _next_rows(rows: Integers, letters: Letters, word: Letters) -> Integers:
    """The distances of prefixes that are one letter longer than those of ``rows``."""
    replaced = rows[:, :-1] + (letters[:, None] != word)
    best = np.minimum(replaced, rows[:, 1:] + 1)
    first = rows[:, :1] + 1
    # A letter of the word may be left out: the least of all distances before, plus the steps.
    steps = np.arange(rows.shape[1])
    distances: Integers = np.minimum.accumulate(np.hstack([first, best]) - steps, axis=1) + steps
    return distances
