"""`PartitionScorer`: a partition with what scores depend on beside the query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.concurrency import LruCache
from lance_core_text.loops.library import native
from lance_core_text.postings.partition import POSTING, Partition
from lance_core_text.scoring.bm25 import Floats

MAX_PREPARED_BYTES = 32 << 20
"""Maximum bytes of cached best weights of a partition."""


class PreparedTerm(NamedTuple):
    """The blocks of a term, checked: the first document of each, and its best weight."""

    data: npt.NDArray[np.uint8]
    offsets: Integers
    length: int
    firsts: npt.NDArray[np.uint32]
    best: Floats


class PartitionScorer:
    """``norms``: those of all documents, see `Statistics.norms`. Thread-safe.

    The best weight of each block is computed from its postings when a term is first searched. Those
    in files are too low in indices of some releases, and rows would be missing.
    """

    def __init__(self, partition: Partition, norms: Floats) -> None:
        self.partition = partition
        self.norms = norms
        self._terms: LruCache[int, PreparedTerm] = LruCache(
            MAX_PREPARED_BYTES, lambda term: term.best.nbytes * 2 + 512, made_once=True
        )

    def term(self, number: int) -> PreparedTerm:
        """A term for the compiled loops. Raises `CorruptFileError`."""
        return self._terms.get(number, lambda: self._prepared(number))

    def _prepared(self, number: int) -> PreparedTerm:
        blocks = self.partition.blocks(number)
        layout = self.partition.layout
        count = len(blocks.offsets) - 1
        firsts, best = np.empty(count, np.uint32), np.empty(count, np.float32)
        try:
            if -(-blocks.length // layout.size) != count:
                raise ValueError(f"{count} blocks for {blocks.length} documents")
            native.prepare_blocks(
                blocks.data,
                blocks.offsets,
                blocks.length,
                layout.size,
                layout.has_score,
                layout.has_plain_rest,
                self.norms,
                self.partition.documents.lengths,
                firsts,
                best,
            )
        except ValueError as error:
            path = self.partition.postings_path
            raise CorruptFileError(str(error), path, field=POSTING) from None
        return PreparedTerm(*blocks, firsts, best)
