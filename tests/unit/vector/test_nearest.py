"""Exact search for the nearest vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset import ColumnOrdering
from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.table.fragments.fragment_list import FEW_FRAGMENTS

ROWS, WIDTH = 3_000, 24


def column(matrix: npt.NDArray[Any], nulls: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    mask = None if nulls is None else pa.array(nulls)
    flat = pa.array(matrix.ravel())
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1], mask=mask)


@pytest.fixture(scope="module")
def vectors() -> npt.NDArray[np.float32]:
    return np.random.default_rng(5).normal(size=(ROWS, WIDTH)).astype(np.float32)


@pytest.fixture
def table(tmp_path: Path, vectors: npt.NDArray[np.float32]) -> lance.LanceDataset:
    nulls = np.arange(ROWS) % 10 == 3
    rows = pa.table({"id": range(ROWS), "v": column(vectors, nulls), "g": ["a", "b"] * 1_500})
    dataset = lance.write_dataset(rows, tmp_path / "t.lance", max_rows_per_file=700)
    dataset.delete("id % 7 = 2")
    return dataset


def nearest_rows(
    vectors: npt.NDArray[np.float32], query: npt.NDArray[Any], metric: str, rows: Any
) -> list[int]:
    """The ids of ``rows``, nearest first, by the definition of the metric in 64 bits."""
    wide, own = vectors[rows].astype(np.float64), query.astype(np.float64)
    if metric == "l2":
        distances = ((wide - own) ** 2).sum(axis=1)
    elif metric == "dot":
        distances = 1 - wide @ own
    else:
        lengths = np.linalg.norm(wide, axis=1) * np.linalg.norm(own)
        distances = 1 - wide @ own / lengths
    return [int(rows[at]) for at in np.argsort(distances.astype(np.float32), kind="stable")]


def live(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    ids = np.arange(ROWS)
    return ids[(ids % 10 != 3) & (ids % 7 != 2)]


def test_a_limit_leaves_no_fragment_out(tmp_path: Path, vectors: npt.NDArray[np.float32]) -> None:
    """A scan with a limit plans its first fragments; any may have the nearest rows."""
    count = 2 * FEW_FRAGMENTS
    rows = pa.table({"id": range(count), "v": column(vectors[:count])})
    table = lance.write_dataset(rows, tmp_path / "t.lance", max_rows_per_file=1)
    query = {"column": "v", "q": vectors[count - 1], "k": 5}
    expected = nearest_rows(vectors, vectors[count - 1], "l2", np.arange(count))
    for limit in (1, 3, 5):
        found = table.to_table(["id"], nearest=query, limit=limit)
        assert found["id"].to_pylist() == expected[:limit]
    assert table.scanner(nearest=query, limit=2, offset=1).count_rows() == 2


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
def test_the_nearest_live_rows_with_a_vector_are_returned_in_order(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32], metric: str
) -> None:
    for k in (1, 10, 500, 5_000):
        nearest = {"column": "v", "q": vectors[8], "k": k, "metric": metric}
        found = table.to_table(columns=["id"], nearest=nearest)
        assert found.column_names == ["id", "_distance"]
        assert (
            found["id"].to_pylist() == nearest_rows(vectors, vectors[8], metric, live(vectors))[:k]
        )
        distances = found["_distance"].to_numpy()
        assert (np.diff(distances) >= 0).all()


def test_a_filter_is_applied_before_rows_are_ranked_unless_it_is_asked_for_afterwards(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    query = {"column": "v", "q": vectors[8], "k": 5}
    rows = live(vectors)
    expected = nearest_rows(vectors, vectors[8], "l2", rows[rows % 2 == 1])[:5]
    assert table.to_table(["id"], "g = 'b'", nearest=query)["id"].to_pylist() == expected
    after = table.to_table(["id"], "g = 'b'", nearest=query, prefilter=False)["id"].to_pylist()
    five = nearest_rows(vectors, vectors[8], "l2", rows)[:5]
    assert after == [id_ for id_ in five if id_ % 2 == 1]
    assert table.scanner(["id"], "g = 'b'", nearest=query, prefilter=False).count_rows() == len(
        after
    )


def test_queries_in_a_batch_have_the_answers_of_each(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    found = table.to_table(["id"], nearest={"column": "v", "q": vectors[:40], "k": 7})
    assert found.column_names == ["query_index", "id", "_distance"]
    for number in range(40):
        mine = found.filter(pa.compute.equal(found["query_index"], number))
        alone = table.to_table(["id"], nearest={"column": "v", "q": vectors[number], "k": 7})
        assert mine.drop_columns("query_index") == alone


def test_distances_are_the_same_wherever_a_vector_is_stored(
    tmp_path: Path, vectors: npt.NDArray[np.float32]
) -> None:
    """Matrix products of blocks of other lengths round differently; results do not."""
    query = {"column": "v", "q": vectors[1], "k": 50, "metric": "cosine"}
    answers = []
    for rows_per_file in (100, 999, 3_000):
        rows = pa.table({"id": range(ROWS), "v": column(vectors)})
        uri = tmp_path / str(rows_per_file)
        dataset = lance.write_dataset(rows, uri, max_rows_per_file=rows_per_file)
        answers.append(dataset.to_table(["id"], nearest=query))
    assert answers[0] == answers[1] == answers[2]


def test_rows_of_several_vectors_have_the_sum_of_the_distances_to_the_nearest_of_them(
    tmp_path: Path, vectors: npt.NDArray[np.float32]
) -> None:
    offsets = pa.array([0, 2, 2, 5, 6, 10], pa.int32())
    several = pa.ListArray.from_arrays(offsets, column(vectors[:10]))
    dataset = lance.write_dataset(pa.table({"id": range(5), "v": several}), tmp_path / "t")
    query = vectors[3:5]
    found = dataset.to_table(["id"], nearest={"column": "v", "q": query, "k": 9})
    groups = {0: vectors[0:2], 2: vectors[2:5], 3: vectors[5:6], 4: vectors[6:10]}
    expected = {
        row: sum(float(((own - q) ** 2).sum(axis=1).min()) for q in query)
        for row, own in groups.items()
    }
    assert found["id"].to_pylist() == sorted(expected, key=lambda row: expected[row])
    assert np.allclose(found["_distance"], sorted(expected.values()), rtol=1e-5)


def test_values_without_a_distance_are_left_out(tmp_path: Path) -> None:
    rows = np.array([[1, 0], [np.nan, 1], [np.inf, 0], [0, 0], [2, 0]], np.float32)
    dataset = lance.write_dataset(pa.table({"id": range(5), "v": column(rows)}), tmp_path / "t")

    def ids(metric: str, query: list[float]) -> list[int]:
        nearest = {"column": "v", "q": query, "k": 9, "metric": metric}
        return list(dataset.to_table(["id"], nearest=nearest)["id"].to_pylist())

    assert ids("l2", [1, 0]) == [0, 3, 4, 2]
    assert ids("cosine", [1, 0]) == [0, 4]
    with pytest.warns(UserWarning, match="of zeros, which has no angle"):
        assert ids("cosine", [0, 0]) == []
    for number in (np.nan, np.inf):
        with pytest.warns(UserWarning, match="numbers that are not finite"):
            assert ids("cosine", [number, 0]) == []


def test_bytes_are_compared_by_their_different_bits(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).integers(0, 256, (500, 8), np.uint8)
    dataset = lance.write_dataset(pa.table({"id": range(500), "v": column(rows)}), tmp_path / "t")
    found = dataset.to_table(["id"], nearest={"column": "v", "q": rows[77], "k": 20})
    bits = np.unpackbits(rows ^ rows[77], axis=1).sum(axis=1)
    expected = np.lexsort((np.arange(500), bits))[:20]
    assert found["id"].to_pylist() == expected.tolist()
    assert found["_distance"].to_pylist() == bits[expected].tolist()


def test_the_score_is_a_column_that_can_be_named_moved_and_left_out(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    query = {"column": "v", "q": vectors[8], "k": 2}
    found = table.to_table(["_distance", "id"], nearest=query, with_row_id=True)
    assert found.column_names == ["_distance", "id", "_rowid"]
    renamed = table.to_table({"d": "_distance", "n": "id + 1"}, nearest=query)
    assert renamed.column_names == ["d", "n", "_distance"]
    assert renamed["d"].to_pylist() == found["_distance"].to_pylist()
    without = table.to_table(["id"], nearest=query, disable_scoring_autoprojection=True)
    assert without.column_names == ["id"]
    assert table.scanner(nearest=query).projected_schema.names == ["id", "v", "g", "_distance"]
    assert table.to_table(["id"], nearest=query, limit=1, offset=1) == found.slice(1).select(
        ["id", "_distance"]
    )


def test_every_way_to_run_a_scan_returns_the_ranked_rows(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    scanner = table.scanner(["id"], nearest={"column": "v", "q": vectors[8], "k": 30})
    found = scanner.to_table()
    assert pa.Table.from_batches(scanner.to_batches()) == found
    assert scanner.to_reader().read_all() == found
    assert scanner.head(4) == found.slice(0, 4)
    assert scanner.take([2, 0])["id"].to_pylist() == found["id"].take([2, 0]).to_pylist()
    assert scanner.count_rows() == 30
    built = table.scanner_builder() if hasattr(table, "scanner_builder") else None
    assert built is None or built.nearest("v", vectors[8], k=30) is not None
    plan = scanner.explain_plan()
    assert "KNNVectorDistance: metric=l2, k=30" in plan
    with pytest.raises(UnsupportedFeatureError, match="splits"):
        scanner.splits()
    assert [one.fragment for one in scanner.scan_batches()] == [None]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"k": 0}, InvalidInputError, "must be > 0 but got 0"),
        ({"k": "3"}, InvalidTypeError, "k of nearest must be a whole number"),
        ({"q": [1.0]}, InvalidInputError, "Query vector size 1 does not match"),
        ({"q": "text"}, InvalidTypeError, "must be a vector"),
        ({"q": np.zeros((2, 2, 2))}, InvalidTypeError, "3 dimensions"),
        ({"q": None}, TypeError, "nearest has no 'q'"),
        ({"column": "g"}, InvalidTypeError, "must be a vector"),
        ({"column": "w"}, InvalidInputError, "No field named w"),
        ({"metric": "hamming"}, InvalidInputError, "does not support vectors of float"),
        (
            {"minimum_nprobes": 3, "maximum_nprobes": 2},
            InvalidInputError,
            "minimum_nprobes must be <= maximum_nprobes, got 3 and 2",
        ),
        ({"metric": "l3"}, InvalidInputError, "Metric type 'l3' is not supported"),
        ({"nprobe": 3}, TypeError, "did you mean 'nprobes'"),
        ({"refine_factor": 0}, InvalidInputError, "Refine factor must be 1 or more got 0"),
        ({"distance_range": 3}, InvalidInputError, "distance_range must be a tuple"),
        ({"search_effort": 2}, InvalidInputError, "between 0 and 1"),
        ({"approx_mode": "exact"}, InvalidInputError, "one of fast, normal, accurate"),
    ],
)
def test_wrong_queries_are_named(
    table: lance.LanceDataset,
    vectors: npt.NDArray[np.float32],
    change: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        table.scanner(nearest={"column": "v", "q": vectors[8]} | change)


def test_options_that_exclude_a_search_are_named(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    nearest = {"column": "v", "q": vectors[8]}
    with pytest.raises(InvalidInputError, match="include_deleted_rows and nearest cannot both"):
        table.scanner(nearest=nearest, include_deleted_rows=True, with_row_id=True)
    with pytest.raises(InvalidInputError, match="_distance"):
        table.scanner(nearest=nearest, filter="_distance < 3", prefilter=True)
    with pytest.raises(InvalidInputError, match="No field named h"):
        table.scanner(nearest=nearest, order_by=["h"])


def test_ranked_rows_are_sorted_by_columns_and_by_the_score(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    nearest = {"column": "v", "q": vectors[8], "k": 12}
    ranked = table.to_table(["id", "g"], nearest=nearest)
    by_group = table.scanner(["id"], nearest=nearest, order_by=["g"], limit=9, offset=2)
    rows = ranked.to_pylist()
    expected = sorted(range(12), key=lambda at: (rows[at]["g"], at))[2:11]
    assert by_group.to_table()["id"].to_pylist() == [rows[at]["id"] for at in expected]
    assert "SortExec: expr=[g ASC NULLS LAST]" in by_group.explain_plan()
    assert by_group.count_rows() == 9
    farthest = ColumnOrdering("_distance", ascending=False)
    turned = table.to_table(["id"], nearest=nearest, order_by=[farthest], limit=3)
    assert turned["id"].to_pylist() == ranked["id"].to_pylist()[:-4:-1]
    both = {"column": "v", "q": vectors[8:10], "k": 12}
    queries = table.to_table(["id"], nearest=both, order_by=["id", "query_index"])
    assert queries.num_rows == 24
    assert queries["id"].to_pylist() == sorted(queries["id"].to_pylist())


def test_expressions_compute_with_the_score(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    nearest = {"column": "v", "q": vectors[8], "k": 5}
    ranked = table.to_table(["id"], nearest=nearest)
    columns = {"similarity": "1 - _distance", "id": "id", "sum": "id + _distance", "id2": "id * 2"}
    found = table.to_table(columns, nearest=nearest)
    assert found.column_names == [*columns, "_distance"]
    distances = ranked["_distance"].to_numpy()
    assert np.allclose(found["similarity"], 1 - distances)
    assert np.allclose(found["sum"], ranked["id"].to_numpy() + distances)
    assert found["id2"].to_pylist() == [2 * id_ for id_ in ranked["id"].to_pylist()]
    scanner = table.scanner(columns, nearest=nearest)
    assert scanner.projected_schema == found.schema
    assert "1 - _distance as similarity" in scanner.explain_plan()


def test_conditions_on_the_score_are_tested_for_ranked_rows(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    nearest = {"column": "v", "q": vectors[8], "k": 9}
    odd = table.to_table(["id"], "g = 'b'", nearest=nearest)
    limit = odd["_distance"][5].as_py()
    found = table.scanner(["id"], f"g = 'b' AND _distance < {limit!r}", nearest=nearest)
    assert found.to_table().equals(odd.slice(0, 5))
    assert found.count_rows() == 5
    field = pa.compute.field
    as_arrow = (field("g") == "b") & (field("_distance") < limit)
    after = table.to_table(["id"], as_arrow, nearest=nearest)["id"].to_pylist()
    every = table.to_table(["id", "g"], nearest=nearest)
    assert after == [
        row["id"] for row in every.to_pylist() if row["g"] == "b" and row["_distance"] < limit
    ]
    both = {"column": "v", "q": vectors[8:10], "k": 9}
    second = table.to_table(["id"], "query_index = 1", nearest=both)
    assert second["query_index"].to_pylist() == [1] * 9


def test_rows_that_are_skipped_are_ranked_besides_those_of_the_limit(
    table: lance.LanceDataset, vectors: npt.NDArray[np.float32]
) -> None:
    nearest = {"column": "v", "q": vectors[8]}
    every = table.to_table(["id"], nearest=nearest | {"k": 40})["id"].to_pylist()
    some = table.to_table(["id"], nearest=nearest, limit=12, offset=5)
    assert some["id"].to_pylist() == every[5:17]
