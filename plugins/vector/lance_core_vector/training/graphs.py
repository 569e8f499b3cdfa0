"""The graphs of the partitions of a new index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core.errors import InvalidInputError
from lance_core_vector.graphs.build_graph import build_graph, changed_graph
from lance_core_vector.graphs.stored_graph import StoredGraph
from lance_core_vector.loops.threads import in_threads
from lance_core_vector.training.encoders import Encoder
from lance_core_vector.training.parameters import BuildParameters

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import Progress
    from lance_core_vector.loops.graph import GraphVectors
    from lance_core_vector.training.partitioned_rows import PartitionedRows


NEIGHBOUR_BYTES = 40
"""Bytes for each of ``m`` neighbours of a node. Up to twice as many are on the lowest level: in the
lists of the build with 4 bytes each, then with their distances in what is stored and in the batch
that is written, with 8 each."""

VECTOR_COPIES = 2.5
"""How many times the vectors of a partition are in memory: their codes as they were encoded, the
vectors that are compared, and pieces of both on their way."""

SCAN_REMAINS = 128 << 20
"""Bytes that the scan and the codes of all rows have left in the pools of memory: 115 MiB were
measured for 152,286 rows of 512 bytes."""


class OldGraph(NamedTuple):
    """The graph that a partition had before rows came and went.

    ``rows``: the new row number of each node; ``is_kept``: False for nodes without one, whose codes
    are ``removed``.
    """

    graph: StoredGraph
    rows: npt.NDArray[np.uint64]
    is_kept: npt.NDArray[np.bool_]
    removed: npt.NDArray[Any]


OldGraphs: TypeAlias = Callable[[int], OldGraph | None]
"""The graph that a partition had, by its number."""


def graphs_of(
    partitioned: PartitionedRows,
    encoder: Encoder,
    parameters: BuildParameters,
    progress: Progress,
    old: OldGraphs = lambda number: None,
) -> Iterator[StoredGraph | None] | None:
    """The graphs of the partitions to write, None for those without rows.

    None for a kind without graphs. A graph that a partition had is changed instead of built, if
    each row has one vector.
    """
    if parameters.graph is None:
        return None
    return _graphs(partitioned, encoder, parameters, progress, old)


class _Task(NamedTuple):
    """The graph of a partition to build, or to change: ``positions`` as for `changed_graph`."""

    seed: tuple[int, int]
    vectors: GraphVectors
    before: OldGraph | None
    positions: npt.NDArray[np.int64] | None


def _graphs(
    partitioned: PartitionedRows,
    encoder: Encoder,
    parameters: BuildParameters,
    progress: Progress,
    old: OldGraphs,
) -> Iterator[StoredGraph | None]:
    """Graphs are built by as many threads as memory allows; each depends on its partition only."""
    shape, metric = parameters.graph, parameters.metric
    assert shape is not None
    lengths: list[int] = partitioned.lengths[partitioned.chosen].tolist()

    def tasks() -> Iterator[_Task]:
        for number, length in zip(partitioned.chosen.tolist(), lengths, strict=True):
            if not length:
                continue
            rows, codes = partitioned.partition(number)
            vectors, before = encoder.graph_vectors(codes, metric), old(number)
            positions = None if before is None else _places(before, rows)
            yield _Task((parameters.seed, number), vectors, before, positions)

    def graph(task: _Task) -> StoredGraph:
        if task.before is None or task.positions is None:
            return build_graph(task.vectors, shape, task.seed)
        removed = encoder.graph_vectors(task.before.removed, metric).rows
        return changed_graph(task.before.graph, task.positions, task.vectors, removed, task.seed)

    built = in_threads(graph, tasks(), _num_at_once(partitioned, encoder, parameters))
    done, total = 0, sum(lengths)
    for length in lengths:
        if length:
            yield next(built)
            done += length
            progress("build_graphs", done, total)
        else:
            yield None


def _num_at_once(
    partitioned: PartitionedRows, encoder: Encoder, parameters: BuildParameters
) -> int:
    """The number of graphs, each as large as the largest one, that fit into memory; at least 1.

    Raises `InvalidInputError` if a user gave the limit, and one does not fit. Other builds, as
    those of an optimization, may take more than the default.
    """
    assert parameters.graph is not None
    nonempty = partitioned.chosen[partitioned.lengths[partitioned.chosen] > 0]
    if not len(nonempty):
        return 1
    lengths = partitioned.lengths[nonempty]
    _, codes = partitioned.partition(int(nonempty[lengths.argmin()]))
    vector = encoder.graph_vectors(codes[:1], parameters.metric)
    bytes_per_row = VECTOR_COPIES * vector.rows.nbytes + NEIGHBOUR_BYTES * parameters.graph.m
    needed = int(lengths.max() * bytes_per_row)
    available = parameters.memory_limit - SCAN_REMAINS
    if parameters.is_limited and needed > available:
        raise InvalidInputError(
            f"the graph of a partition of {lengths.max():,} rows takes {needed >> 20} MiB, and a "
            f"memory_limit of {parameters.memory_limit >> 20} MiB leaves {available >> 20} MiB for "
            "it: build more partitions, or raise the limit"
        )
    return max(1, available // needed)


def _places(before: OldGraph, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64] | None:
    """Where the nodes of a graph are among ``rows``, which ascend; -1 for those not kept.

    None if rows have several vectors, or if a row is missing.
    """
    positions = np.minimum(np.searchsorted(rows, before.rows), len(rows) - 1)
    if (rows[1:] == rows[:-1]).any() or (rows[positions] != before.rows)[before.is_kept].any():
        return None
    return np.where(before.is_kept, positions, -1)
