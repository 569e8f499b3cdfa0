"""Clients of Spark Connect, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.examples import only_on_spark_in_full
from tests.spark.faults.spark_home import spark_home
from tests.spark.java import ENVIRONMENT

ROOT = Path(__file__).parents[3]
LIMIT = 600
"""Seconds, on a busy machine."""

FOUND = {
    "module": "pyspark.sql.connect.session",
    "count": 3,
    "filter": [0, 1],
    "indexed": [3],
    "groups": [[False, 8, 28, 3.5], [True, 2, 17, 8.5]],
    "changed": {"num_inserted_rows": 3, "num_updated_rows": 0, "num_deleted_rows": 2},
}

SEARCHED_AND_STREAMED = {
    "bounds": [10, 0, 9],
    "near": [[7, 7], [8, 8]],
    "texts": [5, 26],
    "compacted": [2, 1, [0, 1, 2, 3, 4]],
    "copy": 10,
    "merged": [11, 45],
}


def result(folder: Path, server: str, parts: str, **environment: str) -> object:
    """What the client found."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect.client", str(folder), server, parts],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[done.stderr.find("Traceback") :][:10_000]
    found: object = json.loads(done.stdout.splitlines()[-1])
    return found


def port(spark: SparkSession) -> int:
    """Where the session serves clients."""
    package = spark._jvm.org.apache.spark.sql.connect.service  # type: ignore[union-attr]
    server = getattr(getattr(package, "SparkConnectService$"), "MODULE$")
    return int(server.localPort())


def test_a_client_reads_writes_and_merges(spark: SparkSession, tmp_path: Path) -> None:
    assert result(tmp_path, f"sc://127.0.0.1:{port(spark)}", "few") == FOUND


@only_on_spark_in_full
def test_a_client_searches_compacts_and_streams(spark: SparkSession, tmp_path: Path) -> None:
    expected = FOUND | SEARCHED_AND_STREAMED
    assert result(tmp_path, f"sc://127.0.0.1:{port(spark)}", "all") == expected


@only_on_spark_in_full
@pytest.mark.spark
def test_a_client_starts_a_server_of_its_own(tmp_path: Path) -> None:
    home = spark_home(tmp_path / "home")
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {
        **ENVIRONMENT,
        "PYTHONPATH": path,
        "SPARK_HOME": str(home),
        "SPARK_TESTING": "1",  # the server takes any free port
    }
    assert result(tmp_path, "local[1]", "few", **environment) == FOUND
