"""Graphs of nearest neighbours in levels (HNSW): building, repairing and searching them.

These loops exist in C only: in Python they would take hours where C takes a minute, and who has no
compiler searches all codes instead, which finds at least as much.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core_vector.loops.library import native


class Space(IntEnum):
    """What vectors are compared by, one a row; the numbers are those of ``hnsw.h``."""

    L2_BYTES = 0
    """The squared distance of bytes."""
    HAMMING = 1
    """The different bits of bytes."""
    L2_FLOATS = 2
    """The squared distance of float32."""
    DOT_FLOATS = 3
    """The negative dot product of float32."""
    DOT_BYTES = 4
    """The negative dot product of a query in float32 and bytes."""
    TABLES = 5
    """The sum of the numbers that bytes have in a table each, of 256 float32."""


class GraphVectors(NamedTuple):
    """Vectors or codes that a graph connects, one a row, and how they are compared.

    A distance of results is that of the loops times ``scale``, plus ``base``.
    """

    space: Space
    rows: npt.NDArray[Any]
    scale: float = 1.0
    base: float = 0.0


class Lists(NamedTuple):
    """The neighbours of the nodes of a graph that is built, in lists of fixed length.

    ``levels``: the highest level of each node (uint8); ``firsts``: the number of its first list
    above level 0. ``links`` has up to ``2m`` neighbours of each node on level 0, ``upper`` up to
    ``m`` for each list above it; ``counts`` and ``upper_counts`` (uint16) say how many. The
    distances of neighbours have the same shapes.
    """

    levels: npt.NDArray[np.uint8]
    firsts: npt.NDArray[np.int64]
    links: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint16]
    upper: npt.NDArray[np.uint32]
    upper_counts: npt.NDArray[np.uint16]
    distances: npt.NDArray[np.float32]
    upper_distances: npt.NDArray[np.float32]

    @classmethod
    def empty(cls, levels: npt.NDArray[np.uint8], m: int) -> Lists:
        """Lists without neighbours."""
        firsts = np.cumsum(levels, dtype=np.int64) - levels
        lower, upper = (len(levels), 2 * m), (int(levels.sum(dtype=np.int64)), m)
        return cls(
            levels,
            firsts,
            np.zeros(lower, np.uint32),
            np.zeros(lower[0], np.uint16),
            np.zeros(upper, np.uint32),
            np.zeros(upper[0], np.uint16),
            np.zeros(lower, np.float32),
            np.zeros(upper, np.float32),
        )


class Change(NamedTuple):
    """What is done to a graph.

    ``order``: the nodes that are inserted, one after the other (uint32). ``removed``: 1 for each
    node that no list may have after it (uint8), or empty. ``entry``: the node where searches begin,
    -1 if there is none yet.
    """

    order: npt.NDArray[np.uint32]
    removed: npt.NDArray[np.uint8]
    entry: int


def change_graph(vectors: GraphVectors, lists: Lists, change: Change, m: int, ef: int) -> int:
    """Remove nodes, insert others, and measure all distances; returns the new entry.

    Fills ``lists``, in which neighbours ascend by distance. ``ef``: how many nodes near a new one
    are searched for its neighbours.
    """
    rows = np.ascontiguousarray(vectors.rows)
    entry: int = native.hnsw_change(
        int(vectors.space),
        rows.shape[1],
        rows,
        m,
        ef,
        lists.levels,
        lists.firsts,
        lists.links,
        lists.counts,
        lists.upper,
        lists.upper_counts,
        change.order,
        change.removed,
        change.entry,
        lists.distances,
        lists.upper_distances,
    )
    return entry


class StoredLists(NamedTuple):
    """The lists of a graph as they are stored, one after the other, level by level.

    ``nodes`` (uint32) has the node of each list, ascending on each level; list i of level 0 is that
    of node i. ``starts`` (int32): where each list begins among ``neighbours`` (uint32), and the
    end. ``levels`` (int64): the first list of each level, and the end. All neighbours are nodes.
    """

    nodes: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int32]
    neighbours: npt.NDArray[np.uint32]
    levels: npt.NDArray[np.int64]
    entry: int


def search_graph(
    vectors: GraphVectors, lists: StoredLists, query: npt.NDArray[Any], ef: int
) -> npt.NDArray[np.uint32]:
    """Up to ``ef`` nodes near ``query``, the nearest first."""
    count, width = vectors.rows.shape
    nodes = np.empty(min(ef, count), np.uint32)
    size = native.hnsw_search(
        int(vectors.space),
        width,
        count,
        vectors.rows,
        query,
        lists.nodes,
        lists.starts,
        lists.neighbours,
        lists.levels,
        lists.entry,
        nodes,
    )
    return nodes[:size]
