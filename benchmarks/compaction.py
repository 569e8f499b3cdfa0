"""Compaction by both libraries and both ways, and scans of what it leaves.

pylance writes the tables. All results are compared through pylance before the timing, and scanned
by both libraries beside a table that is written in one piece. ``cp`` is the program, which copies
the same data files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from benchmarks.bars import (
    COPY_TO_CP,
    COPY_TO_PEER_COPY,
    COPY_TO_PEER_REENCODE,
    HYBRID_TO_REENCODE,
    MAX_COMPACTION_MB,
    REENCODE_TO_PEER,
    SCAN_TO_FRESH,
)
from benchmarks.measure import Action, interleaved
from benchmarks.memory import SAMPLER, run_program
from benchmarks.pair import MODULES
from benchmarks.report import OURS, PEER, Report
from benchmarks.touch import touch
from benchmarks.workloads import embed, texts, wide


@dataclass(frozen=True, slots=True)
class Case:
    """A table of small fragments. ``delete``: which rows are deleted before the compaction."""

    name: str
    make: Callable[[int], pa.Table]
    fragments: int
    rows: int
    delete: str | None = None


def many_columns(rows: int) -> pa.Table:
    """152 columns of numbers and short texts."""
    rng = np.random.default_rng(15)
    columns: dict[str, Any] = {"id": np.arange(rows)}
    columns |= {f"i{number}": rng.integers(0, 1000, rows, np.int32) for number in range(75)}
    columns |= {f"f{number}": rng.random(rows) for number in range(60)}
    columns |= {f"s{number}": rng.integers(0, 10**6, rows).astype("U") for number in range(16)}
    return pa.table(columns)


CASES = (
    Case("plain 8 x 250,000", wide, 8, 250_000),
    Case("plain 200 x 10,000", wide, 200, 10_000),
    Case("plain 1,000 x 5,000", wide, 1_000, 5_000),
    Case("text 200 x 5,000", texts, 200, 5_000),
    Case("embeddings 200 x 250", embed, 200, 250),
    Case("152 columns 200 x 1,000", many_columns, 200, 1_000),
    # Half of the rows of 4 fragments: 1 % of all rows, in 2 % of the pages.
    Case("hybrid 200 x 10,000", wide, 200, 10_000, "id >= 20000 AND id < 60000 AND id % 2 = 0"),
)

WAYS = {
    f"{PEER} re-encode": (PEER, "reencode"),
    f"{PEER} copy": (PEER, "try_binary_copy"),
    "re-encode": (OURS, "reencode"),
    "copy": (OURS, "try_binary_copy"),
}
"""Each library and mode of compaction."""

CP, FRESH = "cp", "fresh"

_ROUNDS = 8
"""Rounds of all timings. The best times of fewer scatter by 5 %, which is as much as some results
are from their bar."""

_MEMORY = """
import importlib
import pandas
module, path, mode = sys.argv[1:]
dataset = importlib.import_module(module).dataset(path)
with Peak() as peak:
    dataset.optimize.compact_files(compaction_mode=mode)
print(peak.megabytes)
"""


def compaction(report: Report, folder: Path, version: str, quick: bool) -> None:
    """Compact each table, check the results, scan them, and measure the memory."""
    for case in CASES:
        Compaction(report, folder, case, version, quick).run()


class Compaction:
    """All figures of one table at one file version."""

    def __init__(self, report: Report, folder: Path, case: Case, version: str, quick: bool) -> None:
        self._report = report
        self._case = case
        self._version = version
        self._rounds = 2 if quick else _ROUNDS
        self._fragments = max(case.fragments // 10, 2) if quick else case.fragments
        self._paths = {name: folder / name.replace(" ", "-") for name in (*WAYS, CP, FRESH)}
        self._source = folder / "source"

    def run(self) -> None:
        """Measure, and remove the tables."""
        self._write()
        self._check()
        self._time()
        for reader in MODULES:
            self._scan(reader)
        self._memory()
        for path in (self._source, *self._paths.values()):
            shutil.rmtree(path)

    def _write(self) -> None:
        case = self._case
        data = case.make(self._fragments * case.rows)
        options = {"data_storage_version": self._version}
        table = lance.write_dataset(data, str(self._source), max_rows_per_file=case.rows, **options)
        if case.delete is not None:
            table.delete(case.delete)
        lance.write_dataset(table.to_table(), str(self._paths[FRESH]), **options)

    def _check(self) -> None:
        expected = lance.dataset(str(self._paths[FRESH])).to_table()
        for name in WAYS:
            self._prepare(name)
            metrics = self._compact(name)
            if name == "copy":
                self._say_pages(metrics)
            found = lance.dataset(str(self._paths[name]))
            assert found.to_table() == expected, f"{self._label}: {name} makes another table"
            assert len(found.get_fragments()) < self._fragments, f"{name} compacts nothing"

    def _time(self) -> None:
        opened: dict[str, Any] = {}

        def prepare(name: str) -> None:
            self._prepare(name)
            if name in WAYS:
                opened[name] = MODULES[WAYS[name][0]].dataset(str(self._paths[name]))

        actions: dict[str, Action] = {
            name: lambda name=name: _optimize(opened[name], WAYS[name][1]) for name in WAYS
        }
        actions[CP] = partial(_copy, self._source, self._paths[CP])
        timings = interleaved(actions, self._rounds, prepare)
        self._report.add(f"{self._label}: compact", timings)
        best = {name: timing.best for name, timing in timings.items()}
        self._ratios(best)

    def _ratios(self, best: Mapping[str, float]) -> None:
        """Ratios of the best times."""
        case, label = self._case.name, self._label
        peer, peer_copy, ours, copy = (best[name] for name in WAYS)
        add = self._report.ratio
        add(f"{label}: re-encode to {PEER}'s", peer / ours, REENCODE_TO_PEER)
        add(f"{label}: copy to {PEER}'s re-encode", peer / copy, COPY_TO_PEER_REENCODE.get(case))
        if self._case.delete is None:
            add(f"{label}: copy to {PEER}'s copy", peer_copy / copy, COPY_TO_PEER_COPY)
        else:
            add(f"{label}: copy to re-encode", ours / copy, HYBRID_TO_REENCODE)
        add(f"{label}: copy to cp", best[CP] / copy, COPY_TO_CP.get(case))

    def _scan(self, reader: str) -> None:
        """Scan the results, which the last round of the timing left, and the fresh table.

        The bar for scans is near what they reach, so their ratios need more rounds than others, and
        are those of the lower quartiles.
        """
        opened = {name: MODULES[reader].dataset(str(self._paths[name])) for name in (FRESH, *WAYS)}
        actions: dict[str, Action] = {
            name: lambda dataset=dataset: touch(dataset.to_table())
            for name, dataset in opened.items()
        }
        timings = interleaved(actions, 2 * self._rounds)
        label = f"{self._label}: scan by {reader}"
        self._report.add(label, timings)
        for name in ("re-encode", "copy"):
            ratio = timings[FRESH].quartile / timings[name].quartile
            self._report.ratio(f"{label} after {name}, to fresh", ratio, SCAN_TO_FRESH)

    def _memory(self) -> None:
        """The peak growth of anonymous memory in processes that compact the table."""
        peaks = {}
        for name, (library, mode) in WAYS.items():
            self._prepare(name)
            arguments = MODULES[library].__name__, str(self._paths[name]), mode
            peaks[name] = int(run_program(SAMPLER + _MEMORY, *arguments))
        for name, peak in peaks.items():
            most = MAX_COMPACTION_MB if WAYS[name][0] == OURS else None
            self._report.note(f"{self._label}: memory, {name}", peak, "MB", most)

    def _prepare(self, name: str) -> None:
        """Remove the last result; the files of the table are linked, since none is changed."""
        shutil.rmtree(self._paths[name], ignore_errors=True)
        if name in WAYS:
            shutil.copytree(self._source, self._paths[name], copy_function=os.link)

    def _compact(self, name: str) -> Any:
        library, mode = WAYS[name]
        return _optimize(MODULES[library].dataset(str(self._paths[name])), mode)

    def _say_pages(self, metrics: Any) -> None:
        """Report how many pages were copied, and how many were encoded again."""
        copied, encoded = metrics.pages_copied, metrics.pages_reencoded
        text = f"{copied:,} copied, {encoded:,} encoded again"
        self._report.say(f"{self._label}: pages", text, copied=copied, encoded=encoded)

    @property
    def _label(self) -> str:
        return f"{self._version} {self._case.name}"


def _optimize(dataset: Any, mode: str) -> Any:
    return dataset.optimize.compact_files(compaction_mode=mode)


def _copy(source: Path, target: Path) -> None:
    """Copy the bytes of all data files, without sharing them where the file system could."""
    program = shutil.which("cp")
    assert program is not None
    target.mkdir()
    command = [program, "--reflink=never", "-r", str(source / "data"), str(target)]
    subprocess.run(command, check=True)
