"""Time of a fresh process that writes a small table, opens it, filters by SQL and takes rows."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Timing
from benchmarks.report import OURS, PEER, Report

BAR = 1 / 0.9
LEAST_ROUNDS = 9

SOURCES = {
    "cold start, Arrow data": (
        "x = pa.arange(0, 1000)\ntable = pa.table([x, x.cast(pa.string())], ['x', 's'])",
        BAR,
    ),
    # For Python values pyarrow imports pandas in both processes, which takes most of the time.
    "cold start, Python values": (
        "table = pa.table({'x': range(1000), 's': [str(i) for i in range(1000)]})",
        None,
    ),
}
"""The code that creates the rows, and the minimum ratio to pylance."""

PROGRAM = """
import sys
import pyarrow as pa
import {module} as lance
{source}
lance.write_dataset(table, sys.argv[1])
dataset = lance.dataset(sys.argv[1])
assert dataset.to_table(filter="x > 5").num_rows == 994
assert dataset.take([3, 500]).num_rows == 2
"""

MODULES = {OURS: "lance_core", PEER: "lance"}


def cold_start(report: Report, rounds: int) -> None:
    """Time whole processes of both libraries in turn; their bytecode is cached before."""
    for name, (source, bar) in SOURCES.items():
        spent: dict[str, list[tuple[float, float]]] = {subject: [] for subject in MODULES}
        for turn in range(max(rounds, LEAST_ROUNDS) + 1):
            for subject, module in MODULES.items():
                one = _run(PROGRAM.format(module=module, source=source))
                if turn:
                    spent[subject].append(one)
        timings = {subject: Timing(*zip(*values, strict=True)) for subject, values in spent.items()}
        report.add(name, timings, bar)


def _run(program: str) -> tuple[float, float]:
    """Elapsed seconds and processor seconds of a process."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", program, str(Path(folder) / "table.lance")]
        start = time.perf_counter()
        child = os.posix_spawn(sys.executable, command, environment)
        _, status, usage = os.wait4(child, 0)
        seconds = time.perf_counter() - start
    assert status == 0, "the process failed"
    return seconds, usage.ru_utime + usage.ru_stime
