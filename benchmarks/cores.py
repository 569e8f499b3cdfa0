"""What more processors bring to a scan: ``python -m benchmarks --cores``.

Each library scans tables of large fragments and of fragments of 1,000 rows in a process of its own,
which may use one processor, or two. Version 2.0 maps its values, so there the bytes are also read.
In each round, a process scans three times: to warm up, while its lock is sampled, and timed.

For this library, three figures are taken from the scan with one processor:

* The share of time with the interpreter lock (`LockSampler`). No second thread can shorten this
  part.
* The processor time of a page in fragments of 1,000 rows, and its part with the lock. Such a page
  has so few values that nearly all of it is Python, or calls that Python makes.
* The time with 16 processors by Amdahl's law: the time with the lock stays, the rest is divided.
  It is a lower limit, because it assumes that the rest is divided evenly and memory is fast enough.

For both libraries, the time with 16 processors is also predicted from the times with one and with
two, which include all causes: the part that two processors do not halve stays. It doubles the error
of these times, so it needs a quiet machine.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import lance

from benchmarks.bars import MAX_LOCKED, MAX_MS_PER_PAGE, SECOND_CORE
from benchmarks.lock_sampler import LockSampler, Run
from benchmarks.measure import Timing
from benchmarks.report import OURS, PEER, Report
from benchmarks.workloads import wide
from lance_core.file import LanceFileReader

LARGE, SMALL = "large fragments", "fragments of 1,000 rows"
TABLES = {LARGE: (2_000_000, 1_000_000), SMALL: (500_000, 1_000)}
"""Rows of the table and of a fragment."""

MODULES = {OURS: "lance_core", PEER: "lance"}
MANY = 16
"""Processors to predict for."""

_SCANS = """
import {module} as library
from benchmarks.touch import touch
table = library.dataset(sys.argv[3])
def scan():
    rows = table.to_table()
    if {is_mapped}:
        touch(rows)
scan()
"""


@dataclass(frozen=True, slots=True)
class Scans:
    """Scans by one library with one number of processors.

    ``locked``: the shares of time with the interpreter lock, of further scans, since the sampler
    takes time from a scan that uses all processors.
    """

    runs: list[Run] = field(default_factory=list)
    locked: list[float] = field(default_factory=list)

    @property
    def timing(self) -> Timing:
        """The times of all scans."""
        seconds, processor = zip(*((run.seconds, run.processor) for run in self.runs), strict=True)
        return Timing(seconds, processor)

    @property
    def share(self) -> float:
        """The mean share of the time with the lock: that of one scan has an error of 2 %."""
        return statistics.fmean(self.locked)

    @property
    def used(self) -> float:
        """The median of the processor seconds."""
        return statistics.median(self.timing.processor)


AllScans = Mapping[tuple[str, int], Scans]
"""By library and number of processors."""


def cores(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Report the lock and the gain of a second processor, for tables of a file version."""
    path = folder / "cores"
    for kind, (rows, of_fragment) in TABLES.items():
        data = wide(rows // (20 if quick else 1))
        options = {"max_rows_per_file": of_fragment, "data_storage_version": version}
        lance.write_dataset(data, str(path), **options)
        scans = _scans(path, version, 3 if quick else 15)
        label = f"{version} {kind}"
        _report_lock(report, label, kind, scans, _pages(path))
        bar = SECOND_CORE if (version, kind) == ("2.2", LARGE) else None
        _report_gain(report, label, scans, bar)
        shutil.rmtree(path)


def _scans(path: Path, version: str, rounds: int) -> AllScans:
    """Scan with each library and one or two processors, in turn."""
    found: dict[tuple[str, int], Scans] = {}
    with ExitStack() as stack:
        samplers = {}
        for count in (1, 2):
            for name, module in MODULES.items():
                code = _SCANS.format(module=module, is_mapped=version == "2.0")
                sampler = LockSampler(code, str(path), cores=count)
                samplers[name, count] = stack.enter_context(sampler)
                found[name, count] = Scans()
        for _ in range(rounds):
            for key, sampler in samplers.items():
                sampler.run("scan")  # caches are cold, and threads that slept share a processor
                found[key].locked.append(sampler.locked("scan"))
                found[key].runs.append(sampler.run("scan"))
    return found


def _report_lock(report: Report, label: str, kind: str, scans: AllScans, pages: int) -> None:
    for count in (1, 2):
        share = 100 * scans[OURS, count].share
        most = MAX_LOCKED[kind] if count == 1 else None
        report.note(f"{label}: interpreter lock held, {_cores(count)}", share, "%", most)
    if kind == SMALL:
        alone = scans[OURS, 1]
        spent = 1000 * alone.used / pages
        report.note(f"{label}: processor time of a page", spent, "ms", most=MAX_MS_PER_PAGE)
        report.note(f"{label}: of that with the lock", spent * alone.share, "ms")


def _report_gain(report: Report, label: str, scans: AllScans, bar: float | None) -> None:
    medians = {key: found.timing.median for key, found in scans.items()}
    for count in (1, 2):
        timings = {name: scans[name, count].timing for name in MODULES}
        report.add(f"{label}: scan, {_cores(count)}", timings)
    for name in MODULES:
        gain = medians[name, 1] / medians[name, 2]
        least = bar if name == OURS else None
        report.ratio(f"{label}: gain of a second core, {name}", gain, least)
    alone = scans[OURS, 1]
    by_lock = with_processors(medians[OURS, 1], alone.used * alone.share, MANY)
    predicted = {
        name: with_processors(medians[name, 1], 2 * medians[name, 2] - medians[name, 1], MANY)
        for name in MODULES
    }
    report.say(
        f"{label}: predicted for {_cores(MANY)}",
        f"{OURS} {1000 * predicted[OURS]:9.3f} ms (by its lock {1000 * by_lock:.3f} ms)  "
        f"{PEER} {1000 * predicted[PEER]:9.3f} ms  ratio {predicted[PEER] / predicted[OURS]:5.2f}",
        medians=predicted,
        by_lock=by_lock,
    )


def _cores(count: int) -> str:
    return f"{count} core" + ("s" if count > 1 else "")


def with_processors(seconds: float, serial: float, processors: int) -> float:
    """Amdahl's law: the time of ``processors``, of which one needs ``seconds``.

    ``serial``: the seconds that cannot be divided; values out of range are errors of measurement.
    """
    serial = min(max(serial, 0.0), seconds)
    return serial + (seconds - serial) / processors


def _pages(path: Path) -> int:
    """The number of pages of all data files."""
    files = (path / "data").iterdir()
    columns = (column for file in files for column in LanceFileReader(str(file)).metadata().columns)
    return sum(len(column.pages) for column in columns)
