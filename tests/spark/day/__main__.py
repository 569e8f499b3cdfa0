"""A day of a pipeline, compared with Parquet after each step: ``tox -e spark-day``.

It runs on one machine, where a Python worker is killed in each merge, and on a cluster of three
executors, where an executor is killed in each. ``--rows N``: orders; ``--master``: only there.
Prints a line for each step; the exit code is 1 if contents differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark.day.kill import VICTIM
from tests.spark.day.steps import Day
from tests.spark.day.tables import Tables
from tests.spark.faults.spark_home import spark_home
from tests.spark.java import ENVIRONMENT

ROOT = Path(__file__).parents[3]

MASTERS = {"local[2,3]": "worker", "local-cluster[3,1,1024]": "executor"}
"""Where a day runs, and which process dies there."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--master", choices=MASTERS)
    options = parser.parse_args()
    if options.master is not None:
        return _run(options.master, options.rows)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path, **ENVIRONMENT}
    codes = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPARK_HOME"] = str(spark_home(Path(folder, "home")))
        for master, victim in MASTERS.items():
            os.environ[VICTIM] = victim
            command = [sys.executable, "-W", "ignore", "-m", "tests.spark.day"]
            command += ["--master", master, "--rows", str(options.rows)]
            codes.append(subprocess.run(command, cwd=folder, check=False).returncode)
    return int(any(codes))


def _run(master: str, rows: int) -> int:
    """Run all steps, also after one that was wrong."""
    spark = (
        SparkSession.builder.master(master)
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        .config(f"spark.executorEnv.{VICTIM}", os.environ.get(VICTIM, ""))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        day = Day(Tables(spark, Path(folder)), rows)
        for step in day.steps:
            start = time.monotonic()
            wrong = [*step(), *day.tables.differences()]
            seconds = time.monotonic() - start
            sys.stdout.write(f"{master} {step.__name__}: {wrong or 'equal'} ({seconds:.1f} s)\n")
            sys.stdout.flush()
            failed += bool(wrong)
        spark.stop()
    sys.stdout.write(f"{master}: {len(day.steps)} steps, {failed} wrong\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
