"""pylance uses, changes and optimizes the vector indices that are built here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa

import lance_core
from tests.each_case import each_case
from tests.vector.test_build import KINDS, ROWS, clustered, column


def ids(dataset: Any, query: npt.NDArray[Any], **options: Any) -> list[int]:
    nearest = {"column": "v", "q": query, "k": 10} | options
    table = dataset.to_table(columns=["id", "_distance"], nearest=nearest)
    found: list[int] = table["id"].to_pylist()
    return found


@each_case(
    "kind, parameters, metric, stable",
    [
        (*case, metric, stable)
        for case in KINDS
        for metric in ("l2", "cosine", "dot")
        for stable in ([False, True] if metric == "l2" else [False])
    ],
)
def test_both_libraries_find_the_same_rows_by_an_index_of_ours(
    tmp_path: Path, kind: str, parameters: dict[str, Any], metric: str, stable: bool
) -> None:
    matrix = clustered()
    uri = str(tmp_path / "t.lance")
    rows = pa.table({"id": range(ROWS), "v": column(matrix)})
    ours = lance_core.write_dataset(rows, uri, enable_stable_row_ids=stable)
    ours.create_index("v", kind, metric=metric, num_partitions=6, **parameters)
    theirs = lance.dataset(uri)
    assert [one.index_type for one in theirs.describe_indices()] == [kind]
    query = matrix[0]
    plan = theirs.scanner(nearest={"column": "v", "q": query, "k": 10}).explain_plan()
    assert "ANNSubIndex" in plan
    for number in range(0, 600, 100):
        query = matrix[number]
        for options in ({"nprobes": 6}, {"nprobes": 2}, {"nprobes": 6, "refine_factor": 5}, {}):
            assert ids(ours, query, **options) == ids(theirs, query, **options)


@each_case("kind, parameters", KINDS)
def test_pylance_maintains_an_index_of_ours(
    tmp_path: Path, kind: str, parameters: dict[str, Any]
) -> None:
    matrix = clustered()
    uri = str(tmp_path / "t.lance")
    rows = pa.table({"id": range(ROWS), "v": column(matrix)})
    dataset = lance_core.write_dataset(rows, uri, max_rows_per_file=2_000)
    dataset.create_index("v", kind, num_partitions=6, **parameters)
    theirs = lance.dataset(uri)
    theirs.delete("id % 5 = 1")
    near = matrix[:300] + np.float32(0.001)
    more = pa.table({"id": range(ROWS, ROWS + 300), "v": column(near)})
    theirs = lance.write_dataset(more, uri, mode="append")
    theirs.optimize.optimize_indices()
    theirs.optimize.compact_files()
    for number in (2, 40, 155):
        options = {"nprobes": 6, "refine_factor": 8}
        found = ids(lance_core.dataset(uri), matrix[number], **options)
        assert found == ids(lance.dataset(uri), matrix[number], **options)
        assert found[:2] == [number, ROWS + number]
        assert all(id_ % 5 != 1 or id_ >= ROWS for id_ in found)
