"""Benchmarks of opening tables and of commits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

import lance_core
from benchmarks.measure import Action, interleaved
from benchmarks.report import OURS, PEER, Report

COMMITS_PER_RUN = 20
RAW = "raw writes"
"""The subject that makes only the system calls of a commit."""


def commits(report: Report, folder: Path, quick: bool) -> None:
    """Time opening tables and appending to them, with one and with many fragments."""
    rounds = 5 if quick else 15
    row = pa.table({"id": pa.array([1], pa.int64()), "text": ["one"]})
    for count in (1, 2000):
        _opens_and_appends(report, folder, row, count, rounds)
    _commit_rate(report, folder, row, rounds)


def _commit_rate(report: Report, folder: Path, row: pa.Table, rounds: int) -> None:
    """Time commits of rows that are already written, against pylance and plain system calls."""
    paths = {OURS: folder / "rate-ours", PEER: folder / "rate-peer"}
    modules: dict[str, Any] = {OURS: lance_core, PEER: lance}
    ready: dict[str, list[Any]] = {}
    for name, path in paths.items():
        modules[name].write_dataset(row, str(path), data_storage_version="2.0")

    def prepare(name: str) -> None:
        if name in modules:
            write = modules[name].fragment.write_fragments
            ready[name] = [write(row, str(paths[name]))[0] for _ in range(COMMITS_PER_RUN)]

    fast = {name: partial(_commits, modules[name], paths[name], ready) for name in paths}
    label = f"commit x {COMMITS_PER_RUN}"
    report.add(f"{label} (fast)", interleaved(fast, rounds, prepare), 1.0)
    os.environ["LANCE_CORE_DURABILITY"] = "durable"
    try:
        path = paths[OURS]
        folders = ("data", "_transactions", "_versions")
        sizes = [_newest_size(path / folder) for folder in folders]
        durable: dict[str, Action] = {
            OURS: partial(_commits, lance_core, path, ready),
            RAW: partial(_raw_commits, folder / "raw", sizes[1:]),
        }
        timings = interleaved(durable, rounds, prepare)
        report.add(f"{label} (durable)", timings, 0.7, against=RAW)
        appends: dict[str, Action] = {
            OURS: partial(_append, lance_core, row, path),
            RAW: partial(_raw_commits, folder / "raw", sizes),
        }
        label = f"append x {COMMITS_PER_RUN} (durable)"
        report.add(label, interleaved(appends, rounds), against=RAW)
    finally:
        os.environ["LANCE_CORE_DURABILITY"] = "fast"


def _commits(module: Any, path: Path, ready: Mapping[str, list[Any]]) -> None:
    name = OURS if module is lance_core else PEER
    table = module.dataset(str(path))
    for fragment in ready[name]:
        operation = module.LanceOperation.Append([fragment])
        table = module.LanceDataset.commit(table, operation, read_version=table.version)


def _newest_size(folder: Path) -> int:
    """The bytes of the newest file in ``folder``."""
    return max(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns).stat().st_size


def _raw_commits(folder: Path, sizes: Sequence[int]) -> None:
    """The minimum of a durable commit: write files of these sizes, sync each with its folder."""
    for number in range(len(sizes)):
        (folder / str(number)).mkdir(parents=True, exist_ok=True)
    for _ in range(COMMITS_PER_RUN):
        for number, size in enumerate(sizes):
            _write_synced(folder / str(number), os.urandom(size))


def _write_synced(folder: Path, data: bytes) -> None:
    name = os.urandom(8).hex()
    file = os.open(folder / f".{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(file, data)
    os.fsync(file)
    os.close(file)
    (folder / f".{name}").rename(folder / name)
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


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
    """Write a table of ``count`` one-row fragments with pylance, in one version."""
    data = pa.concat_tables([row] * count)
    lance.write_dataset(data, str(path), max_rows_per_file=1, data_storage_version="2.0")
