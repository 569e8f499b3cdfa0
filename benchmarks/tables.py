"""The timed operations on a workload at a file version: write, scan, filter and take.

All readers read the files that pylance wrote, so that differences between writers do not affect the
comparison of readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.bars import SCAN_TO_VORTEX, bar
from benchmarks.measure import Action, interleaved
from benchmarks.report import OURS, PEER, Report
from benchmarks.subjects import Lance, Subject, Vortex
from benchmarks.touch import touch
from benchmarks.workloads import Workload
from lance_core.errors import UnsupportedFeatureError

SINGLE_TAKES = 100


class TableBenchmark:
    """All operations on one workload, each subject in turn."""

    def __init__(
        self,
        report: Report,
        subjects: Sequence[Subject],
        workload: Workload,
        version: str,
        kernels: bool,
    ) -> None:
        self._report = report
        self._subjects = subjects
        self._workload = workload
        self._version = version
        self._kernels = kernels

    def run(self, rows: int, rounds: int) -> None:
        """Write, compare, scan, filter and take ``rows`` rows."""
        data = self._workload.make(rows)
        self._write(data, min(rounds, 3))
        opened = self._opened()
        for subject in self._subjects:
            _check_equal(subject, opened[subject.name], self._workload, data)
        self._scans(opened, rounds)
        self._takes(opened, rows, rounds)
        for subject in self._subjects:
            subject.remove(self._workload.name)

    def _write(self, data: pa.Table, rounds: int) -> None:
        name = self._workload.name
        writers = {s.name: s for s in self._subjects}
        try:
            writers[OURS].write(name, data.slice(0, 1))
        except UnsupportedFeatureError as error:
            self._report.say(f"{self._label}: write", f"{OURS}: {error}")
            del writers[OURS]
        writes: dict[str, Action] = {
            subject.name: lambda s=subject: s.write(name, data) for subject in writers.values()
        }
        timings = interleaved(writes, rounds, lambda subject: writers[subject].remove(name))
        self._add("write", timings)
        sizes = {s: _bytes(Path(writers[s].path(name))) for s in writers}
        text = "  ".join(f"{s} {size / 1e6:.2f} MB" for s, size in sizes.items())
        if OURS in sizes:
            text += f"  ratio {sizes[OURS] / sizes[PEER]:.3f}"
        self._report.say(f"{self._label}: file size", text, bytes=sizes)
        if OURS in writers:
            for subject in self._subjects:
                if isinstance(subject, Lance):
                    found = subject.scan(subject.open_path(writers[OURS].path(name)))
                    assert found == data, f"{subject.name} reads what {OURS} wrote wrongly"

    def _opened(self) -> dict[str, object]:
        """The opened table of each subject: pylance's, or its own if it has another format."""
        name = self._workload.name
        (peer,) = (s for s in self._subjects if s.name == PEER)
        return {
            s.name: s.open_path(peer.path(name)) if isinstance(s, Lance) else s.open(name)
            for s in self._subjects
        }

    def _scans(self, opened: dict[str, object], rounds: int) -> None:
        def actions(columns: list[str] | None, where: str | None) -> dict[str, Action]:
            return {
                s.name: lambda s=s: touch(s.scan(opened[s.name], columns, where))
                for s in self._subjects
            }

        scans = interleaved(actions(None, None), rounds)
        self._add("scan", scans)
        if self._workload.name == "ten" and Vortex.name in scans:
            ratio = scans[Vortex.name].median / scans[OURS].median
            self._report.ratio(f"{self._label}: full scan, to Vortex", ratio, SCAN_TO_VORTEX)
        for column in self._workload.columns:
            self._add(f"column {column}", interleaved(actions([column], None), rounds))
        self._add("filter", interleaved(actions(None, self._workload.selective), rounds))

    def _takes(self, opened: dict[str, object], rows: int, rounds: int) -> None:
        rng = np.random.default_rng(3)
        many = rng.choice(rows, min(1000, rows), replace=False)
        singles = rng.choice(rows, SINGLE_TAKES, replace=False)
        batch: dict[str, Action] = {
            s.name: lambda s=s: touch(s.take(opened[s.name], many)) for s in self._subjects
        }
        self._add("take", interleaved(batch, rounds))

        def each(subject: Subject) -> None:
            for row in singles:
                touch(subject.take(opened[subject.name], np.array([row])))

        one: dict[str, Action] = {
            s.name: lambda s=s: each(s) for s in self._subjects if isinstance(s, Lance)
        }
        self._add("one", interleaved(one, rounds))

    @property
    def _label(self) -> str:
        return f"{self._version} {self._workload.name}"

    def _add(self, operation: str, timings: dict[str, object]) -> None:
        least = bar(self._version, self._workload.name, operation, self._kernels)
        self._report.add(f"{self._label}: {_TITLES.get(operation, operation)}", timings, least)


_TITLES = {
    "scan": "full scan",
    "filter": "filter 0.1 %",
    "take": "take 1,000 rows",
    "one": f"take 1 row x {SINGLE_TAKES}",
}


def _bytes(folder: Path) -> int:
    """Bytes of all data files below ``folder``."""
    files = [path for path in folder.rglob("*") if path.suffix in (".lance", ".parquet", ".vortex")]
    return sum(path.stat().st_size for path in files)


def _check_equal(subject: Subject, opened: object, workload: Workload, data: pa.Table) -> None:
    rng = np.random.default_rng(4)
    rows = rng.choice(data.num_rows, min(500, data.num_rows), replace=False)
    assert subject.scan(opened) == data, f"{subject.name} reads {workload.name} wrongly"
    assert subject.take(opened, rows) == data.take(pa.array(rows)), f"{subject.name} takes wrongly"
    found = subject.scan(opened, None, workload.selective)
    expected = data.num_rows / 1000
    assert 0.5 * expected < found.num_rows < 2 * expected + 1, f"{subject.name} filters wrongly"
