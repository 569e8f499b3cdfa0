"""New columns that Spark computes: one file for each fragment, one commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import InvalidInputError, RetryableCommitConflictError
from lance_core_spark import LanceTable
from lance_core_spark.table import add_columns
from tests.each_case import each_case
from tests.spark.table.test_merge import files, table_of


def test_new_columns_are_added_to_every_fragment(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    lance_core.dataset(str(path)).delete("id IN (0, 9, 15)")
    data = files(path)

    @sf.arrow_udf("long")  # type: ignore[untyped-decorator, unused-ignore]
    def doubled(values: pa.Array) -> pa.Array:
        return pc.multiply(values.cast(pa.int64()), 2)

    table = LanceTable.forPath(spark, path)
    size = sf.array(sf.col("Size").cast("float"), sf.lit(1.0).cast("float"))
    vector = size.alias("x", metadata={"arrow.fixed-size-list.size": 2})
    table.addColumns({"text": "concat(name, '!')", "twice": doubled("id"), "one": "1", "w": vector})
    dataset = lance_core.dataset(str(path))
    assert dataset.version == 3
    assert len(dataset.get_fragments()) == 4
    assert data < files(path)
    assert len(files(path)) == len(data) + 4
    rows = dataset.to_table().to_pylist()
    assert len(rows) == 37
    for row in rows:
        assert row["text"] == row["name"] + "!"
        assert row["twice"] == (None if row["id"] is None else 2 * row["id"])
        assert row["one"] == 1
    assert pylance.dataset(str(path)).to_table().to_pylist() == rows
    table.addColumns({"later": "text"})
    assert set(dataset.schema.names) == {"id", "name", "Size", "v", "text", "twice", "one", "w"}
    empty = tmp_path / "e.lance"
    lance_core.write_dataset(pa.table({"a": pa.array([], pa.int64())}), str(empty))
    LanceTable.forPath(spark, empty).addColumns({"b": "a + 1"})
    assert lance_core.dataset(str(empty)).schema.field("b").type == pa.int64()


def test_a_conflict_leaves_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    before = files(path)
    table = LanceTable.forPath(spark, path)
    commit = add_columns._commit

    def late(*arguments: Any) -> None:
        lance_core.dataset(str(path)).delete("id = 3")
        commit(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(add_columns, "_commit", late)
        with pytest.raises(RetryableCommitConflictError):
            table.addColumns({"x": "id"})
    assert len(files(path) - before) == 1  # the deletion file
    assert lance_core.dataset(str(path)).latest_version == 2


BAD: list[tuple[Callable[[LanceTable], object], str]] = [
    (lambda t: t.addColumns({"ID": "1"}), "column 'ID' already"),
    (lambda t: t.addColumns({"x": "nam"}), "did you mean 'name'"),
    (lambda t: t.addColumns({"x": "1 +"}), "addColumns"),
    (lambda t: t.addColumns({}), "is empty"),
    (lambda t: t.addColumns({"x": 1}), "'x'"),  # type: ignore[dict-item]
    (lambda t: t.addColumns(["x"]), "must map"),  # type: ignore[arg-type]
]


@each_case(("call", "match"), BAD)
def test_bad_columns_are_refused(
    spark: SparkSession, tmp_path: Path, call: Callable[[LanceTable], object], match: str
) -> None:
    path = tmp_path / "t.lance"
    table_of(path)
    before = files(path)
    with pytest.raises(InvalidInputError, match=match):
        call(LanceTable.forPath(spark, path))
    assert (files(path), lance_core.dataset(str(path)).latest_version) == (before, 1)
