"""The best documents of a partition by the compiled loop, which skips blocks that have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lance_core.errors import CorruptFileError
from lance_core_text.loops.library import is_compiled, native
from lance_core_text.postings.partition import POSTING, TermNumbers
from lance_core_text.queries.clauses import Clause
from lance_core_text.scoring.scored import Scored
from lance_core_text.scoring.scorer import PartitionScorer

MAX_COUNTED = 250
"""Clauses, and words of a clause that needs all of them, that the loop counts at most."""


def is_rankable(scorer: PartitionScorer, clauses: Sequence[Clause]) -> bool:
    """True if the compiled loop can answer these clauses."""
    if not is_compiled() or len(clauses) > MAX_COUNTED:
        return False
    return all(
        (not clause.needs_all or len(clause.words) <= MAX_COUNTED)
        and (not clause.is_phrase or scorer.partition.has_streams)
        for clause in clauses
    )


def rank_partition(
    scorer: PartitionScorer,
    clauses: Sequence[Clause],
    numbers: Sequence[Sequence[TermNumbers]],
    factors: Mapping[str, np.float32],
    count: int,
) -> Scored:
    """The best ``count`` documents, or all. Raises `CorruptFileError`.

    The best is first, and documents of equal scores ascend, if the rows of documents ascend.

    ``numbers``: those of each word of each clause. ``factors``: what weights are multiplied by.
    """
    partition = scorer.partition
    terms: list[tuple[object, ...]] = []
    shape: list[int] = []
    for clause, of_words in zip(clauses, numbers, strict=True):
        slop = -1 if clause.match.slop is None else min(clause.match.slop, 1 << 31)
        shape += [clause.role, clause.needs_all, slop, len(of_words)]
        for word, of_word in zip(clause.words, of_words, strict=True):
            shape += [word.position, len(of_word)]
            for term, number in of_word.items():
                own = scorer.term(number)
                streams = partition.streams(number) if clause.is_phrase else (None, None)
                terms.append(
                    (
                        own.data,
                        own.offsets,
                        own.firsts,
                        own.best,
                        *streams,
                        own.length,
                        factors[term],
                    )
                )
    count = min(count, partition.num_documents)
    scores, documents = np.empty(count, np.float32), np.empty(count, np.int64)
    layout = partition.layout
    try:
        size = native.rank(
            terms,
            layout.size,
            layout.has_score,
            layout.has_plain_rest,
            partition.has_sorted_rows,
            scorer.norms,
            partition.documents.rows,
            np.array(shape, np.int64),
            np.array([clause.match.boost for clause in clauses], np.float32),
            scores,
            documents,
        )
    except ValueError as error:
        raise CorruptFileError(str(error), partition.postings_path, field=POSTING) from None
    return Scored(documents[:size], scores[:size])
