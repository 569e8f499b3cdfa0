"""Commit under a lease: a lock that expires if its holder dies.

The store of the table need only guarantee strong reads, if the store of the leases guarantees
put-if-absent (`lance_core_lease.store_leases`). The holder of an expired lease cannot publish:
right before it sends a manifest, it checks that its lease outlasts the write.
``docs/design/0006-leases.md`` explains why this suffices.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lance_core.errors import (
    CommitConflictError,
    CommitLockError,
    InvalidInputError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.hookspecs.commits import (
    REQUEST_LIFETIME,
    SYSTEM,
    Candidate,
    DirectoryCommitHandler,
    Environment,
    ExclusiveWriter,
    ManifestLocation,
)
from lance_core.hookspecs.stores import ObjectStore

MAX_TERM = 1800.0
"""Maximum of every term in seconds. The removal of old records relies on it."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The terms that all writers of a table must share, in seconds.

    ``duration``: lifetime of a lease without renewal. ``request_lifetime``: the table's store
    applies a write within this time after it was sent, or never. ``patience``: maximum time for
    which a writer waits for the leases of others before its commit fails. Choose it longer than
    ``duration + request_lifetime``, the time for which a dead writer blocks the others, and shorter
    than the commit deadline. Raises `InvalidInputError` for terms that contradict each other.
    """

    duration: float = 150.0
    request_lifetime: float = REQUEST_LIFETIME
    patience: float = 300.0

    def __post_init__(self) -> None:
        for name in ("duration", "request_lifetime", "patience"):
            value = getattr(self, name)
            if not 0 < value <= MAX_TERM:
                raise InvalidInputError(f"{name} of a lease is {value} seconds")
        if self.duration <= self.request_lifetime:
            raise InvalidInputError(
                f"a lease of {self.duration} seconds ends before a write that may take "
                f"{self.request_lifetime} seconds"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Lease:
    """The right to commit while ``remains`` is positive.

    ``number`` increases with each lease and renewal. ``token`` identifies the holder. ``duration``
    is in seconds. ``elapsed`` returns the seconds since a time before the lease was requested
    (`Environment.stopwatch`).
    """

    number: int
    token: str
    duration: float
    elapsed: Callable[[], float]

    @property
    def remains(self) -> float:
        """Seconds until the lease expires; negative afterwards."""
        return self.duration - self.elapsed()


class LeaseStore(Protocol):
    """Manages the leases of a table. At most one is held at any time; it ends by expiry or release.

    If a method raises `StoreError` or an error of the underlying store, the caller has no new
    lease; nothing else follows from the error.
    """

    def acquire(self) -> Lease:
        """Wait until every earlier lease is released or has expired, and return a new lease.

        A lease has expired when its duration plus the request lifetime have passed since this
        process first saw it, by the clock of this process. Raises `RetryableCommitConflictError` if
        this takes too long.
        """

    def renew(self, lease: Lease) -> Lease:
        """Renew the lease for its full duration; `StoreError` if it was lost."""

    def release(self, lease: Lease) -> None:
        """End the lease for the next writer. The holder must not send any write afterwards."""


class LeaseCommitHandler(DirectoryCommitHandler):
    """Writes manifests while it holds a lease; see `ExclusiveWriter`.

    Requires ``strong_reads``. All writers of a table must use the same leases. If the table's store
    guarantees put-if-absent, no commit is lost even if a lease fails.
    """

    def __init__(
        self,
        store: ObjectStore,
        leases: LeaseStore,
        terms: LeaseTerms | None = None,
        environment: Environment = SYSTEM,
    ) -> None:
        super().__init__(store, environment)
        self._leases = leases
        self._terms = terms or LeaseTerms()
        self._writer = ExclusiveWriter(store, environment, self._terms.request_lifetime)

    def commit(self, candidate: Candidate) -> ManifestLocation:
        """Publish a version under a new lease; `CommitLockError` if none can be acquired."""
        holding = _Holding(self._acquired(), self._leases, self._terms.request_lifetime)
        try:
            location = self._writer.write(candidate, holding.make_last)
        except Exception:
            holding.release()  # no pending write could replace a manifest
            raise
        # After a KeyboardInterrupt or similar, a write may be pending: the lease is not released
        # but expires.
        is_late = holding.lease.remains <= 0
        holding.release()
        if is_late:
            raise OutcomeUnknownError(
                f"writing {candidate.path!r} took longer than its lease lasted"
            )
        return location

    def _acquired(self) -> Lease:
        try:
            return self._leases.acquire()
        except CommitConflictError:
            raise
        except Exception as error:
            raise CommitLockError(f"nothing was sent, no lease was acquired: {error}") from error


class _Holding:
    """A lease between acquire and release, renewed if it would expire during a write."""

    def __init__(self, lease: Lease, leases: LeaseStore, request_lifetime: float) -> None:
        self.lease = lease
        self._leases = leases
        self._request_lifetime = request_lifetime

    def make_last(self) -> None:
        """Raise `StoreError` unless the lease, renewed if necessary, outlasts a write sent now."""
        if self.lease.remains < self._request_lifetime:
            try:
                self.lease = self._leases.renew(self.lease)
            except Exception as error:
                raise StoreError(f"the lease is lost, nothing was sent: {error}") from error
        if self.lease.remains < self._request_lifetime:
            raise StoreError("the lease would expire before the write ends; nothing was sent")

    def release(self) -> None:
        """Release the lease."""
        with contextlib.suppress(Exception):  # it expires
            self._leases.release(self.lease)
