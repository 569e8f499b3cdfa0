"""Which documents have the words of a phrase in their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings.partition import Partition, TermNumbers
from lance_core_text.queries.words import Word
from lance_core_text.scoring.document_lookup import contains

_POSITION_BITS = 32


def position_keys(documents: Integers, frequencies: Integers, positions: Integers) -> Integers:
    """One ascending number for each position of a term: document and position."""
    return (np.repeat(documents, frequencies) << _POSITION_BITS) | positions


def documents_with_phrase(
    partition: Partition,
    numbers: Sequence[TermNumbers],
    words: Sequence[Word],
    slop: int,
    documents: Integers,
) -> Integers:
    """Those of ``documents`` that have the phrase of ``words``, which have these ``numbers``."""
    keys = []
    for word in numbers:
        parts = []
        for number in word.values():
            postings = partition.postings(number)
            is_candidate = contains(documents, postings.documents)
            of_candidates = np.repeat(is_candidate, postings.frequencies)
            positions = partition.positions(number)[of_candidates]
            parts.append(
                position_keys(
                    postings.documents[is_candidate], postings.frequencies[is_candidate], positions
                )
            )
        keys.append(parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts)))
    return phrase_documents(keys, [word.position for word in words], slop)


def phrase_documents(keys: Sequence[Integers], positions: Sequence[int], slop: int) -> Integers:
    """The documents with a phrase, ascending.

    ``keys``: the `position_keys` of each word, ascending. ``positions``: that of each word in the
    phrase. The distance of a word from the one before it is that in the phrase, or up to ``slop``
    more.
    """
    ends = keys[0]
    for own, distance in zip(keys[1:], np.diff(positions).tolist(), strict=True):
        # The phrase goes on where the word before is at one of these positions. None is below that
        # of the first word of a document, so that no key of another document is in the range.
        high = own - distance
        low = np.maximum(high - slop, (own >> _POSITION_BITS) << _POSITION_BITS)
        at = np.minimum(np.searchsorted(ends, low), len(ends) - 1)
        ends = own[(ends[at] >= low) & (ends[at] <= high)] if len(ends) else ends
    documents = ends >> _POSITION_BITS
    is_first = np.append(True, documents[1:] != documents[:-1])[: len(documents)]
    distinct: Integers = documents[is_first]
    return distinct
