"""Build the graph of a partition, or change it for rows that came and went."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lance_core_vector.graphs.stored_graph import GraphParameters, StoredGraph
from lance_core_vector.loops.graph import Change, GraphVectors, Lists, change_graph

MAX_REMOVED = 0.4
"""The share of nodes above which a graph is built again when they are removed: repairs would take
as long, and what is left of the graph says little about the rest."""

_NO_NODES = np.empty(0, np.uint8)


def build_graph(
    vectors: GraphVectors, parameters: GraphParameters, seed: Sequence[int]
) -> StoredGraph:
    """The graph of ``vectors``; the same for the same seed."""
    count = len(vectors.rows)
    lists = Lists.empty(_levels(count, parameters, seed), parameters.m)
    change = Change(np.arange(count, dtype=np.uint32), _NO_NODES, -1)
    entry = change_graph(vectors, lists, change, parameters.m, parameters.ef)
    return StoredGraph.built(lists, vectors, entry, parameters)


def changed_graph(
    graph: StoredGraph,
    positions: npt.NDArray[np.int64],
    vectors: GraphVectors,
    removed: npt.NDArray[np.generic],
    seed: Sequence[int],
) -> StoredGraph:
    """The graph of ``vectors``, of which some are nodes of ``graph``.

    ``positions``: where the vector of each node of ``graph`` is among ``vectors``; -1 for those
    that are removed, whose vectors are ``removed``, one a row. A graph is built again if it has too
    many neighbours to be changed, or some on levels where those are not.
    """
    count, is_removed = len(vectors.rows), positions < 0
    parameters = graph.parameters
    sizes = np.diff(graph.lists.starts)
    first_upper = int(graph.lists.levels[1])
    if (
        is_removed.mean() > MAX_REMOVED
        or sizes[:first_upper].max(initial=0) > 2 * parameters.m
        or sizes[first_upper:].max(initial=0) > parameters.m
        or not graph.has_levels()
    ):
        return build_graph(vectors, parameters, seed)
    # Removed nodes come after all others, so that the lists of those are the result.
    nodes = positions.copy()
    nodes[is_removed] = count + np.arange(is_removed.sum())
    levels = _levels(count + len(removed), parameters, seed)
    levels[nodes] = 0
    stored = graph.lists
    for level in range(1, len(stored.levels) - 1):
        levels[nodes[stored.nodes[stored.levels[level] : stored.levels[level + 1]]]] = level
    lists = Lists.empty(levels, parameters.m)
    _fill(lists, graph, nodes)
    is_old = np.zeros(count + len(removed), np.bool_)
    is_old[nodes] = True
    gone = np.zeros(len(is_old), np.uint8)
    gone[count:] = 1
    rows = np.concatenate([vectors.rows, removed.astype(vectors.rows.dtype, copy=False)])
    every = GraphVectors(vectors.space, rows)
    order = np.flatnonzero(~is_old)
    entry = int(nodes[stored.entry])
    if entry >= count:
        remaining = np.flatnonzero(is_old[:count])
        entry = int(remaining[np.argmax(levels[remaining])]) if len(remaining) else -1
    change = Change(order.astype(np.uint32), gone if len(removed) else _NO_NODES, entry)
    entry = change_graph(every, lists, change, parameters.m, parameters.ef)
    lost = _unreachable(lists, count, entry)
    if len(lost):
        change = Change(lost.astype(np.uint32), _NO_NODES, entry)
        entry = change_graph(every, lists, change, parameters.m, parameters.ef)
    return StoredGraph.built(lists, vectors, entry, parameters)


def _levels(count: int, parameters: GraphParameters, seed: Sequence[int]) -> npt.NDArray[np.uint8]:
    """The highest level of each node: one of m nodes is on the next level."""
    random = np.random.default_rng([*seed, count])
    levels = -np.log1p(-random.random(count)) / math.log(parameters.m)
    return np.minimum(levels, parameters.max_level - 1).astype(np.uint8)


def _fill(lists: Lists, graph: StoredGraph, nodes: npt.NDArray[np.int64]) -> None:
    """Copy the neighbours of ``graph``, whose node i is ``nodes[i]``."""
    stored = graph.lists
    sizes = np.diff(stored.starts)
    neighbours = nodes[stored.neighbours].astype(np.uint32)
    for level in range(len(stored.levels) - 1):
        some = slice(int(stored.levels[level]), int(stored.levels[level + 1]))
        own = nodes[stored.nodes[some]]
        at = lists.firsts[own] + level - 1 if level else own
        counts, links = (lists.upper_counts, lists.upper) if level else (lists.counts, lists.links)
        counts[at] = sizes[some]
        column = np.arange(links.shape[1])
        present = column < sizes[some][:, None]
        rows = np.zeros((len(own), links.shape[1]), np.uint32)
        first, stop = stored.starts[some.start], stored.starts[some.stop]
        rows[present] = neighbours[first:stop]
        links[at] = rows


def _unreachable(lists: Lists, count: int, entry: int) -> npt.NDArray[np.int64]:
    """Nodes that are only on level 0, where no other node has them as a neighbour."""
    present = np.arange(lists.links.shape[1]) < lists.counts[:count, None]
    is_reached = np.zeros(count, np.bool_)
    is_reached[lists.links[:count][present]] = True
    is_reached[max(entry, 0)] = True
    return np.flatnonzero(~is_reached & (lists.levels[:count] == 0))
