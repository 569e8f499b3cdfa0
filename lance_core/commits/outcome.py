"""Settling what became of a commit: committed, lost to another writer, or unknown.

A conditional write that reports "exists" may have met the object that an earlier sending of the
same write left behind, and one that reports nothing may have been applied. So neither is believed:
the manifest that holds the version is read, and whoever's transaction is in it has committed.
Sending the same candidate again is harmless, and it is the only way to learn more when nothing is
there yet: an unanswered write may still land.
"""

from __future__ import annotations

import contextlib
import enum

import pyarrow as pa

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.environment import Environment
from lance_core.concurrency.backoff import backoff
from lance_core.errors import (
    CommitConflictError,
    CommitError,
    CommitLockError,
    CommitUnknownError,
    InvalidInputError,
    NoSafeCommitHandlerError,
    NotFoundError,
    OutcomeUnknownError,
    PluginError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.table.manifest.file import parse_manifest_file

SENDINGS = 4
"""How often one candidate is sent before its fate is called unknown."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds; the longest pause before the second sending, and before any."""

NEVER_SENT = (
    CommitConflictError,
    CommitLockError,
    InvalidInputError,
    NoSafeCommitHandlerError,
    PluginError,
    UnsupportedFeatureError,
)
"""Errors that say that nothing was tried."""


class CommittedBy(enum.Enum):
    """Who holds a version."""

    US = enum.auto()
    ANOTHER = enum.auto()
    NOBODY = enum.auto()
    UNREADABLE = enum.auto()


@dataclass(frozen=True, slots=True)
class Publication:
    """Where a candidate has become its version.

    ``is_certain``: every sending was answered, so that none can land later.
    """

    location: ManifestLocation
    is_certain: bool


def publish(
    handler: CommitHandler, store: ObjectStore, candidate: Candidate, environment: Environment
) -> Publication | None:
    """Make ``candidate`` its version, or return None if another commit holds the version.

    Raises `CommitUnknownError` if it can be neither confirmed nor excluded, `CommitError` if the
    store refused it for good, and what `NEVER_SENT` lists. In all cases but *unknown* the handler
    is told to discard what it left.
    """
    try:
        publication = _settled(handler, store, candidate, environment)
    except CommitUnknownError:
        raise
    except Exception:
        discard(handler, candidate)
        raise
    if publication is None:
        discard(handler, candidate)
    return publication


def discard(handler: CommitHandler, candidate: Candidate) -> None:
    """Have the handler remove its leftovers; what cannot be removed is left to cleanup."""
    with contextlib.suppress(Exception):  # the outcome is certain, and it is what matters
        handler.discard(candidate)


def _settled(
    handler: CommitHandler, store: ObjectStore, candidate: Candidate, environment: Environment
) -> Publication | None:
    in_doubt = False
    cause: Exception | None = None
    for sending in range(SENDINGS):
        if sending:
            environment.sleep(backoff(sending, FIRST_PAUSE, LONGEST_PAUSE, environment.random))
        try:
            return Publication(handler.commit(candidate), is_certain=not in_doubt)
        except NEVER_SENT as error:
            if in_doubt:
                raise _unknown(candidate, error) from error
            raise
        except Exception as error:
            cause = error
            if is_definitely_not_applied(error) and not in_doubt:
                continue
        holder, location = find_committer(handler, store, candidate)
        if holder is CommittedBy.ANOTHER:
            return None
        if holder is CommittedBy.US and location is not None:
            discard(handler, candidate)
            return Publication(location, is_certain=False)
        in_doubt = True
    if in_doubt:
        raise _unknown(candidate, cause) from cause
    raise CommitError(
        f"version {candidate.version} was not committed, the store refused it: {cause}"
    ) from cause


def is_definitely_not_applied(error: Exception) -> bool:
    """True if ``error`` proves that this sending was not applied, nor an earlier one was met."""
    return isinstance(error, StoreError | NotFoundError) and not isinstance(
        error, OutcomeUnknownError
    )


def find_committer(
    handler: CommitHandler, store: ObjectStore, candidate: Candidate
) -> tuple[CommittedBy, ManifestLocation | None]:
    """Whose commit the candidate's version is, and where it is if it is ours.

    Ours means the same transaction, byte by byte: a uuid alone could have been used twice.
    """
    try:
        location = handler.locate(candidate.version)
        data = store.get(location.path)
        if data.equals(pa.py_buffer(candidate.data)):
            return CommittedBy.US, location
        transaction = parse_manifest_file(data, location.path).transaction
    except NotFoundError:
        return CommittedBy.NOBODY, None
    except UnsupportedFeatureError:
        return CommittedBy.ANOTHER, None  # we write no manifest that we cannot read
    except Exception:
        return CommittedBy.UNREADABLE, None
    if transaction == candidate.transaction:
        return CommittedBy.US, location
    return CommittedBy.ANOTHER, None


def _unknown(candidate: Candidate, cause: Exception | None) -> CommitUnknownError:
    return CommitUnknownError(
        f"whether version {candidate.version} was committed is unknown: {cause}. It was, exactly "
        f"if the manifest of that version carries transaction {candidate.transaction_uuid}: "
        "lance_core.commit.resolve looks; keep all files until then",
        candidate.transaction_uuid,
        candidate.version,
    )
