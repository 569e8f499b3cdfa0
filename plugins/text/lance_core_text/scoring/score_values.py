"""`TextRanking`: the scores of rows that are read, without an index.

The statistics of all these rows, and of an index of other rows of the table, must be known before
the first score: the ranking keeps, of each row that matches, how often it has each term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import from_values, to_numpy, to_scalar
from lance_core.hookspecs.searches import NO_HITS, Elements, Hits, best_of
from lance_core_text.analyzers.analyze import AnalyzedTexts
from lance_core_text.analyzers.columns import analyze_column, element_texts
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.postings.vocabulary import Vocabulary
from lance_core_text.queries.words import TextMatch, Word
from lance_core_text.scoring.bm25 import Statistics, weights
from lance_core_text.scoring.explain import TermOfDocument, best_explanation, explain_terms
from lance_core_text.scoring.explanation import Explanation
from lance_core_text.scoring.phrases import phrase_documents


class _Matches(NamedTuple):
    """Documents that match: their lengths, and how often each has each term of the query.

    ``elements``: as in `Hits`.
    """

    rows: npt.NDArray[Any]
    elements: Elements | None
    lengths: Integers
    times: npt.NDArray[np.int64]


class TextRanking:
    """The best ``count`` rows that match ``words``, of those that are added."""

    def __init__(
        self,
        match: TextMatch,
        words: Sequence[Word],
        parameters: TextParameters,
        statistics: Statistics,
        count: int,
    ) -> None:
        self._match = match
        self._words = list(words)
        self._parameters = parameters
        self._of_index = statistics
        self._count = count
        self._terms = list(dict.fromkeys(term for word in words for term in word.terms))
        self._num_documents = 0
        self._total_length = 0
        self._frequencies = np.zeros(len(self._terms), np.int64)
        self._parts: list[_Matches] = []

    def add(self, values: pa.Array, rows: npt.NDArray[Any]) -> None:
        """Add ``rows``, which have these values."""
        elements = None
        if self._match.by_element:
            values, rows, elements = element_texts(values, rows)
        analyzed = analyze_column(values, self._parameters)
        if self._match.fuzziness is not None:
            self._add_terms(analyzed.terms)
        lengths = np.bincount(analyzed.texts, minlength=len(values))
        is_document = (lengths > 0) | self._match.by_element
        self._num_documents += int(np.count_nonzero(is_document))
        self._total_length += len(analyzed.texts)
        times = self._times(analyzed, len(values))
        self._frequencies = _wider(self._frequencies, len(self._terms))
        self._frequencies += np.count_nonzero(times, axis=0)
        matching = np.flatnonzero(self._matches(analyzed, times))
        chosen = None if elements is None else elements[matching]
        self._parts.append(_Matches(rows[matching], chosen, lengths[matching], times[matching]))

    @property
    def _statistics(self) -> Statistics:
        """Those of the index and of all rows."""
        own = dict(zip(self._terms, self._frequencies.tolist(), strict=True))
        return self._of_index.plus(Statistics(self._num_documents, self._total_length, own))

    def explained(self, row: int) -> Explanation | None:
        """How the score of a row is computed; None for one that does not match."""
        every = [
            self._explained(int(part.lengths[index]), part.times[index])
            for part in self._parts
            for index in np.flatnonzero(part.rows == row).tolist()
        ]
        return best_explanation(every)

    def _explained(self, length: int, times: npt.NDArray[np.int64]) -> Explanation:
        """How the score of a document that matches is computed."""
        times = _wider(times, len(self._terms))
        terms = [
            TermOfDocument(term, frequency, word.terms[0])
            for word in self._words
            for term in word.terms
            if (frequency := int(times[self._terms.index(term)]))
        ]
        return explain_terms(self._match, terms, length, self._statistics)

    def hits(self) -> Hits:
        """The best of the rows. It is called once, at the end."""
        statistics = self._statistics
        if not self._parts:
            return NO_HITS
        rows = np.concatenate([part.rows for part in self._parts])
        of_rows = [part.elements for part in self._parts if part.elements is not None]
        elements = np.concatenate(of_rows) if of_rows else None
        times = np.concatenate([_wider(part.times, len(self._terms)) for part in self._parts])
        norms = statistics.norms(np.concatenate([part.lengths for part in self._parts]))
        scores = np.zeros(len(rows), np.float32)
        factors = statistics.factors(self._terms)
        for word in self._words:
            for term in word.terms:
                scores += factors[term] * weights(times[:, self._terms.index(term)], norms)
        scores *= np.float32(self._match.boost)
        return best_of(rows, scores, self._count, ascending=False, elements=elements)

    def _add_terms(self, terms: pa.Array) -> None:
        """Let the words match those of ``terms`` that are near them."""
        vocabulary = Vocabulary(terms.take(pc.sort_indices(terms)))
        fuzziness = self._match.fuzziness
        assert fuzziness is not None
        of_query = self._match.words(self._parameters)
        for at, (word, own) in enumerate(zip(self._words, of_query, strict=True)):
            near = fuzziness.terms_near(own.terms[0], [vocabulary], own.fixed)
            every = tuple(dict.fromkeys([*word.terms, *near]))[: max(1, fuzziness.max_terms)]
            self._words[at] = word._replace(terms=every)
            self._terms += [term for term in every if term not in self._terms]

    def _times(self, analyzed: AnalyzedTexts, count: int) -> npt.NDArray[np.int64]:
        """How often each row, one a row, has each term of the query."""
        numbers = pc.index_in(analyzed.terms, value_set=from_values(self._terms, pa.large_string()))
        number = to_numpy(numbers.fill_null(to_scalar(-1, pa.int32())))[analyzed.codes]
        is_wanted = number >= 0
        keys = analyzed.texts[is_wanted] * len(self._terms) + number[is_wanted]
        times = np.bincount(keys, minlength=count * len(self._terms))
        return times.reshape(count, len(self._terms))

    def _matches(
        self, analyzed: AnalyzedTexts, times: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        has_word = [
            times[:, [self._terms.index(term) for term in word.terms]].any(axis=1)
            for word in self._words
        ]
        slop = self._match.slop
        if not has_word:
            return np.zeros(len(times), np.bool_)
        if slop is None and not self._match.needs_all:
            return np.logical_or.reduce(has_word)  # type: ignore[no-any-return]
        matches: npt.NDArray[np.bool_] = np.logical_and.reduce(has_word)
        if slop is not None and len(has_word) > 1 and matches.any():
            has_phrase = np.zeros(len(times), np.bool_)
            keys = [self._keys(analyzed, word) for word in self._words]
            positions = [word.position for word in self._words]
            has_phrase[phrase_documents(keys, positions, slop)] = True
            matches &= has_phrase
        return matches

    def _keys(self, analyzed: AnalyzedTexts, word: Word) -> Integers:
        codes = pc.index_in(from_values(word.terms, pa.large_string()), value_set=analyzed.terms)
        is_word = np.isin(analyzed.codes, to_numpy(codes.drop_null()))
        return np.sort((analyzed.texts[is_word] << 32) | analyzed.positions[is_word])


def _wider(counts: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """``counts`` with zeros for terms that were added later, in the last dimension."""
    added = width - counts.shape[-1]
    return np.pad(counts, [(0, 0)] * (counts.ndim - 1) + [(0, added)]) if added else counts
