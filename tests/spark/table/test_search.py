"""Text indices that tasks of Spark build, and searches of them."""

from __future__ import annotations

from pathlib import Path

import lance as pylance
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import InvalidInputError
from lance_core.query import BooleanQuery, MatchQuery, Occur, PhraseQuery
from lance_core_spark import LanceTable, create_index, search
from tests.text.corpus import texts

ROWS = 600


def table_of(path: Path) -> lance_core.LanceDataset:
    """A table of three fragments with texts; some rows are deleted."""
    made = pa.table({"id": range(ROWS), "t": texts(ROWS), "n": [n % 5 for n in range(ROWS)]})
    dataset = lance_core.write_dataset(made, str(path), max_rows_per_file=200)
    dataset.delete("id % 50 = 7")
    return lance_core.dataset(str(path))


def scores(rows: pa.Table) -> dict[int, float]:
    return dict(zip(rows["id"].to_pylist(), rows["_score"].to_pylist(), strict=True))


@pytest.mark.parametrize("merges", [True, False])
def test_tasks_build_one_index(spark: SparkSession, tmp_path: Path, merges: bool) -> None:
    path, other = tmp_path / "t.lance", tmp_path / "other.lance"
    table_of(path)
    options = {"stem": False, "with_position": True}
    table = LanceTable.forPath(spark, path)
    if merges:
        create_index(spark, path, "t", "INVERTED", num_segments=3, **options)
    else:
        table.createIndex("t", "FTS", numSegments=3, mergeSegments=False, **options)
    dataset = lance_core.dataset(str(path))
    table_of(other).create_scalar_index("t", "INVERTED", **options)
    (row,) = table.listIndices().collect()
    assert (row["name"], row["type"], row["numSegments"]) == (
        "t_idx",
        "Inverted",
        1 if merges else 3,
    )
    queries = [MatchQuery("w3 w17", "t"), PhraseQuery("w1 w0", "t", slop=1)]
    for query in queries:
        expected = scores(lance_core.dataset(str(other)).to_table(["id"], full_text_query=query))
        assert scores(dataset.to_table(["id"], full_text_query=query)) == expected
        found = search(spark, path, query, None, columns=["id"]).toArrow()
        assert found.column_names == ["id", "_score"]
        assert scores(found) == expected
    theirs = pylance.dataset(str(path)).to_table(columns=["id", "_score"], full_text_query="w3 w17")
    own = dataset.to_table(["id"], full_text_query="w3 w17")
    assert scores(theirs) == pytest.approx(scores(own), rel=1e-5)


def test_a_search_returns_the_best_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table_of(path).create_scalar_index("t", "INVERTED")
    first = lance_core.dataset(str(path))
    query = BooleanQuery(
        [(Occur.MUST, MatchQuery("w2", "t")), (Occur.SHOULD, MatchQuery("w9", "t"))]
    )
    found = search(spark, path, query, 5, filter="n = 3", version=first.version)
    expected = first.to_table(full_text_query=query, limit=5, filter="n = 3")
    assert found.columns == ["id", "t", "n", "_score"]
    assert [row.asDict() for row in found.collect()] == expected.to_pylist()
    first.delete("true")
    assert found.count() == 5  # of the version
    assert search(spark, path, "w2", columns=["id", "_score"]).collect() == []


def test_wrong_arguments_are_refused_before_a_task_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    with pytest.raises(InvalidInputError, match="no column has a text index"):
        search(spark, path, "w1")
    with pytest.raises(InvalidInputError, match="k must be"):
        search(spark, path, MatchQuery("w1", "t"), 0)
    with pytest.raises(InvalidInputError, match="field named x"):
        search(spark, path, MatchQuery("w1", "x"))
    with pytest.raises(TypeError, match="full_text_query"):
        search(spark, path, 5)  # type: ignore[arg-type]
