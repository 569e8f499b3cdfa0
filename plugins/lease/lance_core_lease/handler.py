"""Committing under a lease: a lock that ends by itself if its holder dies.

The data may be on a store that guarantees nothing but strong reads, and the lease on another that
guarantees put-if-absent (`lance_core_lease.store_leases`). An expired lease cannot
publish: right before a manifest is sent, the holder makes sure that its lease lasts longer than the
write can be under way. Why that is enough is in ``docs/design/0006-leases.md``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Protocol

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.commits.handlers.exclusive import REQUEST_LIFETIME, ExclusiveWriter
from lance_core.errors import (
    CommitConflictError,
    CommitLockError,
    InvalidInputError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore

LONGEST = 1800.0
"""Seconds; no term of a lease may be longer. Old records of leases rely on it."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """What the writers of a table agree on, all in seconds.

    ``duration``: how long a lease lasts unless it is renewed. ``request_lifetime``: how long after
    it was sent a write to the table's store may still be applied, at most. ``patience``: how long a
    writer waits for the lease of others before its commit fails; to be longer than a dead writer
    holds it, and shorter than the deadline of commits. A writer that died holds up the
    others for ``duration + request_lifetime``. Raises `InvalidInputError` for terms that cannot
    work.
    """

    duration: float = 150.0
    request_lifetime: float = REQUEST_LIFETIME
    patience: float = 300.0

    def __post_init__(self) -> None:
        for name in ("duration", "request_lifetime", "patience"):
            value = getattr(self, name)
            if not 0 < value <= LONGEST:
                raise InvalidInputError(f"{name} of a lease is {value} seconds")
        if self.duration <= self.request_lifetime:
            raise InvalidInputError(
                f"a lease of {self.duration} seconds ends before a write that may take "
                f"{self.request_lifetime} seconds"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Lease:
    """The right to commit, as long as something ``remains`` of it.

    ``number`` grows from each lease to the next, renewals included. ``token`` is its holder's
    alone. ``duration`` in seconds. ``elapsed`` returns the seconds since a moment before the lease
    was asked for (`Environment.stopwatch`).
    """

    number: int
    token: str
    duration: float
    elapsed: Callable[[], float]

    @property
    def remains(self) -> float:
        """Seconds until it ends; negative afterwards."""
        return self.duration - self.elapsed()


class LeaseStore(Protocol):
    """Where leases are kept. At most one is held at any time; it is lost only by time or release.

    Each method ends by returning, or raises `StoreError` or whatever the store below raises; then
    nothing may be concluded but that the caller holds no new lease.
    """

    def acquire(self) -> Lease:
        """A lease, once all earlier ones are released or long over.

        "Long over" means: their full duration, and the lifetime of a request beyond it, has passed
        by the clock of this process since they were first seen. Raises
        `RetryableCommitConflictError` if that takes too long.
        """

    def renew(self, lease: Lease) -> Lease:
        """The lease with its full duration again; `StoreError` if it was lost."""

    def release(self, lease: Lease) -> None:
        """Let the next one have it without waiting. Nothing may be sent under it any more."""


class LeaseCommitHandler(DirectoryCommitHandler):
    """Writes manifests while it holds a lease; see `ExclusiveWriter` for how.

    Requires ``strong_reads``. All writers of a table have to use the same leases. If the table's
    store guarantees put-if-absent, no commit is lost whatever becomes of the lease.
    """

    def __init__(
        self,
        store: ObjectStore,
        leases: LeaseStore,
        terms: LeaseTerms | None = None,
        environment: Environment = SYSTEM,
    ) -> None:
        super().__init__(store)
        self._leases = leases
        self._terms = terms or LeaseTerms()
        self._writer = ExclusiveWriter(store, environment, self._terms.request_lifetime)

    def commit(self, candidate: Candidate) -> ManifestLocation:
        """Make a version under a lease of its own; `CommitLockError` if there is none to be had."""
        holding = _Holding(self._acquired(), self._leases, self._terms.request_lifetime)
        try:
            location = self._writer.write(candidate, holding.make_last)
        except Exception:
            holding.release()  # what was sent has had its time, or cannot replace anything
            raise
        # Anything that is no Exception leaves at once, with a write perhaps under way: then the
        # lease is left to end by itself.
        is_late = holding.lease.remains <= 0
        holding.release()
        if is_late:
            raise OutcomeUnknownError(
                f"writing {candidate.path!r} took longer than the lease for it lasted"
            )
        return location

    def _acquired(self) -> Lease:
        try:
            return self._leases.acquire()
        except CommitConflictError:
            raise
        except Exception as error:
            raise CommitLockError(f"nothing was sent, there is no lease: {error}") from error


class _Holding:
    """A lease from when it is acquired until it is released, renewed where it would not last."""

    def __init__(self, lease: Lease, leases: LeaseStore, request_lifetime: float) -> None:
        self.lease = lease
        self._leases = leases
        self._request_lifetime = request_lifetime

    def make_last(self) -> None:
        """Make sure that the lease outlasts a write that is sent now, or raise `StoreError`."""
        if self.lease.remains < self._request_lifetime:
            try:
                self.lease = self._leases.renew(self.lease)
            except Exception as error:
                raise StoreError(f"the lease is lost, nothing was sent: {error}") from error
        if self.lease.remains < self._request_lifetime:
            raise StoreError("the lease would end before the write is over; nothing was sent")

    def release(self) -> None:
        """Let the next one have it."""
        with contextlib.suppress(Exception):  # then it ends by itself
            self._leases.release(self.lease)
