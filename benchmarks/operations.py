"""The timed operations."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

import lance_core
from benchmarks.measure import Action, interleaved
from benchmarks.report import OURS, PEER, Report
from benchmarks.subjects import Subject
from benchmarks.touch import touch
from benchmarks.workloads import Workload

COMMITS_PER_RUN = 20
SINGLE_TAKES = 100


def table(
    report: Report, subjects: Sequence[Subject], workload: Workload, rows: int, rounds: int
) -> None:
    """Write, scan, filter and take on one workload, all subjects in turn."""
    name = workload.name
    data = workload.make(rows)
    folders = {subject.name: subject for subject in subjects}
    writes: dict[str, Action] = {s.name: lambda s=s: s.write(name, data) for s in subjects}
    bar = 0.8 if name == "wide" else None
    timings = interleaved(writes, min(rounds, 3), lambda s: folders[s].remove(name))
    report.add(f"{name}: write", timings, bar)
    opened = {subject.name: subject.open(name) for subject in subjects}
    for subject in subjects:
        _check_equal(subject, opened[subject.name], workload, data)

    def scans(columns: list[str] | None, where: str | None) -> dict[str, Action]:
        return {s.name: lambda s=s: touch(s.scan(opened[s.name], columns, where)) for s in subjects}

    report.add(f"{name}: full scan", interleaved(scans(None, None), rounds), 1.5)
    for column in workload.columns:
        timings = interleaved(scans([column], None), rounds)
        report.add(f"{name}: scan of {column}", timings, 1.5)
    timings = interleaved(scans(None, workload.selective), rounds)
    report.add(f"{name}: filter 0.1 %", timings, 1.0)
    _takes(report, subjects, opened, name, rows, rounds)


def _takes(
    report: Report,
    subjects: Sequence[Subject],
    opened: dict[str, object],
    name: str,
    rows: int,
    rounds: int,
) -> None:
    rng = np.random.default_rng(3)
    many = rng.choice(rows, 1000, replace=False)
    singles = rng.choice(rows, SINGLE_TAKES, replace=False)
    batch: dict[str, Action] = {
        s.name: lambda s=s: touch(s.take(opened[s.name], many)) for s in subjects
    }
    report.add(f"{name}: take 1,000 rows", interleaved(batch, rounds), 1.5)

    def each(subject: Subject) -> None:
        for row in singles:
            touch(subject.take(opened[subject.name], np.array([row])))

    lances = [subject for subject in subjects if subject.name != "parquet"]
    one: dict[str, Action] = {s.name: lambda s=s: each(s) for s in lances}
    report.add(f"{name}: take 1 row x {SINGLE_TAKES}", interleaved(one, rounds), 1.0)


def _check_equal(subject: Subject, opened: object, workload: Workload, data: pa.Table) -> None:
    rng = np.random.default_rng(4)
    rows = rng.choice(data.num_rows, 500, replace=False)
    assert subject.scan(opened) == data, f"{subject.name} reads {workload.name} wrongly"
    assert subject.take(opened, rows) == data.take(pa.array(rows)), f"{subject.name} takes wrongly"
    found = subject.scan(opened, None, workload.selective)
    expected = data.num_rows / 1000
    assert 0.5 * expected < found.num_rows < 2 * expected, f"{subject.name} filters wrongly"


def commits(report: Report, folder: Path, quick: bool) -> None:
    """Opening tables and appending to them, with one and with many fragments."""
    rounds = 5 if quick else 15
    row = pa.table({"id": pa.array([1], pa.int64()), "text": ["one"]})
    for count in (1, 2000):
        _opens_and_appends(report, folder, row, count, rounds)
    os.environ["LANCE_CORE_DURABILITY"] = "durable"
    try:
        path = folder / "durable"
        lance_core.write_dataset(row, str(path), data_storage_version="2.0")
        durable: dict[str, Action] = {"lance_core": partial(_append, lance_core, row, path)}
        report.add(f"append x {COMMITS_PER_RUN} (durable)", interleaved(durable, rounds))
    finally:
        os.environ["LANCE_CORE_DURABILITY"] = "fast"


def _opens_and_appends(
    report: Report, folder: Path, row: pa.Table, count: int, rounds: int
) -> None:
    paths = {module: folder / f"{module.__name__}-{count}" for module in (lance_core, lance)}
    source = folder / f"source-{count}"
    _many_fragments(source, row, count)
    for path in paths.values():
        shutil.copytree(source, path)
    label = f"{count:,} fragment" + ("s" if count > 1 else "")

    def actions(action: Callable[[Any, Path], object]) -> dict[str, Action]:
        names = {lance_core: OURS, lance: PEER}
        return {names[module]: partial(action, module, path) for module, path in paths.items()}

    opens = actions(lambda module, path: module.dataset(str(path)).version)
    report.add(f"open, {label}", interleaved(opens, rounds * 4), 0.7)
    counts = actions(lambda module, path: module.dataset(str(path)).count_rows())
    report.add(f"open and count, {label}", interleaved(counts, rounds * 4))
    appends = actions(lambda module, path: _append(module, row, path))
    timings = interleaved(appends, rounds)
    report.add(f"append x {COMMITS_PER_RUN} (fast), {label}", timings, 1.0)


def _append(module: Any, row: pa.Table, path: Path) -> None:
    for _ in range(COMMITS_PER_RUN):
        module.write_dataset(row, str(path), mode="append")


def _many_fragments(path: Path, row: pa.Table, count: int) -> None:
    """A table of ``count`` one-row fragments, made by pylance, with one version."""
    data = pa.concat_tables([row] * count)
    lance.write_dataset(data, str(path), max_rows_per_file=1, data_storage_version="2.0")
