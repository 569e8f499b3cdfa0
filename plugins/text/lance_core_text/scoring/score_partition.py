"""The documents of a partition that match a query, with their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.partition import Partition, TermNumbers
from lance_core_text.queries.clauses import Clause, Role
from lance_core_text.scoring.bm25 import Floats, Statistics, weights
from lance_core_text.scoring.document_lookup import contains
from lance_core_text.scoring.phrases import documents_with_phrase
from lance_core_text.scoring.rank_partition import is_rankable, rank_partition
from lance_core_text.scoring.scored import NOTHING, Scored
from lance_core_text.scoring.scorer import PartitionScorer

Factors = Mapping[str, np.float32]


def score_partition(
    scorer: PartitionScorer, clauses: Sequence[Clause], statistics: Statistics, count: int
) -> Scored:
    """The best ``count`` documents that match, or more, in any order. Raises `CorruptFileError`."""
    partition = scorer.partition
    numbers = [
        [
            {term: number for term in word.terms if (number := partition.number(term)) is not None}
            for word in clause.words
        ]
        for clause in clauses
    ]
    if not _may_match(clauses, numbers):
        return NOTHING
    factors = statistics.factors({term for own in numbers for word in own for term in word})
    if is_rankable(scorer, clauses):
        return rank_partition(scorer, clauses, numbers, factors, count)
    parts = [
        _score_clause(scorer, clause, own, factors)
        for clause, own in zip(clauses, numbers, strict=True)
    ]
    return parts[0] if len(parts) == 1 else _combined(partition, clauses, parts)


def _may_match(clauses: Sequence[Clause], numbers: Sequence[Sequence[TermNumbers]]) -> bool:
    """False if terms are missing that all documents of the result have."""
    has_must = any(clause.role is Role.MUST for clause in clauses)
    role = Role.MUST if has_must else Role.SHOULD
    may_match = [
        bool(own) and (all if clause.needs_all else any)(own)
        for clause, own in zip(clauses, numbers, strict=True)
        if clause.role is role
    ]
    return (all if has_must else any)(may_match)


def _combined(partition: Partition, clauses: Sequence[Clause], parts: Sequence[Scored]) -> Scored:
    """The documents that match all clauses, with the sums of their scores."""
    has_must = any(clause.role is Role.MUST for clause in clauses)
    matches = np.full(partition.num_documents, has_must)
    sums = np.zeros(partition.num_documents, np.float32)
    for clause, own in zip(clauses, parts, strict=True):
        if clause.role is not Role.MUST_NOT:
            sums[own.documents] += own.scores
        if clause.role is Role.SHOULD:
            matches[own.documents] |= not has_must
            continue
        has_clause = np.zeros(partition.num_documents, np.bool_)
        has_clause[own.documents] = True
        matches &= has_clause if clause.role is Role.MUST else ~has_clause
    documents = np.flatnonzero(matches)
    return Scored(documents, sums[documents])


def _score_clause(
    scorer: PartitionScorer, clause: Clause, numbers: Sequence[TermNumbers], factor_of: Factors
) -> Scored:
    """The documents that match a clause, by numpy."""
    partition, norms = scorer.partition, scorer.norms
    words = clause.words
    boost = np.float32(clause.match.boost)
    needs_all = clause.needs_all
    if not any(numbers) or (needs_all and not all(numbers)):
        return NOTHING
    documents = _documents_of_all(partition, numbers) if needs_all else None
    if clause.is_phrase:
        assert documents is not None
        assert clause.match.slop is not None
        documents = documents_with_phrase(partition, numbers, words, clause.match.slop, documents)
    if documents is not None and not len(documents):
        return NOTHING
    factors = [(number, factor_of[term]) for word in numbers for term, number in word.items()]
    if documents is not None:
        return Scored(documents, _scores_of(partition, factors, documents, norms) * boost)
    if len(factors) == 1:
        ((number, factor),) = factors
        postings = partition.postings(number)
        scores = factor * weights(postings.frequencies, norms[postings.documents])
        return Scored(postings.documents, scores * boost)
    every = np.zeros(partition.num_documents, np.float32)
    matches = np.zeros(partition.num_documents, np.bool_)
    for number, factor in factors:
        postings = partition.postings(number)
        own = postings.documents
        every[own] += factor * weights(postings.frequencies, norms[own])
        matches[own] = True
    documents = np.flatnonzero(matches)
    return Scored(documents, every[documents] * boost)


def _documents_of_all(partition: Partition, numbers: Sequence[TermNumbers]) -> Integers:
    """The documents that have a term of each word."""
    documents: Integers | None = None
    sizes = [sum(int(partition.lengths[number]) for number in word.values()) for word in numbers]
    for word_index in np.argsort(sizes, kind="stable").tolist():
        parts = [partition.postings(number).documents for number in numbers[word_index].values()]
        own = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        documents = own if documents is None else documents[contains(own, documents)]
    assert documents is not None
    return documents


def _scores_of(
    partition: Partition,
    factors: Sequence[tuple[int, np.float32]],
    documents: Integers,
    norms: Floats,
) -> Floats:
    """The scores of ``documents``."""
    scores = np.zeros(len(documents), np.float32)
    for number, factor in factors:
        postings = partition.postings(number)
        has_term = contains(postings.documents, documents)
        frequencies = postings.frequencies[contains(documents, postings.documents)]
        scores[has_term] += factor * weights(frequencies, norms[documents[has_term]])
    return scores
