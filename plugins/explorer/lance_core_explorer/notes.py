"""Notes of an actor: outcomes of its commits and results of its reads. Invariants judge them.

Notes identify transactions by their uuids. Notes are values, so equal histories lead to the same
state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit was acknowledged as ``version``; ``added`` are the data files that it added."""

    transaction: str
    version: int
    added: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NotCommitted:
    """A commit ended with the error ``kind``, which means that it was definitely not applied."""

    transaction: str
    kind: str
    added: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A commit ended with `CommitUnknownError`."""

    transaction: str


@dataclass(frozen=True, slots=True)
class Read:
    """A reader saw ``version``.

    ``digest``: digest of the manifest file. ``missing``: a file of the version that did not exist,
    or "".
    """

    version: int
    digest: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """An operation that is not a commit succeeded (``kind`` is "") or failed as allowed."""

    what: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """An actor ended with an exception that its contract does not allow."""

    error: str


Outcome: TypeAlias = Committed | NotCommitted | Unknown
