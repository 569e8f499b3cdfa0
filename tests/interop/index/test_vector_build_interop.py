"""pylance uses, changes and optimizes the vector indices that are built here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core
from lance_core_vector.loops.rabit import RabitSums
from lance_core_vector.quantizers.rotation import MatrixRotation
from lance_core_vector.training import build
from lance_core_vector.training.rabit_encoder import RabitEncoder
from tests.each_case import each_case
from tests.examples import share
from tests.vector.test_build import KINDS, ROWS, clustered, column


def ids(dataset: Any, query: npt.NDArray[Any], **options: Any) -> list[int]:
    nearest = {"column": "v", "q": query, "k": 10} | options
    table = dataset.to_table(columns=["id", "_distance"], nearest=nearest)
    found: list[int] = table["id"].to_pylist()
    return found


RULE = {"minimum_nprobes": 1}
"""As many partitions as the rule of both libraries says. Ours refines if nothing is stated."""


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
    for number in share(range(0, 600, 100), 2, len(kind)):
        query = matrix[number]
        for options in ({"nprobes": 6}, {"nprobes": 2}, {"nprobes": 6, "refine_factor": 5}, RULE):
            found, expected = ids(ours, query, **options), ids(theirs, query, **options)
            if kind in ("IVF_RQ", "IVF_HNSW_SQ") and "refine_factor" not in options:
                # pylance compares the signs first, and follows graphs, by which it may lose rows.
                assert len({*found} & {*expected}) >= 6
            else:
                assert found == expected


class OldEncoder(RabitEncoder):
    """Writes codes of one bit as older releases do: a rotation by a matrix, no raw queries."""

    @classmethod
    def random(
        cls, width: int, bits: int, metric: str, random: np.random.Generator
    ) -> RabitEncoder:
        matrix = np.linalg.qr(random.normal(size=(width, width)))[0].astype(np.float32)
        encoder = cls(width, bits, MatrixRotation(matrix), metric)  # type: ignore[arg-type]
        encoder.codebook = matrix[None]
        return encoder

    def _factors(self, sums: RabitSums, own: Any, of_centroid: Any) -> Any:
        ratio = sums.square / own * np.sqrt(self._width) / 2
        if self._metric == "dot":
            return 1 - sums.with_centroid, -ratio
        return sums.square, -2 * ratio

    def metadata(self) -> dict[str, Any]:
        return {"rotate_mat_position": 2, "num_bits": 1, "packed": True}


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
def test_rabit_codes_of_older_releases_are_read_as_pylance_reads_them(
    tmp_path: Path, metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "RabitEncoder", OldEncoder)
    matrix = clustered(1_500)
    uri = str(tmp_path / "t.lance")
    rows = pa.table({"id": range(1_500), "v": column(matrix)})
    ours = lance_core.write_dataset(rows, uri, max_rows_per_file=500)
    ours.create_index("v", "IVF_RQ", metric=metric, num_partitions=3, num_bits=1)
    nearest = {"column": "v", "k": 1_400, "nprobes": 3, "approx_mode": "accurate"}
    for compacted in (False, True):
        if compacted:
            ours.delete("id % 5 = 1")
            ours.optimize.compact_files()
        for query in matrix[:40:10] + np.float32(0.1):
            tables = [
                dataset.to_table(columns=["id", "_distance"], nearest=nearest | {"q": query})
                for dataset in (ours, lance.dataset(uri))
            ]
            found, expected = (table.sort_by("id") for table in tables)
            by_id = dict(zip(*expected.to_pydict().values(), strict=True))
            pairs = np.array(
                [
                    (at, by_id[row])
                    for row, at in zip(*found.to_pydict().values(), strict=True)
                    if row in by_id
                ]
            )
            assert len(pairs) > 1_000
            np.testing.assert_allclose(pairs[:, 0], pairs[:, 1], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("kind", "metric", "more"),
    [
        ("IVF_HNSW_FLAT", "cosine", {}),
        ("IVF_HNSW_PQ", "l2", {"num_sub_vectors": 8}),
        ("IVF_HNSW_SQ", "dot", {}),
    ],
)
def test_pylance_follows_graphs_of_ours(
    tmp_path: Path, kind: str, metric: str, more: dict[str, Any]
) -> None:
    """Also where partitions have few rows or none."""
    matrix = clustered(1_500)
    uri = str(tmp_path / "t.lance")
    rows = pa.table({"id": range(1_500), "v": column(matrix)})
    ours = lance_core.write_dataset(rows, uri)
    centroids = np.concatenate([matrix[:2], np.full((1, matrix.shape[1]), 90, np.float32)])
    if metric == "dot":
        centroids = centroids[:2]
    ours.create_index("v", kind, metric=metric, ivf_centroids=centroids, **more)
    theirs = lance.dataset(uri)
    (expected,) = theirs.stats.index_stats("v_idx")["indices"]
    (found,) = ours.stats.index_stats("v_idx")["indices"]
    assert found["sub_index"] == expected["sub_index"]
    for query in matrix[:300:30]:
        options = {"nprobes": len(centroids), "refine_factor": 10, "metric": metric}
        near, exact = (
            ids(theirs, query, **options),
            ids(ours, query, metric=metric, use_index=False),
        )
        assert len({*near} & {*exact}) >= 9
        assert ids(theirs, query, ef=1_500, nprobes=len(centroids))[0] in near


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
