"""Vector indices that are built here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core_vector.training import kmeans
from tests.each_case import each_case
from tests.examples import share

ROWS, WIDTH = 6_000, 16

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("IVF_FLAT", {}),
    ("IVF_SQ", {}),
    ("IVF_PQ", {"num_sub_vectors": 8}),
    ("IVF_PQ", {"num_sub_vectors": 16, "num_bits": 4}),
    ("IVF_RQ", {}),
    ("IVF_HNSW_SQ", {"m": 12, "ef_construction": 60}),
]


def clustered(rows: int = ROWS) -> npt.NDArray[np.float32]:
    random = np.random.default_rng(3)
    centers = random.normal(size=(40, WIDTH))
    found = centers[random.integers(0, 40, rows)] + random.normal(size=(rows, WIDTH)) * 0.3
    return found.astype(np.float32)


def column(matrix: npt.NDArray[Any]) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])


def table_of(folder: Path, matrix: npt.NDArray[Any], **options: Any) -> lance.LanceDataset:
    rows = pa.table({"id": range(len(matrix)), "v": column(matrix)})
    return lance.write_dataset(rows, folder / "t.lance", max_rows_per_file=2_500, **options)


def recall(dataset: lance.LanceDataset, queries: npt.NDArray[Any], **options: Any) -> float:
    """The share of the ten nearest rows that an index finds."""
    found = 0
    for query in queries:
        nearest = {"column": "v", "q": query, "k": 10}
        exact = dataset.to_table(["id"], nearest=nearest | options | {"use_index": False})
        ours = dataset.to_table(["id"], nearest=nearest | options)
        found += len({*exact["id"].to_pylist()} & {*ours["id"].to_pylist()})
    return found / (10 * len(queries))


def test_the_fast_mode_ranks_by_signs_alone(tmp_path: Path) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_RQ", num_partitions=4)
    fast, normal, accurate = (
        recall(dataset, matrix[:200:10], nprobes=4, approx_mode=mode)
        for mode in ("fast", "normal", "accurate")
    )
    assert fast < normal == accurate
    assert recall(dataset, matrix[:200:10], approx_mode="fast", nprobes=4, refine_factor=20) > 0.9
    nearest = {"column": "v", "q": matrix[:2], "k": 5, "nprobes": 4, "approx_mode": "fast"}
    batch = dataset.to_table(["id"], nearest=nearest)["id"].to_pylist()
    each = [dataset.to_table(["id"], nearest=nearest | {"q": one})["id"] for one in matrix[:2]]
    assert batch == [row for one in each for row in one.to_pylist()]


COMBINED = [(*kind, metric) for kind in KINDS for metric in ("l2", "cosine", "dot")]


@each_case("kind, parameters, metric", share(COMBINED, 2, turn=0))
def test_an_index_finds_the_nearest_rows(
    tmp_path: Path, kind: str, parameters: dict[str, Any], metric: str
) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", kind, metric=metric, num_partitions=8, **parameters)
    (index,) = dataset.describe_indices()
    assert index.index_type == kind
    plan = dataset.scanner(nearest={"column": "v", "q": matrix[0]}).explain_plan()
    assert "ANNSubIndex: name=v_idx" in plan
    found_share = recall(dataset, matrix[:200:20], nprobes=8, refine_factor=10, metric=metric)
    assert found_share >= (0.9 if kind == "IVF_PQ" else 0.99)


@each_case("kind, parameters", KINDS)
def test_the_same_rows_and_seed_give_the_same_files(
    tmp_path: Path, kind: str, parameters: dict[str, Any]
) -> None:
    contents = []
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        dataset = table_of(tmp_path / str(number), clustered())
        dataset.create_index("v", kind, num_partitions=4, seed=7, **parameters)
        folder = tmp_path / str(number) / "t.lance" / "_indices"
        contents.append([path.read_bytes() for path in sorted(folder.rglob("*.idx"))])
    assert len(contents[0]) == 2
    assert contents[0] == contents[1]


@pytest.mark.parametrize("stable", [False, True])
def test_rows_that_change_are_found_where_they_are_and_no_longer_where_they_were(
    tmp_path: Path, stable: bool
) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix, enable_stable_row_ids=stable)
    dataset.create_index("v", "IVF_SQ", num_partitions=6)
    dataset.delete("id % 3 = 0")
    more = pa.table({"id": range(ROWS, ROWS + 50), "v": column(clustered(50) + 9)})
    dataset = lance.write_dataset(more, dataset, mode="append")
    dataset.update({"id": "id + 100000"}, where="id < 20")
    query = {"column": "v", "q": matrix[9], "k": 12, "nprobes": 6, "refine_factor": 4}
    exact = dataset.to_table(["id"], nearest=query | {"use_index": False})
    assert dataset.to_table(["id"], nearest=query) == exact
    far = {"column": "v", "q": clustered(50)[4] + 9, "k": 5}
    assert dataset.to_table(["id"], nearest=far)["id"][0].as_py() == ROWS + 4
    some = {"filter": "id % 500 = 7"}
    found = dataset.to_table(["id"], nearest=query, **some)
    assert found == dataset.to_table(["id"], nearest=query | {"use_index": False}, **some)
    dataset.optimize.compact_files()
    assert dataset.to_table(["id"], nearest=query) == exact


@each_case("kind, parameters", KINDS)
def test_new_rows_join_the_index_and_segments_of_one_training_are_merged(
    tmp_path: Path, kind: str, parameters: dict[str, Any]
) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix[:4_000])
    dataset.create_index("v", kind, num_partitions=6, **parameters)
    more = pa.table({"id": range(4_000, ROWS), "v": column(matrix[4_000:])})
    dataset = lance.write_dataset(more, dataset, mode="append")
    dataset.delete("id % 4 = 3")
    dataset.optimize.optimize_indices()
    (index,) = dataset.describe_indices()
    assert len(index.segments) == 1
    assert sorted(index.segments[0].fragment_ids) == [0, 1, 2]
    (segment,) = dataset.stats.index_stats("v_idx")["indices"]
    # Rows that were deleted before stay in the files, and are masked.
    assert sum(one["size"] for one in segment["partitions"]) == 4_000 + 1_500
    found_share = recall(dataset, matrix[4_000:6_000:200], nprobes=6, refine_factor=10)
    assert found_share >= (0.9 if kind == "IVF_PQ" else 0.99)


def test_new_rows_become_a_segment_of_their_own_if_nothing_is_to_be_merged(tmp_path: Path) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix[:4_000])
    dataset.create_index("v", "IVF_SQ", num_partitions=6)
    more = pa.table({"id": range(4_000, ROWS), "v": column(matrix[4_000:])})
    dataset = lance.write_dataset(more, dataset, mode="append")
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    (index,) = dataset.describe_indices()
    assert [sorted(one.fragment_ids) for one in index.segments] == [[0, 1], [2]]
    assert recall(dataset, matrix[4_000:6_000:200], nprobes=6, refine_factor=5) >= 0.99
    before, after = dataset.stats.index_stats("v_idx")["indices"]
    assert before["sub_index"] == after["sub_index"]  # the range of the codes is the same
    dataset.optimize.optimize_indices(num_indices_to_merge=2)
    (index,) = dataset.describe_indices()
    assert [sorted(one.fragment_ids) for one in index.segments] == [[0, 1, 2]]
    dataset.optimize.optimize_indices(retrain=True)
    (index,) = dataset.describe_indices()
    assert [sorted(one.fragment_ids) for one in index.segments] == [[0, 1, 2]]
    assert recall(dataset, matrix[:2_000:200], nprobes=6, refine_factor=5) >= 0.99


def test_vectors_without_a_direction_or_with_nan_are_left_out(tmp_path: Path) -> None:
    matrix = clustered(1_000)
    matrix[::10] = 0
    matrix[5::10, 3] = np.nan
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_FLAT", metric="cosine", num_partitions=3)
    nearest = {"column": "v", "q": matrix[1], "k": 1_000, "nprobes": 3}
    assert dataset.to_table(["id"], nearest=nearest).num_rows == 800


@each_case("kind", ["IVF_FLAT", "IVF_SQ"])
def test_numbers_above_the_range_of_distances_are_left_out(tmp_path: Path, kind: str) -> None:
    matrix = clustered(600).astype(np.float64)
    matrix[7, 2] = 1e300
    dataset = table_of(tmp_path / kind, matrix)
    dataset.create_index("v", kind, num_partitions=3)
    nearest = {"column": "v", "q": matrix[1], "k": 600, "nprobes": 3}
    found = dataset.to_table(["id"], nearest=nearest)["id"].to_pylist()
    assert sorted(found) == [row for row in range(600) if row != 7]


def test_codes_of_a_byte_need_a_range_that_distances_have(tmp_path: Path) -> None:
    matrix = clustered(600)
    matrix[7, 2] = 1e19
    with pytest.raises(InvalidInputError, match="at most 1e"):
        table_of(tmp_path, matrix).create_index("v", "IVF_SQ", num_partitions=3)


def test_distances_of_several_vectors_are_exact(tmp_path: Path) -> None:
    matrix = clustered(900)
    several = pa.ListArray.from_arrays(pa.array(range(0, 901, 3), pa.int32()), column(matrix))
    dataset = lance.write_dataset(pa.table({"v": several}), tmp_path / "t.lance")
    dataset.create_index("v", "IVF_FLAT", metric="cosine", num_partitions=2)
    nearest = {"column": "v", "q": matrix[30:33], "k": 20, "nprobes": 2, "metric": "cosine"}
    for extra in ({}, {"distance_range": (0.0, 0.5)}):
        found, exact = (
            dataset.to_table(
                [], nearest=nearest | extra | {"use_index": by_index}, with_row_id=True
            )
            for by_index in (True, False)
        )
        assert found["_rowid"][1:] == exact["_rowid"][1:]
        distances = [table["_distance"].to_numpy() for table in (found, exact)]
        np.testing.assert_allclose(*distances, rtol=1e-6, atol=2e-7)


def test_bytes_are_partitioned_by_their_bits(tmp_path: Path) -> None:
    matrix = np.random.default_rng(2).integers(0, 256, (3_000, 8)).astype(np.uint8)
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_FLAT", metric="hamming", num_partitions=5)
    assert recall(dataset, matrix[:50:10], nprobes=5) == 1


def test_rows_of_several_vectors_are_indexed_by_each(tmp_path: Path) -> None:
    matrix = clustered(3_000)
    offsets = pa.array(range(0, 3_001, 3), pa.int32())
    several = pa.ListArray.from_arrays(offsets, column(matrix))
    rows = pa.table({"id": range(1_000), "v": several})
    dataset = lance.write_dataset(rows, tmp_path / "t.lance")
    dataset.create_index("v", "IVF_FLAT", metric="cosine", num_partitions=4)
    nearest = {"column": "v", "q": matrix[30:32], "k": 5, "nprobes": 4, "refine_factor": 5}
    found = dataset.to_table(["id"], nearest=nearest | {"metric": "cosine"})
    assert found["id"][0].as_py() == 10


def test_given_centroids_and_codebooks_are_used(tmp_path: Path) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    centroids = matrix[:5]
    codebook = np.random.default_rng(0).normal(size=(4, 256, 4)).astype(np.float32)
    dataset.create_index(
        "v", "IVF_PQ", num_sub_vectors=4, ivf_centroids=centroids, pq_codebook=codebook
    )
    (segment,) = dataset.stats.index_stats("v_idx")["indices"]
    assert segment["num_partitions"] == 5
    with pytest.raises(InvalidInputError, match="pq_codebook has the shape"):
        dataset.create_index(
            "v",
            "IVF_PQ",
            num_sub_vectors=8,
            ivf_centroids=centroids,
            pq_codebook=codebook[:2],
            name="o",
        )


@pytest.mark.parametrize(
    ("kind", "change", "error", "message"),
    [
        ("IVF_PQ", {}, InvalidInputError, "num_sub_vectors is required"),
        ("IVF_PQ", {"num_sub_vectors": 5}, InvalidInputError, "must be divisible"),
        ("IVF_PQ", {"num_sub_vectors": 4, "num_bits": 6}, InvalidInputError, "is 4 or 8, got 6"),
        ("IVF_FLAT", {"num_partitions": 0}, InvalidInputError, "must be 1 or more"),
        ("IVF_FLAT", {"num_partition": 3}, TypeError, "did you mean 'num_partitions'"),
        ("IVF_FLAT", {"metric": "hamming"}, InvalidInputError, "metric hamming of vectors"),
        ("IVF_FLAT", {"metric": "l3"}, InvalidInputError, "not supported"),
        ("IVF_SQ", {"seed": "x"}, InvalidTypeError, "seed must be a whole number"),
        ("IVF_FLAT", {"ivf_centroids": np.zeros((2, 3))}, InvalidInputError, "of 16 numbers"),
        ("IVF_HNSW_SQ", {"m": 1}, InvalidInputError, "m must be 2 or more, got 1"),
        ("IVF_HNSW_SQ", {"m": 900}, InvalidInputError, "m must be 512 or less, got 900"),
        ("IVF_RQ", {"num_bits": 10}, InvalidInputError, "is 1 to 9, got 10"),
    ],
)
def test_wrong_parameters_are_named(
    tmp_path: Path, kind: str, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    dataset = table_of(tmp_path, clustered(600))
    with pytest.raises(error, match=message):
        dataset.create_index("v", kind, **change)
    assert dataset.describe_indices() == []
    with pytest.raises(InvalidTypeError, match="cannot have an index"):
        dataset.create_index("id", "IVF_FLAT")


def test_an_index_of_few_or_no_rows_is_built_or_refused(tmp_path: Path) -> None:
    dataset = table_of(tmp_path, clustered(3))
    dataset.create_index("v", "IVF_FLAT", num_partitions=100)
    assert recall(dataset, clustered(3)[:1] * 1, nprobes=3) == 0.3
    odd = lance.write_dataset({"v": column(np.ones((9, 12), np.float32))}, tmp_path / "odd")
    with pytest.raises(InvalidInputError, match="dimension \\(12\\) must be divisible by 8"):
        odd.create_index("v", "IVF_RQ")
    with pytest.warns(lance.errors.IndexWarning, match="Not enough rows to train PQ: 256"):
        dataset.create_index("v", "IVF_PQ", num_sub_vectors=4, name="other")
    assert [one.num_rows_indexed for one in dataset.describe_indices()] == [0, 3]


def test_a_training_goes_on_until_it_gains_little() -> None:
    vectors = clustered()
    losses = [
        kmeans.train(vectors, 40, iterations=most, random=np.random.default_rng(1))[1]
        for most in (1, 2, 4, 50)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.7 * losses[0]


def test_a_centroid_without_vectors_moves_to_the_farthest_vector() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(kmeans.BLOCK_ROWS + 100, 2)).astype(np.float32)
    vectors[-1] = 400, 0  # in the last block
    same = np.zeros((2, 2), np.float32)
    found, _ = kmeans.improved(vectors, same, iterations=1)
    assert found[1].tolist() == [400, 0]


def test_centroids_of_separate_clusters_are_their_means() -> None:
    random = np.random.default_rng(0)
    centers = np.array([[0, 0], [50, 0], [0, 50]], np.float32)
    vectors = np.repeat(centers, 100, axis=0) + random.normal(size=(300, 2)).astype(np.float32)
    for seed in range(5):
        found, loss = kmeans.train(vectors, 3, iterations=50, random=np.random.default_rng(seed))
        assert len(found) == 3
        assert loss > 0
    same = np.ones((10, 2), np.float32)
    assert kmeans.train(same, 4, iterations=3, random=random)[0].shape == (4, 2)
