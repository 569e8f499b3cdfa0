"""Graphs: what is in them, what searches find, and nodes that come and go."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lance_core.errors import CorruptFileError
from lance_core_vector.graphs.build_graph import build_graph, changed_graph
from lance_core_vector.graphs.stored_graph import GraphParameters, StoredGraph
from lance_core_vector.loops.graph import GraphVectors, Space, search_graph
from lance_core_vector.loops.library import native

SMALL = GraphParameters(m=8, ef=40)
COUNT = 1_500


def vectors_of(space: Space, count: int = COUNT, seed: int = 0) -> GraphVectors:
    random = np.random.default_rng(seed)
    centers = np.random.default_rng(9).normal(size=(12, 20)) * 2
    rows = centers[random.integers(0, 12, count)] + random.normal(size=(count, 20))
    if space in (Space.L2_BYTES, Space.HAMMING):
        return GraphVectors(space, np.clip(rows * 16 + 128, 0, 255).astype(np.uint8), 0.5)
    return GraphVectors(space, rows.astype(np.float32))


def distances(vectors: GraphVectors, query: npt.NDArray[Any]) -> npt.NDArray[Any]:
    rows, other = vectors.rows.astype(np.float64), query.astype(np.float64)
    if vectors.space is Space.HAMMING:
        return np.unpackbits(vectors.rows ^ query, axis=1).sum(axis=1)
    if vectors.space is Space.DOT_FLOATS:
        return -(rows @ other)
    return ((rows - other) ** 2).sum(axis=1)


def pair_distances(
    vectors: GraphVectors, nodes: npt.NDArray[Any], others: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """The distance of each node to the vector of the other node at the same position."""
    left, right = vectors.rows[nodes], vectors.rows[others]
    if vectors.space is Space.HAMMING:
        return np.unpackbits(left ^ right, axis=1).sum(axis=1)
    left, right = left.astype(np.float64), right.astype(np.float64)
    if vectors.space is Space.DOT_FLOATS:
        return -(left * right).sum(axis=1)
    return ((left - right) ** 2).sum(axis=1)


def check_sound(graph: StoredGraph, vectors: GraphVectors) -> None:
    """All lists ascend by distance, and have each neighbour once, and never their node."""
    lists = graph.lists
    count = len(vectors.rows)
    assert lists.levels.tolist()[:2] == [0, count]
    assert lists.entry in lists.nodes[lists.levels[-2] :]
    for number, (node, start, stop) in enumerate(
        zip(lists.nodes, lists.starts, lists.starts[1:], strict=False)
    ):
        some, far = lists.neighbours[start:stop].tolist(), graph.distances[start:stop].tolist()
        most = 2 * graph.parameters.m if number < count else graph.parameters.m
        assert len({*some, int(node)}) == len(some) + 1 <= most + 1
        assert far == sorted(far)
    nodes = np.repeat(lists.nodes, np.diff(lists.starts))
    exact = pair_distances(vectors, nodes, lists.neighbours) * vectors.scale + vectors.base
    np.testing.assert_allclose(graph.distances, exact, rtol=1e-4, atol=1e-3)
    for level, (first, stop) in enumerate(zip(lists.levels, lists.levels[1:], strict=False)):
        inner = lists.neighbours[lists.starts[first] : lists.starts[stop]]
        assert np.isin(inner, lists.nodes[first:stop]).all(), level


def share_found(graph: StoredGraph, vectors: GraphVectors, queries: npt.NDArray[Any]) -> float:
    """The share of the ten nearest vectors that a search finds."""
    found = 0
    for query in queries:
        nodes = search_graph(vectors, graph.lists, query, 50)
        assert len({*nodes.tolist()}) == len(nodes) == min(50, len(vectors.rows))
        limit = np.sort(distances(vectors, query))[9]
        found += min(10, int((distances(vectors, query)[nodes] <= limit).sum()))
    return found / (10 * len(queries))


@pytest.mark.parametrize("space", [0, 1, 2, 3])
def test_searches_find_the_nearest_nodes(space: int) -> None:
    vectors = vectors_of(Space(space))
    graph = build_graph(vectors, SMALL, (1,))
    check_sound(graph, vectors)
    assert share_found(graph, vectors, vectors_of(Space(space), 20, 1).rows) >= 0.95
    again = build_graph(vectors, SMALL, (1,))
    assert again.lists.neighbours.tobytes() == graph.lists.neighbours.tobytes()


@pytest.mark.parametrize("width", [1, 63, 64, 130, 768])
def test_distances_of_bytes_of_all_sizes_are_exact(width: int) -> None:
    """Also where they are computed from products, of up to 128 bytes at once."""
    rows = np.random.default_rng(width).choice(
        np.array([0, 1, 127, 128, 255], np.uint8), (60, width)
    )
    vectors = GraphVectors(Space.L2_BYTES, rows)
    graph = build_graph(vectors, SMALL, (1,))
    nodes = np.repeat(graph.lists.nodes, np.diff(graph.lists.starts))
    differences = rows[nodes].astype(np.int64) - rows[graph.lists.neighbours]
    assert graph.distances.tolist() == (differences**2).sum(axis=1).tolist()


@pytest.mark.parametrize("space", [0, 3])
@pytest.mark.parametrize("removed", [0, 0.3, 0.7])
def test_nodes_that_come_and_go_leave_a_graph_that_is_searched_as_well(
    space: int, removed: float
) -> None:
    every = vectors_of(Space(space))
    before = every._replace(rows=every.rows[:1_000])
    graph = build_graph(before, SMALL, (1,))
    random = np.random.default_rng(4)
    is_kept = random.random(1_000) >= removed
    # New vectors are mixed with the old ones, whose order does not change.
    is_old = np.zeros(int(is_kept.sum()) + 500, np.bool_)
    is_old[np.sort(random.choice(len(is_old), int(is_kept.sum()), replace=False))] = True
    rows = np.empty((len(is_old), 20), every.rows.dtype)
    rows[is_old], rows[~is_old] = before.rows[is_kept], every.rows[1_000:]
    places = np.full(1_000, -1)
    places[is_kept] = np.flatnonzero(is_old)
    after = every._replace(rows=rows)
    changed = changed_graph(graph, places, after, before.rows[~is_kept], (1,))
    check_sound(changed, after)
    assert share_found(changed, after, vectors_of(Space(space), 20, 1).rows) >= 0.95


def test_a_graph_loses_its_entry_and_all_but_one_node() -> None:
    vectors = vectors_of(Space.L2_FLOATS, 3)
    graph = build_graph(vectors, SMALL, (1,))
    for kept in range(3):
        is_kept = np.arange(3) == kept
        left = vectors._replace(rows=vectors.rows[is_kept])
        places = np.where(is_kept, 0, -1)
        one = changed_graph(graph, places, left, vectors.rows[~is_kept], (1,))
        assert search_graph(left, one.lists, left.rows[0], 5).tolist() == [0]


@pytest.mark.parametrize("space", [Space.L2_BYTES, Space.HAMMING])
def test_codes_of_bytes_begin_anywhere(space: Space) -> None:
    rows = np.random.default_rng(3).integers(0, 256, (100, 7), np.uint8)
    graph = build_graph(GraphVectors(space, rows), SMALL, (1,))
    shifted = np.empty(rows.size + 1, np.uint8)[1:].reshape(rows.shape)
    shifted[:] = rows
    moved = GraphVectors(space, shifted)
    expected = search_graph(GraphVectors(space, rows), graph.lists, rows[5], 20)
    assert search_graph(moved, graph.lists, shifted[5], 20).tolist() == expected.tolist()
    again = build_graph(moved, SMALL, (1,))
    assert again.lists.neighbours.tobytes() == graph.lists.neighbours.tobytes()


def test_tables_of_codes_that_begin_anywhere() -> None:
    codes = np.random.default_rng(3).integers(0, 256, (101, 6), np.uint8)
    lists = build_graph(GraphVectors(Space.L2_BYTES, codes[1:]), SMALL, (1,)).lists
    slice_of_file = codes.reshape(-1)[6:].reshape(100, 6)
    table = np.arange(6 * 256, dtype=np.float32).reshape(6, 256) % 256
    nodes = search_graph(GraphVectors(Space.TABLES, slice_of_file), lists, table, 100)
    assert nodes[0] == codes[1:].sum(axis=1, dtype=np.int64).argmin()


def test_squares_of_many_bytes_do_not_overflow() -> None:
    rows = np.zeros((3, 40_000), np.uint8)
    rows[1], rows[2, :100] = 255, 255
    vectors = GraphVectors(Space.L2_BYTES, rows)
    graph = build_graph(vectors, SMALL, (1,))
    assert graph.distances.max() == 40_000 * 255**2
    assert search_graph(vectors, graph.lists, rows[0], 3).tolist() == [0, 2, 1]


def test_a_graph_with_neighbours_on_levels_where_those_are_not_is_built_again() -> None:
    vectors = vectors_of(Space.L2_FLOATS, 200)
    graph = build_graph(vectors, SMALL, (1,))
    lists = graph.lists
    neighbours = lists.neighbours.copy()
    lowest = np.setdiff1d(np.arange(200), lists.nodes[200:])[0]
    neighbours[lists.starts[200] :] = lowest
    wrong = dataclasses.replace(graph, lists=lists._replace(neighbours=neighbours))
    assert graph.has_levels()
    assert not wrong.has_levels()
    left = vectors._replace(rows=vectors.rows[1:])
    changed = changed_graph(wrong, np.arange(200) - 1, left, vectors.rows[:1], (1,))
    check_sound(changed, left)


@pytest.mark.parametrize("offsets", [[], [0, 10**30], [0, -1], [0, True], None])
def test_offsets_of_levels_are_checked(offsets: object) -> None:
    batch = build_graph(vectors_of(Space.L2_FLOATS, 30), SMALL, (1,)).batch()
    stored = {"level_offsets": offsets, "entry_point": 0}
    with pytest.raises(CorruptFileError, match="no levels"):
        StoredGraph.of(batch.columns, stored, 30, "index.idx")


def test_equal_vectors_and_few_levels() -> None:
    same = GraphVectors(Space.L2_BYTES, np.ones((300, 4), np.uint8))
    graph = build_graph(same, GraphParameters(m=6, ef=20, max_level=1), (0,))
    check_sound(graph, same)
    assert len(search_graph(same, graph.lists, same.rows[0], 20)) == 20


def test_wrong_graphs_are_an_error() -> None:
    vectors = vectors_of(Space.L2_BYTES, 30)
    graph = build_graph(vectors, SMALL, (1,))
    lists, found = graph.lists, np.zeros(5, np.uint32)

    def search(**other: Any) -> None:
        stored = lists._replace(**other)
        native.hnsw_search(
            0, 20, 30, vectors.rows, vectors.rows[0], *stored[:4], stored.entry, found
        )

    search()
    for other in (
        {"entry": 30},
        {"entry": -1},
        {"starts": lists.starts[:-1]},
        {"nodes": lists.nodes[1:]},
        {"levels": lists.levels[:1]},
        {"levels": lists.levels + 1},
        {"neighbours": lists.neighbours[:-1]},
        {"neighbours": lists.neighbours + np.uint32(30)},
        {"neighbours": np.full_like(lists.neighbours, 2**32 - 1)},
        {"starts": np.append(lists.starts[:-1] * -1, lists.starts[-1:])},
        {"starts": np.append(lists.starts[:-1] + (1 << 30), lists.starts[-1:])},
    ):
        with pytest.raises(ValueError, match="do not belong together"):
            search(**other)
