"""The score of a term in a document, by BM25 in 32-bit floats.

``idf * (K1 + 1) * f / (f + K1 * (1 - B + B * length / average))`` for a term that a document of
``length`` terms has ``f`` times; ``idf = ln((N - n + 0.5) / (n + 0.5) + 1)`` if ``n`` of ``N``
documents have the term.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.analyzers import Integers

Floats: TypeAlias = npt.NDArray[np.float32]

K1 = np.float32(1.2)
B = np.float32(0.75)
MAX_WEIGHT = K1 + np.float32(1)
"""The limit of the weight of a term, without its idf, in a document that has it ever more often."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scores depend on beside the document itself.

    ``num_documents``: those that have a term. ``total_length``: the terms of all of them.
    ``frequencies``: how many of them have each term of a query.
    """

    num_documents: int
    total_length: int
    frequencies: Mapping[str, int]

    def plus(self, other: Statistics) -> Statistics:
        """The statistics of the documents of both."""
        terms = {*self.frequencies, *other.frequencies}
        return Statistics(
            self.num_documents + other.num_documents,
            self.total_length + other.total_length,
            {t: self.frequencies.get(t, 0) + other.frequencies.get(t, 0) for t in terms},
        )

    @property
    def average_length(self) -> np.float32:
        """The terms of a document, on average; 1 without documents."""
        if not self.total_length or not self.num_documents:  # of a damaged index only one may be 0
            return np.float32(1)
        return np.float32(self.total_length) / np.float32(self.num_documents)

    def idfs(self, terms: Sequence[str]) -> Floats:
        """The inverse document frequency of each of ``terms``."""
        counts = np.array([self.frequencies.get(term, 0) for term in terms], np.float32)
        return inverse_frequencies(counts, self.num_documents)

    def factors(self, terms: Iterable[str]) -> dict[str, np.float32]:
        """What `weights` of terms are multiplied by: ``idf * (K1 + 1)``."""
        names = list(terms)
        return dict(zip(names, self.idfs(names) * MAX_WEIGHT, strict=True))

    def norms(self, lengths: Integers) -> Floats:
        """The part of the divisor that depends on the length of a document."""
        norms: Floats = K1 * (1 - B + B * (lengths.astype(np.float32) / self.average_length))
        return norms


def inverse_frequencies(counts: Floats, num_documents: int) -> Floats:
    """The inverse document frequency of terms of which each is in so many of all documents."""
    half, one = np.float32(0.5), np.float32(1)
    idfs: Floats = np.log((np.float32(num_documents) - counts + half) / (counts + half) + one)
    return idfs


NO_STATISTICS = Statistics(0, 0, {})


def weights(frequencies: npt.NDArray[Any], norms: Floats) -> Floats:
    """The share of the best score that each document has, by how often it has the term."""
    times = frequencies.astype(np.float32)
    weights: Floats = times / (times + norms)
    return weights
