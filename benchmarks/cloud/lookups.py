"""Requests and times of lookups by scalar indices, with a delay of every request.

Cold: the table was opened just before, and no index is in memory. Warm: after the same lookup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from benchmarks.cloud.counting import CountingProxy
from benchmarks.cloud.libraries import Library, libraries
from benchmarks.cloud.places import Place
from benchmarks.cloud.requests import AS_MANY, Counting
from benchmarks.indices import (
    KINDS,
    READS,
    TEXT_READS,
    condition_values,
    numbers,
    text_parts,
    texts,
)
from benchmarks.measure import Timing, interleaved
from benchmarks.report import PEER, Report
from lance_core_testing.network.faults import Delay, Rule

ROWS = 1_000_000
ROUNDS = 5


def lookups(report: Report, place: Place, proxy: CountingProxy, delay: float, quick: bool) -> None:
    """Measure lookups at ``place``; ``delay``: seconds for each request."""
    rows = ROWS // (10 if quick else 1)
    table = numbers(rows)
    _write(place, "numbers", table, list(KINDS.values()))
    measured = _Lookups(report, place, proxy, delay)
    values = condition_values(table, rows)
    for label, condition in READS.items():
        measured.add(label, "numbers", condition.format(**values))
    table = texts(rows // 10)
    _write(place, "texts", table, [("text", "NGRAM")])
    for label, condition in TEXT_READS.items():
        measured.add(label, "texts", condition.format(**text_parts(table)))


def _write(place: Place, name: str, table: pa.Table, indices: list[tuple[str, str]]) -> None:
    writer = libraries(place)[PEER]
    writer.write(name, table)
    for column, kind in indices:
        writer.open(name).create_scalar_index(column, kind)


class _Lookups:
    """Counts the requests of each lookup, then times it."""

    def __init__(self, report: Report, place: Place, proxy: CountingProxy, delay: float) -> None:
        self._report = report
        self._label = f"{place.name} +{1000 * delay:g} ms"
        self._proxy = proxy
        self._delay = Rule(Delay(delay))
        self._libraries = libraries(place, proxy.url)
        self._counting = Counting(report, place, proxy, self._libraries)

    def add(self, label: str, table: str, condition: str) -> None:
        """Measure the lookup of the rows with ``condition``."""

        def read(library: Library) -> object:
            return opened[library.name].to_table(columns=["row"], filter=condition)

        opened = self._open(table)
        self._counting.count(f"{label}, cold", read, AS_MANY)
        self._counting.count(f"{label}, warm", read, AS_MANY)
        actions: dict[str, Callable[[], object]] = {
            name: lambda library=library: read(library) for name, library in self._libraries.items()
        }

        def prepare(name: str) -> None:
            opened.update(self._open(table))

        self._proxy.set_rules([self._delay])
        self._time(f"{label}, cold", interleaved(actions, ROUNDS, prepare))
        self._time(f"{label}, warm", interleaved(actions, ROUNDS))
        self._proxy.set_rules(())

    def _open(self, table: str) -> dict[str, Any]:
        return {name: library.open(table) for name, library in self._libraries.items()}

    def _time(self, label: str, rounds: dict[str, Timing]) -> None:
        best = {name: Timing((t.best,), (min(t.processor),)) for name, t in rounds.items()}
        self._report.add(f"{self._label}: {label}", best)
