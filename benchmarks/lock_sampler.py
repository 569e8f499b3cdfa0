"""The share of an action's time during which a thread of the process holds the interpreter lock.

The action runs in a child process. This process reads the flag of the child's lock from the child's
memory, two thousand times a second, while the action runs: the share of samples with a set flag is
the share of time. The child runs no code for it and no thread of it waits for a lock, so the action
is not disturbed: if another thread requested the lock, a thread that releases it would wait for up
to a switch interval to get it back. But this process uses a few percent of a processor, and an
action that uses all processors takes a tenth longer, so the times of actions are those of runs
without samples.

The flag is an integer inside of CPython's ``_PyRuntime``, at an offset that depends on the version.
It is found by comparison: among all words there, it is the one that is 1 while the child runs a
loop in Python and 0 while it sleeps. `LockSampler` checks both cases again before it is used.

Linux only; the parent of a process may read its memory unless the system forbids it.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

INTERVAL = 5e-4
"""Seconds between samples."""

ATTEMPTS = 10
"""Maximum searches for the flag of the lock."""

PAGE = 4096
MAX_BYTES = 1 << 22
"""Of ``_PyRuntime``; it ends earlier, with its mapping."""

_PROGRAM = """
import ctypes, os, sys, time
cores = int(sys.argv[1])
if cores:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
def loop(seconds=0.1):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
def idle(seconds=0.1):
    time.sleep(seconds)
exec(sys.argv[2])
print(ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime")), flush=True)
for line in sys.stdin:
    action = globals()[line.strip()]
    wall, used = time.perf_counter(), time.process_time()
    action()
    used, wall = time.process_time() - used, time.perf_counter() - wall
    print(wall, used, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an action: elapsed seconds, and processor seconds of all its threads."""

    seconds: float
    processor: float


class LockSampler:
    """A child process that has run ``code`` and calls the functions that the code defines.

    ``cores``: the number of processors that the child may use, 0 for all.
    """

    def __init__(self, code: str, *arguments: str, cores: int = 0) -> None:
        environment = os.environ | ({"LANCE_CPU_THREADS": str(cores)} if cores else {})
        self._child = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(cores), code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            bufsize=0,
        )
        runtime = int(self._line())
        self._memory = os.open(Path("/proc", str(self._child.pid), "mem"), os.O_RDONLY)
        self._flag = self._address_of_flag(runtime)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._memory)
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()
        assert self._child.stdout is not None
        self._child.stdout.close()

    def run(self, action: str) -> Run:
        """Call a function of the child, and sleep until it returns."""
        self._start(action)
        seconds, processor = map(float, self._line().split())
        return Run(seconds, processor)

    def locked(self, action: str) -> float:
        """Call a function of the child: the share of its time with a thread that holds the lock."""
        self._start(action)
        samples = locked = 0
        while not self._has_returned():
            locked += any(os.pread(self._memory, 4, self._flag))
            samples += 1
        self._line()
        return locked / max(samples, 1)

    def _address_of_flag(self, runtime: int) -> int:
        """The flag's address. Processes that wait for a processor blur both shares: try again."""
        for _ in range(ATTEMPTS):
            self._flag = runtime + self._offset_of_flag(runtime)
            if self.locked("loop") - self.locked("idle") > 0.4:
                return self._flag
        raise AssertionError("the flag of the lock was not found")

    def _offset_of_flag(self, runtime: int) -> int:
        """The word that is 1 most often in the loop and 0 most often in the sleep."""
        size = self._readable_bytes(runtime)
        shares = {}
        for action in ("loop", "idle"):
            self._start(action)
            words = []
            while not self._has_returned():
                words.append(np.frombuffer(os.pread(self._memory, size, runtime), np.int32))
            self._line()
            shares[action] = np.mean(np.stack(words) == 1, axis=0)
        return int(np.argmax(shares["loop"] - shares["idle"])) * 4

    def _readable_bytes(self, address: int) -> int:
        for size in range(0, MAX_BYTES, PAGE):
            try:
                os.pread(self._memory, PAGE, address + size)
            except OSError:
                return size
        return MAX_BYTES

    def _start(self, action: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{action}\n".encode())

    def _has_returned(self) -> bool:
        """Wait for one interval, or until the action has returned."""
        assert self._child.stdout is not None
        return bool(select.select([self._child.stdout], [], [], INTERVAL)[0])

    def _line(self) -> str:
        assert self._child.stdout is not None
        line = self._child.stdout.readline().decode()
        assert line, "the observed process has ended"
        return line
