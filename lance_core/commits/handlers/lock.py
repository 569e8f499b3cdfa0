"""Commit under a lock that the caller provides, like pylance's ``commit_lock``.

A commit lock is called with the version and returns a context manager; only one writer at a time
may be inside it for a version. Every writer of the table must use the same lock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeAlias

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.commits.handlers.exclusive import REQUEST_LIFETIME, ExclusiveWriter
from lance_core.errors import (
    CommitConflictError,
    CommitLockError,
    NoSafeCommitHandlerError,
    OutcomeUnknownError,
    RetryableCommitConflictError,
    warn_caller,
)
from lance_core.store.base import Guarantee, ObjectStore

CommitLock: TypeAlias = Callable[[int], AbstractContextManager[object]]
"""Takes the version to commit. The context manager is entered before the version is looked up and
left when the outcome is known; it receives the exception if nothing was committed. It raises
`CommitConflictError` if another writer holds the lock."""


class LockCommitHandler(DirectoryCommitHandler):
    """Writes manifests inside a commit lock; see `ExclusiveWriter`.

    If the store guarantees put-if-absent, no commit is lost even if the lock fails. Otherwise
    commits are safe if the lock excludes other writers while it is held and, if its holder dies,
    for ``request_lifetime`` further seconds: requests of the holder may take effect until then. A
    lock that expires must outlast the commit (resolving lost responses takes up to three request
    lifetimes); otherwise a commit can be lost.
    """

    keeps_contract = True

    def __init__(
        self,
        store: ObjectStore,
        lock: CommitLock,
        environment: Environment = SYSTEM,
        request_lifetime: float = REQUEST_LIFETIME,
    ) -> None:
        super().__init__(store, environment)
        self._lock = lock
        self._writer = ExclusiveWriter(store, environment, request_lifetime)

    def check_can_commit(self) -> None:
        if self.store.capabilities.strong_reads is Guarantee.NO:
            raise NoSafeCommitHandlerError(
                f"a commit lock does not help on {self.store!r}: under the lock, a writer may not "
                "see what was written before"
            )

    def commit(self, candidate: Candidate) -> ManifestLocation:
        """Publish a version under the lock.

        Raises `CommitConflictError` if entering the lock raises it, `CommitLockError` for any other
        error on entering, and what every handler raises.
        """
        self.check_can_commit()
        held = _enter(self._lock, candidate.version)
        try:
            location = self._writer.write(candidate, permit=lambda: None)
        except BaseException:
            _leave(held, *sys.exc_info())
            raise
        problem = _leave(held, None, None, None)
        if problem is not None:
            # The lock may have been lost before that; reading the manifest shows the outcome.
            raise OutcomeUnknownError(f"leaving the commit lock failed: {problem}") from problem
        return location


def locked(
    commit_lock: object,
    store: ObjectStore,
    handler: CommitHandler,
    environment: Environment = SYSTEM,
) -> CommitHandler:
    """The handler that uses ``commit_lock``; ``handler`` unchanged if ``commit_lock`` is None.

    ``handler`` is the table's own handler, ``store`` is rooted at the table. If the store
    guarantees less or more than it declares, the caller wraps it (`DeclaredStore`). As in pylance,
    the lock replaces the table's own commit mechanism, and versions are found in its folder. Raises
    ``TypeError`` if ``commit_lock`` is not callable.
    """
    if commit_lock is None:
        return handler
    if not callable(commit_lock):
        raise TypeError(f"commit_lock must be a function, got {type(commit_lock)}")
    return LockCommitHandler(store, commit_lock, environment)


def _enter(lock: CommitLock, version: int) -> AbstractContextManager[object]:
    try:
        held = lock(version)
        held.__enter__()
    except CommitConflictError:
        raise
    except Exception as error:
        if type(error).__name__ == CommitConflictError.__name__:  # pylance's own
            error_type = (
                RetryableCommitConflictError
                if getattr(error, "retryable", True)
                else CommitConflictError
            )
            raise error_type(str(error) or "the commit lock is held by another writer") from error
        raise CommitLockError(
            f"nothing was committed, the commit lock failed: {type(error).__name__}: {error}"
        ) from error
    return held


def _leave(
    held: AbstractContextManager[object],
    error_type: type[BaseException] | None,
    value: BaseException | None,
    trace: TracebackType | None,
) -> Exception | None:
    """Leave the lock; return the error that this raises, unless it is the exception passed in."""
    try:
        held.__exit__(error_type, value, trace)
    except Exception as error:
        if error is value:
            return None
        warn_caller(f"leaving the commit lock failed: {error!r}")
        return error
    return None
