"""Rows by a vector search and a text search together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.query import MatchQuery, hybrid
from tests.text.corpus import texts

ROWS = 240


@pytest.fixture(scope="module", params=["addresses", "ids"])
def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> lance.LanceDataset:
    vectors = np.random.default_rng(4).normal(size=(ROWS, 8)).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 8)
    rows = pa.table({"id": range(ROWS), "t": texts(ROWS), "v": column})
    path = tmp_path_factory.mktemp("hybrid") / "t"
    stable = request.param == "ids"
    options = {"max_rows_per_file": 100, "enable_stable_row_ids": stable}
    dataset = lance.write_dataset(rows, path, **options)
    dataset.create_scalar_index("t", "INVERTED")
    dataset.delete("id % 9 = 4")
    dataset.optimize.compact_files()
    return lance.dataset(path)


def expected(
    table: lance.LanceDataset, nearest: dict[str, Any], text: str, filter: str | None
) -> dict[int, float]:
    near = table.to_table(["id"], nearest={**nearest, "k": ROWS}, filter=filter)
    found = table.to_table(["id"], full_text_query=text, filter=filter)
    sums: dict[int, float] = {}
    for ids in (near["id"].to_pylist(), found["id"].to_pylist()):
        for rank, row in enumerate(ids, 1):
            sums[row] = sums.get(row, 0) + 1 / (60 + rank)
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


@pytest.mark.parametrize("filter", [None, "id < 120"])
def test_ranks_of_both_searches_are_summed(table: lance.LanceDataset, filter: str | None) -> None:
    nearest = {"column": "v", "q": np.ones(8, np.float32)}
    rows = hybrid(table, nearest=nearest, full_text_query="w3 w7", k=25, filter=filter)
    assert rows.column_names == ["id", "t", "v", "_distance", "_score", "_relevance"]
    sums = dict(list(expected(table, nearest, "w3 w7", filter).items())[:25])
    assert dict(zip(rows["id"].to_pylist(), rows["_relevance"].to_pylist(), strict=True)) == sums
    assert rows["id"].to_pylist() == list(sums)
    assert rows["_distance"].null_count == 0
    scores = table.to_table(["id"], full_text_query="w3 w7", filter=filter)
    of_row = dict(zip(scores["id"].to_pylist(), scores["_score"].to_pylist(), strict=True))
    assert rows["_score"].to_pylist() == [of_row.get(row) for row in sums]


def test_candidates_bound_both_searches(table: lance.LanceDataset) -> None:
    nearest = {"column": "v", "q": np.ones(8, np.float32)}
    rows = hybrid(table, nearest=nearest, full_text_query="w3", k=4, candidates=5, columns=["id"])
    assert rows.column_names == ["id", "_distance", "_score", "_relevance"]
    assert rows.num_rows == 4
    assert rows["_distance"].null_count + rows["_score"].null_count > 0


@pytest.mark.parametrize("given", [{"k": 0}, {"candidates": 3}, {"constant": 0}])
def test_wrong_numbers_are_refused(table: lance.LanceDataset, given: dict[str, Any]) -> None:
    nearest = {"column": "v", "q": [1.0] * 8}
    with pytest.raises(InvalidInputError, match="at least"):
        hybrid(table, nearest=nearest, full_text_query="w3", **given)


def test_several_vectors_are_refused(table: lance.LanceDataset, tmp_path: Path) -> None:
    nearest = {"column": "v", "q": np.ones((2, 8), np.float32)}
    with pytest.raises(InvalidInputError, match="several"):
        hybrid(table, nearest=nearest, full_text_query="w3")


def test_elements_of_lists_are_refused(tmp_path: Path) -> None:
    rows = pa.table({"l": [["w1", "w2"], ["w3"]], "v": [[1.0], [2.0]]})
    vectors = rows["v"].cast(pa.list_(pa.float32(), 1))
    dataset = lance.write_dataset(rows.set_column(1, "v", vectors), tmp_path / "t")
    dataset.create_scalar_index("l", "INVERTED", document_granularity="list_element")
    nearest = {"column": "v", "q": [1.0]}
    with pytest.raises(UnsupportedFeatureError, match="elements of lists"):
        hybrid(dataset, nearest=nearest, full_text_query=MatchQuery("w1", "l"))
