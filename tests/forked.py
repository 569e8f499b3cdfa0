"""Processes that share nothing with the tests, without the time that it takes to import everything.

One process imports what they need and does nothing else; each of the others is a fork of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_SERVER = """
import json, os, sys, traceback
exec(sys.argv[1])
for line in sys.stdin:
    tasks = json.loads(line)
    children = []
    for code, *arguments in tasks:
        child = os.fork()
        if child == 0:
            sys.argv[1:] = arguments
            try:
                exec(code, {"__name__": "__main__"})
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        children.append(child)
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps(ended), flush=True)
"""


class Forks:
    """Makes processes that have run the ``imports`` of `forking`."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self._server = server

    def run(self, code: str, *arguments: Sequence[object]) -> list[int]:
        """Run ``code`` in a process for each of ``arguments``, its ``sys.argv[1:]``, all at once.

        How they ended: 0, 1 after an error, what they gave to ``os._exit``, or minus the number of
        a signal.
        """
        tasks = [[code, *map(str, given)] for given in arguments]
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(tasks) + "\n")
        self._server.stdin.flush()
        ended: list[int] = json.loads(self._server.stdout.readline())
        return ended


@contextmanager
def forking(imports: str) -> Iterator[Forks]:
    """The process that others are forked from, until the block ends; it must start no threads."""
    command = [sys.executable, "-W", "ignore", "-c", _SERVER, imports]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            yield Forks(server)
        finally:
            server.kill()
