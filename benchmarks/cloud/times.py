"""Times of operations, directly at the emulator and with a delay of every request.

The emulators run on the same processors, and some read a whole object for any part of it, so their
time is part of every figure; ``cpu`` is the processor time of the library alone. Figures are the
best of all rounds, because other processes only ever add time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cloud.counting import CountingProxy
from benchmarks.cloud.libraries import Library, each, libraries, one_row
from benchmarks.cloud.places import Place
from benchmarks.measure import Timing, interleaved
from benchmarks.report import PEER, Report
from benchmarks.touch import touch
from benchmarks.workloads import Workload, embed, wide
from lance_core_testing.network.faults import Delay, Rule

THROUGHPUT = 0.8
"""The minimum ratio of bytes read per second to pylance's."""
TAKEN = 100
FRAGMENTS = 4

TABLES = (
    Workload("wide", wide, 800_000, "i32 < 1000", ("text",)),
    Workload("vectors", embed, 32_000, "id % 1000 = 7", ("text",)),
)
PIECES = 64
"""Fragments of a table with small fragments, where requests take most of the time."""


def times(report: Report, place: Place, proxy: CountingProxy, delay: float, quick: bool) -> None:
    """Time operations at ``place``; ``delay``: seconds for each request."""
    writer = libraries(place)[PEER]
    for table in TABLES:
        rows = table.rows // (10 if quick else 1)
        writer.write(table.name, table.make(rows), max_rows_per_file=rows // FRAGMENTS)
    rows = PIECES * (200 if quick else 2000)
    writer.write("pieces", wide(rows), max_rows_per_file=rows // PIECES)
    row = one_row(wide(1))
    for library in libraries(place).values():
        library.write(f"{library.name}-grown", row)
    for slowed in (0.0, delay):
        proxy.set_rules([Rule(Delay(slowed))] if slowed else ())
        origin = proxy.url if slowed else None
        label = f"{place.name}{f' +{1000 * slowed:g} ms' if slowed else ''}"
        timing = _Timing(report, label, libraries(place, origin), 3 if quick or slowed else 9)
        for table in TABLES:
            timing.scans(table, None if slowed else THROUGHPUT)
        timing.pieces(rows)
        timing.small(TABLES[0], TABLES[0].rows // (10 if quick else 1))
        timing.add("append 1 row", lambda one: one.write(f"{one.name}-grown", row, mode="append"))


class _Timing:
    """Times both libraries in turn. Each operation opens the table again, like a program."""

    def __init__(self, report: Report, label: str, chosen: dict[str, Library], rounds: int) -> None:
        self._report = report
        self._label = label
        self._chosen = chosen
        self._rounds = rounds

    def scans(self, table: Workload, bar: float | None) -> None:
        name = table.name
        _check_equal(name, self._chosen)
        self.read(f"scan {name}", name, lambda opened: touch(opened.to_table()), bar)
        for column in table.columns:
            label = f"scan {name}, column {column}"
            self.read(label, name, lambda opened: touch(opened.to_table([column])), bar)  # noqa: B023

    def pieces(self, rows: int) -> None:
        name, label = "pieces", f"{PIECES} fragments"
        some = np.arange(0, rows, rows // TAKEN).tolist()
        self.read(f"scan {label}", name, lambda opened: touch(opened.to_table()))
        self.read(f"scan {label}, column", name, lambda opened: touch(opened.to_table(["text"])))
        self.read(f"take {TAKEN} rows of {label}", name, lambda opened: touch(opened.take(some)))
        self.read(f"count in {label}", name, lambda opened: opened.count_rows("i32 < 1000"))

    def small(self, table: Workload, rows: int) -> None:
        some = np.random.default_rng(3).choice(rows // FRAGMENTS, TAKEN, replace=False).tolist()
        name = table.name
        self.add("open", lambda library: library.open(name))
        self.read(f"take {TAKEN} rows", name, lambda opened: touch(opened.take(some)))
        self.read("take 1 row", name, lambda opened: touch(opened.take(some[:1])))
        where = table.selective
        self.read("filter 0.1 %", name, lambda opened: touch(opened.to_table(filter=where)))

    def read(
        self, label: str, table: str, work: Callable[[Any], object], bar: float | None = None
    ) -> None:
        self.add(label, lambda library: work(library.open(table)), bar)

    def add(self, label: str, work: Callable[[Library], object], bar: float | None = None) -> None:
        rounds = interleaved(each(self._chosen, work), self._rounds)
        best = {name: Timing((t.best,), (min(t.processor),)) for name, t in rounds.items()}
        self._report.add(f"{self._label}: {label}", best, bar)


def _check_equal(table: str, chosen: dict[str, Library]) -> None:
    ours, theirs = (library.open(table).to_table() for library in chosen.values())
    assert ours == theirs, f"the libraries read {table} differently"
