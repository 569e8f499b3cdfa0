"""Requests and received bytes of operations by both libraries on the same table.

The table is opened again for each operation, and only the operation is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.cloud.counting import CountingProxy
from benchmarks.cloud.libraries import Library, libraries, one_row
from benchmarks.cloud.places import Place
from benchmarks.report import OURS, PEER, Report
from benchmarks.workloads import wide
from lance_core_testing.network.fault_proxy import Request

ROWS = 400_000
FRAGMENTS = 4
TAKEN = 100
COLUMN = "text"
TABLE = "counted"

OPEN = 2
"""Requests to open a table: a listing and the manifest."""
APPEND = 4
"""Requests to append: data, listing, transaction, manifest. If commits are rows in another service,
the protocol also requires staging and copying the manifest."""
AS_MANY = "as many as pylance"

_Work = Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class Count:
    """Requests of one library for objects and for rows of a commit table, and received bytes."""

    objects: int
    rows: int
    received: int

    @classmethod
    def of(cls, requests: Sequence[Request]) -> Count:
        """Count ``requests``; those to the root path are requests to DynamoDB."""
        rows = sum(one.method == "POST" and one.path == "/" for one in requests)
        return cls(len(requests) - rows, rows, sum(one.received for one in requests))

    def __str__(self) -> str:
        rows = f"+{self.rows}" if self.rows else "  "
        return f"{self.objects:4}{rows} requests {self.received / 1000:9.1f} kB"


def requests(report: Report, place: Place, proxy: CountingProxy, quick: bool) -> None:
    """Count the requests to ``place``."""
    rows = ROWS // (10 if quick else 1)
    data = wide(rows)
    chosen = libraries(place, proxy.url)
    peer = chosen[PEER]
    peer.write(TABLE, data, max_rows_per_file=rows // FRAGMENTS)
    for name, library in chosen.items():
        library.write(name, one_row(data))
    counting = Counting(report, place, proxy, chosen)
    counting.count("open", lambda library: library.open(TABLE), OPEN)
    counting.appends(data)
    counting.reads(rows)


class Counting:
    """Counts the requests of both libraries, one operation after another."""

    def __init__(
        self, report: Report, place: Place, proxy: CountingProxy, chosen: dict[str, Library]
    ) -> None:
        self._report = report
        self._place = place
        self._proxy = proxy
        self._chosen = chosen

    def appends(self, data: pa.Table) -> None:
        row = one_row(data)
        opened = {name: library.open(name) for name, library in self._chosen.items()}
        most = AS_MANY if self._place.has_rows else APPEND
        self.count("append to an open table", lambda one: opened[one.name].insert(row), most)
        self.count("open and append", lambda one: one.write(one.name, row, mode="append"), None)

    def reads(self, rows: int) -> None:
        some = np.random.default_rng(3).choice(rows // FRAGMENTS, TAKEN, replace=False).tolist()
        self._read("full scan", lambda table: table.to_table(), AS_MANY)
        size = self._column_size()
        label = f"scan of a column of {size / 1000:.1f} kB"
        self._read(label, lambda table: table.to_table(columns=[COLUMN]), AS_MANY)
        self._read(f"take {TAKEN} rows of a fragment", lambda table: table.take(some), AS_MANY)
        label = f"take {TAKEN} rows of a column"
        self._read(label, lambda table: table.take(some, columns=[COLUMN]), AS_MANY)
        self._read("take 1 row", lambda table: table.take(some[:1]), AS_MANY)
        self._read("filter 0.1 %", lambda table: table.to_table(filter="i32 < 1000"), AS_MANY)
        self._read("count_rows", lambda table: table.count_rows(), AS_MANY)
        self._read("list versions", lambda table: table.versions(), AS_MANY)

    def count(
        self, label: str, work: Callable[[Library], object], most: int | str | None
    ) -> dict[str, Count]:
        """Count the requests of ``work``; ``most``: the bar for requests for objects."""
        counts = {
            name: Count.of(self._proxy.requests_of(lambda: work(library)))  # noqa: B023
            for name, library in self._chosen.items()
        }
        ours, theirs = counts[OURS], counts[PEER]
        bar = theirs.objects if most == AS_MANY else most
        is_missed = isinstance(bar, int) and ours.objects > bar
        text = "  ".join(f"{name} {count}" for name, count in counts.items())
        if bar is not None:
            text += f"  (at most {bar}{', MISSED' if is_missed else ''})"
        name = f"{self._place.name}: {label}"
        if is_missed:
            self._report.missed.append(f"{name}: {ours.objects} > {bar} requests")
        values = {
            library: {"objects": one.objects, "rows": one.rows, "received": one.received}
            for library, one in counts.items()
        }
        self._report.say(name, text, counts=values, most=bar)
        return counts

    def _read(self, label: str, work: _Work, most: int | str | None) -> None:
        opened = {name: library.open(TABLE) for name, library in self._chosen.items()}
        self.count(label, lambda library: work(opened[library.name]), most)

    def _column_size(self) -> int:
        """The bytes of the pages of `COLUMN`."""
        table = self._chosen[PEER].open(TABLE)
        (field,) = (one.id() for one in table.lance_schema.fields() if one.name() == COLUMN)
        return sum(one.bytes_on_disk for one in table.stats.data_stats().fields if one.id == field)
