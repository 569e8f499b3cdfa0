"""The graphs of the partitions of a new index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core.errors import InvalidInputError
from lance_core_vector.graphs.build_graph import build_graph, changed_graph
from lance_core_vector.graphs.stored_graph import StoredGraph
from lance_core_vector.training.encoders import Encoder
from lance_core_vector.training.parameters import BuildParameters

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import Progress
    from lance_core_vector.loops.graph import GraphVectors
    from lance_core_vector.training.partitioned_rows import PartitionedRows


NEIGHBOUR_BYTES = 20
"""Bytes for each of ``m`` neighbours of a node: twice as many have a number and a distance on the
lowest level, and the levels above take a fourth of that."""


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


def _graphs(
    partitioned: PartitionedRows,
    encoder: Encoder,
    parameters: BuildParameters,
    progress: Progress,
    old: OldGraphs,
) -> Iterator[StoredGraph | None]:
    assert parameters.graph is not None
    done, total = 0, int(partitioned.lengths[partitioned.chosen].sum())
    for number in partitioned.chosen.tolist():
        if not partitioned.lengths[number]:
            yield None
            continue
        rows, codes = partitioned.partition(number)
        _check_memory(len(rows), encoder.graph_vectors(codes[:1], parameters.metric), parameters)
        vectors = encoder.graph_vectors(codes, parameters.metric)
        seed = parameters.seed, number
        before = old(number)
        positions = None if before is None else _places(before, rows)
        if before is None or positions is None:
            yield build_graph(vectors, parameters.graph, seed)
        else:
            removed = encoder.graph_vectors(before.removed, parameters.metric).rows
            yield changed_graph(before.graph, positions, vectors, removed, seed)
        done += len(rows)
        progress("build_graphs", done, total)


def _check_memory(count: int, vector: GraphVectors, parameters: BuildParameters) -> None:
    """Raise `InvalidInputError` if a graph takes more memory than a user allows.

    ``vector``: that of one of the ``count`` rows. Other builds, as those of an optimization, may
    take more than the default.
    """
    assert parameters.graph is not None
    needed = count * (vector.rows.nbytes + NEIGHBOUR_BYTES * parameters.graph.m)
    if parameters.is_limited and needed > parameters.memory_limit - parameters.budget:
        raise InvalidInputError(
            f"the graph of a partition of {count:,} rows takes {needed >> 20} MiB, and "
            f"memory_limit is {parameters.memory_limit >> 20} MiB: build more partitions, or "
            "raise the limit"
        )


def _places(before: OldGraph, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64] | None:
    """Where the nodes of a graph are among ``rows``, which ascend; -1 for those not kept.

    None if rows have several vectors, or if a row is missing.
    """
    positions = np.minimum(np.searchsorted(rows, before.rows), len(rows) - 1)
    if (rows[1:] == rows[:-1]).any() or (rows[positions] != before.rows)[before.is_kept].any():
        return None
    return np.where(before.is_kept, positions, -1)
