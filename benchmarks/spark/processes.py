"""Processor time of Spark's processes, and the memory of its Python workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
INTERVAL = 0.2
"""Seconds between two samples of memory."""

_PARENT, _TIMES = 1, slice(11, 15)
"""Fields of ``/proc/PID/stat`` after the name: the parent; user and system time, own and of
children that have ended."""


def processor_seconds() -> float:
    """Processor seconds of this process and all that it started, since their start."""
    return sum(sum(map(int, fields[_TIMES])) for _, fields in _processes()) / TICK


class PeakMemory(threading.Thread):
    """Samples the largest resident size of a Python worker. A context manager."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._bytes = 0
        self._done = threading.Event()

    @property
    def megabytes(self) -> float:
        return self._bytes / 1e6

    def __enter__(self) -> PeakMemory:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self.join()

    def run(self) -> None:
        while not self._done.wait(INTERVAL):
            for pid, _ in _processes():
                if pid != os.getpid() and _is_worker(pid):
                    self._bytes = max(self._bytes, _resident(pid))


def _processes() -> Iterator[tuple[int, list[str]]]:
    """This process and its descendants, each with the fields of its state after the name."""
    found: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # The process has ended.
    own = {os.getpid()}
    while more := {pid for pid, fields in found.items() if int(fields[_PARENT]) in own} - own:
        own |= more
    for pid in own:
        yield pid, found[pid]


def _is_worker(pid: int) -> bool:
    """Whether it is a daemon of PySpark or one of its workers."""
    try:
        return "\0-m\0pyspark." in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
