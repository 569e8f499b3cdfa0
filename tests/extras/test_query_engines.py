"""DuckDB and Polars scan datasets with projections and filters."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import lance_core
from lance_core.byte_ranges import ByteRange
from lance_core.hookspecs import ObjectStoreSpec, StoreUrl, hookimpl
from lance_core.plugins import get_manager
from lance_core.store.base import ObjectStore
from lance_core.store.secret import Secret
from lance_core_remote.client import Content
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import MemoryClient
from tests.each_case import each_case

ROWS = 20_000


class CountingClient(MemoryClient):
    """Counts the bytes that it is asked for."""

    bytes_read = 0

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        content = super().get(key, wanted, etag)
        assert wanted is not None
        self.bytes_read += wanted.stop - wanted.start
        return content


@pytest.fixture(scope="module")
def client() -> Iterator[CountingClient]:
    client = CountingClient()

    def open_counted(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        return RemoteStore(client, url.path)

    spec = ObjectStoreSpec("engines", ("engines",), open_counted)
    plugin = SimpleNamespace(lance_object_stores=hookimpl(lambda: [spec]))
    name = get_manager().register(plugin, "engines")
    assert name is not None
    lance_core.write_dataset(table(), "engines://host/t")
    yield client
    get_manager().unregister(name=name)


def table() -> pa.Table:
    numbers = np.arange(ROWS)
    start = dt.datetime(2024, 1, 1)
    return pa.table(
        {
            "a": pa.array(numbers, mask=numbers % 1000 == 999),
            "b": pa.array([f"text {i % 100}" for i in range(ROWS)]),
            "f": numbers / 2,
            "flag": numbers % 2 == 0,
            "t": pa.array([start + dt.timedelta(minutes=i) for i in range(ROWS)]),
            "s": pa.StructArray.from_arrays([pa.array(numbers)], ["x"]),
            "big": pa.array([f"{i:0200}" for i in range(ROWS)]),
        }
    )


def cost(client: CountingClient, run: Callable[[Any], Any]) -> tuple[Any, int]:
    """The result of ``run`` on a newly opened dataset, and the bytes that it read."""
    dataset = lance_core.dataset("engines://host/t")
    before = client.bytes_read
    found = run(dataset)
    return found, client.bytes_read - before


def of_duckdb(query: str) -> Callable[[Any], Any]:
    def run(ds: Any) -> Any:
        return duckdb.sql(query).fetchall()

    return run


@each_case(
    "query",
    [
        "SELECT b FROM ds WHERE a > 19990 AND b <> 'text 95'",
        "SELECT a FROM ds WHERE a IN (4, 7, 19000)",
        "SELECT a FROM ds WHERE a IS NULL OR a = 1",
        "SELECT f FROM ds WHERE f BETWEEN 1.0 AND 2.0",
        "SELECT count(*) FROM ds WHERE t >= TIMESTAMP '2024-01-02' AND flag",
        "SELECT b, max(a) FROM ds GROUP BY b ORDER BY b",
        "SELECT s.x FROM ds WHERE s.x < 3",
        "SELECT b FROM ds WHERE b LIKE 'text 9%' AND NOT flag AND a < 300",
        "SELECT count(*) FROM ds",
        "SELECT x.a FROM ds x JOIN ds y ON x.a = y.a WHERE y.a > 19995",
    ],
)
def test_duckdb_reads_only_the_columns_of_a_query(client: CountingClient, query: str) -> None:
    reference = table()  # noqa: F841  # DuckDB finds it by its name
    expected = duckdb.sql(
        query.replace("FROM ds", "FROM reference").replace("JOIN ds", "JOIN reference")
    )
    found, count = cost(client, of_duckdb(query))
    assert sorted(found, key=repr) == sorted(expected.fetchall(), key=repr)
    assert count < ROWS * 100  # column `big` alone is larger


def test_duckdb_hands_filters_to_the_scan(client: CountingClient) -> None:
    narrow, of_narrow = cost(client, of_duckdb("SELECT big FROM ds WHERE a = 12"))
    assert narrow == [(f"{12:0200}",)]
    _, of_all = cost(client, of_duckdb("SELECT big FROM ds"))
    assert of_narrow < of_all / 5


@each_case(
    "condition",
    [
        (pl.col("a") > 19990) & pl.col("b").is_in(["text 95", "text 96"]),
        pl.col("a").is_null(),
        ~pl.col("flag") & (pl.col("a") < 9),
        pl.col("a").is_between(2, 3),
        pl.col("t") > dt.datetime(2024, 1, 14, 21),
        pl.col("f") == 1.5,
        (pl.col("a") + 1) > 19998,
        pl.col("s").struct.field("x") > 19997,
        pl.col("b").str.starts_with("text 99"),
    ],
)
def test_polars_reads_only_the_columns_of_a_query(
    client: CountingClient, condition: pl.Expr
) -> None:
    def run(ds: Any) -> Any:
        return pl.scan_pyarrow_dataset(ds).filter(condition).select("b", "a").collect()

    expected = pl.DataFrame(table()).filter(condition).select("b", "a")
    found, count = cost(client, run)
    assert found.equals(expected)
    assert count < ROWS * 100


def test_polars_hands_filters_to_the_scan(client: CountingClient) -> None:
    def run(ds: Any) -> Any:
        return pl.scan_pyarrow_dataset(ds).filter(pl.col("a") == 12).select("big").collect()

    found, count = cost(client, run)
    assert found["big"].to_list() == [f"{12:0200}"]
    assert count < ROWS * 200 / 5


def test_objects_are_instances_of_the_classes_of_arrow(tmp_path: Path) -> None:
    ds = lance_core.write_dataset(table(), tmp_path / "t")
    for one, ours, arrows in (
        (ds, lance_core.LanceDataset, pa.dataset.Dataset),
        (ds.get_fragments()[0], lance_core.LanceFragment, pa.dataset.Fragment),
        (ds.scanner(), lance_core.LanceScanner, pa.dataset.Scanner),
    ):
        assert isinstance(one, ours)
        assert isinstance(one, arrows)
        assert type(one).__name__ == ours.__name__
        inherited = {name for name in set(dir(type(one))) - set(dir(ours)) if hasattr(one, name)}
        # Whatever would use the C++ object of Arrow's class, which does not exist, is hidden.
        assert all(name.startswith("__") for name in inherited)


def test_the_classes_of_arrow_are_imported_for_an_engine_only(tmp_path: Path) -> None:
    lance_core.write_dataset(table(), tmp_path / "t")
    code = f"""
import sys, lance_core
ds = lance_core.dataset({str(tmp_path / "t")!r})
assert ds.to_table(["a"], limit=2).num_rows == 2
assert not isinstance(ds, str) and "pyarrow._dataset" not in sys.modules
import duckdb
assert duckdb.sql("SELECT sum(f) FROM ds WHERE f < 2").fetchall() == [(3.0,)]
import pyarrow.dataset
assert isinstance(ds, pyarrow.dataset.Dataset) and isinstance(ds, lance_core.LanceDataset)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_lazy_frame_is_written_batch_by_batch(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": range(1000), "s": ["x", None] * 500})
    lazy = frame.lazy().filter(pl.col("a") >= 500).with_columns(b=pl.col("a") * 2)
    dataset = lance_core.write_dataset(lazy, tmp_path / "t", max_rows_per_file=300)
    assert dataset.count_rows() == 500
    assert dataset.schema.names == ["a", "s", "b"]
    dataset.insert(frame.lazy().select("a", "s", b=pl.col("a")).head(0), mode="append")
    assert dataset.count_rows() == 500
    assert pl.DataFrame(dataset).equals(lazy.collect())


def test_tables_and_fragments_are_streams_of_arrow(tmp_path: Path) -> None:
    rows = pa.table({"a": range(10)})
    dataset = lance_core.write_dataset(rows, tmp_path / "t", max_rows_per_file=6)
    assert pa.table(dataset) == rows
    assert pa.table(dataset.get_fragments()[1]) == rows.slice(6)
    assert pa.RecordBatchReader.from_stream(dataset).read_all() == rows
