"""Segments of vector indices of one library, merged and searched by the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core.indices import IndicesBuilder
from tests.each_case import each_case
from tests.interop.index.test_vector_build_interop import ids
from tests.vector.test_build import ROWS, clustered, column, table_of

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("IVF_FLAT", {}),
    ("IVF_SQ", {}),
    ("IVF_PQ", {"num_sub_vectors": 8}),
]


@each_case("kind, parameters", KINDS)
def test_segments_that_pylance_has_merged_are_merged_again(
    tmp_path: Path, kind: str, parameters: dict[str, Any]
) -> None:
    matrix = clustered()
    ours = table_of(tmp_path, matrix)
    models = IndicesBuilder(ours, "v").prepare_global_ivf_pq(6, 8, sample_rate=16)
    if kind != "IVF_PQ":
        del models["pq_codebook"]
    theirs = lance.dataset(ours.uri)
    arguments = {**parameters, **models, "num_partitions": 6}
    segments = [
        theirs.create_index_uncommitted("v", kind, "v_idx", fragment_ids=[id_], **arguments)
        for id_ in (0, 1)
    ]
    merged = theirs.merge_existing_index_segments(segments)
    own = ours.create_index_uncommitted("v", kind, "v_idx", fragment_ids=[2], **arguments)
    theirs.commit_existing_index_segments("v_idx", "v", [merged])
    ours = lance_core.dataset(ours.uri)
    ours.commit_existing_index_segments("v_idx", "v", [own])
    ours.optimize.optimize_indices(num_indices_to_merge=2)
    (index,) = ours.describe_indices()
    assert [sorted(one.fragment_ids) for one in index.segments] == [[0, 1, 2]]
    theirs = lance.dataset(ours.uri)
    for number in range(0, ROWS, 1_000):
        options = {"nprobes": 6, "refine_factor": 10}
        assert ids(ours, matrix[number], **options) == ids(theirs, matrix[number], **options)


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_pylance_searches_partitions_that_were_split_and_joined(
    tmp_path: Path, metric: str
) -> None:
    matrix = clustered()
    dataset = table_of(tmp_path, matrix[:1_000])
    parameters = {"num_sub_vectors": 8, "target_partition_size": 250}
    dataset.create_index("v", "IVF_PQ", metric=metric, **parameters)
    more = pa.table({"id": range(1_000, ROWS), "v": column(matrix[1_000:])})
    dataset = lance_core.write_dataset(more, dataset, mode="append")
    dataset.optimize.optimize_indices()
    theirs = lance.dataset(dataset.uri)
    for number in range(0, ROWS, 1_000):
        for options in ({"nprobes": 50}, {"nprobes": 3, "refine_factor": 5}):
            assert ids(dataset, matrix[number], **options) == ids(theirs, matrix[number], **options)


@pytest.mark.parametrize("library", [lance_core, lance])
def test_an_index_survives_an_update_of_all_rows(tmp_path: Path, library: Any) -> None:
    matrix = clustered()[:600]
    uri = table_of(tmp_path, matrix).uri
    library.dataset(uri).create_index("v", "IVF_FLAT", name="v_idx", num_partitions=2)
    library.dataset(uri).update({"v": "v"})
    for maintain in (False, True):
        if maintain:
            library.dataset(uri).optimize.optimize_indices()
        for reader in (lance_core, lance):
            dataset = reader.dataset(uri)
            (index,) = dataset.describe_indices()
            fragments = {fragment.fragment_id for fragment in dataset.get_fragments()}
            assert (set(index.segments[0].fragment_ids) == fragments) is maintain
            assert ids(dataset, matrix[7], nprobes=2)[0] == 7
