"""Commits: the lock that a caller may bring along, and what to do about an unknown outcome.

The names of pylance's ``lance.commit``, and `resolve`.
"""

from lance_core.commits.handlers.lock import CommitLock
from lance_core.dataset.resolve_outcome import resolve
from lance_core.errors import CommitConflictError, CommitUnknownError

__all__ = ["CommitConflictError", "CommitLock", "CommitUnknownError", "resolve"]
