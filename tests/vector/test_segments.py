"""Segments of different trainings, partitions that grow or shrink, and indices without rows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import IndexWarning
from lance_core.hookspecs.indices import IndexBatch
from lance_core_vector.distances import METRICS
from lance_core_vector.kinds import balance, drift, move
from lance_core_vector.kinds.merge import _has_same_codes
from lance_core_vector.quantizers.rabit import RabitQuantizer
from lance_core_vector.training import build, graphs
from lance_core_vector.training.rabit_encoder import RabitEncoder
from tests.each_case import each_case
from tests.vector.test_build import KINDS, ROWS, WIDTH, clustered, column, recall, table_of


def append(
    dataset: lance.LanceDataset, matrix: npt.NDArray[Any], first: int = ROWS
) -> lance.LanceDataset:
    rows = pa.table({"id": range(first, first + len(matrix)), "v": column(matrix)})
    return lance.write_dataset(rows, dataset, mode="append")


def sizes(dataset: lance.LanceDataset) -> list[int]:
    (segment,) = dataset.stats.index_stats("v_idx")["indices"]
    return [one["size"] for one in segment["partitions"]]


@each_case("kind, parameters", KINDS[:5])  # those with a graph have the same codes
def test_segments_are_merged_any_number_of_times(
    tmp_path: Path, kind: str, parameters: dict[str, Any]
) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    segments = [
        dataset.create_index_uncommitted(
            "v", kind, fragment_ids=[number], num_partitions=3 + number, seed=number, **parameters
        )
        for number in range(3)
    ]
    dataset.delete("id % 5 = 1")
    pair = dataset.merge_existing_index_segments(segments[:2])
    every = dataset.merge_existing_index_segments([segments[2], pair])
    dataset.commit_existing_index_segments("v_idx", "v", [every])
    (index,) = dataset.describe_indices()
    assert [sorted(one.fragment_ids) for one in index.segments] == [[0, 1, 2]]
    live = ROWS - ROWS // 5
    assert live <= sum(sizes(dataset)) <= ROWS  # rows whose codes are copied may be deleted ones
    probes = {"nprobes": 50, "refine_factor": 10}
    assert recall(dataset, matrix[::600], **probes) >= (0.9 if kind == "IVF_PQ" else 0.99)
    nearest = {"column": "v", "q": matrix[0], "k": ROWS, "nprobes": 50}
    found = dataset.to_table(["id"], nearest=nearest)["id"].to_pylist()
    assert sorted(found) == [number for number in range(ROWS) if number % 5 != 1]


@each_case(
    "kind, parameters, largest",
    [("IVF_PQ", {"num_sub_vectors": WIDTH}, 0.5), ("IVF_RQ", {"num_bits": 5}, 0.5)],
)
def test_codes_of_other_codebooks_and_rotations_are_encoded_again(
    tmp_path: Path, kind: str, parameters: dict[str, Any], largest: float
) -> None:
    """The partitions are the same, but not what the seed decides."""
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    segments = [
        dataset.create_index_uncommitted(
            "v", kind, fragment_ids=[number], ivf_centroids=matrix[:3], seed=number, **parameters
        )
        for number in range(2)
    ]
    merged = dataset.merge_existing_index_segments(segments)
    dataset.commit_existing_index_segments("v_idx", "v", [merged])
    nearest = {"column": "v", "q": matrix[0], "k": 4_000, "nprobes": 3}
    found = dataset.to_table(["v"], nearest=nearest, fast_search=True)
    exact = np.square(np.array(found["v"].to_pylist()) - matrix[0]).sum(axis=1)
    errors = np.abs(found["_distance"].to_numpy() - exact)
    assert np.quantile(errors / exact.mean(), 0.95) < largest


@each_case(
    "kind, parameters, metric", [(*KINDS[0], "l2"), (*KINDS[2], "cosine"), (*KINDS[1], "dot")]
)
def test_partitions_that_have_grown_are_split(
    tmp_path: Path, kind: str, parameters: dict[str, Any], metric: str
) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix[:1_000])
    dataset.create_index("v", kind, metric=metric, target_partition_size=250, **parameters)
    before = sizes(dataset)
    dataset = append(dataset, matrix[1_000:], 1_000)
    dataset.optimize.optimize_indices()
    after = sizes(dataset)
    assert len(after) > len(before)
    assert sum(after) == ROWS
    assert max(after) <= 4 * 250
    options = {"nprobes": len(after), "refine_factor": 10, "metric": metric}
    assert recall(dataset, matrix[::600], **options) >= (0.9 if kind == "IVF_PQ" else 0.99)


def test_bytes_are_split_by_their_bits(tmp_path: Path) -> None:
    matrix = np.random.default_rng(2).integers(0, 256, (3_000, 8)).astype(np.uint8)
    dataset = table_of(tmp_path, matrix[:500])
    dataset.create_index("v", "IVF_FLAT", metric="hamming", target_partition_size=250)
    dataset = append(dataset, matrix[500:], 500)
    dataset.optimize.optimize_indices()
    assert len(sizes(dataset)) > 2
    assert recall(dataset, matrix[:50:10], nprobes=99) == 1


def test_partitions_are_joined_when_most_rows_are_deleted(tmp_path: Path) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_PQ", num_partitions=20, num_sub_vectors=8)
    dataset.delete("id % 10 != 0")
    dataset.optimize.compact_files()
    dataset = append(dataset, matrix[:60])
    dataset.optimize.optimize_indices()
    after = sizes(dataset)
    assert len(after) == 3  # of 300 rows each, as there were
    assert sum(after) == ROWS // 10 + 60
    assert recall(dataset, matrix[::600], nprobes=3, refine_factor=10) >= 0.9


def test_an_index_without_rows_is_built_when_there_are_enough(tmp_path: Path) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix[:100])
    with pytest.warns(IndexWarning, match="covers no rows, until optimize_indices can train it"):
        dataset.create_index("v", "IVF_PQ", num_sub_vectors=8)
    with pytest.warns(IndexWarning, match="Not enough rows to train PQ"):
        dataset.optimize.optimize_indices()
    nearest = {"column": "v", "q": matrix[3], "k": 1}
    assert dataset.to_table(["id"], nearest=nearest)["id"].to_pylist() == [3]
    stats = dataset.stats.index_stats("v_idx")
    assert (stats["num_indexed_rows"], stats["num_unindexed_rows"]) == (0, 100)
    dataset.prewarm_index("v_idx")
    dataset = append(dataset, matrix[100:], 100)
    dataset.optimize.optimize_indices()
    assert sum(sizes(dataset)) == ROWS
    assert recall(dataset, matrix[::600], nprobes=9, refine_factor=10) >= 0.9


@pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_SQ"])
def test_an_index_that_was_not_trained_is_built_later(tmp_path: Path, kind: str) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", kind, train=False, metric="cosine", target_partition_size=1_000)
    assert [one.num_rows_indexed for one in dataset.describe_indices()] == [0]
    dataset.optimize.optimize_indices()
    assert len(sizes(dataset)) == 6
    options = {"nprobes": 6, "refine_factor": 5, "metric": "cosine"}
    assert recall(dataset, matrix[::600], **options) >= 0.99
    empty = lance.write_dataset(
        pa.table({"v": column(matrix[:0].reshape(0, WIDTH))}), tmp_path / "empty"
    )
    empty.create_index("v", kind)
    assert empty.to_table(nearest={"column": "v", "q": matrix[0]}).num_rows == 0


def test_null_vectors_are_counted_and_left_out(tmp_path: Path) -> None:
    vectors = pa.array([None] * 50, column(clustered(1)).type)
    dataset = lance.write_dataset({"v": vectors}, tmp_path / "t")
    with pytest.warns(IndexWarning, match="no rows with a vector"):
        dataset.create_index("v", "IVF_FLAT")
    some = pa.concat_arrays([vectors, column(clustered(40))])
    dataset = lance.write_dataset({"v": some}, tmp_path / "u")
    dataset.create_index("v", "IVF_SQ", num_partitions=2)
    assert sum(sizes(dataset)) == 40


def test_what_stands_for_the_number_of_a_matrix_is_not_read_with_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix, stored = clustered()[:600], RabitEncoder.metadata
    with monkeypatch.context() as patched:
        other = {"rotate_mat_position": "x"}
        patched.setattr(RabitEncoder, "metadata", lambda encoder: {**stored(encoder), **other})
        dataset = table_of(tmp_path, matrix)
        dataset.create_index("v", "IVF_RQ", num_partitions=2)
    dataset.delete("id % 5 = 1")
    dataset.optimize.compact_files()
    assert recall(dataset, matrix[::60], nprobes=2, refine_factor=10) >= 0.99


def test_the_partitions_of_a_copy_say_where_they_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other libraries read nothing else."""
    written: list[Any] = []
    true = move._copy_metadata

    def noted(reader: Any, writer: Any, ivf: bytes, *others: Any) -> None:
        written.append(move.parse_message(move.IVF, ivf, "", ""))
        true(reader, writer, ivf, *others)

    monkeypatch.setattr(move, "_copy_metadata", noted)
    dataset = table_of(tmp_path, clustered()[:900])
    dataset.create_index("v", "IVF_SQ", num_partitions=3)
    dataset.delete("id % 5 = 1")
    dataset.optimize.compact_files()
    codes = written[0]
    assert len(codes.lengths) == 3
    assert list(codes.offsets) == [0, *np.cumsum(codes.lengths)[:-1].tolist()]


def test_a_graph_is_changed_where_rows_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To build it anew takes many times as long."""
    matrix = clustered()
    dataset = table_of(tmp_path, matrix[:600])
    dataset.create_index("v", "IVF_HNSW_SQ", num_partitions=1, m=8, ef_construction=30)
    dataset = append(dataset, matrix[600:620], 600)
    monkeypatch.setattr(graphs, "build_graph", None)
    dataset.optimize.optimize_indices()
    assert sum(sizes(dataset)) == 620


def test_all_rows_of_a_partition_train_the_centroids_that_replace_its_own() -> None:
    matrix = clustered(300)
    numbers = np.arange(300, dtype=np.uint64)
    rows: Any = SimpleNamespace(
        type=column(matrix).type, batches=lambda: iter([IndexBatch(column(matrix), numbers)])
    )
    moving: Any = SimpleNamespace(rows=numbers, owners=np.arange(300) % 3)
    parameters: Any = SimpleNamespace(
        partition_rows=100,
        seed=1,
        metric=METRICS["l2"],
        budget=1 << 20,
        sample_rate=256,
        iterations=5,
    )
    new = balance._new_centroids(np.array([0, 2]), moving, [rows], parameters)
    np.testing.assert_allclose(new, [matrix[0::3].mean(axis=0), matrix[2::3].mean(axis=0)], 1e-4)


def test_vectors_are_encoded_in_pieces_of_a_few_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = clustered(2_000)
    numbers = np.arange(2_000, dtype=np.uint64)
    rows: Any = SimpleNamespace(
        type=column(matrix).type, batches=lambda: iter([IndexBatch(column(matrix), numbers)])
    )
    monkeypatch.setattr(build, "PIECE_BYTES", 4 * WIDTH * 600)
    assert [len(piece.rows) for piece in build._pieces(rows)] == [600, 600, 600, 200]


def test_partitions_are_joined_only_where_their_size_is_stated() -> None:
    lengths = np.full(8, 10)
    for rows, joined in ((None, []), (100, [0, 1, 2, 3, 4, 5, 6])):
        parameters: Any = SimpleNamespace(partition_rows=rows, kind="IVF_FLAT")
        split, own = balance._unbalanced(lengths, parameters)
        assert (split.tolist(), own.tolist()) == ([], joined)


def test_codes_of_another_kind_or_metric_mean_something_else() -> None:
    def index(kind: str, metric: str) -> Any:
        model = SimpleNamespace(centroids=np.zeros((1, 4)))
        files = SimpleNamespace(kind=kind)
        return SimpleNamespace(files=files, metric=METRICS[metric], model=model, quantizer=None)

    first = index("IVF_FLAT", "l2")
    assert _has_same_codes(first, index("IVF_FLAT", "l2"))
    assert not _has_same_codes(first, index("IVF_FLAT", "dot"))
    assert not _has_same_codes(first, index("IVF_SQ", "l2"))


def test_an_estimated_distance_below_zero_is_none() -> None:
    distances = np.array([0.25, -0.5, 1.75])
    source: Any = SimpleNamespace(
        quantizer=object.__new__(RabitQuantizer),
        model=SimpleNamespace(centroids=np.zeros((1, 4))),
        distances_in=lambda *_: distances,
    )
    assert drift._losses_of_codes(source, 0).tolist() == [0.25, 0, 1.75]


def test_vectors_of_zeros_have_no_angle_and_tiny_ones_have_one() -> None:
    matrix = np.array([[1, 0], [0, 0], [1e-30, 0], [np.nan, 0], [np.inf, 1]], np.float32)
    batch = IndexBatch(column(matrix), np.arange(5, dtype=np.uint64))
    assert build.indexed(batch, METRICS["cosine"])[0].tolist() == [0, 2]
    assert build.indexed(batch, METRICS["l2"])[0].tolist() == [0, 1, 2]
