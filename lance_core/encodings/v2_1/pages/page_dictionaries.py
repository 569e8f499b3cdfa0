"""Join the dictionaries of pages that are read together.

The indices of a page count from the start of its own dictionary. After the items of all pages are
concatenated, each index grows by the number of items of the pages before its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.decoding import ValuePositions
    from lance_core.encodings.v2_1.codecs.values import Words


class ItemRuns(NamedTuple):
    """The number of values of each page, in page order, and the ``edges`` of `PageItems`."""

    lengths: Int64Array
    edges: Int64Array

    def joined(self, indices: Words) -> Words:
        """The indices into the dictionary of all pages.

        Raises `CorruptFileError` for an index beyond the dictionary of its page.
        """
        if int(self.lengths.sum()) != len(indices):
            raise CorruptFileError(
                f"the pages have {len(indices)} dictionary indices for {int(self.lengths.sum())} "
                "values"
            )
        has_values = np.flatnonzero(self.lengths)
        if not len(has_values):
            return indices
        # Without the pages of no values, for which `reduceat` would return a value of the next.
        starts = (np.cumsum(self.lengths) - self.lengths)[has_values]
        highest = np.maximum.reduceat(indices, starts)
        counts = np.diff(self.edges)[has_values]
        beyond = np.flatnonzero(highest >= counts.astype(np.uint64))
        if len(beyond):
            first = int(beyond[0])
            raise CorruptFileError(
                f"index {int(highest[first])} is outside of the dictionary of {int(counts[first])} "
                "items"
            )
        # Indices may be bytes, which cannot count the items of all pages.
        unit = np.promote_types(indices.dtype, np.min_scalar_type(int(self.edges[-1])))
        shifted: Words = np.repeat(self.edges[:-1].astype(unit), self.lengths)
        shifted += indices
        return shifted


@dataclass(frozen=True, slots=True, eq=False)
class PageItems:
    """The items of each page: page p has the items ``edges[p]`` to ``edges[p + 1]``.

    ``chunks`` has the first chunk of each page, then the number of chunks.
    """

    edges: Int64Array
    chunks: Int64Array

    @classmethod
    def of(cls, num_items: Int64Array, num_chunks: Int64Array) -> PageItems:
        """Build from the number of items and of chunks of each page."""
        if not num_items.all():
            raise CorruptFileError("a page has dictionary indices, but its dictionary is empty")
        return cls(edges_of(num_items), edges_of(num_chunks))

    def runs(self, chunks: Int64Array, counts: Int64Array, where: ValuePositions) -> ItemRuns:
        """The pages of the values at ``where`` in ``chunks`` of ``counts`` values; all ascend."""
        # The number of values before each page, of all and then of those at `where`.
        before = edges_of(counts)[chunks.searchsorted(self.chunks)]
        if isinstance(where, slice):
            before = np.clip(before, where.start, where.stop)
        else:
            before = np.asarray(where).searchsorted(before)
        return ItemRuns(np.diff(before), self.edges)

    def runs_of(self, chunks: Int64Array) -> ItemRuns:
        """The pages of values, given the ascending chunk number of each value."""
        return ItemRuns(np.diff(chunks.searchsorted(self.chunks)), self.edges)
