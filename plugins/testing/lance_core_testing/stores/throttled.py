"""A wrapper with the latency and bandwidth of a remote store."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.stores import REQUESTS, ObjectStore, StoreCall, StoreWrapper
from lance_core_testing.stores.tracing import received_bytes

T = TypeVar("T")


class ThrottledStore(StoreWrapper):
    """Adds ``latency`` seconds to each request, and the time to transfer its bytes.

    Calls of several threads wait in parallel, as if each thread had its own connection.
    """

    def __init__(
        self,
        inner: ObjectStore,
        latency: float = 0.0,
        bytes_per_second: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(inner)
        if latency < 0 or (bytes_per_second is not None and bytes_per_second <= 0):
            raise InvalidInputError("latency is at least 0, bandwidth more than 0")
        self._latency = latency
        self._bytes_per_second = bytes_per_second
        self._sleep = sleep

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        latency = self._latency if call.method in REQUESTS else 0.0
        self._wait(latency + self._transfer(call.sent))
        result = run()
        self._wait(self._transfer(received_bytes(result)))
        return result

    def _transfer(self, length: int) -> float:
        return length / self._bytes_per_second if self._bytes_per_second else 0.0

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._sleep(seconds)
