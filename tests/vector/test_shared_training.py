"""Segments that several processes build with one training."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.engines import trained_parameters
from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.hookspecs.indices import TooFewRowsError
from tests.each_case import each_case

WIDTH = 16
PARAMETERS = {
    "IVF_FLAT": {"num_partitions": 3},
    "IVF_PQ": {"num_partitions": 3, "num_sub_vectors": 4, "num_bits": 4},
    "IVF_SQ": {"target_partition_size": 500},
    "IVF_RQ": {"num_partitions": 3, "num_bits": 3},
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance_core.LanceDataset:
    vectors = np.random.default_rng(0).random((2000, WIDTH), np.float32)
    column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), WIDTH)
    rows = pa.table({"id": range(2000), "v": column})
    path = tmp_path_factory.mktemp("shared") / "t.lance"
    return lance_core.write_dataset(rows, str(path), max_rows_per_file=700)


@each_case("kind", list(PARAMETERS))
def test_segments_of_one_training_are_merged_without_reading_rows(
    kind: str, table: lance_core.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = PARAMETERS[kind]
    shared = {**given, **trained_parameters(table, "v", kind, given)}
    assert len(shared["ivf_centroids"]) in (3, 4)
    ids = [fragment.fragment_id for fragment in table.get_fragments()]
    segments = [
        table.create_index_uncommitted("v", kind, f"{kind}", fragment_ids=[one], **shared)
        for one in ids
    ]
    files = {file.path: file for segment in segments for file in segment.files or ()}
    assert files.keys() == {"auxiliary.idx", "index.idx"}
    with monkeypatch.context() as patch:
        patch.setattr("lance_core_vector.kinds.merge.encode_rows", _refuse)
        merged = table.merge_existing_index_segments(segments)
    table.commit_existing_index_segments(kind, "v", [merged])
    q = table.take([1234])["v"][0].as_py()
    nearest = {"column": "v", "q": q, "k": 5, "nprobes": 9, "refine_factor": 40}
    found = table.to_table(["id"], nearest=nearest)["id"].to_pylist()
    exact = table.to_table(["id"], nearest={**nearest, "use_index": False})["id"].to_pylist()
    assert found == exact
    assert table.stats.index_stats(kind)["num_unindexed_rows"] == 0
    table.drop_index(kind)


def _refuse(*_: object) -> None:
    raise AssertionError("rows were encoded again")


def test_types_that_learn_nothing_share_nothing(table: lance_core.LanceDataset) -> None:
    assert trained_parameters(table, "id", "BTREE", {"zone_size": 100}) == {}


def test_too_few_rows_and_wrong_bounds_are_refused(table: lance_core.LanceDataset) -> None:
    few = lance_core.write_dataset(table.to_table(limit=9), "memory://few")
    with pytest.raises(TooFewRowsError, match="9"):
        trained_parameters(few, "v", "IVF_PQ", {"num_sub_vectors": 4})
    for bounds, error in (
        ("ab", InvalidTypeError),
        ((False, True), InvalidTypeError),
        ((2, 1), InvalidInputError),
        ((-1e200, 1e200), InvalidInputError),
        ((0, 10**400), InvalidInputError),
    ):
        with pytest.raises(error, match="sq_bounds"):
            table.create_index("v", "IVF_SQ", sq_bounds=bounds)


def test_a_partition_is_meant_for_as_many_rows_as_its_share(
    table: lance_core.LanceDataset,
) -> None:
    for rows, partitions, expected in ((2000, 3, 667), (2000, 2000, 1)):
        given = {"num_partitions": partitions, "max_iters": 1}
        shared = trained_parameters(table, "v", "IVF_FLAT", given)
        assert shared["target_partition_size"] == expected, (rows, partitions)
