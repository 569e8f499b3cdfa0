"""`StoredDocuments`: the documents of an existing partition that a new one has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.arrays import from_numpy
from lance_core_text.write.posting_columns import term_ranges
from lance_core_text.write.posting_lists import Documents, Numbers, PostingLists

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import RowMap
    from lance_core_text.postings.partition import Partition


class StoredDocuments:
    """The ``documents`` of ``partition`` that ``rows`` keeps, with their new row numbers.

    Raises `CorruptFileError`.
    """

    def __init__(self, partition: Partition, rows: RowMap) -> None:
        moved, is_kept = rows.moved(partition.documents.rows)
        self._partition = partition
        self._is_kept = is_kept
        _, lengths, elements = partition.documents
        self.documents = Documents(
            moved[is_kept],
            lengths[is_kept].astype(np.int32),
            None if elements is None else elements[is_kept],
        )

    @property
    def num_documents(self) -> int:
        """The documents that are kept."""
        return len(self.documents.rows)

    def lists(self, numbers: Numbers, *, with_positions: bool) -> Iterator[PostingLists]:
        """The posting lists of these documents in parts, each of some terms.

        ``numbers``: the new number of each document.
        """
        partition = self._partition
        new = np.full(len(self._is_kept), -1, np.int32)
        new[self._is_kept] = numbers
        terms, of_terms = partition.tokens.all()
        order = np.empty(len(of_terms), np.int64)
        order[of_terms] = np.arange(len(of_terms))
        terms = terms.take(from_numpy(order))  # by number
        for first, stop in term_ranges(partition.lengths):
            yield self._part(terms, first, stop, new, with_positions=with_positions)

    def _part(
        self, terms: pa.Array, first: int, stop: int, new: Numbers, *, with_positions: bool
    ) -> PostingLists:
        """The lists of the terms with the numbers ``first`` to ``stop``."""
        partition = self._partition
        postings = partition.postings_between(first, stop)
        documents = new[postings.documents]
        is_kept = documents >= 0
        positions = None
        if with_positions:
            every = partition.positions_between(first, stop, postings.frequencies)
            positions = every[np.repeat(is_kept, postings.frequencies)].astype(np.int32)
        owners = np.repeat(np.arange(stop - first), partition.lengths[first:stop])[is_kept]
        counts = np.bincount(owners, minlength=stop - first)
        used = np.flatnonzero(counts)
        lists = PostingLists(
            terms.slice(first, stop - first).take(from_numpy(used)),
            counts[used],
            documents[is_kept],
            postings.frequencies[is_kept].astype(np.int32),
            positions,
        )
        return lists.ordered().sorted_by_term()
