"""`PostingLists`: which documents have some terms, how often, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.hookspecs.indices import RowNumbers
from lance_core.hookspecs.searches import Elements

Numbers = npt.NDArray[np.int32]


class Documents(NamedTuple):
    """The documents of a partition: the row number and the number of terms of each.

    ``elements``: the position in the list of the row, None if rows are documents.
    """

    rows: RowNumbers
    lengths: Numbers
    elements: Elements | None = None

    @classmethod
    def joined(cls, parts: Sequence[Documents]) -> Documents:
        """Those of all ``parts``."""
        rows = np.concatenate([np.empty(0, np.uint64), *(part.rows for part in parts)])
        lengths = np.concatenate([np.empty(0, np.int32), *(part.lengths for part in parts)])
        elements = [part.elements for part in parts if part.elements is not None]
        return cls(rows, lengths, np.concatenate(elements) if elements else None)

    def ordered(self) -> tuple[Documents, Integers]:
        """The same by row and element, and for each its index among those of ``self``."""
        keys = (self.rows,) if self.elements is None else (self.elements, self.rows)
        order = np.lexsort(keys)
        elements = None if self.elements is None else self.elements[order]
        return Documents(self.rows[order], self.lengths[order], elements), order

    @property
    def total_length(self) -> int:
        """The terms of all documents, with repetitions."""
        return int(self.lengths.sum(dtype=np.int64))


class PostingLists(NamedTuple):
    """The posting lists of some terms, one list after the other.

    ``terms``: distinct large strings, ascending by their bytes. ``counts``: the documents of each.
    ``documents`` and ``frequencies``: of all lists; documents ascend in a list. ``positions``: of
    all postings, as many for each as its frequency, ascending; None if they are not stored.
    """

    terms: pa.Array
    counts: Integers
    documents: Numbers
    frequencies: Numbers
    positions: Numbers | None

    def some(self, first: int, stop: int) -> PostingLists:
        """The lists of the terms ``first`` to ``stop``."""
        start, end = (int(self.counts[:at].sum()) for at in (first, stop))
        positions = self.positions
        if positions is not None:
            before = int(self.frequencies[:start].sum(dtype=np.int64))
            within = int(self.frequencies[start:end].sum(dtype=np.int64))
            positions = positions[before : before + within]
        return PostingLists(
            self.terms.slice(first, stop - first),
            self.counts[first:stop],
            self.documents[start:end],
            self.frequencies[start:end],
            positions,
        )

    def ordered(self) -> PostingLists:
        """The same lists, of documents in any order, with documents that ascend in each."""
        documents = self.documents
        ascends = documents[1:] > documents[:-1]
        ends = np.cumsum(self.counts)[:-1]
        ascends[ends - 1] = True
        if ascends.all():
            return self
        owners = np.repeat(np.arange(len(self.counts)), self.counts)
        return self._in_order(np.lexsort((documents, owners)))

    def sorted_by_term(self) -> PostingLists:
        """The same lists, of terms in any order, in the order of the terms."""
        order = to_numpy(pc.sort_indices(self.terms))
        if (order[1:] > order[:-1]).all():
            return self
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        owners = np.repeat(rank, self.counts)
        lists = self._in_order(np.argsort(owners, kind="stable"))
        return lists._replace(terms=self.terms.take(from_numpy(order)), counts=self.counts[order])

    def _in_order(self, order: npt.NDArray[np.intp]) -> PostingLists:
        """The same terms with the postings in another order."""
        positions = self.positions
        if positions is not None:
            counts = self.frequencies.astype(np.int64)
            starts = (np.cumsum(counts) - counts)[order]
            counts = counts[order]
            ends = np.cumsum(counts)
            shifts = np.repeat(starts - (ends - counts), counts)
            positions = positions[shifts + np.arange(len(shifts))]
        return self._replace(
            documents=self.documents[order],
            frequencies=self.frequencies[order],
            positions=positions,
        )


def joined(parts: list[PostingLists]) -> PostingLists:
    """The lists of all parts, whose terms follow each other."""
    if len(parts) == 1:
        return parts[0]
    positions = [part.positions for part in parts if part.positions is not None]
    return PostingLists(
        pa.concat_arrays([part.terms for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.documents for part in parts]),
        np.concatenate([part.frequencies for part in parts]),
        np.concatenate(positions) if positions else None,
    )
