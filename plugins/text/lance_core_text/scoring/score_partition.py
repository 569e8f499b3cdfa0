"""The documents of a partition that match a query, with their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.partition import Partition
from lance_core_text.queries.words import TextMatch, Word
from lance_core_text.scoring.bm25 import Floats, Statistics, weights
from lance_core_text.scoring.phrases import phrase_documents, position_keys


class Scored(NamedTuple):
    """Distinct documents, and the score of each."""

    documents: Integers
    scores: Floats


NOTHING = Scored(np.empty(0, np.int64), np.empty(0, np.float32))


def score_partition(
    partition: Partition,
    match: TextMatch,
    words: Sequence[Word],
    statistics: Statistics,
    norms: Floats,
) -> Scored:
    """The documents that match. Raises `CorruptFileError`.

    ``norms``: those of all documents of the partition, see `Statistics.norms`.
    """
    numbers = [
        {term: number for term in word.terms if (number := partition.number(term)) is not None}
        for word in words
    ]
    needs_all = match.needs_all or match.slop is not None
    if not any(numbers) or (needs_all and not all(numbers)):
        return NOTHING
    chosen = _documents_of_all(partition, numbers) if needs_all else None
    if match.slop is not None and len(words) > 1:
        assert chosen is not None
        chosen = _with_phrase(partition, numbers, words, match.slop, chosen)
    if chosen is not None and not len(chosen):
        return NOTHING
    factors = [
        (number, statistics.factor(term)) for word in numbers for term, number in word.items()
    ]
    if chosen is not None:
        return Scored(chosen, _scores_of(partition, factors, chosen, norms) * match.boost)
    if len(factors) == 1:
        ((number, factor),) = factors
        found = partition.postings(number)
        scores = factor * weights(found.frequencies, norms[found.documents])
        return Scored(found.documents, scores * np.float32(match.boost))
    every = np.zeros(partition.num_documents, np.float32)
    parts = []
    for number, factor in factors:
        found = partition.postings(number)
        own = found.documents
        before = every[own]
        parts.append(own[before == 0])
        every[own] = before + factor * weights(found.frequencies, norms[own])
    documents = np.concatenate(parts)
    return Scored(documents, every[documents] * np.float32(match.boost))


def _documents_of_all(partition: Partition, numbers: Sequence[dict[str, int]]) -> Integers:
    """The documents that have a term of each word."""
    found: Integers | None = None
    sizes = [sum(int(partition.lengths[number]) for number in word.values()) for word in numbers]
    for place in np.argsort(sizes, kind="stable").tolist():
        parts = [partition.postings(number).documents for number in numbers[place].values()]
        own = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        found = own if found is None else found[_contains(own, found)]
    assert found is not None
    return found


def _with_phrase(
    partition: Partition,
    numbers: Sequence[dict[str, int]],
    words: Sequence[Word],
    slop: int,
    chosen: Integers,
) -> Integers:
    """Those of the documents ``chosen`` that have the phrase."""
    keys = []
    for word in numbers:
        parts = []
        for number in word.values():
            found = partition.postings(number)
            is_chosen = _contains(chosen, found.documents)
            every = np.repeat(is_chosen, found.frequencies)
            positions = partition.positions(number)[every]
            parts.append(
                position_keys(found.documents[is_chosen], found.frequencies[is_chosen], positions)
            )
        keys.append(parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts)))
    return phrase_documents(keys, [word.position for word in words], slop)


def _scores_of(
    partition: Partition,
    factors: Sequence[tuple[int, np.float32]],
    chosen: Integers,
    norms: Floats,
) -> Floats:
    """The scores of the documents ``chosen``."""
    scores = np.zeros(len(chosen), np.float32)
    own = norms[chosen]
    for number, factor in factors:
        found = partition.postings(number)
        places = np.searchsorted(found.documents, chosen)
        places[places == len(found.documents)] = 0
        has_term = found.documents[places] == chosen
        share = weights(found.frequencies[places], own)
        scores += np.where(has_term, factor * share, np.float32(0))
    return scores


def _contains(sorted_values: Integers, values: Integers) -> np.ndarray:
    """For each of ``values``, True if it is among ``sorted_values``."""
    places = np.searchsorted(sorted_values, values)
    places[places == len(sorted_values)] = 0
    return sorted_values[places] == values if len(sorted_values) else np.zeros(len(values), bool)
