"""Filters and ranges of distances beside an index: no row is lost, however rows are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.ranking import rank_values
from lance_core.dataset.read.ranking.plan_ranking import _indexed_columns
from lance_core.dataset.read.ranking.rank_indices import allowed_rows, column_indices
from lance_core.errors import CorruptFileError, IndexWarning
from lance_core_vector.shortlist import Shortlist
from tests.each_case import each_case
from tests.scan_numbers import tune

ROWS, WIDTH, K = 6_000, 16, 10


@pytest.fixture(scope="module")
def matrix() -> npt.NDArray[np.float32]:
    random = np.random.default_rng(3)
    centers = random.normal(size=(40, WIDTH))
    found = centers[random.integers(0, 40, ROWS)] + random.normal(size=(ROWS, WIDTH)) * 0.3
    return found.astype(np.float32)


@pytest.fixture(scope="module")
def table(
    tmp_path_factory: pytest.TempPathFactory, matrix: npt.NDArray[np.float32]
) -> lance.LanceDataset:
    """``r`` is random, ``far`` ascends with the distance from the query, `matrix` [0]."""
    distances = ((matrix - matrix[0]) ** 2).sum(axis=1)
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), WIDTH)
    rows = pa.table(
        {
            "id": range(ROWS),
            "r": np.random.default_rng(1).permutation(ROWS),
            "far": np.argsort(np.argsort(distances)),
            "v": column,
        }
    )
    uri = tmp_path_factory.mktemp("t") / "t.lance"
    dataset = lance.write_dataset(rows, uri, max_rows_per_file=2_500)
    dataset.create_index("v", "IVF_PQ", num_partitions=6, num_sub_vectors=16, num_bits=4)
    dataset.delete("id % 50 = 7")
    return dataset


def nearest_ids(table: lance.LanceDataset, query: dict[str, Any], filter: str) -> list[int]:
    exact = table.to_table(["id"], filter, nearest=query | {"use_index": False})
    return list(exact["id"].to_pylist())


WAYS: dict[str, dict[str, int]] = {
    "few rows are ranked by their values": {},
    "the index ranks rows that satisfy the filter": {"few_rows": 0},
    "the best rows are tested": {"few_rows": 0, "tested_bytes": 0},
    "values are read in parts": {"taken_bytes": 4 * WIDTH * 50},
}


@each_case("way, filter", [(way, f) for way in WAYS for f in (
    "r < 0", "r = 17", "r < 60", "r < 1200", "r < 4000", "far > 4500", "far > 5980", "r >= 0",
)])  # fmt: skip
def test_a_filter_never_costs_rows(
    table: lance.LanceDataset,
    matrix: npt.NDArray[np.float32],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    filter: str,
) -> None:
    numbers = WAYS[way]
    if numbers:
        tune(monkeypatch, ranking=numbers)
    table = lance.dataset(table.uri)  # that remembers no filter
    query = {"column": "v", "q": matrix[0], "k": K, "refine_factor": 60, "minimum_nprobes": 6}
    scanner = table.scanner(["id"], filter, nearest=query)
    assert scanner.to_table()["id"].to_pylist() == nearest_ids(table, query, filter)
    coarse = {"column": "v", "q": matrix[0], "k": K, "minimum_nprobes": 1}
    wanted = min(K, table.count_rows(filter))
    assert table.to_table(["id"], filter, nearest=coarse).num_rows == wanted
    both = query | {"q": matrix[:2]}
    assert table.to_table(["id"], filter, nearest=both).num_rows == 2 * wanted


def test_a_plan_says_how_a_filter_is_applied(
    table: lance.LanceDataset,
    matrix: npt.NDArray[np.float32],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = {"column": "v", "q": matrix[0], "k": K}
    few = table.scanner(["id"], "r < 60", nearest=query)
    assert "filter=[of all rows]" in few.explain_plan()
    assert "rows satisfy the filter; they are ranked by their values]" in few.analyze_plan()
    tune(monkeypatch, ranking={"tested_bytes": 0})
    best = table.scanner(["id"], "r < 5000", nearest=query)
    of_ids = table.to_table(["id"], "_rowid % 3 = 1 AND r < 5000", nearest=query | {"nprobes": 6})
    assert of_ids.num_rows == K
    assert "filter=[of the best rows]" in best.explain_plan()
    assert "tested for" in best.analyze_plan()


@each_case("bounds", [(None, 4.0), (3.0, 6.0), (8.0, None), (1000.0, None), (0.0, 0.0)])
@each_case("filter", [None, "r < 3000"])
def test_exact_distances_decide_what_is_in_a_range(
    table: lance.LanceDataset,
    matrix: npt.NDArray[np.float32],
    filter: str | None,
    bounds: tuple[float | None, float | None],
) -> None:
    query = {"column": "v", "q": matrix[3], "k": 20, "distance_range": bounds}
    refined = query | {"refine_factor": 5, "minimum_nprobes": 6}
    exact = table.to_table(["id"], filter, nearest=query | {"use_index": False})
    found = table.to_table(["id"], filter, nearest=refined)
    assert found.num_rows == exact.num_rows
    if bounds[0] is not None:  # many rows are nearer than the range: all are compared
        assert found.equals(exact)


def test_a_search_warns_once_if_an_index_lacks_many_rows(
    tmp_path: Path, matrix: npt.NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix[:300].ravel()), WIDTH)
    dataset = lance.write_dataset(pa.table({"v": column}), tmp_path / "t")
    dataset.create_index("v", "IVF_FLAT", num_partitions=2)
    dataset = lance.write_dataset(pa.table({"v": column}), tmp_path / "t", mode="append")
    nearest = {"column": "v", "q": matrix[0], "k": 4}
    assert dataset.to_table(nearest=nearest).num_rows == 4
    tune(monkeypatch, ranking={"uncovered_rows": 300})
    with pytest.warns(IndexWarning, match="'v_idx' of .* does not cover 300 rows"):
        dataset.to_table(nearest=nearest)
    assert dataset.to_table(nearest=nearest).num_rows == 4
    dataset.optimize.optimize_indices()
    assert dataset.to_table(nearest=nearest).num_rows == 4


def test_a_fast_search_finds_no_rows_by_an_index_that_covers_none(tmp_path: Path) -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(24, np.float32)), 8)
    dataset = lance.write_dataset(pa.table({"v": column}), tmp_path / "t.lance")
    nearest = {"column": "v", "q": np.ones(8), "k": 2}
    assert dataset.to_table(nearest=nearest, fast_search=True).num_rows == 0
    with pytest.warns(IndexWarning, match="Not enough rows"):
        dataset.create_index("v", "IVF_PQ", num_partitions=1, num_sub_vectors=4)
    assert dataset.to_table(nearest=nearest, fast_search=True).num_rows == 0
    both = nearest | {"q": np.ones((2, 8))}
    assert dataset.to_table(nearest=both, fast_search=True).num_rows == 0
    assert dataset.to_table(nearest=nearest | {"use_index": False}, fast_search=True).num_rows == 2
    assert dataset.to_table(nearest=nearest).num_rows == 2


def test_rows_of_an_index_are_compared_exactly_with_those_that_it_lacks(
    tmp_path: Path, matrix: npt.NDArray[np.float32]
) -> None:
    def rows(some: slice) -> pa.Table:
        part = matrix[some]
        column = pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), WIDTH)
        return pa.table({"id": range(*some.indices(ROWS)), "v": column})

    dataset = lance.write_dataset(rows(slice(0, 600)), tmp_path / "t.lance")
    dataset.create_index("v", "IVF_SQ", num_partitions=2)
    dataset = lance.write_dataset(rows(slice(600, 640)), dataset, mode="append")
    nearest = {"column": "v", "q": matrix[610], "k": 30, "nprobes": 2}
    found = dataset.to_table(["id", "_distance"], nearest=nearest)
    distances = ((matrix[found["id"].to_numpy()] - matrix[610]) ** 2).sum(axis=1)
    assert {610} < set(found["id"].to_pylist())
    assert found["id"].to_numpy().min() < 600
    np.testing.assert_allclose(found["_distance"].to_numpy(), distances, rtol=1e-5, atol=1e-6)


def test_a_row_that_a_table_never_had_is_corrupt(table: lance.LanceDataset) -> None:
    snapshot = table._snapshot
    (index,) = column_indices(snapshot, "v")
    end = (max(one.fragment_id for one in table.get_fragments()) + 1) << 32
    mask = allowed_rows(snapshot, index.segments[0], None).mask
    assert mask(np.array([0, 7], np.uint64)).tolist() == [True, False]
    with pytest.raises(CorruptFileError, match=f"has row {end}, which"):
        mask(np.array([0, end], np.uint64))


def test_several_queries_go_on_where_the_nearest_partitions_have_no_rows(
    tmp_path: Path, matrix: npt.NDArray[np.float32]
) -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix[:400].ravel()), WIDTH)
    dataset = lance.write_dataset(pa.table({"id": range(400), "v": column}), tmp_path / "t.lance")
    far = np.full((1, WIDTH), 50, np.float32)
    centroids = np.concatenate([matrix[:2], far])
    dataset.create_index("v", "IVF_FLAT", ivf_centroids=centroids)
    nearest = {"column": "v", "q": np.repeat(far, 3, axis=0), "k": 7, "search_effort": 0}
    assert dataset.to_table(["id"], nearest=nearest).num_rows == 21


def test_rows_that_a_deferred_compaction_has_removed_are_not_found(
    tmp_path: Path, matrix: npt.NDArray[np.float32]
) -> None:
    column = pa.FixedSizeListArray.from_arrays(pa.array(matrix[:400].ravel()), WIDTH)
    rows = pa.table({"id": range(400), "v": column})
    dataset = lance.write_dataset(rows, tmp_path / "t.lance", max_rows_per_file=150)
    dataset.create_index("v", "IVF_FLAT", num_partitions=2)
    dataset.create_scalar_index("id", "BTREE")
    indexed = _indexed_columns(dataset._snapshot, "/lance.index.pb.VectorIndexDetails")
    assert [*indexed] == ["v"]
    dataset.delete("id % 3 = 0")
    dataset.optimize.compact_files(defer_index_remap=True)
    nearest = {"column": "v", "q": matrix[3], "k": 20, "nprobes": 2}
    found = dataset.to_table(["id"], nearest=nearest, fast_search=True)["id"].to_pylist()
    order = np.argsort(((matrix[:400] - matrix[3]) ** 2).sum(axis=1)).tolist()
    assert found == [row for row in order if row % 3][:20]


def test_a_query_that_an_index_cannot_answer_is_warned_of(
    table: lance.LanceDataset, matrix: npt.NDArray[np.float32]
) -> None:
    nearest = {"column": "v", "q": matrix[0], "k": K, "metric": "cosine"}
    with pytest.warns(IndexWarning, match="has the metric l2, and the query cosine"):
        found = table.to_table(["id"], nearest=nearest)
    assert found.equals(table.to_table(["id"], nearest=nearest | {"use_index": False}))
    with pytest.warns(UserWarning, match="numbers that are not finite"):
        table.to_table(["id"], nearest={"column": "v", "q": np.full(WIDTH, np.nan)})


def test_few_values_are_read_at_once(
    table: lance.LanceDataset,
    matrix: npt.NDArray[np.float32],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    true = rank_values.take_addresses

    def noted(snapshot: Any, addresses: npt.NDArray[np.int64], *others: Any) -> pa.Table:
        sizes.append(len(addresses))
        return true(snapshot, addresses, *others)

    monkeypatch.setattr(rank_values, "take_addresses", noted)
    tune(monkeypatch, ranking={"taken_bytes": 4 * WIDTH * 50})
    nearest = {"column": "v", "q": matrix[0], "k": K, "refine_factor": 20}
    assert table.to_table(["id"], nearest=nearest).num_rows == K
    assert sizes[:4] == [50, 50, 50, 50]


def test_a_shortlist_keeps_what_rounding_may_hide() -> None:
    shortlist = Shortlist(1, 1)
    distances = (np.arange(100, dtype=np.float32) % 20)[:, None]
    for start in range(0, 100, 10):
        shortlist.add(distances[start : start + 10], np.array([10.0]), start)
    (rows,) = shortlist.rows()
    assert rows.tolist() == list(range(100))  # none is farther than the nearest by more than 20
