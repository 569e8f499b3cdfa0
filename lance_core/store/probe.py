"""Test what a store really guarantees.

Some servers that claim compatibility accept conditional writes and ignore the condition. So a
guarantee on which commits depend is tested before it is used.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Barrier
from typing import TypeAlias

from lance_core.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import Guarantee, ObjectStore, PutMode, StoreCapabilities

FOLDER = "_probe"
"""The folder of the test objects, below the root of the store."""

WRITERS = 4
RACES = 2
"""Number of writers that create the same object concurrently, and number of such races."""

TRIALS = 8
SLOW = 10.0
"""Maximum trials while the outcome stays unknown, and seconds after which a trial is not
repeated."""


def probe(store: ObjectStore, new_uuid: Callable[[], uuid.UUID] = uuid.uuid4) -> StoreCapabilities:
    """``store.capabilities`` with the testable values replaced by test results.

    Always tests put-if-absent, and rename-if-absent and copy-if-absent unless they are declared NO.
    An object must not be replaced, whether it was created with the same condition, written without
    a condition, or created after a deletion; and of several concurrent creations exactly one must
    succeed. Existing objects must stay unchanged. The test objects are removed afterwards, as far
    as possible. A trial with a lost response shows nothing and is repeated at another path, at
    most `TRIALS` times. Requires write permission. Raises any `StoreError` of the store, except the
    expected refusal of a second object.

    Passing does not prove that a store is always correct. Failing proves that the guarantee does
    not hold.
    """
    declared = store.capabilities
    seen = replace(declared, put_if_absent=_attempted(store, _put, new_uuid))
    if declared.rename_if_absent is not Guarantee.NO:
        seen = replace(seen, rename_if_absent=_attempted(store, _rename, new_uuid))
    if declared.copy_if_absent is not Guarantee.NO:
        seen = replace(seen, copy_if_absent=_attempted(store, _copy, new_uuid))
    return seen


_Write: TypeAlias = Callable[[ObjectStore, str, bytes], None]
"""Creates an object with this content at a path if the path is unused."""

_Check: TypeAlias = Callable[["_Trial"], bool]
"""Runs one trial; True if the store behaved as required."""


class _NoAnswerError(StoreError):
    """An object was refused at an unused path: a response was lost."""


def _attempted(store: ObjectStore, write: _Write, new_uuid: Callable[[], uuid.UUID]) -> Guarantee:
    """The guarantee of ``write`` according to the trials."""
    checks: list[_Check] = [_Trial.keeps_what_is_there, *([_Trial.has_one_winner] * RACES)]
    try:
        is_safe = all(_settled(store, write, check, new_uuid) for check in checks)
    except UnsupportedFeatureError:
        return Guarantee.NO
    except _NoAnswerError:
        return Guarantee.UNKNOWN
    return Guarantee.YES if is_safe else Guarantee.NO


def _settled(
    store: ObjectStore, write: _Write, check: _Check, new_uuid: Callable[[], uuid.UUID]
) -> bool:
    """The result of ``check`` in the first trial in which no response was lost."""
    for number in range(TRIALS):
        trial = _Trial(store, write, f"{FOLDER}/{new_uuid()}")
        start = time.monotonic()
        try:
            return check(trial)
        except (OutcomeUnknownError, _NoAnswerError):
            if number == TRIALS - 1 or time.monotonic() - start > SLOW:
                raise
        finally:
            trial.tidy_up()
    raise AssertionError("unreachable")


class _Trial:
    """Attempts to create objects at ``path``, and their results."""

    def __init__(self, store: ObjectStore, write: _Write, path: str) -> None:
        self._store = store
        self._write = write
        self._path = path
        self._used = set[str]()

    def keeps_what_is_there(self) -> bool:
        """True if an object is never replaced, independent of how it was created."""
        if not self.made(b"1"):
            raise _NoAnswerError(f"{self._path!r} is refused, and nothing was there")
        return self.stays(b"1") and self.stays_if_put(b"2") and self.stays_after_a_deletion(b"3")

    def has_one_winner(self) -> bool:
        """True if exactly one of several concurrent writers creates an object."""
        contents = [b"%d" % number for number in range(WRITERS)]
        path, barrier = f"{self._path}-race", Barrier(WRITERS)
        with ThreadPoolExecutor(WRITERS) as pool:
            won = list(pool.map(partial(self._race, barrier, path), contents))
        if won.count(True) > 1:
            return False
        if won.count(False) == WRITERS:
            raise _NoAnswerError(f"{path!r} is refused to all, and nothing was there")
        # A race needs at least two writers that know their outcome.
        if won.count(None) > WRITERS - 2:
            raise OutcomeUnknownError(f"nobody knows who made {path!r}: answers were lost")
        there = _content(self._store, path)
        winners = [content for content, outcome in zip(contents, won, strict=True) if outcome]
        losers = [c for c, outcome in zip(contents, won, strict=True) if outcome is False]
        return there in (winners or contents) and there not in losers

    def made(self, content: bytes) -> bool:
        """True if an object was created, False if it was refused because one exists.

        No other process writes to this path, so if the response was lost, reading the object shows
        the outcome.
        """
        made = self._made(content, self._path)
        if made is not None:
            return made
        there = _content(self._store, self._path)
        if not there:
            raise OutcomeUnknownError(f"{self._path!r} may have been made: an answer was lost")
        return there == content

    def _made(self, content: bytes, path: str) -> bool | None:
        """Like `made`, at ``path``; None if the response was lost."""
        self._used |= {path} if self._write is _put else {path, _source(path, content)}
        try:
            self._write(self._store, path, content)
        except ObjectExistsError:
            return False
        except OutcomeUnknownError:
            return None
        return True

    def stays(self, content: bytes) -> bool:
        """True if creating another object at the path is refused."""
        return not self.made(b"other") and _content(self._store, self._path) == content

    def stays_if_put(self, content: bytes) -> bool:
        """Like `stays`, for an object that was written without a condition."""
        self._store.put(self._path, content)
        return self.stays(content)

    def stays_after_a_deletion(self, content: bytes) -> bool:
        """Like `stays`, for an object that was created after a deletion."""
        try:
            self._store.delete(self._path)
        except OutcomeUnknownError:
            raise
        except StoreError:
            return True  # without permission to delete, this case never occurs
        # A store that refuses to reuse deleted paths replaces nothing either.
        return not self.made(content) or self.stays(content)

    def _race(self, barrier: Barrier, path: str, content: bytes) -> bool | None:
        barrier.wait()
        return self._made(content, path)

    def tidy_up(self) -> None:
        """Remove the test objects, as far as possible."""
        for path in sorted(self._used):
            with contextlib.suppress(StoreError, UnsupportedFeatureError):
                self._store.delete(path)


def _content(store: ObjectStore, path: str) -> bytes:
    try:
        return bytes(memoryview(store.get(path)))
    except ObjectNotFoundError:
        return b""


def _put(store: ObjectStore, path: str, content: bytes) -> None:
    store.put(path, content, PutMode.create)


def _rename(store: ObjectStore, path: str, content: bytes) -> None:
    source = _source(path, content)
    store.put(source, content)
    store.rename_if_absent(source, path)


def _copy(store: ObjectStore, path: str, content: bytes) -> None:
    source = _source(path, content)
    store.put(source, content)
    store.copy(source, path, PutMode.create)


def _source(path: str, content: bytes) -> str:
    """The path of the source that is moved or copied to ``path``."""
    return f"{path}-{content.decode()}"
