"""Notes of an actor: how its commits ended and what it read. Invariants judge them.

Transactions are known by their uuids. Notes are values, so that equal histories meet in one state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit was acknowledged as ``version``; ``added`` are the data files that it brought in."""

    transaction: str
    version: int
    added: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NotCommitted:
    """A commit ended in the error ``kind``, all of which say: definitely not applied."""

    transaction: str
    kind: str
    added: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A commit ended in `CommitUnknownError`."""

    transaction: str


@dataclass(frozen=True, slots=True)
class Read:
    """A reader saw ``version``.

    ``digest`` is that of the manifest file. ``missing`` names a file that the version needs and
    that was not there, "" if all were.
    """

    version: int
    digest: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """Something other than a commit ended well (``kind`` is ""), or in an error that may happen."""

    what: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """An actor ended in an exception that its contract does not allow."""

    error: str


Outcome: TypeAlias = Committed | NotCommitted | Unknown
