"""Searches of indices with graphs, which are followed also in small partitions here."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core_vector.distances import METRICS
from lance_core_vector.graphs.stored_graph import StoredGraph
from lance_core_vector.kinds import hnsw_index, vector_index
from lance_core_vector.loops.library import numpy_loops
from lance_core_vector.training import graphs
from lance_core_vector.training.encoders import ScalarEncoder
from tests.vector.test_build import clustered, column, recall, table_of

SMALL = {"m": 12, "ef_construction": 60}
ROWS = 3_000


@pytest.fixture
def follow_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hnsw_index, "SCANNED_ROWS", 2)


@pytest.mark.usefixtures("follow_graphs")
@pytest.mark.parametrize(
    ("kind", "more", "metric"),
    [
        ("IVF_HNSW_SQ", {}, "l2"),
        ("IVF_HNSW_SQ", {}, "dot"),
        ("IVF_HNSW_FLAT", {}, "cosine"),
        ("IVF_HNSW_PQ", {"num_sub_vectors": 16}, "cosine"),
        ("IVF_HNSW_PQ", {"num_sub_vectors": 16, "num_bits": 4}, "dot"),
    ],
)
def test_graphs_lead_to_the_nearest_rows(
    tmp_path: Path, kind: str, more: dict[str, Any], metric: str
) -> None:
    matrix = clustered(ROWS)
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", kind, metric=metric, num_partitions=2, **SMALL, **more)
    queries = matrix[:200:20] + np.float32(0.01)
    options = {"metric": metric, "refine_factor": 10, "ef": 200}
    assert recall(dataset, queries, **options) >= 0.95
    dataset.prewarm_index("v_idx")
    nearest = {"column": "v", "q": queries[0], "k": 20, "nprobes": 2}
    with numpy_loops():
        fresh = lance.dataset(dataset.uri)
        every = fresh.to_table(["id"], nearest=nearest)["id"].to_pylist()
    near = dataset.to_table(["id"], nearest=nearest)["id"].to_pylist()
    assert len({*near} & {*every}) >= 18
    assert dataset.to_table(["id"], nearest=nearest | {"ef": 20}).num_rows == 20


@pytest.mark.usefixtures("follow_graphs")
def test_more_nodes_of_graphs_are_visited_for_a_greater_ef(tmp_path: Path) -> None:
    matrix = np.random.default_rng(5).normal(size=(2_000, 24)).astype(np.float32)
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_HNSW_FLAT", num_partitions=1, m=4, ef_construction=20)
    queries = matrix[:300:20] + np.float32(0.5)
    few, many = (recall(dataset, queries, ef=ef) for ef in (10, 1_000))
    assert few < 0.9
    assert many == 1


@pytest.mark.usefixtures("follow_graphs")
@pytest.mark.parametrize(
    ("kind", "more"),
    [("IVF_HNSW_SQ", {}), ("IVF_HNSW_PQ", {"num_sub_vectors": 7, "skip_transpose": True})],
)
def test_codes_of_partitions_begin_anywhere(
    tmp_path: Path, kind: str, more: dict[str, Any]
) -> None:
    matrix = np.random.default_rng(1).random((1_000, 7), np.float32)
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", kind, metric="l2", num_partitions=3, **SMALL, **more)
    for row in (1, 500, 900):
        nearest = {"column": "v", "q": matrix[row], "k": 5, "nprobes": 3, "refine_factor": 4}
        assert dataset.to_table(["id"], nearest=nearest)["id"][0].as_py() == row


def test_graphs_of_other_types_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = clustered(300)
    built = table_of(tmp_path, matrix)
    built.create_index("v", "IVF_HNSW_SQ", num_partitions=1, **SMALL)
    wrong = pa.schema([pa.field("__vector_id", pa.string())])
    monkeypatch.setattr(vector_index, "GRAPH_SCHEMA", wrong)
    dataset = lance.dataset(built.uri)
    with pytest.warns(lance.errors.IndexWarning, match="has the type uint32 instead of string"):
        rows = dataset.to_table(["id"], nearest={"column": "v", "q": matrix[7], "k": 1})
    assert rows["id"].to_pylist() == [7]


def test_an_ef_below_the_rows_that_are_ranked_is_refused(tmp_path: Path) -> None:
    matrix = clustered(500)
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_HNSW_SQ", num_partitions=1, **SMALL)
    nearest = {"column": "v", "q": matrix[1], "k": 10}
    with pytest.raises(InvalidInputError, match=r"an ef of 9 and a k of 10$"):
        dataset.to_table(nearest=nearest | {"ef": 9})
    with pytest.raises(InvalidInputError, match="an ef of 19 and a k of 10 times a refine_factor"):
        dataset.to_table(nearest=nearest | {"ef": 19, "refine_factor": 2})
    for more in ({"ef": 10}, {"ef": 20, "refine_factor": 2}, {"ef": 9, "use_index": False}):
        assert dataset.to_table(nearest=nearest | more).num_rows == 10


@pytest.mark.usefixtures("follow_graphs")
def test_filters_and_deletions_never_lose_rows(tmp_path: Path) -> None:
    matrix = clustered(ROWS)
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_HNSW_SQ", num_partitions=1, **SMALL)
    dataset.delete("id % 3 = 0")
    far = np.argsort(((matrix - matrix[1]) ** 2).sum(axis=1))[-200:].tolist()
    for condition, most in (
        ("id % 2 = 1", 1_000),
        ("id % 100 = 7", 20),
        (f"id IN ({', '.join(map(str, far))})", sum(row % 3 > 0 for row in far)),
    ):
        for k in (1, 10, 100):
            nearest = {"column": "v", "q": matrix[1], "k": k, "refine_factor": 2}
            rows = dataset.to_table(["id"], nearest=nearest, filter=condition)["id"].to_pylist()
            assert len({*rows}) == len(rows) == min(k, most)
            assert all(row % 3 for row in rows)
    nearest = {"column": "v", "q": matrix[1], "k": ROWS}
    assert dataset.to_table(["id"], nearest=nearest).num_rows == 2_000
    limits = {"distance_range": (1.0, 50.0), "k": 5}
    assert dataset.to_table(["id"], nearest=nearest | limits).num_rows == 5


@pytest.mark.usefixtures("follow_graphs")
@pytest.mark.parametrize("deferred", [False, True])
def test_a_compaction_removes_rows_from_graphs(tmp_path: Path, deferred: bool) -> None:
    matrix = clustered(ROWS)
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_HNSW_SQ", num_partitions=2, **SMALL)
    dataset.delete("id % 4 = 1")
    dataset.optimize.compact_files(defer_index_remap=deferred)
    assert dataset.stats.index_stats("v_idx")["num_unindexed_rows"] == 0
    queries = matrix[:200:20] + np.float32(0.01)
    assert recall(dataset, queries, refine_factor=4, nprobes=2) >= 0.95
    dataset.optimize.optimize_indices()
    assert recall(dataset, queries, refine_factor=4, nprobes=2) >= 0.95


@pytest.mark.parametrize("distances", [[[0.5], []], [[0.5, 0.1], []], [[0.5], None]])
def test_a_graph_has_one_distance_for_each_neighbour(distances: list[Any]) -> None:
    nodes, lists = pa.array([0, 1], pa.uint32()), pa.array([[1], [0]], pa.list_(pa.uint32()))
    stored = {"entry_point": 0, "level_offsets": [0, 2]}

    def graph(distances: list[Any]) -> StoredGraph:
        arrays = [nodes, lists, pa.array(distances, pa.list_(pa.float32()))]
        return StoredGraph.of(arrays, stored, 2, "graph")

    assert graph([[0.5], [0.25]]).distances.tolist() == [0.5, 0.25]
    with pytest.raises(CorruptFileError, match="one distance for each neighbour"):
        graph(distances)


@pytest.mark.parametrize("kind", ["IVF_HNSW_PQ", "IVF_HNSW_SQ", "IVF_HNSW_FLAT"])
def test_a_graph_that_exceeds_the_limit_of_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    dataset = table_of(tmp_path, clustered(400))
    monkeypatch.setattr(graphs, "NEIGHBOUR_BYTES", 1 << 18)
    more = {"num_sub_vectors": 4} if kind == "IVF_HNSW_PQ" else {}
    options = {"num_partitions": 1, "m": 8, **more}
    with pytest.raises(InvalidInputError, match="the graph of a partition of 400 rows takes 8"):
        dataset.create_index("v", kind, memory_limit=300 << 20, **options)
    enough = {} if kind == "IVF_HNSW_FLAT" else {"memory_limit": 4 << 30}
    dataset.create_index("v", kind, **options, **enough)


def test_graphs_are_not_built_without_compiled_loops(tmp_path: Path) -> None:
    dataset = table_of(tmp_path, clustered(300))
    with numpy_loops(), pytest.raises(UnsupportedFeatureError, match="by compiled loops only"):
        dataset.create_index("v", "IVF_HNSW_SQ", num_partitions=1)
    dataset.create_index("v", "IVF_HNSW_SQ", num_partitions=1, **SMALL)
    more = pa.table({"id": range(300, 310), "v": column(clustered(10))})
    dataset = lance.write_dataset(more, dataset, mode="append")
    dataset.delete("id % 5 = 1")
    with numpy_loops():
        with pytest.warns(lance.errors.IndexWarning, match="by compiled loops only"):
            dataset.optimize.optimize_indices()
        with pytest.warns(UserWarning, match="by compiled loops only"):
            dataset.optimize.compact_files()


def test_codes_are_read_ahead_where_graphs_are_not_followed(tmp_path: Path) -> None:
    dataset = table_of(tmp_path, clustered(300))
    dataset.create_index("v", "IVF_HNSW_SQ", num_partitions=1, **SMALL)
    with numpy_loops():
        opened = lance.dataset(dataset.uri, session=lance.Session())
        opened.prewarm_index("v_idx")
        for path in (tmp_path / "t.lance").glob("_indices/*/auxiliary.idx"):
            path.unlink()
        nearest = {"column": "v", "q": clustered(1)[0], "k": 3}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert opened.to_table(["id"], nearest=nearest)["id"][0].as_py() == 0


def test_graphs_compare_scalar_codes_as_they_are_unless_products_count() -> None:
    encoder, codes = ScalarEncoder(4, -1.0, 1.0), np.array([[0, 9, 255, 3]], np.uint8)
    assert (encoder.graph_vectors(codes, METRICS["l2"]).rows == codes).all()
    decoded = encoder.graph_vectors(codes, METRICS["dot"]).rows
    assert (decoded == encoder.decode(codes)).all()
