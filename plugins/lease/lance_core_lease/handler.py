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
"""Seconds; the maximum of every term. Removing old records relies on it."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """What the writers of a table agree on, all in seconds.

    ``duration``: how long a lease lasts unless it is renewed. ``request_lifetime``: the table's
    store applies a write within this time after it was sent, or never. ``patience``: how long a
    writer waits for the leases of others before its commit fails; choose it longer than
    ``duration + request_lifetime``, for which a dead writer blocks the others, and shorter than the
    deadline of commits. Raises `InvalidInputError` for terms that contradict each other.
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
    """The right to commit while ``remains`` is positive.

    ``number`` grows from each lease to the next, renewals included. ``token`` identifies the
    holder. ``duration`` is in seconds. ``elapsed`` returns the seconds since a moment before the
    lease was requested (`Environment.stopwatch`).
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
    """Keeps the leases of a table. At most one is held at any time; it ends by time or by release.

    If a method raises `StoreError` or an error of the store below, the caller holds no new lease;
    nothing else may be concluded.
    """

    def acquire(self) -> Lease:
        """A new lease, as soon as every earlier one is released or has expired.

        A lease has expired when its duration and the lifetime of a request have passed since this
        process first saw it, by the clock of this process. Raises `RetryableCommitConflictError`
        if that takes too long.
        """

    def renew(self, lease: Lease) -> Lease:
        """The lease with its full duration again; `StoreError` if it was lost."""

    def release(self, lease: Lease) -> None:
        """End the lease for the next writer. Nothing may be sent under it afterwards."""


class LeaseCommitHandler(DirectoryCommitHandler):
    """Writes manifests while it holds a lease; see `ExclusiveWriter` for how.

    Requires ``strong_reads``. All writers of a table have to use the same leases. If the table's
    store guarantees put-if-absent, no commit is lost even if the lease is.
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
        """Make a version under a new lease; `CommitLockError` if none can be acquired."""
        holding = _Holding(self._acquired(), self._leases, self._terms.request_lifetime)
        try:
            location = self._writer.write(candidate, holding.make_last)
        except Exception:
            holding.release()  # no write is under way that could replace a manifest
            raise
        # After a KeyboardInterrupt or the like a write may be under way: the lease is not released
        # and expires.
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
    """A lease between acquire and release, renewed if it would expire during a write."""

    def __init__(self, lease: Lease, leases: LeaseStore, request_lifetime: float) -> None:
        self.lease = lease
        self._leases = leases
        self._request_lifetime = request_lifetime

    def make_last(self) -> None:
        """Raise `StoreError` unless the lease, renewed if need be, outlasts a write sent now."""
        if self.lease.remains < self._request_lifetime:
            try:
                self.lease = self._leases.renew(self.lease)
            except Exception as error:
                raise StoreError(f"the lease is lost, nothing was sent: {error}") from error
        if self.lease.remains < self._request_lifetime:
            raise StoreError("the lease would end before the write is over; nothing was sent")

    def release(self) -> None:
        """Release the lease."""
        with contextlib.suppress(Exception):  # it expires
            self._leases.release(self.lease)
