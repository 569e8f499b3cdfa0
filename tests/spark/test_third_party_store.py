"""A store that someone else's plugin provides is found by drivers and executors alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lance_core
from tests.examples import only_on_spark_in_full
from tests.spark.conftest import read, write


@pytest.mark.parametrize("scheme", ["vault", "vault+ledger"])
def test_a_table_in_another_store(spark: SparkSession, tmp_path: Path, scheme: str) -> None:
    uri = f"{scheme}://{tmp_path}/numbers"
    write(spark.range(0, 100, 1, 3), uri)
    write(spark.range(100, 110, 1, 2), uri, **{"storage.vault_timeout": "20"})
    frame = read(spark, uri, rows_per_partition=20, vault_timeout="20")
    assert sorted(row["id"] for row in frame.collect()) == list(range(110))
    assert lance_core.dataset(uri).version == 2
    assert (tmp_path / "numbers.vault").exists()


def test_a_scheme_that_nobody_serves_is_named(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="nowhere"):
        read(spark, "nowhere://bucket/t")


def test_importing_the_entry_module_needs_nothing_but_pyspark() -> None:
    import subprocess
    import sys

    code = (
        "import sys, pyspark.sql.datasource; before = set(sys.modules); import pyspark_lance\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "assert pyspark_lance.DefaultSource.name() == 'lance'\n"
        "print(*sorted(new))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["pyspark_lance"]


@only_on_spark_in_full
def test_a_session_can_be_told_of_the_format(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark_lance import register

    register(spark)
    write(spark.range(2), tmp_path / "t.lance")
    assert read(spark, tmp_path / "t.lance").count() == 2
