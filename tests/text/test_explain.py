"""How the score of a row is computed: the tree of numbers ends in the score of the search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, RowNotFoundError, RowNotMatchedError
from lance_core.query import (
    BooleanQuery,
    BoostQuery,
    Explanation,
    FullTextOperator,
    MatchQuery,
    MultiMatchQuery,
    Occur,
    PhraseQuery,
    explain_score,
)
from tests.examples import IS_FULL_RUN
from tests.text.corpus import texts

pytestmark = pytest.mark.filterwarnings("ignore::lance_core.errors.IndexWarning")

ROWS = 240
STEP = 29 if IS_FULL_RUN else 97
"""Of so many rows that a search returns, the score of one is explained."""

QUERIES: dict[str, Any] = {
    "one word": MatchQuery("w5", "t"),
    "words": MatchQuery("w1 w17 w30 w1", "t", boost=1.7),
    "all words": MatchQuery("w1 w2", "t", operator=FullTextOperator.AND),
    "fuzzy": MatchQuery("w12 w3", "t", fuzziness=1),
    "phrase": PhraseQuery("w1 w0", "t", slop=1),
    "boolean": BooleanQuery(
        [
            (Occur.MUST, MatchQuery("w0", "t")),
            (Occur.SHOULD, PhraseQuery("w2 w1", "t")),
            (Occur.MUST_NOT, MatchQuery("w9", "u")),
        ]
    ),
    "clauses of a column": BooleanQuery(
        [
            (Occur.MUST, MatchQuery("w0", "t")),
            (Occur.SHOULD, MatchQuery("w2 w1", "t")),
            (Occur.MUST_NOT, MatchQuery("w9", "t")),
        ]
    ),
    "boost": BoostQuery(MatchQuery("w0 w4", "t"), MatchQuery("w3 w2", "u"), negative_boost=0.3),
    "columns": MultiMatchQuery("w4 w8", ["t", "u"], boosts=[1.3, 0.7]),
    "text": "w4 w8",
}


@pytest.fixture(scope="module", params=["addresses", "ids", "without-index"])
def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> lance.LanceDataset:
    """A table with two segments of an index, deleted rows, and rows that no index covers."""
    path = tmp_path_factory.mktemp("explain") / "t"
    options = {"max_rows_per_file": 70, "enable_stable_row_ids": request.param == "ids"}
    dataset = lance.write_dataset(_rows(0, ROWS), path, **options)
    for column in ("t", "u") if request.param != "without-index" else ():
        dataset.create_scalar_index(column, "INVERTED", with_position=True)
    for first in (ROWS, ROWS + 60):
        if first > ROWS:
            dataset.optimize.optimize_indices(num_indices_to_merge=0)
        dataset = lance.write_dataset(_rows(first, 60), path, mode="append")
    dataset.delete("id % 7 = 2")
    return lance.dataset(path)


def _rows(first: int, count: int) -> pa.Table:
    columns = {"t": texts(count, seed=first + 1), "u": texts(count, seed=first + 2)}
    return pa.table({"id": range(first, first + count), **columns})


@pytest.mark.parametrize("name", QUERIES)
def test_an_explanation_has_the_score_of_each_row(table: lance.LanceDataset, name: str) -> None:
    query = QUERIES[name]
    if name == "text" and not table.list_indices():
        pytest.skip("a text searches the columns with an index")
    found = table.to_table(
        columns=["id"], full_text_query=query, with_row_id=True, with_row_address=True
    )
    columns = [found[each].to_pylist() for each in ("_rowid", "_rowaddr", "_score")]
    assert len(columns[0]) > 20
    for row_id, address, score in list(zip(*columns, strict=True))[::STEP]:
        explained = explain_score(table, query, row_id)
        assert np.float32(explained.value) == np.float32(score)
        assert explain_score(table, query, row_address=address) == explained
        _check(explained)


def _check(part: Explanation) -> None:
    """The number of each part is what its text says of its details."""
    values = [each.value for each in part.details]
    if part.description.startswith("weight of"):
        assert part.value == pytest.approx(np.prod(values), rel=1e-6)
    elif part.description.startswith("sum of"):
        assert part.value == pytest.approx(sum(values), rel=1e-6)
    elif part.description.startswith("best score"):
        assert part.value == max(values)
    elif part.description.startswith("tf"):
        times, k1, b, length, average = values
        assert part.value == pytest.approx(
            times / (times + k1 * (1 - b + b * length / average)), rel=1e-6
        )
    elif part.description.startswith("idf"):
        count, total = values
        assert part.value == pytest.approx(
            np.log(1 + (total - count + 0.5) / (count + 0.5)), rel=1e-6
        )
    for each in part.details:
        _check(each)


def test_a_boost_names_the_negative_query_where_it_matches(tmp_path: Path) -> None:
    dataset = lance.write_dataset(pa.table({"t": ["a b", "a"]}), tmp_path / "t")
    dataset.create_scalar_index("t", "INVERTED", remove_stop_words=False)
    query = BoostQuery(MatchQuery("a", "t"), MatchQuery("b", "t"), negative_boost=0.3)
    both, only = (explain_score(dataset, query, row_address=row) for row in (0, 1))
    assert len(both.details) == 3
    assert len(only.details) == 1
    positive, factor, negative = (part.value for part in both.details)
    assert factor == 0.3
    assert both.value == pytest.approx(positive - factor * negative, rel=1e-6)
    assert only.value == only.details[0].value


@pytest.mark.parametrize(
    "name", ["words", "all words", "phrase", "boolean", "clauses of a column", "columns"]
)
def test_rows_that_do_not_match_are_an_error(table: lance.LanceDataset, name: str) -> None:
    query = QUERIES[name]
    matching = set(table.to_table(["id"], full_text_query=query)["id"].to_pylist())
    rows = table.to_table(["id"], with_row_id=True)
    others = [
        row
        for row, number in zip(rows["_rowid"].to_pylist(), rows["id"].to_pylist(), strict=True)
        if number not in matching
    ]
    assert len(others) > 20
    for row in others[::STEP]:
        with pytest.raises(RowNotMatchedError, match="does not match"):
            explain_score(table, query, row)


def test_rows_that_are_not_there_are_an_error(table: lance.LanceDataset) -> None:
    query = MatchQuery("w0", "t")
    for row in (2, 60, 1 << 40):  # deleted, or after the last one
        with pytest.raises(RowNotFoundError, match="has no row"):
            explain_score(table, query, row_address=row if row != 60 else (1 << 32) - 1)
    with pytest.raises(RowNotFoundError, match="has no row"):
        explain_score(table, query, 2)
    for given in ({}, {"row_id": 0, "row_address": 0}, {"row_id": -1}, {"row_id": "0"}):
        with pytest.raises(InvalidInputError, match="row_id"):
            explain_score(table, query, **given)


def test_an_explanation_is_text_or_dictionaries(tmp_path: Path) -> None:
    rows = pa.table({"t": ["a brown fox", "brown bread", "the end"]})
    dataset = lance.write_dataset(rows, tmp_path / "t")
    dataset.create_scalar_index("t", "INVERTED")
    explained = explain_score(dataset, MatchQuery("browm", "t", fuzziness=1), 0)
    lines = str(explained).splitlines()
    assert "weight of 'brown' in column 't', which is near 'browm'" in lines[0]
    assert lines[1].startswith("  0.4700036")
    assert "= idf" in lines[1]
    assert "    2 = n, documents with the term" in lines
    assert explained.to_dict()["details"][0]["details"][1]["value"] == 3
