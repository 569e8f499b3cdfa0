"""A wrapper that injects the typical faults of stores into chosen calls."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias, TypeVar

from lance_core.errors import (
    InvalidInputError,
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.hookspecs.stores import (
    Buffers,
    ObjectStore,
    PutMode,
    StoreCall,
    StoreWrapper,
    joined,
)

T = TypeVar("T")

WRITES = frozenset({"close", "copy", "delete", "put", "rename_if_absent"})
"""Calls that change the objects of the store."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Not applied, and the caller learns this: raises ``error``, by default a `StoreError`."""

    error: Callable[[StoreCall], Exception] | None = None


@dataclass(frozen=True, slots=True)
class RequestLost:
    """Not applied, but the caller cannot know this: raises `OutcomeUnknownError`."""


@dataclass(frozen=True, slots=True)
class ResponseLost:
    """Applied, but the caller cannot know this: raises `OutcomeUnknownError`."""


@dataclass(frozen=True, slots=True)
class SentTwice:
    """Applied, but the response was lost and the client retries: raises `ObjectExistsError`."""


@dataclass(frozen=True, slots=True)
class LandsLate:
    """Raises `OutcomeUnknownError`; applied when `FaultyStore.land` is called."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """Applied after a delay in seconds."""

    seconds: float


Fault: TypeAlias = Refused | RequestLost | ResponseLost | SentTwice | LandsLate | Delayed


@dataclass(frozen=True, slots=True)
class FaultRule:
    """Selects the calls to which a fault applies.

    ``method`` and ``path`` are shell patterns; for calls with two paths, either may match.
    ``nth``: only the nth matching call, counted from 1. ``times``: maximum number of times.
    ``probability``: chance of a fault, drawn with the seed of the store.
    """

    fault: Fault
    method: str = "*"
    path: str = "*"
    nth: int | None = None
    times: int | None = None
    probability: float = 1.0

    def matches(self, call: StoreCall) -> bool:
        """True if ``method`` and ``path`` match ``call``."""
        return fnmatchcase(call.method, self.method) and any(
            fnmatchcase(path, self.path) for path in (call.path, call.target) if path is not None
        )


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault that was injected."""

    rule: FaultRule
    call: StoreCall


class FaultyStore(StoreWrapper):
    """Applies ``rules`` to the calls on their way to ``inner``.

    If several rules match a call, the first one is the outermost. ``injected`` lists the injected
    faults, so that a test can check that its faults happened. With one thread, the same ``seed``
    and calls give the same faults. A read with a lost response raises `StoreError`.
    """

    def __init__(
        self,
        inner: ObjectStore,
        rules: Iterable[FaultRule] = (),
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(inner)
        self._lock = ForkSafeLock()
        self._random = random.Random(seed)  # noqa: S311 (faults must be repeatable)
        self._sleep = sleep
        self._late: list[Callable[[], object]] = []
        self.injected: list[Injected] = []
        self.set_rules(rules)

    def set_rules(self, rules: Iterable[FaultRule]) -> None:
        """Replace the rules and start counting anew."""
        with self._lock:
            self._rules = tuple(rules)
            self._seen = [0] * len(self._rules)
            self._struck = [0] * len(self._rules)

    def land(self) -> list[Exception | None]:
        """Apply the delayed writes in order; returns the error of each, or None."""
        with self._lock:
            late, self._late = self._late, []
        return [_outcome(run) for run in late]

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        # The caller may change its buffers before a late write lands.
        super().put(path, joined(data), mode)

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        for rule in reversed(self._striking(call)):
            run = self._with_fault(rule.fault, call, run)
        return run()

    def _striking(self, call: StoreCall) -> list[FaultRule]:
        striking = []
        with self._lock:
            for number, rule in enumerate(self._rules):
                if not rule.matches(call):
                    continue
                self._seen[number] += 1
                if rule.nth is not None and rule.nth != self._seen[number]:
                    continue
                if rule.times is not None and self._struck[number] >= rule.times:
                    continue
                if rule.probability < 1.0 and self._random.random() >= rule.probability:
                    continue
                self._struck[number] += 1
                self.injected.append(Injected(rule, call))
                striking.append(rule)
        return striking

    def _with_fault(self, fault: Fault, call: StoreCall, run: Callable[[], T]) -> Callable[[], T]:
        def faulty() -> T:
            match fault:
                case Delayed(seconds):
                    self._sleep(seconds)
                    return run()
                case Refused(error):
                    raise error(call) if error else StoreError(_text(call, "was refused"))
                case RequestLost():
                    raise _unknown(call)
                case ResponseLost():
                    run()
                    raise _unknown(call)
                case SentTwice():
                    run()
                    raise ObjectExistsError(call.target or call.path)
                case LandsLate():
                    with self._lock:
                        self._late.append(run)
                    raise _unknown(call)
            raise InvalidInputError(f"{fault!r} is not a fault")

        return faulty


def _unknown(call: StoreCall) -> StoreError:
    error_class = OutcomeUnknownError if call.method in WRITES else StoreError
    return error_class(_text(call, "was not answered"))


def _text(call: StoreCall, what: str) -> str:
    return f"injected fault: {call.method} of {call.path!r} {what}"


def _outcome(run: Callable[[], object]) -> Exception | None:
    try:
        run()
    except Exception as error:
        return error
    return None
