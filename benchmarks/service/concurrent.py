"""Requests that many threads of one process make at the same time, as in a service.

Each library answers in a process of its own, in turn, from the same table, which pylance wrote and
indexed. SQLite answers the same requests from a table with the same rows, for comparison: with a
connection for each thread, and without embeddings.
"""

from __future__ import annotations

import importlib
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from benchmarks.measure import Timing
from benchmarks.processes.subject import SubjectProcess, subject_processes
from benchmarks.report import OURS, PEER, Report

ROWS, WIDTH = 500_000, 16
THREADS = (1, 2, 8)
SECONDS, ROUNDS = 1.5, 5
TAKEN, PAGE = 10, 100
"""Rows of a take and of a page."""

BAR = 1.0
THREADS_TO_ONE = 0.95
"""Minimum ratios of requests a second: to pylance, and of several threads to one of ours."""

COLUMNS = ["s", "f"]
SQLITE = "sqlite"

Request = Callable[[random.Random], object]


def _requests_of_dataset(dataset: Any, rows: int) -> dict[str, Request]:
    def take(numbers: random.Random) -> object:
        return dataset.take(sorted(numbers.sample(range(rows), TAKEN)))

    def lookup(numbers: random.Random) -> object:
        return dataset.to_table(filter=f"id = {numbers.randrange(rows)}", columns=COLUMNS)

    def page(numbers: random.Random) -> object:
        offset = numbers.randrange(rows - PAGE)
        return dataset.to_table(limit=PAGE, offset=offset, columns=COLUMNS)

    return {TAKE: take, LOOKUP: lookup, PAGES: page}


TAKE, LOOKUP, PAGES = "take 10 rows", "lookup by BTREE", "page of 100 rows"


def _requests_of_sqlite(path: str, rows: int) -> dict[str, Request]:
    """Values are tuples of Python: SQLite has no columns."""
    local = threading.local()

    def answer(statement: str, *values: int) -> object:
        if not hasattr(local, "connection"):
            local.connection = sqlite3.connect(path)
        return local.connection.execute(statement, values).fetchall()

    def take(numbers: random.Random) -> object:
        marks = ", ".join("?" * TAKEN)
        return answer(
            f"SELECT * FROM rows WHERE id IN ({marks})", *numbers.sample(range(rows), TAKEN)
        )

    def lookup(numbers: random.Random) -> object:
        return answer("SELECT s, f FROM rows WHERE id = ?", numbers.randrange(rows))

    def page(numbers: random.Random) -> object:
        first = numbers.randrange(rows - PAGE)
        return answer("SELECT s, f FROM rows WHERE id >= ? ORDER BY id LIMIT ?", first, PAGE)

    return {TAKE: take, LOOKUP: lookup, PAGES: page}


@dataclass(frozen=True, slots=True)
class _Spent:
    """Seconds of a request: elapsed seconds of the run, and processor seconds, by requests."""

    seconds: float
    processor: float


class _Worker(SubjectProcess):
    """A process that answers requests."""

    def measure(self, request: str, threads: int, seconds: float) -> _Spent:
        return self.run(_measured, self.module, str(self.path), request, threads, seconds)


@cache
def _requests(module: str, path: str) -> dict[str, Request]:
    if module == "sqlite3":
        file = f"{path}.sqlite"
        with sqlite3.connect(file) as connection:
            (rows,) = connection.execute("SELECT count(*) FROM rows").fetchone()
        return _requests_of_sqlite(file, rows)
    dataset = importlib.import_module(module).dataset(path)
    return _requests_of_dataset(dataset, dataset.count_rows())


def _measured(module: str, path: str, request: str, threads: int, seconds: float) -> _Spent:
    answer = _requests(module, path)[request]
    answer(random.Random(0))
    answered = [0] * threads
    start, used = time.perf_counter(), time.process_time()

    def work(thread: int) -> None:
        numbers = random.Random(thread)
        while time.perf_counter() - start < seconds:
            answer(numbers)
            answered[thread] += 1

    running = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    spent = time.perf_counter() - start, time.process_time() - used
    return _Spent(spent[0] / sum(answered), spent[1] / sum(answered))


def concurrent(report: Report, folder: Path, quick: bool) -> None:
    """Compare requests a second at 1, 2 and 8 threads; a time is that of a request."""
    _write(folder / "concurrent" / PEER, ROWS // (10 if quick else 1))
    rounds, seconds = (2, SECONDS / 5) if quick else (ROUNDS, SECONDS)
    with subject_processes(_Worker, folder / "concurrent", None) as workers:
        database = _Worker("sqlite3", folder / "concurrent" / PEER, {})
        try:
            for request in (TAKE, LOOKUP, PAGES):
                _compare(report, {**workers, SQLITE: database}, request, rounds, seconds)
        finally:
            database.close()


def _compare(
    report: Report, workers: dict[str, _Worker], request: str, rounds: int, seconds: float
) -> None:
    spent: dict[int, dict[str, list[_Spent]]] = {
        threads: {name: [] for name in workers} for threads in THREADS
    }
    for _ in range(rounds):
        for threads in THREADS:
            for name, worker in workers.items():
                spent[threads][name].append(worker.measure(request, threads, seconds))
    ours: list[float] = []
    for threads in THREADS:
        timings = {
            name: Timing(
                tuple(part.seconds for part in parts), tuple(part.processor for part in parts)
            )
            for name, parts in spent[threads].items()
        }
        label = f"concurrent: {request} x {threads}"
        a_second = {name: 1 / timing.median for name, timing in timings.items()}
        remark = "  " + ", ".join(f"{name} {value:,.0f}/s" for name, value in a_second.items())
        report.add(label, timings, BAR, remark=remark, requests=a_second)
        ours.append(a_second[OURS])
        if threads > 1:
            report.ratio(f"{label}: to one thread", ours[-1] / ours[0], THREADS_TO_ONE)


def _write(path: Path, rows: int) -> None:
    numbers = np.random.default_rng(0)
    names, fractions = [f"name {number}" for number in range(rows)], numbers.random(rows)
    vectors = pa.array(numbers.random(rows * WIDTH, np.float32))
    table = pa.table(
        {
            "id": np.arange(rows),
            "s": names,
            "f": fractions,
            "v": pa.FixedSizeListArray.from_arrays(vectors, WIDTH),
        }
    )
    lance.write_dataset(table, str(path)).create_scalar_index("id", "BTREE")
    with sqlite3.connect(f"{path}.sqlite") as connection:
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, s TEXT, f REAL)")
        values = zip(range(rows), names, fractions.tolist(), strict=True)
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", values)
