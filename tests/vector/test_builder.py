"""The steps in which an index is built, and other tools for users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import (
    ColumnNotFoundError,
    CorruptFileError,
    InvalidInputError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.file import LanceFileWriter
from lance_core.indices import IndicesBuilder, IvfModel, PqModel
from lance_core.util import KMeans, validate_vector_index
from lance_core_vector.training.encoded_files import read_rows
from lance_core_vector.training.precomputed import PrecomputedPartitions
from tests.each_case import each_case
from tests.vector.test_build import ROWS, WIDTH, clustered, column, recall, table_of


@each_case("dtype, distance", [("f2", "l2"), ("f4", "cosine"), ("f8", "dot")])
def test_models_are_trained_saved_and_used(tmp_path: Path, dtype: str, distance: str) -> None:
    matrix = clustered().astype(dtype)
    dataset = table_of(tmp_path, matrix)
    builder = IndicesBuilder(dataset, "v")
    ivf = builder.train_ivf(8, distance_type=distance, sample_rate=16)
    assert ivf.num_partitions == 8
    assert ivf.centroids.type == column(matrix).type
    pq = builder.train_pq(ivf, 4, sample_rate=2)
    assert (pq.dimension, len(pq.codebook)) == (WIDTH, 256)
    ivf.save(str(tmp_path / "ivf"))
    pq.save(str(tmp_path / "pq"))
    again, codes = IvfModel.load(str(tmp_path / "ivf")), PqModel.load(str(tmp_path / "pq"))
    assert again.centroids == ivf.centroids
    assert again.distance_type == distance
    assert (codes.codebook, codes.num_bits) == (pq.codebook, 8)
    dataset.create_index(
        "v",
        "IVF_PQ",
        metric=distance,
        num_sub_vectors=4,
        ivf_centroids=again.centroids,
        pq_codebook=codes.codebook,
    )
    assert recall(dataset, matrix[:200:40], nprobes=8, refine_factor=10, metric=distance) >= 0.9


@pytest.mark.parametrize("stable", [False, True])
def test_files_of_several_processes_become_one_index(tmp_path: Path, stable: bool) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix, enable_stable_row_ids=stable)
    builder = IndicesBuilder(dataset, "v")
    models = builder.prepare_global_ivf_pq(6, 8, sample_rate=16)
    ivf = IvfModel(models["ivf_centroids"], "l2")
    pq = PqModel(8, models["pq_codebook"])
    fragments = dataset.get_fragments()
    names = []
    for number, some in enumerate((fragments[:1], fragments[1:])):
        builder.transform_vectors(ivf, pq, str(tmp_path / f"unsorted{number}"), some)
        names += builder.shuffle_transformed_vectors(
            [f"unsorted{number}"], str(tmp_path), ivf, f"sorted{number}"
        )
    builder.load_shuffled_vectors(names, str(tmp_path), ivf, pq)
    (index,) = dataset.describe_indices()
    assert sorted(index.segments[0].fragment_ids) == [0, 1, 2]
    other = table_of(tmp_path / "other", matrix, enable_stable_row_ids=stable)
    other.create_index("v", "IVF_PQ", num_sub_vectors=8, **models)
    for query in matrix[::1_000]:
        nearest = {"column": "v", "q": query, "k": 10, "nprobes": 6}
        assert dataset.to_table(["id"], nearest=nearest) == other.to_table(["id"], nearest=nearest)


def test_precomputed_partitions_are_used(tmp_path: Path) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix)
    builder = IndicesBuilder(dataset, "v")
    ivf = builder.train_ivf(6)
    partitions = lance.dataset(builder.assign_ivf_partitions(ivf, output_uri=str(tmp_path / "p")))
    assert partitions.count_rows() == ROWS
    moved = partitions.to_table().to_pydict()
    moved["partition"] = [(one + 1) % 6 for one in moved["partition"]]
    schema = pa.schema({"row_id": pa.uint64(), "partition": pa.uint32()})
    lance.write_dataset(pa.table(moved, schema=schema), tmp_path / "moved")
    sizes = []
    for uri in (str(tmp_path / "p"), str(tmp_path / "moved")):
        dataset.create_index(
            "v",
            "IVF_FLAT",
            replace=True,
            ivf_centroids=ivf.centroids,
            precomputed_partition_dataset=uri,
        )
        (segment,) = dataset.stats.index_stats("v_idx")["indices"]
        sizes.append([one["size"] for one in segment["partitions"]])
    assert sizes[1] == [sizes[0][-1], *sizes[0][:-1]]
    with pytest.raises(InvalidInputError, match="ivf_centroids must be provided"):
        dataset.create_index("v", "IVF_FLAT", precomputed_partition_dataset="x", replace=True)
    too_high = pa.table({"row_id": [1, 2], "partition": [0, 6]}, schema=schema)
    lance.write_dataset(too_high, tmp_path / "high")
    with pytest.raises(InvalidInputError, match="has partition 6, of 6 centroids"):
        PrecomputedPartitions.of(str(tmp_path / "high"), 6, None)
    assert PrecomputedPartitions.of(str(tmp_path / "high"), 7, None).owners(
        np.array([2, 3], np.uint64), np.array([4, 5])
    ).tolist() == [6, 5]
    halves = pa.table({"row_id": [0.5], "partition": [1]})
    lance.write_dataset(halves, tmp_path / "halves")
    given = {"precomputed_partition_dataset": str(tmp_path / "halves"), "replace": True}
    with pytest.raises(SchemaMismatchError, match="is not of whole numbers"):
        dataset.create_index("v", "IVF_FLAT", ivf_centroids=ivf.centroids, **given)


def test_wrong_arguments_of_the_steps_are_named(tmp_path: Path) -> None:
    dataset = table_of(tmp_path, clustered(600))
    with pytest.raises(ColumnNotFoundError, match="vec not found in schema"):
        IndicesBuilder(dataset, "vec")
    with pytest.raises(TypeError, match="must be FixedSizeListArray"):
        IndicesBuilder(dataset, "id")
    builder = IndicesBuilder(dataset, "v")
    ivf = builder.train_ivf(2)
    wrong: list[tuple[type[Exception], str, Any]] = [
        (InvalidInputError, "768 rows needed and there are 600", lambda: builder.train_ivf(3)),
        (InvalidInputError, "not supported", lambda: builder.train_ivf(2, distance_type="l3")),
        (UnsupportedFeatureError, "'cuda'", lambda: builder.train_ivf(2, accelerator="cuda")),
        (InvalidInputError, "without remainder", lambda: builder.train_pq(ivf, 5, sample_rate=2)),
        (InvalidInputError, "65536 rows needed", lambda: builder.train_pq(ivf, 4)),
        (InvalidInputError, "greater than 1", lambda: builder.train_ivf(2, sample_rate=1)),
        (InvalidInputError, "does not exist: 7", lambda: builder.train_ivf(2, fragment_ids=[7])),
    ]
    for error, message, call in wrong:
        with pytest.raises(error, match=message):
            call()


def test_kmeans_and_validation(tmp_path: Path) -> None:
    matrix = clustered()
    for metric in ("l2", "cosine", "dot"):
        model = KMeans(8, metric)
        assert model.centroids is None
        model.fit(matrix)
        again = KMeans(8, metric, centroids=model.centroids.storage)
        assert again.predict(matrix) == model.predict(column(matrix))
    with pytest.raises(InvalidInputError, match="must be float32"):
        model.fit(matrix.astype(np.float64))
    dataset = table_of(tmp_path, matrix)
    dataset.create_index("v", "IVF_SQ", num_partitions=4)
    validate_vector_index(dataset, "v", sample_size=20)
    dataset.create_index("v", "IVF_SQ", metric="dot", replace=True)
    with pytest.raises(InvalidInputError, match="only 0/20 passed"):
        validate_vector_index(dataset, "v", sample_size=20)


def test_files_of_codes_may_name_the_items_of_lists_as_they_like(tmp_path: Path) -> None:
    def written(name: str, codes: pa.DataType, number: int = 0) -> list[Any]:
        schema = pa.schema(
            {"_rowid": pa.uint64(), "__ivf_part_id": pa.uint32(), "__pq_code": codes}
        )
        uri = str(tmp_path / name)
        with LanceFileWriter(uri, schema) as writer:
            writer.write_batch(pa.record_batch([[7], [number], [[1, 2]]], schema=schema))
        return list(read_rows([uri], 1, 2))

    other = pa.list_(pa.field("element", pa.uint8()), 2)
    ((partitions, rows, codes),) = written("other", other)
    assert (partitions.tolist(), rows.tolist(), codes.tolist()) == ([0], [7], [[1, 2]])
    with pytest.raises(CorruptFileError, match="has the type"):
        written("wide", pa.list_(pa.uint16(), 2))
    with pytest.raises(CorruptFileError, match="partition 1 of 1"):
        written("far", other, number=1)
