"""The steps of each library, in the order in which they run on one folder.

A step gets the URI of the table that `written` makes; others go beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import duckdb
import lance
import lancedb
import polars as pl
import pyarrow as pa

ROWS = 100
COLUMNS = ["id", "vector", "text"]

datasets.disable_progress_bars()


def rows() -> pa.Table:
    """Numbers, vectors of four values, and texts of which five differ."""
    values = pa.array([float(number % 7) for number in range(4 * ROWS)], pa.float32())
    vectors = pa.FixedSizeListArray.from_arrays(values, 4)
    texts = [f"t {number % 5}" for number in range(ROWS)]
    return pa.table([range(ROWS), vectors, texts], names=COLUMNS)


def written(path: Path) -> str:
    """A table of four fragments."""
    return str(lance.write_dataset(rows(), str(path), max_rows_per_file=30).uri)


def beside(uri: str, name: str) -> str:
    return str(Path(uri).with_name(name))


# Polars


def scan_with_a_filter(uri: str) -> None:
    frame = pl.scan_pyarrow_dataset(lance.dataset(uri)).filter(pl.col("id") > 90).select("id")
    assert frame.collect()["id"].to_list() == list(range(91, ROWS))


def frame_of_a_table(uri: str) -> None:
    assert pl.DataFrame(lance.dataset(uri).to_table(["text"])).height == ROWS


def write_append_and_merge_frames(uri: str) -> None:
    target = beside(uri, "frames")
    lance.write_dataset(pl.DataFrame({"a": [1, 2]}), target)
    lance.write_dataset(pl.DataFrame({"a": [3]}), target, mode="append")
    merge = lance.dataset(target).merge_insert("a").when_not_matched_insert_all()
    merge.execute(pl.DataFrame({"a": [3, 4]}))
    assert sorted(lance.dataset(target).to_table()["a"].to_pylist()) == [1, 2, 3, 4]


# DuckDB


def count_and_filter(uri: str) -> None:
    dataset = lance.dataset(uri)
    assert duckdb.sql("SELECT count(*) FROM dataset").fetchall() == [(ROWS,)]
    query = "SELECT id FROM dataset WHERE id > 90 AND text = 't 1' ORDER BY id"
    assert duckdb.sql(query).fetchall() == [(91,), (96,)]
    assert dataset.version == 1


def group_and_join(uri: str) -> None:
    dataset = lance.dataset(uri)
    query = "SELECT count(*) FROM (SELECT text FROM dataset GROUP BY text)"
    assert duckdb.sql(query).fetchall() == [(5,)]
    query = "SELECT count(*) FROM dataset a JOIN dataset b USING (id)"
    assert duckdb.sql(query).fetchall() == [(ROWS,)]
    assert dataset.version == 1


def write_a_result(uri: str) -> None:
    dataset = lance.dataset(uri)
    target = beside(uri, "result")
    assert lance.write_dataset(duckdb.sql("SELECT id FROM dataset").arrow(), target).version == 1
    assert lance.dataset(target).to_table() == dataset.to_table(["id"])


# Hugging Face datasets


def load_a_table(uri: str) -> None:
    cache = beside(uri, "cache")
    loaded = datasets.load_dataset("lance", data_dir=uri, split="train", cache_dir=cache)
    assert loaded["id"][:] == list(range(ROWS))
    assert datasets.load_dataset(uri, split="train", cache_dir=cache).num_rows == ROWS


def load_some_columns(uri: str) -> None:
    cache = beside(uri, "cache")
    options: dict[str, Any] = {"columns": ["id"], "cache_dir": cache}
    loaded = datasets.load_dataset("lance", data_dir=uri, split="train", **options)
    assert loaded.column_names == ["id"]


def stream_shards(uri: str) -> None:
    stream = datasets.load_dataset("lance", data_dir=uri, split="train", streaming=True)
    assert stream.n_shards == 4
    shards = [stream.shard(2, number) for number in range(2)]
    assert sorted(row["id"] for shard in shards for row in shard) == list(range(ROWS))


def write_a_dataset(uri: str) -> None:
    given = datasets.Dataset.from_dict({"a": [1, 2, 3]})
    made = lance.write_dataset(given, beside(uri, "given"))
    assert made.to_table()["a"].to_pylist() == [1, 2, 3]


# LanceDB, which reads and writes by its own engine, also tables that `lance` writes


def create_and_add(uri: str) -> None:
    table = lancedb.connect(beside(uri, "db")).create_table("t", rows())
    table.add(rows())
    assert table.to_lance().count_rows() == 2 * ROWS
    assert table.to_lance().to_table(filter="id > 97").num_rows == 4


def change_rows(uri: str) -> None:
    table = lancedb.connect(beside(uri, "db")).open_table("t")
    table.delete("id > 50")
    table.update(where="id = 1", values={"text": "other"})
    table.merge_insert("id").when_not_matched_insert_all().execute(rows())
    scanned = table.to_lance().to_table(["id", "text"])
    assert scanned.num_rows == 2 * 51 + 49
    assert scanned["text"].to_pylist().count("other") == 2


def search(uri: str) -> None:
    table = lancedb.connect(beside(uri, "db")).open_table("t")
    assert len(table.search([1.0] * 4).limit(3).to_list()) == 3
    query = {"column": "vector", "q": [1.0] * 4, "k": 3}
    assert table.to_lance().to_table(nearest=query).num_rows == 3


def open_what_was_written(uri: str) -> None:
    database = beside(uri, "db")
    lance.write_dataset(rows(), f"{database}/t.lance", mode="append")
    lance.write_dataset(rows(), f"{database}/u.lance")
    connection = lancedb.connect(database)
    assert connection.open_table("t").count_rows() == 2 * 51 + 49 + ROWS
    assert connection.open_table("u").to_arrow() == rows()


LIBRARIES: dict[str, list[Callable[[str], None]]] = {
    "polars": [scan_with_a_filter, frame_of_a_table, write_append_and_merge_frames],
    "duckdb": [count_and_filter, group_and_join, write_a_result],
    "datasets": [load_a_table, load_some_columns, stream_shards, write_a_dataset],
    "lancedb": [create_and_add, change_rows, search, open_what_was_written],
}
"""By the name of the distribution."""
