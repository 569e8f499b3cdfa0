"""``python -m benchmarks [--quick] [--version V ...] [--no-kernels] [--only NAME ...] [--chart]``.

Every figure is a median over interleaved rounds; results are compared for equality before the
timing. All reads come from the page cache. Writes do not call fsync (`LANCE_CORE_DURABILITY=fast`;
pylance never calls fsync), except for the line that says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import (
    cold_start,
    columns,
    columns_wide,
    compaction,
    cores,
    deletes,
    filters,
    indices,
    memory,
    merges,
    operations,
    row_ids,
    small_files,
    startup,
    updates,
    verb_memory,
    versions,
)
from benchmarks.machine import describe
from benchmarks.report import Report
from benchmarks.service.concurrent import concurrent
from benchmarks.service.small_operations import small_operations
from benchmarks.subjects import Ours, Parquet, Pylance, Subject, Vortex
from benchmarks.tables import TableBenchmark
from benchmarks.texts import group as text
from benchmarks.texts.corpora import FILE_VARIABLE
from benchmarks.vectors import group as vectors
from benchmarks.vectors.vector_sets import FOLDER_VARIABLE
from benchmarks.workloads import WORKLOADS
from scripts.drawings import __main__ as draw
from scripts.drawings.how_fast import FIGURES

VERSIONS = ("2.0", "2.1", "2.2")
GROUPS = {
    "commits": operations.commits,
    "deletes": deletes.deletes,
    "columns": columns.columns,
    "versions": versions.versions,
    "verb-memory": verb_memory.verbs,
    "vectors": vectors.vectors,
    "text": text.text,
    "concurrent": concurrent,
}
"""Groups that choose the file versions themselves."""

BY_VERSION = {
    "filters": filters.filters,
    "indices": indices.indices,
    "memory": memory.operations,
    "row-ids": row_ids.row_ids,
    "updates": updates.updates,
    "merges": merges.merges,
    "small-files": small_files.small_files,
    "columns-wide": columns_wide.columns_wide,
    "compaction": compaction.compaction,
    "cores": cores.cores,
    "small-operations": small_operations,
}
"""Groups that run once for each file version."""


WORKLOAD_NAMES = tuple(workload.name for workload in WORKLOADS)
PARTS = {
    "reads": (*WORKLOAD_NAMES, "filters", "row-ids"),
    "changes": ("commits", "deletes", "columns", "updates", "merges"),
    "many": ("small-files", "columns-wide", "versions"),
    "processes": ("memory", "verb-memory", "startup", "cores"),
    "service": ("small-operations", "concurrent"),
}
"""Groups that run together by one name; `compaction`, `indices`, `vectors` and `text` are
the others."""

NAMES = (*PARTS, *WORKLOAD_NAMES, *BY_VERSION, *GROUPS, "startup")


def main() -> int:
    """Run the selected benchmarks; the exit code is 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, no verdict")
    parser.add_argument("--version", nargs="*", choices=VERSIONS, help="file versions, or all")
    parser.add_argument("--no-kernels", action="store_true", help="numpy instead of compiled code")
    parser.add_argument("--only", nargs="*", choices=NAMES, help="groups or parts, or all")
    parser.add_argument("--cores", action="store_true", help="the same as --only cores")
    parser.add_argument("--json", type=Path, help="add all figures to this file")
    parser.add_argument("--chart", action="store_true", help="add them to docs/how-fast.json, draw")
    parser.add_argument("--folder", type=Path, help="where the tables go")
    parser.add_argument("--vectors", type=Path, help="files of vectors, instead of our own sets")
    parser.add_argument("--texts", type=Path, help="a Parquet file of texts, instead of our own")
    arguments = parser.parse_args()
    if arguments.quick and arguments.chart:
        parser.error("--chart draws figures of whole tables, not those of --quick")
    os.environ["LANCE_CORE_DURABILITY"] = "fast"
    if arguments.no_kernels:
        os.environ["LANCE_CORE_DISABLE_PLUGINS"] = "kernels"
    if arguments.vectors:
        os.environ[FOLDER_VARIABLE] = str(arguments.vectors)
    if arguments.texts:
        os.environ[FILE_VARIABLE] = str(arguments.texts)
    description = describe("benchmarks", _said(sys.argv[1:]))
    report, start = Report(), time.monotonic()
    try:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
            _run(report, Path(name), arguments)
    finally:
        # The figures of an interrupted run are kept.
        description["minutes"] = round((time.monotonic() - start) / 60, 1)
        for path in filter(None, (arguments.json, FIGURES if arguments.chart else None)):
            report.save(path, description)
    if arguments.chart:
        draw.main([])
    missed = report.finish()
    return 0 if arguments.quick else min(missed, 1)


def _said(arguments: list[str]) -> list[str]:
    """The command's arguments without those that name places of this machine."""
    places = argparse.ArgumentParser(add_help=False)
    places.add_argument("--folder")
    places.add_argument("--json")
    places.add_argument("--vectors")
    places.add_argument("--texts")
    return places.parse_known_args(arguments)[1]


def _run(report: Report, folder: Path, arguments: argparse.Namespace) -> None:
    names = ["cores"] if arguments.cores else arguments.only or NAMES
    chosen = {group for name in names for group in PARTS.get(name, (name,))}
    quick = arguments.quick
    rounds = 3 if quick else 7
    for version in arguments.version or VERSIONS:
        subjects = _subjects(folder, version)
        for workload in WORKLOADS:
            if workload.name in chosen:
                rows = workload.rows // 10 if quick else workload.rows
                kernels = not arguments.no_kernels
                timed = TableBenchmark(report, subjects, workload, version, kernels)
                timed.run(rows, rounds)
        for group, run in BY_VERSION.items():
            if group in chosen:
                (folder / group).mkdir(exist_ok=True)
                run(report, folder / group, version, quick)
    for group, run_once in GROUPS.items():
        if group in chosen:
            run_once(report, folder, quick)
    if "startup" in chosen:
        startup.imports(report, rounds)
        cold_start.cold_start(report, rounds)
    if "memory" in chosen:
        memory.stream(report, folder, quick)


def _subjects(folder: Path, version: str) -> list[Subject]:
    """The subjects of the tables; Vortex is one of them if it is installed."""
    subjects: list[Subject] = [Ours(folder, version), Pylance(folder, version), Parquet(folder)]
    return subjects + ([Vortex(folder)] if importlib.util.find_spec("vortex") else [])


if __name__ == "__main__":
    raise SystemExit(main())
