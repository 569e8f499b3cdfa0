"""``python -m benchmarks.spark [--quick] [--rows N] [--rounds N] [--only NAME ...] [--json FILE]``.

Every figure is a median over interleaved rounds with two tasks at a time, beside Spark's own
Parquet, and beside empty data sources that only pass Arrow batches of the same shape through
Spark. ``cpu`` counts all processes, Java among them. All reads come from the page cache; writes do
not call fsync, as those of Parquet do not.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path

from benchmarks.machine import describe
from benchmarks.report import OURS, Report
from benchmarks.spark import in_tasks, planning, reads, session, tpch, writes
from benchmarks.spark.comparison import HOP, PARQUET, Comparison

ROWS = 10_000_000
GROUPS = {
    "reads": reads.reads,
    "tasks": in_tasks.in_tasks,
    "tpch": tpch.tpch,
    "merges": writes.merges,
    "planning": planning.planning,
}
NAMES = ("writes", *GROUPS)


def main() -> int:
    """Run the selected groups; the exit code is 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, no verdict")
    parser.add_argument("--rows", type=int, help=f"rows of the table, {ROWS:,} by default")
    parser.add_argument("--rounds", type=int, help="rounds of each figure, 5 by default")
    parser.add_argument("--only", nargs="*", choices=NAMES, help="groups of figures, or all")
    parser.add_argument("--memory", default="2g", help="of the Java process")
    parser.add_argument("--json", type=Path, help="add all figures to this file")
    parser.add_argument("--folder", type=Path, help="where the tables go")
    arguments = parser.parse_args()
    os.environ["LANCE_CORE_DURABILITY"] = "fast"
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    logging.getLogger("pyspark").setLevel(logging.ERROR)
    run = describe("benchmarks.spark", sys.argv[1:])
    report = Report()
    rows = arguments.rows or (ROWS // 10 if arguments.quick else ROWS)
    rounds = arguments.rounds or (2 if arguments.quick else 5)
    spark = session.start(arguments.memory)
    try:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            comparison = Comparison(spark, report, Path(folder), rows, rounds)
            _run(comparison, arguments.only or NAMES)
    finally:
        spark.stop()
        if arguments.json:
            report.save(arguments.json, run)
    _print_table(report, rows)
    missed = report.finish()
    return 0 if arguments.quick or arguments.rows else min(missed, 1)


def _run(comparison: Comparison, names: list[str]) -> None:
    if "writes" in names:
        writes.writes(comparison)
    elif set(names) - {"tpch"}:  # whose tables are others
        frame = session.rows(comparison.spark, comparison.rows)
        frame.write.format("lance").mode("append").save(comparison.lance)
        frame.write.parquet(comparison.parquet)
    for name, run in GROUPS.items():
        if name in names:
            run(comparison)


def _print_table(report: Report, rows: int) -> None:
    """All comparisons with Parquet, in seconds."""
    title = f"{rows:,} rows, {len(session.COLUMNS)} columns"
    print(
        f"\n| {title} | {OURS} | {PARQUET} | {HOP} | ratio | ≥ | |\n|---|--:|--:|--:|--:|--:|---|"
    )
    for line in report.lines:
        medians, ratio, bar = line.get("medians"), line.get("ratio"), line.get("bar")
        if isinstance(medians, dict) and isinstance(ratio, float):
            seconds = [_seconds(medians.get(name)) for name in (OURS, PARQUET, HOP)]
            verdict = "" if bar is None else "yes" if ratio >= bar else "no"
            cells = [line["name"], *seconds, f"{ratio:.2f}", bar or "", verdict]
            print(f"| {' | '.join(map(str, cells))} |")


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"


if __name__ == "__main__":
    raise SystemExit(main())
