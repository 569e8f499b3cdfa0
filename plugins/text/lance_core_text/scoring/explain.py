"""How the score of a document is computed, as trees of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lance_core_text.postings.partition import Partition
from lance_core_text.queries.clauses import Clause, RoleCounts, role_counts
from lance_core_text.queries.words import TextMatch, Word
from lance_core_text.scoring.bm25 import K1, MAX_WEIGHT, B, Statistics, weights
from lance_core_text.scoring.explanation import Explanation
from lance_core_text.scoring.phrases import documents_with_phrase


class TermOfDocument(NamedTuple):
    """A term that a document has: how often, and the word of the query that it matches.

    ``word``: the term of the word, which is another one if the word is fuzzy.
    """

    term: str
    frequency: int
    word: str


def explain_document(
    partition: Partition, document: int, clauses: Sequence[Clause], statistics: Statistics
) -> Explanation | None:
    """The score of a document of an index; None if it does not match."""
    parts = [_explain_clause(partition, document, clause, statistics) for clause in clauses]
    if len(parts) == 1:
        return parts[0]
    return explain_boolean(parts, role_counts([clause.role for clause in clauses]))


def explain_boolean(parts: Sequence[Explanation | None], counts: RoleCounts) -> Explanation | None:
    """The sum of the scores of parts, of which so many must, should and must not match."""
    num_must, num_should, _ = counts
    must, should = parts[:num_must], parts[num_must : num_must + num_should]
    if None in must or any(parts[num_must + num_should :]) or not any([*must, *should]):
        return None
    matching = [part for part in [*must, *should] if part is not None]
    total = np.float32(0)
    for part in matching:
        total += np.float32(part.value)
    return Explanation(float(total), "sum of the clauses that match", tuple(matching))


def best_explanation(parts: Sequence[Explanation | None]) -> Explanation | None:
    """That of the highest score, the first of equal ones; None if there is none."""
    matching = [part for part in parts if part is not None]
    return max(matching, key=lambda part: part.value, default=None)


def _explain_clause(
    partition: Partition, document: int, clause: Clause, statistics: Statistics
) -> Explanation | None:
    match, words = clause.match, clause.words
    of_words = [_terms_in(partition, document, word) for word in words]
    if not (all(of_words) if clause.needs_all else any(of_words)) or not of_words:
        return None
    if clause.is_phrase:
        assert match.slop is not None
        numbers = [
            {term: number for term in own if (number := partition.number(term)) is not None}
            for own in of_words
        ]
        if not len(
            documents_with_phrase(partition, numbers, words, match.slop, np.array([document]))
        ):
            return None
    terms = [
        TermOfDocument(term, frequency, word.terms[0])
        for word, own in zip(words, of_words, strict=True)
        for term, frequency in own.items()
    ]
    return explain_terms(match, terms, int(partition.scored_lengths[document]), statistics)


def explain_terms(
    match: TextMatch, terms: Sequence[TermOfDocument], length: int, statistics: Statistics
) -> Explanation:
    """The score of a document of ``length`` terms that matches; it has ``terms``, one or more."""
    parts = [_weight(match.column, term, length, statistics) for term in terms]
    total = np.float32(0)
    for part in parts:
        total += np.float32(part.value)
    explanation = parts[0]
    if len(parts) > 1 or match.slop is not None:
        explanation = Explanation(float(total), _sum_text(match), tuple(parts))
    if match.boost == 1:
        return explanation
    value = total * np.float32(match.boost)
    boost = Explanation(match.boost, "boost")
    return Explanation(float(value), "score, boost * weight", (boost, explanation))


def _sum_text(match: TextMatch) -> str:
    if match.slop is None:
        return "sum of the weights of all terms" if match.needs_all else "sum of the weights"
    return f"sum of the weights of the phrase {match.text!r} with slop {match.slop}"


def _weight(column: str, own: TermOfDocument, length: int, statistics: Statistics) -> Explanation:
    """The part of a score that is due to a term."""
    frequency = np.array([own.frequency])
    tf = weights(frequency, statistics.norms(np.array([length])))[0]
    idf = statistics.idfs([own.term])[0]
    count = statistics.frequencies.get(own.term, 0)
    near = "" if own.term == own.word else f", which is near {own.word!r}"
    return Explanation(
        float(idf * MAX_WEIGHT * tf),
        f"weight of {own.term!r} in column {column!r}{near}, idf * (k1 + 1) * tf",
        (
            Explanation(
                float(idf),
                "idf, ln(1 + (N - n + 0.5) / (n + 0.5))",
                (
                    Explanation(count, "n, documents with the term"),
                    Explanation(statistics.num_documents, "N, documents with any term"),
                ),
            ),
            Explanation(float(MAX_WEIGHT), "k1 + 1"),
            Explanation(
                float(tf),
                "tf, freq / (freq + k1 * (1 - b + b * dl / avgdl))",
                (
                    Explanation(own.frequency, "freq, occurrences of the term in the document"),
                    Explanation(float(K1), "k1"),
                    Explanation(float(B), "b"),
                    Explanation(length, "dl, terms of the document"),
                    Explanation(float(statistics.average_length), "avgdl, average of dl"),
                ),
            ),
        ),
    )


def _terms_in(partition: Partition, document: int, word: Word) -> dict[str, int]:
    """The terms of a word that a document has, and how often."""
    frequencies = {}
    for term in word.terms:
        number = partition.number(term)
        if number is not None:
            postings = partition.postings(number)
            index = int(np.searchsorted(postings.documents, document))
            if index < len(postings.documents) and postings.documents[index] == document:
                frequencies[term] = int(postings.frequencies[index])
    return frequencies
