"""The full set of kills: ``tox -e soak-spark``. Prints one line for each run; 1 if rows are wrong.

Python processes are killed in one session, at each step of a stream. Drivers and executors are
killed in processes of their own: a driver with its Java, on one machine; executors of a cluster of
two. ``--only WORD`` runs those whose line has the word.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.spark.faults.faulty_source import POINTS, SINK_POINTS
from tests.spark.faults.pipeline import Pipeline, arguments, session
from tests.spark.faults.spark_home import spark_home
from tests.spark.java import ENVIRONMENT

ROOT = Path(__file__).parents[3]

LIMIT = 600
"""Seconds after which a run counts as hanging."""

RESTARTS = 4
"""Runs of a job: Spark gives up a process that a busy machine starts too slowly."""

SLOW_START = "Python worker failed to connect back"
"""Spark's error for such a process of a stream: it had 10 seconds, which no setting changes. In a
session these failures do not count, until `LIMIT`."""

STEPS = [(kind, point) for kind in ("append", "complete") for point in POINTS]
"""A worker is killed at each of these steps, in one session."""

DRIVERS = [
    *(("append", point, "java") for point in SINK_POINTS),
    *(("upsert", point, "worker") for point in ("publish", "published")),
    *(("batch", point, "java") for point in ("commit", "publish", "published", "committed")),
]
"""Drivers are killed here; the driver of an upsert commits it itself."""

EXECUTORS = [(kind, point, "java") for kind in ("append", "batch") for point in ("rows", "files")]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", metavar="WORD")
    only = options.parse_args().only
    os.environ |= {"PYSPARK_PYTHON": sys.executable, **ENVIRONMENT}
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), path)))
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPARK_HOME"] = str(spark_home(Path(folder, "home")))
        for name, run in _runs(Path(folder)):
            if only not in name:
                continue
            started = time.monotonic()
            wrong = run()
            sys.stdout.write(f"{name}: {wrong or 'ok'} ({time.monotonic() - started:.0f} s)\n")
            sys.stdout.flush()
            count, failed = count + 1, failed + bool(wrong)
        active = SparkSession.getActiveSession()
        if active is not None:
            active.stop()
    sys.stdout.write(f"{count} runs, {failed} wrong\n")
    return int(bool(failed) or not count)


def _runs(folder: Path) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    for number, (kind, point) in enumerate(STEPS):
        pipeline = Pipeline(kind, str(folder / f"steps-{number}"), point)
        yield f"worker, {kind}, {point}", lambda given=pipeline: _in_session(given)
    for number, (kind, point, victim) in enumerate(DRIVERS):
        pipeline = Pipeline(kind, str(folder / f"drivers-{number}"), point, victim)
        yield f"driver, {kind}, {point}", lambda given=pipeline: _killed_driver(given)
    for number, (kind, point, victim) in enumerate(EXECUTORS):
        pipeline = Pipeline(kind, str(folder / f"executors-{number}"), point, victim)
        yield f"executor, {kind}, {point}", lambda given=pipeline: _killed_executor(given)


def _in_session(pipeline: Pipeline) -> list[str]:
    pipeline.prepare()
    spark = SparkSession.getActiveSession() or session("local[2,2]")
    spark.sparkContext.setLogLevel("OFF")
    failures, reason = 0, "the fault did not strike"
    end = time.monotonic() + LIMIT
    while failures < RESTARTS and time.monotonic() < end:
        try:
            pipeline.run(spark)
            if pipeline.marker.exists():
                return pipeline.wrong()
        except PySparkException as error:
            reason = str(error)
            if SLOW_START in reason:
                continue
        failures += 1
    return [f"the query does not reach its end: {reason[:500]}"]


def _killed_driver(pipeline: Pipeline) -> list[str]:
    pipeline.prepare()
    codes = [_run("local[2,2]", pipeline)]
    while codes[-1] != 0 and len(codes) < RESTARTS:
        codes.append(_run("local[2,2]", pipeline))
    found = ["the driver survived"] * (codes[0] == 0) + ["no restart worked"] * (codes[-1] != 0)
    return found + pipeline.wrong()


def _killed_executor(pipeline: Pipeline) -> list[str]:
    pipeline.prepare()
    code = _run("local-cluster[2,1,1024]", pipeline)
    return ["the job failed"] * (code != 0) + pipeline.wrong()


def _run(master: str, pipeline: Pipeline) -> int:
    """The exit code of a process that runs the pipeline."""
    command = [sys.executable, "-m", "tests.spark.faults.pipeline", master, arguments(pipeline)]
    output = subprocess.DEVNULL
    return subprocess.run(
        command, cwd=ROOT, stdout=output, stderr=output, timeout=LIMIT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
