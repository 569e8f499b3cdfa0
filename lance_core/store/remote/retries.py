"""Sending a request until it is answered, and what it means for the caller how that ended.

A request that was turned away is sent again after a pause, never earlier than the service asks for.

A write that may have been applied is sent again as well. It then ends in one of three ways: success
says that it is applied; a refusal by its own condition can stem from the first attempt, and every
other failure leaves the first attempt open, so both are *unknown*.
"""

from __future__ import annotations

import enum
import logging
import random
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from lance_core.concurrency.backoff import backoff
from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.errors import (
    CorruptFileError,
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.remote.settings import RemoteSettings

T = TypeVar("T")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 15.0
"""Limits of the first pause, and of any, in seconds."""

MAX_RENEWALS = 2
"""Renewals of credentials after which a call gives up."""

_SENT_AGAIN = frozenset({Failure.BUSY, Failure.UNSENT, Failure.UNKNOWN})

_log = logging.getLogger("lance_core.store.remote")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Time and chance, as functions: what a test replaces.

    ``monotonic``: seconds from an arbitrary point. ``random``: a number in [0, 1).
    """

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random


REAL = Waiting()


class Service(Protocol):
    """What requests go to, as far as sending them again needs it; every `RemoteClient` is one."""

    @property
    def name(self) -> str:
        """What errors call it."""

    def renew_credentials(self) -> bool:
        """See `RemoteClient.renew_credentials`."""


class Effect(enum.Enum):
    """What a request does."""

    NONE = "none"
    HIDDEN = "hidden"
    """Nothing that anybody sees yet, such as sending a part of an upload."""
    VISIBLE = "visible"
    """Others can see that it was applied, so that not knowing matters."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked for: a verb and a path for the texts of errors.

    ``retries``: how often it is sent again at most. ``source``: path of what is read by a write, ""
    for nothing.
    """

    verb: str
    path: str
    effect: Effect
    retries: int
    source: str = ""


class Sender:
    """Sends the requests of one store, by its settings. Thread-safe."""

    def __init__(self, service: Service, settings: RemoteSettings, waiting: Waiting = REAL) -> None:
        self.service = service
        self.waiting = waiting
        self.deadline = settings.retry_timeout
        self._retries = settings.max_retries
        self._read_retries = settings.max_retries + settings.download_retries
        self._renewals = 0
        self._lock = ForkSafeLock()

    def read(self, verb: str, path: str, request: Callable[[], T]) -> T:
        """The answer to ``request``, which changes nothing; errors of the store contract."""
        return self._send(Call(verb, path, Effect.NONE, self._read_retries), request)

    def prepare(self, verb: str, path: str, request: Callable[[], T]) -> T:
        """The same for a request whose effect nobody sees yet, such as a part of an upload."""
        return self._send(Call(verb, path, Effect.HIDDEN, self._retries), request)

    def write(self, verb: str, path: str, request: Callable[[], T], source: str = "") -> T:
        """The same for a write; `OutcomeUnknownError` if it may have been applied."""
        return self._send(Call(verb, path, Effect.VISIBLE, self._retries, source), request)

    def _send(self, call: Call, request: Callable[[], T]) -> T:
        attempts: _Attempts | None = None
        start = self.waiting.monotonic()
        while True:
            renewals = self._renewals
            try:
                return request()
            except RequestError as error:
                failed = error
            # Raised out here, an error does not carry along what the SDK raised.
            attempts = attempts or _Attempts(self, call, start)
            attempts.settle(failed, renewals)

    def renew(self, seen: int) -> bool:
        """New credentials, unless another thread got some since there were ``seen`` renewals."""
        with self._lock:
            if self._renewals == seen:
                if not self.service.renew_credentials():
                    return False
                self._renewals += 1
        return True


class _Attempts:
    """The failed attempts of one call."""

    __slots__ = ("_call", "_failures", "_is_open", "_renewals", "_sender", "_start")

    def __init__(self, sender: Sender, call: Call, start: float) -> None:
        self._sender = sender
        self._call = call
        self._start = start
        self._failures = 0
        self._renewals = 0
        self._is_open = False

    def settle(self, error: RequestError, renewals: int) -> None:
        """Return when the request is to be sent again; raise how the call ends otherwise."""
        _log.debug("%s %r: %s: %s", self._call.verb, self._call.path, error.failure.value, error)
        self._failures += 1
        if error.failure is Failure.UNKNOWN and self._call.effect is Effect.VISIBLE:
            self._is_open = True
        if error.failure is Failure.EXPIRED:
            try:
                is_renewed = self._renewals < MAX_RENEWALS and self._sender.renew(renewals)
            except RequestError as failed:
                error = failed
            except LanceError as failed:  # of what is configured: how the call ended is still open
                error = RequestError(Failure.REFUSED, f"{error.text}; {failed}")
            else:
                self._renewals += 1
                if is_renewed:
                    return
        pause = self._pause(error)
        if pause is None:
            raise self._outcome(error)
        self._sender.waiting.sleep(pause)

    def _pause(self, error: RequestError) -> float | None:
        """Seconds until the next attempt; None if there is to be none."""
        retried = self._failures - self._renewals
        if error.failure not in _SENT_AGAIN or retried > self._call.retries:
            return None
        waiting = self._sender.waiting
        pause = backoff(retried, FIRST_PAUSE, LONGEST_PAUSE, waiting.random)
        pause += error.retry_after or 0.0
        if waiting.monotonic() - self._start + pause > self._sender.deadline:
            return None
        return pause

    def _outcome(self, error: RequestError) -> LanceError:
        path, where = self._call.path, self._sender.service.name
        text = f"{self._call.verb} {path!r} in {where}: {error.text}"
        if self._failures > 1:
            seconds = self._sender.waiting.monotonic() - self._start
            text += f" (after {self._failures} attempts in {seconds:.1f} seconds)"
        if self._is_open:
            return OutcomeUnknownError(f"{text}; it may have been applied")
        match error.failure:
            case Failure.MISSING if self._call.effect is Effect.NONE:
                return ObjectNotFoundError(path, where)
            case Failure.MISSING if self._call.source:
                return ObjectNotFoundError(self._call.source, where)
            case Failure.EXISTS:
                return ObjectExistsError(path)
            case Failure.CHANGED:
                return CorruptFileError("the object was replaced while it was read", path)
            case Failure.UNSUPPORTED:
                return UnsupportedFeatureError(text)
        return StoreError(text)
