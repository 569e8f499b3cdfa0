"""Leases as objects of a store that guarantees put-if-absent.

Each lease, renewal and release is a record with the next number, which is never changed; the record
with the highest number identifies the holder. Put-if-absent lets exactly one writer create the next
record. A newly created record always has the highest number, because the numbers of removed records
are not reused while a writer may still try to create them: a record is removed only after a
thousand later ones, and long after the time in which a writer may create a record after listing
(`FRESH`, or the duration of a lease).

Clocks of different machines are never compared: a waiting writer measures with its own clock how
long ago it first saw the lease.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

from lance_core.errors import (
    CorruptFileError,
    ExistsError,
    NoSafeCommitHandlerError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    RetryableCommitConflictError,
    StoreError,
)
from lance_core.hookspecs.commits import SYSTEM, Environment
from lance_core.hookspecs.concurrency import backoff
from lance_core.hookspecs.stores import Guarantee, ObjectStore, PutMode
from lance_core_lease.handler import MAX_TERM, Lease, LeaseTerms

FOLDER = "_leases"
"""The folder of records, below the root of the store."""

FRESH = 60.0
"""Maximum seconds between listing the records and creating the next one, or the duration of the
lease if that is longer. A later record is not valid for its writer."""

KEPT_SECONDS = 3600.0
KEPT_RECORDS = 1000
"""Minimum age in seconds, by the store's dates, of a record to remove, and minimum number of newer
records that are kept."""

REMOVED_EVERY = 256
"""The writer of every record with a multiple of this number removes old records."""

FIRST_PAUSE, MAX_PAUSE = 0.01, 4.0
"""Seconds; upper bounds of the pause between the first two checks of another writer's lease, and
between any two checks."""

MAX_BYTES = 4096
"""Maximum length of a record in bytes."""

_LAST = (1 << 64) - 1
_NAME = re.compile(r"([0-9]{20})\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Record:
    """A stored record. ``token`` is None for a release; the times are in seconds."""

    number: int
    token: str | None
    duration: float
    request_lifetime: float

    @property
    def path(self) -> str:
        """The path of the record; the newest record sorts first."""
        return f"{FOLDER}/{_LAST - self.number:020}.json"

    @property
    def lasts(self) -> float:
        """Seconds after which no write that was sent under the lease can be pending."""
        return 0.0 if self.token is None else self.duration + self.request_lifetime

    def to_json(self) -> bytes:
        return json.dumps(
            {
                "token": self.token,
                "duration": self.duration,
                "request_lifetime": self.request_lifetime,
            }
        ).encode()


class StoreLeases:
    """A `LeaseStore` of one table: records in the folder `FOLDER` of ``store``.

    The store must guarantee ``put_if_absent`` and ``strong_reads``; otherwise raises
    `NoSafeCommitHandlerError`. Thread-safe; each thread acquires its own leases.
    """

    def __init__(
        self,
        store: ObjectStore,
        terms: LeaseTerms | None = None,
        environment: Environment = SYSTEM,
    ) -> None:
        missing = {"put_if_absent", "strong_reads"} - store.capabilities.guaranteed()
        if missing:
            lacks = " and ".join(sorted(missing))
            raise NoSafeCommitHandlerError(f"leases cannot be kept in {store!r}: it lacks {lacks}")
        self._store = store
        self._terms = terms or LeaseTerms()
        self._environment = environment

    def acquire(self) -> Lease:
        now = self._environment.monotonic
        started, looks = now(), 0
        fresh = self._environment.stopwatch()
        seen = self._newest()
        since = now()  # start the clock after the record was seen, not before
        while True:
            if seen is None or now() - since >= seen.lasts:
                lease = self._made(0 if seen is None else seen.number, fresh)
                if lease is not None:
                    return lease
            if now() - started >= self._terms.patience:
                raise RetryableCommitConflictError(
                    f"other writers have held the lease for {self._terms.patience} seconds"
                )
            looks += 1
            random = self._environment.random
            self._environment.sleep(backoff(looks, FIRST_PAUSE, MAX_PAUSE, random))
            fresh = self._environment.stopwatch()
            newest = self._newest()
            if newest != seen:
                seen, since, looks = newest, now(), 0

    def renew(self, lease: Lease) -> Lease:
        if lease.remains <= 0:  # its record may have been removed
            raise StoreError("the lease has expired")
        renewed = self._made(lease.number, lease.elapsed)
        if renewed is None:
            raise StoreError("another writer has taken the lease over")
        return renewed

    def release(self, lease: Lease) -> None:
        if lease.remains > 0:
            marker = _Record(lease.number + 1, None, 0.0, 0.0)
            with contextlib.suppress(ExistsError):  # the request was sent twice
                self._store.put(marker.path, marker.to_json(), PutMode.create)

    def _made(self, last: int, fresh: Callable[[], float]) -> Lease | None:
        """Create the lease after number ``last``; None if another writer created that record.

        ``fresh`` returns the seconds since a time before ``last`` was read as the highest number.
        Each attempt has its own token: other writers measure the duration of a record from when
        they saw it, so this writer must not take a late record of an earlier attempt for the
        current one.
        """
        token, terms = str(self._environment.new_uuid()), self._terms
        elapsed = self._environment.stopwatch()
        record = _Record(last + 1, token, terms.duration, terms.request_lifetime)
        try:
            self._store.put(record.path, record.to_json(), PutMode.create)
        except (ExistsError, OutcomeUnknownError):
            try:
                is_ours = self._read(record.number) == record
            except ObjectNotFoundError:
                is_ours = False
            if not is_ours:
                return None
        if fresh() > max(FRESH, terms.duration):
            return None
        if record.number % REMOVED_EVERY < 2:  # usually, every second record is a release
            self._remove_old()
        return Lease(record.number, token, terms.duration, elapsed)

    def _newest(self) -> _Record | None:
        """The record with the highest number."""
        names = (name for name in self._store.list_names(FOLDER) if _NAME.fullmatch(name))
        if self._store.capabilities.ordered_list is Guarantee.YES:
            newest = next(names, None)
        else:
            newest = min(names, default=None)
        return None if newest is None else self._read(_LAST - int(newest[:20]))

    def _read(self, number: int) -> _Record:
        """Read a record; `CorruptFileError` if the file is invalid, which a person must repair."""
        path = _Record(number, None, 0.0, 0.0).path
        data = self._store.get(path)
        record = _parsed(number, data.to_pybytes()) if data.size <= MAX_BYTES else None
        if record is None:
            raise CorruptFileError(
                "this is not a lease; remove the file while nobody writes to the table", path
            )
        return record

    def _remove_old(self) -> None:
        """Remove records that no writer needs; a failure is harmless."""
        with contextlib.suppress(Exception):
            metas = sorted(self._store.list(FOLDER), key=lambda meta: meta.path)
            for newer, meta in itertools.pairwise(metas[KEPT_RECORDS:]):
                age = (metas[0].last_modified - newer.last_modified).total_seconds()
                if age > KEPT_SECONDS:
                    self._store.delete(meta.path)


def _parsed(number: int, data: bytes) -> _Record | None:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    token = fields.get("token")
    duration, request_lifetime = fields.get("duration"), fields.get("request_lifetime")
    if not (token is None or isinstance(token, str)):
        return None
    if not (_is_term(duration) and _is_term(request_lifetime)):
        return None
    return _Record(number, token, float(duration), float(request_lifetime))


def _is_term(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 <= value <= MAX_TERM
