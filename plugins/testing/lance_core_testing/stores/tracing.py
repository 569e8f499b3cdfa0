"""A wrapper that counts the calls of a store."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.hookspecs.stores import REQUESTS, ObjectStore, StoreCall, StoreWrapper

T = TypeVar("T")

MAX_RECORDS = 100_000
"""Maximum number of calls that a trace records; older calls are only counted."""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A finished call: number of received bytes, seconds, and the class of its error."""

    call: StoreCall
    received: int
    seconds: float
    error: str | None


class Trace:
    """Counts of the calls of all threads.

    ``bytes_read`` and ``bytes_written`` count the bytes of results and of arguments;
    ``round_trips`` counts the calls that send a request to a remote store.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self.clear()

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={count}" for name, count in sorted(self.counts.items()))
        return f"Trace({counts}; {self.bytes_read} bytes read, {self.bytes_written} written)"

    def clear(self) -> None:
        """Remove all records and counts."""
        with self._lock:
            self.counts: Counter[str] = Counter()
            self.bytes_read = 0
            self.bytes_written = 0
            self.ranges = 0
            self._records: deque[TracedCall] = deque(maxlen=MAX_RECORDS)

    @property
    def round_trips(self) -> int:
        return sum(count for method, count in self.counts.items() if method in REQUESTS)

    @property
    def records(self) -> list[TracedCall]:
        """The calls in the order in which they ended."""
        with self._lock:
            return list(self._records)

    def add(self, traced: TracedCall) -> None:
        """Count and record a call."""
        with self._lock:
            self.counts[traced.call.method] += 1
            self.bytes_read += traced.received
            self.bytes_written += traced.call.sent
            self.ranges += traced.call.ranges
            self._records.append(traced)


class TracingStore(StoreWrapper):
    """Counts in ``trace``, and in the traces of the `measure` blocks that are active."""

    def __init__(self, inner: ObjectStore, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__(inner)
        self.trace = Trace()
        self._clock = clock
        self._active: tuple[Trace, ...] = (self.trace,)
        self._lock = ForkSafeLock()

    @contextlib.contextmanager
    def measure(self) -> Iterator[Trace]:
        """A trace of the calls that end within the block, from any thread."""
        trace = Trace()
        with self._lock:
            self._active = (*self._active, trace)
        try:
            yield trace
        finally:
            with self._lock:
                self._active = tuple(other for other in self._active if other is not trace)

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        start = self._clock()
        received, error = 0, None
        try:
            result = run()
            received = received_bytes(result)
        except BaseException as raised:
            error = type(raised).__name__
            raise
        else:
            return result
        finally:
            traced = TracedCall(call, received, self._clock() - start, error)
            for trace in self._active:
                trace.add(traced)


def received_bytes(result: object) -> int:
    """Number of bytes in the result of a read; 0 for other results."""
    if isinstance(result, pa.Buffer):
        return int(result.size)
    if isinstance(result, list):
        return sum(buffer.size for buffer in result if isinstance(buffer, pa.Buffer))
    return 0
