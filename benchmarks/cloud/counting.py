"""A proxy in a separate process, which counts requests and, on request, delays or discards them.

A proxy in the measured process would slow down only the library that runs Python, not the other.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection

from lance_core_testing.network.fault_proxy import FaultProxy, Request
from lance_core_testing.network.faults import Rule

STARTING = 60
"""Maximum seconds until the proxy has started."""


class CountingProxy:
    """A proxy at ``url``."""

    def __init__(self, url: str, pipe: Connection) -> None:
        self.url = url
        self._pipe = pipe

    def set_rules(self, rules: Sequence[Rule]) -> None:
        """See `FaultProxy.set_rules`."""
        self._pipe.send(tuple(rules))
        self._pipe.recv()

    def requests(self) -> list[Request]:
        """The requests since the last `set_rules`."""
        self._pipe.send(None)
        found: list[Request] = self._pipe.recv()
        return found

    def requests_of(self, action: Callable[[], object]) -> list[Request]:
        """The requests during ``action``, which runs without rules."""
        self.set_rules(())
        action()
        return self.requests()


@contextmanager
def counting_proxy(target: str) -> Iterator[CountingProxy]:
    """A context with a proxy of the service at ``target``."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(target, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(STARTING):
            raise RuntimeError("the proxy does not start")
        yield CountingProxy(ours.recv(), ours)
    finally:
        ours.close()
        process.terminate()
        process.join()


def _serve(target: str, pipe: Connection) -> None:
    with FaultProxy(target) as proxy:
        pipe.send(proxy.url)
        while True:
            try:
                rules = pipe.recv()
            except EOFError:
                return
            if rules is None:
                pipe.send(list(proxy.requests))
            else:
                proxy.set_rules(rules)
                pipe.send(True)
