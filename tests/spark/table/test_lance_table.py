"""`LanceTable` compacts with the options of its store."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core.errors import InvalidInputError
from lance_core_spark import LanceTable
from tests.spark.conftest import read, write


def test_a_table_in_another_store_is_compacted(spark: SparkSession, tmp_path: Path) -> None:
    uri = f"vault://{tmp_path}/numbers"
    for start in (0, 10, 20):
        write(spark.range(start, start + 10, 1, 1), uri)
    table = LanceTable.forPath(spark, uri, **{"storage.vault_timeout": "20"})
    metrics = table.optimize(target_rows_per_fragment=100)
    assert (metrics.fragments_removed, metrics.fragments_added) == (3, 1)
    assert len(lance_core.dataset(uri).get_fragments()) == 1
    assert sorted(row["id"] for row in read(spark, uri).collect()) == list(range(30))


def test_options_of_the_store_do_not_show(spark: SparkSession) -> None:
    options = {"storage.secret_access_key": "tiger", "aws_region": "here"}
    table = LanceTable.forPath(spark, "s3://user:lion@bucket/t", **options)
    assert "tiger" not in repr((table, vars(table)))
    assert "lion" not in repr((table, vars(table)))
    assert "bucket" in repr(table)


def test_unknown_options_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="colour"):
        LanceTable.forPath(spark, tmp_path, colour="red")
