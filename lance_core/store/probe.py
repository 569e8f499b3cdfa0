"""Finding out what a store really guarantees, by trying it.

Servers that call themselves compatible accept conditional writes and ignore the condition. A claim
that two commits rest on is therefore tried before it is relied upon.
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
"""Where the sentinels are made, below the root of the store."""

WRITERS = 4
RACES = 2
"""Writers that try to make the same object at the same time, and how often they do."""

TRIALS = 8
SLOW = 10.0
"""How often something is tried whose outcome stays open; not again if it took so many seconds."""


def probe(store: ObjectStore, new_uuid: Callable[[], uuid.UUID] = uuid.uuid4) -> StoreCapabilities:
    """``store.capabilities``, with what can be tried replaced by what was seen.

    put-if-absent is always tried, rename-if-absent and copy-if-absent unless they are declared NO.
    A second object must not be made where one is: one that was made on the same condition, one that
    was simply written, one that was made where another had been deleted; and of several that are
    made at the same time exactly one must remain. What is there must stay as it was. The objects
    are removed afterwards, as far as possible. Needs the right to write; any `StoreError` but a
    refusal of a second object is passed on. A trial in which an answer is lost shows nothing, and
    is made again at another path, `TRIALS` times at most.

    Passing proves nothing about a store that is right most of the time. Failing proves that it is
    not to be trusted.
    """
    declared = store.capabilities
    seen = replace(declared, put_if_absent=_attempted(store, _put, new_uuid))
    if declared.rename_if_absent is not Guarantee.NO:
        seen = replace(seen, rename_if_absent=_attempted(store, _rename, new_uuid))
    if declared.copy_if_absent is not Guarantee.NO:
        seen = replace(seen, copy_if_absent=_attempted(store, _copy, new_uuid))
    return seen


_Write: TypeAlias = Callable[[ObjectStore, str, bytes], None]
"""Makes an object with this content at a path, if nothing is there."""

_Check: TypeAlias = Callable[["_Trial"], bool]
"""Whether what was tried went as it should."""


class _NoAnswerError(StoreError):
    """An object was refused though nothing was there: an answer was lost on the way."""


def _attempted(store: ObjectStore, write: _Write, new_uuid: Callable[[], uuid.UUID]) -> Guarantee:
    """Whether ``write`` can be relied upon."""
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
    """What ``check`` finds where every answer arrives."""
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
    """Attempts to make objects at ``path``, and what is seen of them."""

    def __init__(self, store: ObjectStore, write: _Write, path: str) -> None:
        self._store = store
        self._write = write
        self._path = path
        self._used = {path}

    def keeps_what_is_there(self) -> bool:
        """Whether an object stays as it is, however it was made."""
        if not self.made(b"1"):
            raise _NoAnswerError(f"{self._path!r} is refused, and nothing was there")
        return self.stays(b"1") and self.stays_if_put(b"2") and self.stays_after_a_deletion(b"3")

    def has_one_winner(self) -> bool:
        """Whether exactly one of several writers at the same time makes an object."""
        contents = [b"%d" % number for number in range(WRITERS)]
        path, barrier = f"{self._path}-race", Barrier(WRITERS)
        with ThreadPoolExecutor(WRITERS) as pool:
            won = list(pool.map(partial(self._race, barrier, path), contents))
        if won.count(True) > 1:
            return False
        if won.count(False) == WRITERS:
            raise _NoAnswerError(f"{path!r} is refused to all, and nothing was there")
        # Two that know how it went make a race.
        if won.count(None) > WRITERS - 2:
            raise OutcomeUnknownError(f"nobody knows who made {path!r}: answers were lost")
        there = _content(self._store, path)
        winners = [content for content, outcome in zip(contents, won, strict=True) if outcome]
        losers = [c for c, outcome in zip(contents, won, strict=True) if outcome is False]
        return there in (winners or contents) and there not in losers

    def made(self, content: bytes) -> bool:
        """Whether an object was made, and not refused because one was there.

        Nobody else writes it: where the answer was lost, what is there tells.
        """
        made = self._made(content, self._path)
        if made is not None:
            return made
        there = _content(self._store, self._path)
        if not there:
            raise OutcomeUnknownError(f"{self._path!r} may have been made: an answer was lost")
        return there == content

    def _made(self, content: bytes, path: str) -> bool | None:
        """The same for an object at ``path``, as far as an answer tells it."""
        self._used |= {path, _source(path, content)}
        try:
            self._write(self._store, path, content)
        except ObjectExistsError:
            return False
        except OutcomeUnknownError:
            return None
        return True

    def stays(self, content: bytes) -> bool:
        """Whether the object that is there withstands an attempt to make another."""
        return not self.made(b"other") and _content(self._store, self._path) == content

    def stays_if_put(self, content: bytes) -> bool:
        """The same for an object that was written without a condition."""
        self._store.put(self._path, content)
        return self.stays(content)

    def stays_after_a_deletion(self, content: bytes) -> bool:
        """The same for an object that was made where another had been deleted."""
        try:
            self._store.delete(self._path)
        except OutcomeUnknownError:
            raise
        except StoreError:
            return True  # who may not delete anything cannot come across such an object
        # A store that remembers what was deleted and refuses replaces nothing either.
        return not self.made(content) or self.stays(content)

    def _race(self, barrier: Barrier, path: str, content: bytes) -> bool | None:
        barrier.wait()
        return self._made(content, path)

    def tidy_up(self) -> None:
        """Remove what was made, as far as possible."""
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
    """Where an object waits that is to be moved or copied to ``path``."""
    return f"{path}-{content.decode()}"
