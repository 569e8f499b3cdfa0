"""The arguments of pylance for new vector indices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.indices import IndexFileVersion
from lance_core_vector.training.given_models import check_codebook
from lance_core_vector.training.parameters import BuildParameters, warn_of_unused
from tests.each_case import each_case
from tests.vector.test_build import clustered, column, table_of

CENTROIDS = np.zeros((4, 16), np.float32)
CODEBOOK = np.zeros((4, 256, 4), np.float32)


def check(given: dict[str, Any]) -> BuildParameters:
    parameters = BuildParameters.of({"kind": "IVF_PQ", "num_sub_vectors": 4} | given)
    parameters.check_column(pa.list_(pa.float32(), 16))
    return parameters


@each_case(
    "given",
    [
        {"shuffle_partition_batches": 1, "shuffle_partition_concurrency": 10},
        {"streaming_sample_rate": 4, "streaming_coreset_rate": 5, "streaming_refine_passes": 0},
        {"storage_options": {"a": "b"}, "filter_nan": False, "kmeans_redos": 2},
        {"index_file_version": IndexFileVersion.V3, "metric": "Euclidean"},
        {"ivf_centroids": column(CENTROIDS), "pq_codebook": column(CODEBOOK.reshape(-1, 16))},
        {"ivf_centroids": pa.FixedShapeTensorArray.from_numpy_ndarray(CENTROIDS)},
        {"ivf_centroids": CENTROIDS.astype("f2"), "num_partitions": 4},
    ],
)
def test_arguments_are_accepted(given: dict[str, Any]) -> None:
    check(given)


@each_case(
    "given, error, message",
    [
        ({"accelerator": "cuda"}, UnsupportedFeatureError, "'cuda': indices are built by the pro"),
        ({"accelerator": "tpu"}, InvalidInputError, "'cuda' or 'mps' in pylance, got 'tpu'"),
        ({"rabitq_model": "x"}, UnsupportedFeatureError, "rabitq_model is not supported"),
        ({"index_file_version": "V9"}, InvalidInputError, "Invalid index_file_version"),
        ({"metric": "cosin"}, InvalidInputError, "not supported.: did you mean 'cosine'"),
        ({"num_sub_vector": 4}, TypeError, "did you mean 'num_sub_vectors'"),
        ({"num_partitions": "4"}, InvalidTypeError, "num_partitions must be a whole number"),
        ({"sample_rate": 0}, InvalidInputError, "sample_rate must be 1 or more"),
        ({"memory_limit": 1 << 20}, InvalidInputError, "memory_limit must be 268435456 or more"),
        ({"shuffle_partition_batches": 0}, InvalidInputError, "must be 1 or more"),
        ({"filter_nan": "yes"}, InvalidTypeError, "filter_nan must be True or False"),
        ({"storage_options": 3}, InvalidTypeError, "storage_options must be a dict"),
        ({"num_bits": 4, "num_sub_vectors": 1}, InvalidInputError, "must be even, got 1"),
        ({"num_sub_vectors": 5}, InvalidInputError, r"dimension \(16\) must be divisible"),
        ({"kind": "IVF_RQ", "num_bits": 10}, InvalidInputError, "num_bits of IVF_RQ is 1 to 9"),
        ({"kind": "IVF_SQ", "metric": "hamming"}, InvalidInputError, "no Hamming distance"),
        ({"ivf_centroids": CENTROIDS[:0]}, InvalidInputError, "at least one cluster"),
        ({"ivf_centroids": CENTROIDS[0]}, InvalidInputError, "must be 2D array"),
        ({"ivf_centroids": CENTROIDS.astype(int)}, TypeError, "must be floating numbers"),
        ({"ivf_centroids": CENTROIDS * np.nan}, InvalidInputError, "are? not finite"),
        ({"ivf_centroids": CENTROIDS[:, :8]}, InvalidInputError, "not vectors of 16 numbers"),
        ({"ivf_centroids": CENTROIDS, "num_partitions": 5}, InvalidInputError, "4 clusters, but"),
        ({"ivf_centroids": CENTROIDS, "ivf_centroids_file": "x"}, InvalidInputError, "same time"),
        ({"ivf_centroids_file": "/nowhere/x.npy"}, FileNotFoundError, "x.npy"),
        ({"pq_codebook": CODEBOOK}, InvalidInputError, "ivf_centroids must be specified"),
        (
            {"ivf_centroids": CENTROIDS, "pq_codebook": CODEBOOK[:2]},
            InvalidInputError,
            "pq_codebook has the shape",
        ),
        ({"precomputed_partition_dataset": "x"}, InvalidInputError, "ivf_centroids must be prov"),
    ],
)
def test_wrong_values_are_named(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        check(given)


@each_case(
    "given, category, message",
    [
        ({"index_cache_size": 3}, DeprecationWarning, "'index_cache_size' parameter"),
        ({"num_partitions": 4.0}, UserWarning, "num_partitions is float"),
        ({"kind": "IVF_SQ", "accelerator": "cuda"}, UserWarning, "falling back to CPU"),
        ({"index_file_version": "Legacy"}, UserWarning, "is not written"),
    ],
)
def test_values_without_an_effect_are_named(
    given: dict[str, Any], category: type[Warning], message: str
) -> None:
    check(given)
    with pytest.warns(category, match=message):
        warn_of_unused({"kind": "IVF_PQ"} | given)


def test_centroids_of_a_file_and_wrong_columns(tmp_path: Path) -> None:
    dataset = table_of(tmp_path, clustered(600))
    np.save(tmp_path / "c.npy", clustered(600)[:3])
    for path in (str(tmp_path / "c.npy"), (tmp_path / "c.npy").as_uri()):
        dataset.create_index("v", "IVF_FLAT", ivf_centroids_file=path, replace=True)
        (segment,) = dataset.stats.index_stats("v_idx")["indices"]
        assert segment["num_partitions"] == 3
    (tmp_path / "no.npy").write_bytes(b"x")
    with pytest.raises(InvalidInputError, match="has no array"):
        dataset.create_index("v", "IVF_FLAT", ivf_centroids_file=str(tmp_path / "no.npy"))
    with pytest.raises(InvalidInputError, match="is a segment"):
        dataset.create_index("v", "IVF_FLAT", fragment_ids=[0])
    for kind in (pa.int8(), pa.int32(), pa.bool_()):
        vectors = pa.array([[0, 1]], pa.list_(pa.int8(), 2)).cast(pa.list_(kind, 2))
        other = lance.write_dataset({"v": vectors}, tmp_path / str(kind))
        with pytest.raises(TypeError, match="cannot have an index"):
            other.create_index("v", "IVF_FLAT")


def test_a_misspelt_kind_is_named(tmp_path: Path) -> None:
    dataset = table_of(tmp_path, clustered(20))
    with pytest.raises(UnsupportedFeatureError, match="The nearest name is 'IVF_HNSW_PQ'"):
        dataset.create_index("v", "IVF_HNWS_PQ")


def test_a_codebook_of_numpy_has_the_shape_of_its_codes() -> None:
    check_codebook(np.zeros((2, 256, 4), np.float32), (2, 256, 4))
    check_codebook(np.zeros((512, 4), np.float32), (2, 256, 4))  # as Arrow has it
    for shape in ((4, 256, 2), (2, 256, 5), (511, 4)):
        with pytest.raises(InvalidInputError, match="has the shape"):
            check_codebook(np.zeros(shape, np.float32), (2, 256, 4))
