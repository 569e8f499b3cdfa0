"""`StoredGraph`: the graph of a partition as files have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core_vector.loops.graph import GraphVectors, Lists, StoredLists
from lance_core_vector.partitions.index_files import HNSW_KEY

NODE, NEIGHBOURS, DISTANCES = "__vector_id", "__neighbors", "_distance"

SCHEMA = pa.schema(
    [
        pa.field(NODE, pa.uint32()),
        pa.field(NEIGHBOURS, pa.list_(pa.uint32())),
        pa.field(DISTANCES, pa.list_(pa.float32())),
    ]
)
"""The columns of the file: a row for each list of neighbours."""

PREFETCH_DISTANCE = 2
"""A parameter of searches in pylance, which reads it from files."""


@dataclass(frozen=True, slots=True)
class GraphParameters:
    """How a graph is built; the names and defaults are those of pylance.

    ``m``: neighbours that a node has on each level, twice as many on the lowest. ``ef``: nodes near
    a new one among which its neighbours are chosen. ``max_level``: the number of levels.
    """

    m: int = 20
    ef: int = 150
    max_level: int = 7

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> GraphParameters:
        """The parameters in the metadata of a graph; the defaults instead of strange values."""
        parameters = stored.get("params")
        parameters = parameters if isinstance(parameters, Mapping) else {}
        numbers = {}
        for name, key, most in (
            ("m", "m", MAX_M),
            ("ef", "ef_construction", MAX_EF),
            ("max_level", "max_level", MAX_LEVELS),
        ):
            value = parameters.get(key)
            if type(value) is int and (2 if name == "m" else 1) <= value <= most:
                numbers[name] = value
        return cls(**numbers)

    def metadata(self, levels: list[int], entry: int) -> dict[str, Any]:
        """The metadata of a graph: each level up to the highest possible one has an offset."""
        missing = self.max_level + 1 - len(levels)
        return {
            "entry_point": entry,
            "params": {
                "max_level": self.max_level,
                "m": self.m,
                "ef_construction": self.ef,
                "prefetch_distance": PREFETCH_DISTANCE,
            },
            "level_offsets": [*levels, *levels[-1:] * missing],
        }


MAX_M, MAX_EF, MAX_LEVELS = 512, 1 << 20, 32
"""The largest parameters of a graph."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredGraph:
    """The lists of a graph; ``distances`` of the neighbours, in the scale of results."""

    lists: StoredLists
    distances: npt.NDArray[np.float32]
    parameters: GraphParameters

    @classmethod
    def of(
        cls, arrays: Sequence[pa.Array], stored: Mapping[str, Any], count: int, path: str
    ) -> StoredGraph:
        """The graph of ``count`` nodes in the columns of a file.

        ``stored``: the metadata of the graph. Raises `CorruptFileError`.
        """
        nodes, lists, distances = arrays
        offsets, entry = stored.get("level_offsets"), stored.get("entry_point")
        if not isinstance(offsets, list) or not all(
            type(offset) is int and 0 <= offset <= len(nodes) for offset in offsets or [None]
        ):
            raise CorruptFileError("a graph has no levels", path, field=HNSW_KEY)
        levels = np.array(offsets[:MAX_LEVELS], np.int64)
        levels = levels[: int(np.argmax(levels)) + 1]  # the highest levels may have no nodes
        neighbours = lists.flatten()
        starts = to_numpy(lists.offsets)
        graph = StoredLists(
            np.ascontiguousarray(to_numpy(nodes), np.uint32),
            np.ascontiguousarray(starts - starts[0], np.int32),
            np.ascontiguousarray(to_numpy(neighbours), np.uint32),
            levels,
            entry if type(entry) is int else -1,
        )
        if nodes.null_count or lists.null_count or neighbours.null_count:
            raise CorruptFileError("a node is null", path, field=NODE)
        own = to_numpy(distances.offsets)
        if distances.null_count or not np.array_equal(own - own[0], starts - starts[0]):
            raise CorruptFileError("a node has not one distance for each neighbour", path)
        if not _is_sound(graph, count):
            raise CorruptFileError("a graph has other nodes or levels", path, field=HNSW_KEY)
        far = to_numpy(distances.flatten()).astype(np.float32, copy=False)
        return cls(graph, far, GraphParameters.of(stored))

    @classmethod
    def built(
        cls, lists: Lists, vectors: GraphVectors, entry: int, parameters: GraphParameters
    ) -> StoredGraph:
        """The graph of ``vectors``, which are the first nodes of ``lists``; no list has others."""
        count = len(vectors.rows)
        nodes, sizes, neighbours, distances = [], [], [], []
        levels = [0]
        own = lists.levels[:count]
        for level in range(int(own.max(initial=0)) + 1):
            some = np.flatnonzero(own >= level)
            at = some if level == 0 else lists.firsts[some] + level - 1
            counts = (lists.upper_counts if level else lists.counts)[at]
            links = (lists.upper if level else lists.links)[at]
            present = np.arange(links.shape[1]) < counts[:, None]
            nodes.append(some.astype(np.uint32))
            sizes.append(counts)
            neighbours.append(links[present])
            distances.append((lists.upper_distances if level else lists.distances)[at][present])
            levels.append(levels[-1] + len(some))
        starts = np.append(0, np.cumsum(np.concatenate(sizes), dtype=np.int64)).astype(np.int32)
        stored = StoredLists(
            np.concatenate(nodes),
            starts,
            np.concatenate(neighbours),
            np.array(levels, np.int64),
            max(entry, 0),
        )
        far = np.concatenate(distances) * np.float32(vectors.scale) + np.float32(vectors.base)
        return cls(stored, far, parameters)

    def has_levels(self) -> bool:
        """True if all neighbours on a level are nodes of that level or of a higher one.

        Searches pass others over; changes need it.
        """
        lists = self.lists
        highest = np.zeros(int(lists.levels[1]), np.int64)
        levels = list(enumerate(zip(lists.levels, lists.levels[1:], strict=False)))[1:]
        for level, (first, stop) in levels:
            highest[lists.nodes[first:stop]] = level
        return all(
            (highest[lists.neighbours[lists.starts[first] : lists.starts[stop]]] >= level).all()
            for level, (first, stop) in levels
        )

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return sum(array.nbytes for array in self.lists[:4]) + int(self.distances.nbytes)

    def metadata(self) -> dict[str, Any]:
        """The metadata of the graph."""
        return self.parameters.metadata(self.lists.levels.tolist(), self.lists.entry)

    def batch(self) -> pa.RecordBatch:
        """The rows of the file."""
        starts = from_numpy(self.lists.starts)
        arrays = [
            from_numpy(self.lists.nodes),
            pa.ListArray.from_arrays(starts, from_numpy(self.lists.neighbours)),
            pa.ListArray.from_arrays(starts, from_numpy(self.distances)),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _is_sound(graph: StoredLists, count: int) -> bool:
    """True if all lists are of nodes, and all neighbours are nodes."""
    levels, nodes, starts = graph.levels, graph.nodes, graph.starts
    if not (
        len(levels) >= 2
        and levels[0] == 0
        and levels[1] == count
        and levels[-1] == len(nodes)
        and (levels[1:] >= levels[:-1]).all()
        and 0 <= graph.entry < count
    ):
        return False
    for first, stop in zip(levels[:-1].tolist(), levels[1:].tolist(), strict=True):
        some = nodes[first:stop]
        if (some[1:] <= some[:-1]).any() or (len(some) and some[-1] >= count):
            return False
    return bool(
        len(starts) == len(nodes) + 1
        and (starts[1:] >= starts[:-1]).all()
        and starts[-1] <= len(graph.neighbours)
        and graph.neighbours.max(initial=0) < count
    )
