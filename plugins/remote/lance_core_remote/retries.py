"""Retry requests, and derive the error of the caller from the outcome.

A rejected request is sent again after a pause, never earlier than the service asks for.

A write that may have been applied is sent again, too. If the retry succeeds, the write is applied.
If the retry fails by the condition of the write, the first attempt may be the cause; any other
failure leaves the effect of the first attempt open. In both cases the outcome is *unknown*.
"""

from __future__ import annotations

import enum
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from lance_core.errors import (
    CorruptFileError,
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.concurrency import ForkSafeLock, backoff
from lance_core.hookspecs.observers import OBSERVERS, count
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.settings import RemoteSettings

T = TypeVar("T")

FIRST_PAUSE = 0.1
MAX_PAUSE = 15.0
"""Maximum of the first pause and of any pause, in seconds."""

MAX_RENEWALS = 2
"""Maximum renewals of credentials per call."""

_SENT_AGAIN = frozenset({Failure.BUSY, Failure.UNSENT, Failure.UNKNOWN})

# Below `lance_core`, whose level and handlers users set.
_log = logging.getLogger("lance_core.remote")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Functions for time and randomness, which tests replace.

    ``monotonic``: seconds from an arbitrary origin. ``random``: a number in [0, 1).
    """

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random


REAL = Waiting()


class Service(Protocol):
    """The part of a `RemoteClient` that retries need."""

    @property
    def name(self) -> str:
        """The name of the service in errors."""

    def renew_credentials(self) -> bool:
        """See `RemoteClient.renew_credentials`."""


class Effect(enum.Enum):
    """The visibility of a request's effect to others."""

    NONE = "none"
    HIDDEN = "hidden"
    """No effect that others can observe, such as the upload of a part."""
    VISIBLE = "visible"
    """Others can observe the effect, so an unknown outcome must be reported."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the store: a verb and a path for error texts.

    ``retries``: maximum retries. ``source``: the path that a write reads from, "" for none.
    """

    verb: str
    path: str
    effect: Effect
    retries: int
    source: str = ""


class Sender:
    """Sends the requests of one store according to its settings. Thread-safe."""

    def __init__(self, service: Service, settings: RemoteSettings, waiting: Waiting = REAL) -> None:
        self.service = service
        self.waiting = waiting
        self.deadline = settings.retry_timeout
        self.is_reached = False
        self._contact_timeout = settings.contact_timeout
        self._retries = settings.max_retries
        self._read_retries = settings.max_retries + settings.download_retries
        self._renewals = 0
        self._lock = ForkSafeLock()

    def read(self, verb: str, path: str, request: Callable[[], T]) -> T:
        """The response to a ``request`` without effects; raises the store contract's errors."""
        return self._send(Call(verb, path, Effect.NONE, self._read_retries), request)

    def prepare(self, verb: str, path: str, request: Callable[[], T], source: str = "") -> T:
        """Same as `read`, for a request whose effects nobody can observe (uploading a part)."""
        return self._send(Call(verb, path, Effect.HIDDEN, self._retries, source), request)

    def write(self, verb: str, path: str, request: Callable[[], T], source: str = "") -> T:
        """Same as `read`, for a write. Raises `OutcomeUnknownError` if it may have been applied."""
        return self._send(Call(verb, path, Effect.VISIBLE, self._retries, source), request)

    def _send(self, call: Call, request: Callable[[], T]) -> T:
        attempts: _Attempts | None = None
        start = self.waiting.monotonic()
        while True:
            renewals = self._renewals
            try:
                result = request()
            except RequestError as error:
                failed = error
            else:
                self.is_reached = True
                return result
            # Raise outside of the except block, so that the error does not reference the SDK's
            # error.
            attempts = attempts or _Attempts(self, call, start)
            attempts.settle(failed, renewals)

    def deadline_after(self, error: RequestError) -> float:
        """Seconds from the first attempt of a call until its last retry, after ``error``."""
        limit = error.contact_timeout
        if self.is_reached or limit is None:
            return self.deadline
        if limit and self._contact_timeout is not None:
            limit = self._contact_timeout
        return min(self.deadline, limit)

    def renew(self, seen: int) -> bool:
        """Renew the credentials, unless another thread did so after the renewal number ``seen``."""
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
        """Return when it is time to send the request again, or raise the error of the call."""
        _log.debug("%s %r: %s: %s", self._call.verb, self._call.path, error.failure.value, error)
        self._failures += 1
        if error.contact_timeout is None:
            self._sender.is_reached = True
        if error.failure is Failure.UNKNOWN and self._call.effect is Effect.VISIBLE:
            self._is_open = True
        if error.failure is Failure.EXPIRED:
            try:
                is_renewed = self._renewals < MAX_RENEWALS and self._sender.renew(renewals)
            except RequestError as failed:
                error = failed
            except LanceError as failed:  # a configuration error does not settle the outcome
                error = RequestError(Failure.REFUSED, f"{error.text}; {failed}")
            else:
                self._renewals += 1
                if is_renewed:
                    return
        pause = self._pause(error)
        if pause is None:
            raise self._outcome(error)
        if OBSERVERS:
            service, failure = self._sender.service.name, error.failure.value
            count("lance.store.retries", service=service, failure=failure)
        self._sender.waiting.sleep(pause)

    def _pause(self, error: RequestError) -> float | None:
        """Seconds until the next attempt; None if there are no more attempts."""
        retried = self._failures - self._renewals
        if error.failure not in _SENT_AGAIN or retried > self._call.retries:
            return None
        waiting = self._sender.waiting
        pause = backoff(retried, FIRST_PAUSE, MAX_PAUSE, waiting.random)
        pause += error.retry_after or 0.0
        if waiting.monotonic() - self._start + pause > self._sender.deadline_after(error):
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
                changed = self._call.source or path
                return CorruptFileError("the object was replaced while it was read", changed)
            case Failure.UNSUPPORTED:
                return UnsupportedFeatureError(text)
        return StoreError(text)
