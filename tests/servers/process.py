"""Servers as processes of their own, each on a free port of the loopback interface.

A server says where it listens, and ends when its standard input does, so that it never outlives
the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
STARTING = 60
"""Seconds until a server has to say where it listens."""
TAIL = 2000
"""Characters of what a server said that the error quotes if it does not."""


@contextmanager
def running(
    command: Sequence[str | Path], listening: str, folder: Path, **environment: str
) -> Iterator[str]:
    """What the group of ``listening`` finds in the words of the server, until the block ends.

    Whatever else it says is passed on to standard error at the end. `RuntimeError`: it ended, or
    did not say in time where it listens.
    """
    with ExitStack() as at_end:
        log = at_end.enter_context(tempfile.TemporaryFile()).fileno()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        at_end.enter_context(process)
        at_end.callback(process.kill)
        found = _found(process, log, listening)
        at_end.callback(lambda: sys.stderr.write(_said(log)[found.end() :]))
        yield found[1]


def _found(process: subprocess.Popen[bytes], log: int, listening: str) -> re.Match[str]:
    end = time.monotonic() + STARTING
    while True:
        # Asked first, so that all that a server which ended has said is read.
        status = process.poll()
        said = _said(log)
        if found := re.search(listening, said, re.MULTILINE):
            return found
        if status is not None or time.monotonic() > end:
            why = f"status {status}" if status is not None else f"silent for {STARTING} s"
            raise RuntimeError(f"{process.args!r} did not start, {why}: {said[-TAIL:]}")
        time.sleep(0.01)


def _said(log: int) -> str:
    # Reading it the usual way would move where the server writes.
    return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")


@contextmanager
def running_python(*arguments: str, **environment: str) -> Iterator[str]:
    """``host:port`` of a server in Python that calls `listen_until_input_ends`."""
    command = [sys.executable, *arguments]
    with running(command, r"^(\d+)\n", ROOT, **environment) as port:
        yield f"127.0.0.1:{port}"


def listen_until_input_ends(port: int) -> None:
    """Say that this process answers at ``port``, and end it when its standard input does."""
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)
