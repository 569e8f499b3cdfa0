"""Commits: the type of commit locks, and the resolution of unknown outcomes.

The names are those of pylance's ``lance.commit``, and `resolve`.
"""

from lance_core.commits.handlers.lock import CommitLock
from lance_core.dataset.resolve_outcome import resolve
from lance_core.errors import CommitConflictError, CommitUnknownError

__all__ = ["CommitConflictError", "CommitLock", "CommitUnknownError", "resolve"]
