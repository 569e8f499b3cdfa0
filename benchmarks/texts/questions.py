"""What is searched for: words that are chosen from the texts by how many texts have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core_text import analyze

COLUMN = "text"
MIN_LETTERS = 4
MISSPELT_LETTERS = 6
"""The least letters of a word that is searched for, and of one that is misspelt."""

Share = tuple[float, float]
"""The least and the largest share of texts that have a word."""

RARE, MIDDLE, FREQUENT = (5e-5, 5e-4), (5e-3, 2e-2), (4e-2, 0.15)
SEVERAL = (5e-3, 0.1)
"""Of words that are searched for together."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a library is asked, in words that say nothing of its classes.

    ``form``: ``any`` word, ``all`` words, a ``phrase``, ``boolean`` (the first word must, the
    second should, and the third must not be there) or ``fuzzy``, with so many ``edits``.
    """

    form: str
    words: tuple[str, ...]
    edits: int = 0

    def query(self, module: str) -> Any:
        """The query as an object of ``module``."""
        classes = import_module(f"{module}.query")
        match, text = classes.MatchQuery, " ".join(self.words)
        if self.form == "all":
            return match(text, COLUMN, operator=classes.FullTextOperator.AND)
        if self.form == "phrase":
            return classes.PhraseQuery(text, COLUMN)
        if self.form == "boolean":
            occurs = classes.Occur.MUST, classes.Occur.SHOULD, classes.Occur.MUST_NOT
            pairs = zip(occurs, self.words, strict=True)
            return classes.BooleanQuery([(occur, match(word, COLUMN)) for occur, word in pairs])
        if self.form == "fuzzy":
            return match(text, COLUMN, fuzziness=self.edits)
        return match(text, COLUMN)


class Questions:
    """Chooses questions, always the same ones for the same texts."""

    def __init__(self, texts: pa.StringArray, count: int) -> None:
        self._count = count
        self._random = np.random.default_rng(2)
        split = pc.split_pattern_regex(pc.utf8_lower(texts), r"[^\pL\pN_]+")
        words = split.values.dictionary_encode()
        self._words = words.dictionary
        self._codes = words.indices.to_numpy()
        self._offsets = split.offsets.to_numpy()
        self._share = self._shares(len(texts))

    def _shares(self, count: int) -> npt.NDArray[np.float64]:
        """The share of texts that have each word; 0 of those that are no plain words."""
        owners = np.repeat(np.arange(count), np.diff(self._offsets))
        keys = np.unique(owners * len(self._words) + self._codes)
        shares = np.bincount(keys % len(self._words), minlength=len(self._words)) / count
        is_plain = pc.match_substring_regex(self._words, f"^[a-z]{{{MIN_LETTERS},20}}$")
        found: npt.NDArray[np.float64] = np.where(is_plain.to_numpy(False), shares, 0)
        return found

    def one(self, share: Share) -> list[Question]:
        """Single words."""
        return [Question("any", (word,)) for word in self._some(self._with_share(share))]

    def several(self, form: str, number: int) -> list[Question]:
        """So many words that a text has."""
        found = []
        for codes in self._texts():
            own = [code for code in np.unique(codes).tolist() if self._is_within(code, SEVERAL)]
            own = [code for code in own if self._has_term(code)]
            if len(own) >= number:
                chosen = self._random.choice(own, number, replace=False).tolist()
                found.append(Question(form, self._named(chosen)))
            if len(found) == self._count:
                break
        return found

    def phrases(self) -> list[Question]:
        """Two words that follow each other in a text."""
        found = []
        for codes in self._texts():
            pairs = [
                pair
                for pair in zip(codes.tolist(), codes[1:].tolist(), strict=False)
                if all(self._is_within(code, SEVERAL) and self._has_term(code) for code in pair)
            ]
            if pairs:
                pair = pairs[int(self._random.integers(len(pairs)))]
                found.append(Question("phrase", self._named(pair)))
            if len(found) == self._count:
                break
        return found

    def misspelt(self, edits: int) -> list[Question]:
        """A word without one of its letters, so that its stem is itself, and no text has it."""
        known, found = set(self._words.to_pylist()), []
        for word in self._some(self._with_share(MIDDLE), len(self._words)):
            misspelt = word[: len(word) // 2] + word[len(word) // 2 + 1 :]
            if len(word) < MISSPELT_LETTERS or misspelt in known:
                continue
            if [token.term for token in analyze(misspelt)] == [misspelt]:
                found.append(Question("fuzzy", (misspelt,), edits))
            if len(found) == self._count:
                break
        return found

    def _with_share(self, share: Share) -> npt.NDArray[np.intp]:
        low, high = share
        return np.flatnonzero((self._share >= low) & (self._share <= high))

    def _is_within(self, code: int, share: Share) -> bool:
        return bool(share[0] <= self._share[code] <= share[1])

    def _some(self, codes: npt.NDArray[np.intp], count: int | None = None) -> Iterator[str]:
        """Words in random order that are no stop words."""
        left = self._count if count is None else count
        for code in self._random.permutation(codes).tolist():
            if left and self._has_term(code):
                left -= 1
                yield self._words[code].as_py()

    def _texts(self) -> Iterator[npt.NDArray[np.int32]]:
        """The words of each text, in random order of the texts."""
        for number in self._random.permutation(len(self._offsets) - 1).tolist():
            yield self._codes[self._offsets[number] : self._offsets[number + 1]]

    def _has_term(self, code: int) -> bool:
        return len(analyze(self._words[code].as_py())) == 1

    def _named(self, codes: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._words[code].as_py() for code in codes)
