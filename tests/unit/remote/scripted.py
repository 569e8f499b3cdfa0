"""A service whose requests end as a test says, and a clock that only pauses move."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lance_core.store.base import StoreCapabilities
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.retries import Waiting
from lance_core_testing.memory_client import CAPABILITIES, MemoryClient

METHODS = (
    *("get", "head", "put", "delete", "copy", "list_page"),
    *("start_upload", "upload_part", "finish_upload", "abort_upload"),
)
TEXT = "500 Odd: how it ended"


@dataclass(frozen=True, slots=True)
class Fails:
    """A request fails; with ``applied``, after it has done what it was sent for."""

    failure: Failure
    applied: bool = False
    retry_after: float | None = None


class ScriptedClient(MemoryClient):
    """Requests fail as `fail` says; those that nothing was said of succeed.

    ``sent`` counts requests by method. ``renewals``: how often new credentials were asked for.
    """

    min_part_size = 1

    def __init__(self, capabilities: StoreCapabilities = CAPABILITIES) -> None:
        super().__init__(capabilities)
        self.sent: dict[str, int] = defaultdict(int)
        self.renewals = 0
        self.can_renew = True
        self._steps: dict[str, deque[Fails | None]] = defaultdict(deque)
        self._always: dict[str, Fails] = {}
        self._counting = threading.Lock()
        for name in METHODS:
            setattr(self, name, partial(self._run, name, getattr(self, name)))

    def fail(self, method: str, *steps: Fails | None) -> None:
        """The next requests of ``method`` end so; None: as usual."""
        self._steps[method].extend(steps)

    def fail_always(self, method: str, step: Fails) -> None:
        """All requests of ``method`` end so."""
        self._always[method] = step

    def recover(self) -> None:
        """Let everything succeed from now on."""
        self._steps.clear()
        self._always.clear()

    def renew_credentials(self) -> bool:
        self.renewals += 1
        return self.can_renew

    def _run(
        self, name: str, method: Callable[..., object], *args: object, **options: object
    ) -> object:
        with self._counting:
            self.sent[name] += 1
            step = self._steps[name].popleft() if self._steps[name] else self._always.get(name)
        if step is None or step.applied:
            result = method(*args, **options)
        if step is not None:
            raise RequestError(step.failure, TEXT, step.retry_after)
        return result


class Time:
    """A clock, what pauses it was asked for, and chance that always draws ``drawn``."""

    def __init__(self, drawn: float = 0.5) -> None:
        self.now = 0.0
        self.drawn = drawn
        self.pauses: list[float] = []
        self._lock = threading.Lock()

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.pauses.append(seconds)
            self.now += seconds

    @property
    def waiting(self) -> Waiting:
        return Waiting(lambda: self.now, self.sleep, lambda: self.drawn)
