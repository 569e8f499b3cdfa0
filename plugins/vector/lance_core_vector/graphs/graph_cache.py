"""`GraphCache`: the graphs of partitions with their codes, read when a query needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.concurrency import LruCache
from lance_core.hookspecs.indices import RowNumbers, count_parts
from lance_core_vector.graphs.stored_graph import SCHEMA, GraphParameters, StoredGraph
from lance_core_vector.loops.graph import GraphVectors, search_graph
from lance_core_vector.partitions.index_files import ROW_ID, IndexFiles, IvfModel, row_numbers
from lance_core_vector.partitions.partition_cache import (
    AT_ONCE,
    MAX_CACHED_BYTES,
    READERS,
    Partition,
)

if TYPE_CHECKING:
    from lance_core_vector.graphs.comparison import Comparison
    from lance_core_vector.quantizers.base import Quantizer


class GraphPartition(NamedTuple):
    """A partition: its number, the row number of each vector, its stored codes and its graph."""

    number: int
    rows: RowNumbers
    codes: Sequence[pa.Array]
    vectors: GraphVectors
    graph: StoredGraph

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        codes = sum(array.nbytes for array in self.codes) + self.vectors.rows.nbytes
        return int(self.rows.nbytes + codes + self.graph.nbytes)

    def near(self, query: npt.NDArray[Any], ef: int, quantizer: Quantizer) -> Partition:
        """The up to ``ef`` vectors near ``query``, as a partition of their own."""
        nodes = search_graph(self.vectors, self.graph.lists, query, ef)
        order = np.sort(nodes).astype(np.intp)
        return Partition(
            self.number, self.rows[order], quantizer.load(quantizer.without(self.codes, order))
        )


class GraphCache:
    """The partitions of an index, with their graphs, that were used last; thread-safe."""

    def __init__(
        self, files: IndexFiles, model: IvfModel, quantizer: Quantizer, comparison: Comparison
    ) -> None:
        self._files = files
        self._model = model
        self._quantizer = quantizer
        self._comparison = comparison
        self._partitions: LruCache[int, GraphPartition] = LruCache(
            MAX_CACHED_BYTES, lambda partition: partition.nbytes + 256, made_once=True
        )

    def each(self, numbers: Sequence[int]) -> Iterator[GraphPartition]:
        """The partitions with these numbers, which have rows. Raises `CorruptFileError`.

        Those that are missing are read at the same time, as many as the cache has room for.
        """
        missing = [number for number in numbers if number not in self._partitions]
        if not missing:
            return map(self._get, numbers)
        count_parts(len(missing))
        self._get(missing[0])  # reads what all need: once, not in each thread
        lists = 8 * 2 * GraphParameters.of(self._files.graph[missing[0]]).m  # numbers and distances
        size = int(self._model.lengths[missing].max()) * (self._quantizer.bytes_per_row + lists)
        return READERS.in_order(self._get, numbers, max(1, min(AT_ONCE, MAX_CACHED_BYTES // size)))

    def _get(self, number: int) -> GraphPartition:
        return self._partitions.get(number, lambda: self._read(number))

    def load_all(self) -> None:
        """Read as many partitions as are cached."""
        total = 0
        for partition in self.each(np.flatnonzero(self._model.lengths).tolist()):
            total += partition.nbytes
            if total > MAX_CACHED_BYTES:
                return

    def _read(self, number: int) -> GraphPartition:
        start, count = int(self._model.offsets[number]), int(self._model.lengths[number])
        columns = [ROW_ID, *self._quantizer.columns]
        rows, *codes = self._files.codes.arrays(columns, start, start + count)
        return GraphPartition(
            number,
            row_numbers(rows, self._files.codes.path),
            codes,
            self._comparison.vectors(codes),
            stored_graph(self._files, self._model, number),
        )


def stored_graph(files: IndexFiles, model: IvfModel, number: int) -> StoredGraph:
    """The graph of partition ``number``, which has rows. Raises `CorruptFileError`."""
    assert model.graph_rows is not None
    start, stop = model.graph_rows[number].tolist()
    arrays = files.index.arrays(SCHEMA.names, start, stop)
    return StoredGraph.of(arrays, files.graph[number], int(model.lengths[number]), files.index.path)
