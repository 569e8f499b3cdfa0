"""SQL queries over a dataset, which DataFusion runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset import sql_query
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case

TABLE = pa.table({"id": range(100), "k": [i % 3 for i in range(100)], "big": ["x" * 99] * 100})


@pytest.fixture(scope="module")
def ds(tmp_path_factory: pytest.TempPathFactory) -> lance_core.LanceDataset:
    path = tmp_path_factory.mktemp("sql") / "t"
    return lance_core.write_dataset(TABLE, path, max_rows_per_file=30)


def rows(builder: Any) -> list[dict[str, Any]]:
    batches = builder.build().to_batch_records()
    streamed = builder.build().to_stream_reader().read_all().to_pylist()
    found = [row for batch in batches for row in batch.to_pylist()]
    assert found == streamed
    return found


def test_a_query_aggregates_and_orders(ds: Any) -> None:
    query = "SELECT k, sum(id) AS s FROM dataset WHERE id >= 90 GROUP BY k ORDER BY k"
    assert rows(ds.sql(query)) == [{"k": 0, "s": 378}, {"k": 1, "s": 282}, {"k": 2, "s": 285}]
    assert rows(ds.sql("SELECT count(*) AS n FROM dataset")) == [{"n": 100}]
    assert [row["id"] for row in rows(ds.sql("SELECT id FROM dataset"))] == list(range(100))


def test_options_of_a_query(ds: Any) -> None:
    query = ds.sql("SELECT * FROM t WHERE id = 31").table_name("t")
    (row,) = rows(query.with_row_id().with_row_addr().batch_size(10).blob_handling("all_binary"))
    assert list(row) == ["id", "k", "big", "_rowid", "_rowaddr"]
    assert row["_rowaddr"] == (1 << 32) + 1
    assert rows(ds.sql("SELECT _rowid FROM dataset WHERE k = 2 LIMIT 1").with_row_id()) == [
        {"_rowid": 2}
    ]


def test_a_plan_shows_what_the_scan_does(ds: Any) -> None:
    plan = rows(ds.sql("EXPLAIN SELECT id FROM dataset WHERE k = 1"))
    assert "projection=[id]" in plan[1]["plan"]
    assert "filter_expr=(k == 1)" in plan[1]["plan"]


@each_case(
    "query",
    [
        "SELEC",
        "SELECT nothing FROM dataset",
        "SELECT id FROM elsewhere",
        "INSERT INTO dataset VALUES (1, 1, 'x')",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "COPY dataset TO 'copied.csv'",
        "SET datafusion.execution.batch_size = 1",
    ],
)
def test_only_queries_over_the_table_are_run(ds: Any, query: str) -> None:
    with pytest.raises(InvalidInputError):
        ds.sql(query).build()


def test_an_error_of_the_scan_keeps_its_class(ds: Any, tmp_path: Path) -> None:
    lost = lance_core.write_dataset(TABLE, tmp_path / "t")
    for file in (tmp_path / "t" / "data").iterdir():
        file.unlink()
    with pytest.raises(FileNotFoundError):
        lost.sql("SELECT sum(id) FROM dataset").build().to_batch_records()


def test_without_datafusion_the_error_names_the_extra(
    ds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_query, "engine", lambda: None)
    with pytest.raises(UnsupportedFeatureError, match=r"lance-core\[datafusion\]"):
        ds.sql("SELECT 1").build()


def test_nan_is_above_all_numbers(tmp_path: Path) -> None:
    rows = pa.table({"f": [1.0, 2.0, float("nan"), None], 'a`"b': [1, 2, 3, 4]})
    dataset = lance_core.write_dataset(rows, tmp_path)
    cases = {"f > 1": [2, 3], "f = 'NaN'": [3], "f > 1 OR f IS NULL": [2, 3, 4]}
    for condition, found in cases.items():
        query = dataset.sql(f"SELECT * FROM dataset WHERE {condition}").build()
        (batch,) = query.to_batch_records()
        assert batch.column(1).to_pylist() == found
        assert batch.schema.names == rows.column_names


def test_rows_keep_the_order_of_the_table(tmp_path: Path) -> None:
    rows = pa.table({"n": range(10_000)})
    dataset = lance_core.write_dataset(rows, tmp_path, max_rows_per_file=100)
    query = "SELECT n FROM dataset WHERE coalesce(n, 0) >= 0"
    found = dataset.sql(query).batch_size(100).build().to_batch_records()
    assert pa.Table.from_batches(found)["n"].to_pylist() == list(range(10_000))
