"""Single operations on a table of 1,000 rows, as tests, notebooks and micro-batches do them.

Each library makes them in a process of its own, in turn, on tables that it wrote itself. A figure
is the median of the rounds' medians; a round repeats each operation many times.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.measure import Timing
from benchmarks.processes.subject import SubjectProcess, subject_processes
from benchmarks.report import PEER, Report

ROWS, FEW = 1_000, 10
"""Rows of the tables, and of what is appended or merged."""

REPEATS, ROUNDS = 40, 5
READ, WRITE = 1.0, 0.9
"""Minimum ratios to pylance."""

COLUMNS = ["s"]
FILTER = "id = 77"


class _Operations:
    """What is timed in one process, with the tables that it needs at ``folder``."""

    def __init__(self, module: Any, folder: Path, version: str) -> None:
        self._module, self._folder = module, folder
        self._options = {"data_storage_version": version}
        self._rows = rows()
        self._few = self._rows.slice(0, FEW)
        self._numbers = count()
        self.path, self._changed = (str(folder / name) for name in ("read", "changed"))
        for path in (self.path, self._changed, str(folder / "appended")):
            module.write_dataset(self._rows, path, **self._options)
        self._dataset = module.dataset(self.path)

    def create(self) -> object:
        path = str(self._folder / f"created {next(self._numbers)}")
        return self._module.write_dataset(self._rows, path, **self._options)

    def open(self) -> Any:
        return self._module.dataset(self.path)

    def open_and_count(self) -> int:
        return int(self.open().count_rows())

    def open_and_scan(self) -> object:
        return self.open().to_table()

    def open_and_filter(self) -> object:
        return self.open().to_table(filter=FILTER, columns=COLUMNS)

    def scan(self) -> object:
        return self._dataset.to_table()

    def filter(self) -> object:
        return self._dataset.to_table(filter=FILTER, columns=COLUMNS)

    def take(self) -> object:
        return self._dataset.take([77])

    def head(self) -> object:
        return self._dataset.head(5)

    def page(self) -> object:
        return self._dataset.to_table(limit=100, offset=500, columns=COLUMNS)

    def count(self) -> object:
        return self._dataset.count_rows("f > 100")

    def append(self) -> object:
        return self._module.write_dataset(self._few, str(self._folder / "appended"), mode="append")

    def delete(self) -> object:
        return self._module.dataset(self._changed).delete(f"id = {next(self._numbers) % 400}")

    def update(self) -> object:
        where = f"id = {500 + next(self._numbers) % 400}"
        return self._module.dataset(self._changed).update({"f": "f + 1"}, where=where)

    def merge(self) -> object:
        merge = self._module.dataset(self._changed).merge_insert("id")
        merge.when_matched_update_all().when_not_matched_insert_all()
        return merge.execute(self._few)


_run = _Operations
SHAPES: dict[str, tuple[Callable[[_Operations], object], float]] = {
    "create 1,000 rows": (_run.create, WRITE),
    "open": (_run.open, READ),
    "open and count": (_run.open_and_count, READ),
    "open and scan": (_run.open_and_scan, READ),
    "open and filter": (_run.open_and_filter, READ),
    "scan": (_run.scan, READ),
    "filter": (_run.filter, READ),
    "take a row": (_run.take, READ),
    "head": (_run.head, READ),
    "page of 100 rows": (_run.page, READ),
    "count with a filter": (_run.count, READ),
    "append 10 rows": (_run.append, WRITE),
    "delete a row": (_run.delete, WRITE),
    "update a row": (_run.update, WRITE),
    "merge 10 rows": (_run.merge, WRITE),
}
"""The operations, and their bars. A delete, an update and a merge open the table."""


def rows() -> pa.Table:
    """Numbers, short texts, fractions and embeddings of eight numbers."""
    vectors = pa.array([float(number % 7) for number in range(8 * ROWS)], pa.float32())
    return pa.table(
        {
            "id": pa.array(range(ROWS)),
            "s": [f"name {number}" for number in range(ROWS)],
            "f": [number / 3 for number in range(ROWS)],
            "v": pa.FixedSizeListArray.from_arrays(vectors, 8),
        }
    )


@dataclass(frozen=True, slots=True)
class _Spent:
    """Seconds of one operation at the median, and its processor seconds on average."""

    seconds: float
    processor: float


class _Worker(SubjectProcess):
    """A process with the tables of one library."""

    def measure(self, number: int, version: str, quick: bool) -> dict[str, _Spent]:
        """All operations on new tables, by name."""
        folder = str(self.path / f"{version} {number}")
        return self.run(_measured, self.module, folder, version, REPEATS // (4 if quick else 1))


def _measured(module: str, folder: str, version: str, repeats: int) -> dict[str, _Spent]:
    Path(folder).mkdir(parents=True)
    operations = _Operations(importlib.import_module(module), Path(folder), version)
    return {name: _timed(operations, run, repeats) for name, (run, _) in SHAPES.items()}


def _timed(operations: _Operations, run: Callable[[_Operations], object], repeats: int) -> _Spent:
    run(operations)
    seconds = []
    used = time.process_time()
    for _ in range(repeats):
        start = time.perf_counter()
        run(operations)
        seconds.append(time.perf_counter() - start)
    return _Spent(statistics.median(seconds), (time.process_time() - used) / repeats)


def small_operations(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Compare all operations; writes do not wait for the disk."""
    (folder / version / PEER).mkdir(parents=True)
    with subject_processes(_Worker, folder / version, None) as workers:
        rounds: dict[str, list[dict[str, _Spent]]] = {name: [] for name in workers}
        for number in range(2 if quick else ROUNDS):
            for name, worker in workers.items():
                rounds[name].append(worker.measure(number, version, quick))
    for operation, (_, bar) in SHAPES.items():
        timings = {
            name: Timing(
                tuple(spent[operation].seconds for spent in measured),
                tuple(spent[operation].processor for spent in measured),
            )
            for name, measured in rounds.items()
        }
        report.add(f"{version} small: {operation}", timings, bar)
