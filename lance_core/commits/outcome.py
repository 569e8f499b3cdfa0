"""Determine the outcome of a commit: committed, lost to another writer, or unknown.

A conditional write that reports "exists" may have found the object of an earlier request for the
same write, and one without a response may have been applied. So neither result counts: the manifest
of the version is read, and the writer whose transaction it contains has committed.

Sending the same candidate again is harmless. If no manifest exists yet, it is the only way to learn
more, because an unanswered write may still take effect.
"""

from __future__ import annotations

import contextlib
import enum

import pyarrow as pa

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.checked_handler import checked, unchecked
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.directory import finds_by_name
from lance_core.commits.history import Version
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
"""Maximum number of times one candidate is sent before its outcome counts as unknown."""

FIRST_PAUSE, MAX_PAUSE = 0.1, 5.0
"""Seconds; upper bounds of the pause before the second request, and before any request."""

REFUSED = (CommitConflictError, CommitLockError, NoSafeCommitHandlerError)
"""Errors by which a handler says that it sent nothing."""

NEVER_SENT = (*REFUSED, InvalidInputError, PluginError, UnsupportedFeatureError)
"""Errors that prove that no request was sent, if the table does not have the candidate."""


class CommittedBy(enum.Enum):
    """The writer whose commit a version is."""

    US = enum.auto()
    ANOTHER = enum.auto()
    NOBODY = enum.auto()
    UNREADABLE = enum.auto()


@dataclass(frozen=True, slots=True)
class Publication:
    """The location of a published candidate.

    ``is_certain``: every request was answered, so none can take effect later.
    """

    location: ManifestLocation
    is_certain: bool


def publish(
    handler: CommitHandler, store: ObjectStore, candidate: Candidate, environment: Environment
) -> Publication | Version | None:
    """Publish ``candidate``; return the version itself if it belongs to another commit.

    Returns None if it does, and cannot be read by this library.

    Raises `CommitUnknownError` if the outcome cannot be determined, `CommitError` if the store
    definitely refused the write, and the errors in `NEVER_SENT`. Unless the outcome is unknown, the
    handler discards its temporary files.

    An error means *not committed* only if the handler raised it and the table does not have the
    candidate: handlers of plugins may err after they have applied it.
    """
    handler = checked(handler, store)
    try:
        publication = _settled(handler, store, candidate, environment)
    except CommitUnknownError:
        raise
    except Exception:
        discard(handler, candidate)
        raise
    if not isinstance(publication, Publication):
        discard(handler, candidate)
    return publication


def discard(handler: CommitHandler, candidate: Candidate) -> None:
    """Let the handler remove its temporary files; cleanup removes what this leaves."""
    with contextlib.suppress(Exception):  # the outcome is certain already
        handler.discard(candidate)


def _settled(
    handler: CommitHandler, store: ObjectStore, candidate: Candidate, environment: Environment
) -> Publication | Version | None:
    in_doubt = False
    cause: Exception | None = None
    for sending in range(SENDINGS):
        if sending:
            environment.sleep(backoff(sending, FIRST_PAUSE, MAX_PAUSE, environment.random))
        try:
            return Publication(handler.commit(candidate), is_certain=not in_doubt)
        except Exception as error:
            cause = error
        is_refused = not in_doubt and _is_refusal(cause)
        if is_refused and sending < SENDINGS - 1:
            continue  # sending it again gives the same information as a look at the table
        holder, read = find_committer(handler, store, candidate)
        if holder is CommittedBy.US and isinstance(read, ManifestLocation):
            discard(handler, candidate)
            return Publication(read, is_certain=False)
        if not in_doubt and _is_never_sent(cause, holder):
            raise cause
        if holder is CommittedBy.ANOTHER:
            return read if isinstance(read, Version) else None
        if isinstance(cause, NEVER_SENT):
            raise _unknown(candidate, cause) from cause
        in_doubt = in_doubt or not (is_refused or _is_absent(cause, holder))
    if in_doubt:
        raise _unknown(candidate, cause) from cause
    raise CommitError(
        f"version {candidate.version} was not committed, the store refused it: {cause}"
    ) from cause


def _is_refusal(error: Exception) -> bool:
    """True if a handler says by ``error`` that the store definitely did not apply a request."""
    return isinstance(error, StoreError) and not isinstance(error, OutcomeUnknownError)


def _is_absent(error: Exception, holder: CommittedBy) -> bool:
    """True if ``error`` says that something is missing, and the table lacks the candidate too."""
    return isinstance(error, NotFoundError) and holder is CommittedBy.NOBODY


def _is_never_sent(error: Exception, holder: CommittedBy) -> bool:
    """True if nothing was sent according to ``error``, and the table does not contradict it."""
    if isinstance(error, REFUSED):
        return True
    return isinstance(error, NEVER_SENT) and holder is not CommittedBy.UNREADABLE


def is_definitely_not_applied(error: Exception) -> bool:
    """True if ``error`` proves that neither this request nor an earlier one was applied."""
    return isinstance(error, StoreError | NotFoundError) and not isinstance(
        error, OutcomeUnknownError
    )


def find_committer(
    handler: CommitHandler, store: ObjectStore, candidate: Candidate
) -> tuple[CommittedBy, ManifestLocation | Version | None]:
    """Find the writer of the candidate's version: its location if it is ours, else what was read.

    It is ours if it contains the same transaction bytes; a uuid alone may be used twice. Where the
    handler finds no such version, or fails to, the final path of the manifest is read as well.
    """
    if finds_by_name(unchecked(handler)):
        return _writer_at(candidate.location, store, candidate)
    try:
        location = handler.locate(candidate.version)
    except NotFoundError:
        otherwise = CommittedBy.NOBODY
    except Exception:
        otherwise = CommittedBy.UNREADABLE
    else:
        return _writer_at(location, store, candidate)
    holder, final = _writer_at(candidate.location, store, candidate)
    return (holder, final) if holder is CommittedBy.US else (otherwise, None)


def _writer_at(
    location: ManifestLocation, store: ObjectStore, candidate: Candidate
) -> tuple[CommittedBy, ManifestLocation | Version | None]:
    try:
        data = store.get(location.path)
        if data.equals(pa.py_buffer(candidate.data)):
            return CommittedBy.US, location
        file = parse_manifest_file(data, location.path)
    except NotFoundError:
        return CommittedBy.NOBODY, None
    except UnsupportedFeatureError:
        return CommittedBy.ANOTHER, None  # this library can read every manifest that it writes
    except Exception:
        return CommittedBy.UNREADABLE, None
    if file.transaction == candidate.transaction:
        return CommittedBy.US, location
    return CommittedBy.ANOTHER, Version(file, location)


def _unknown(candidate: Candidate, cause: Exception | None) -> CommitUnknownError:
    return CommitUnknownError(
        f"whether version {candidate.version} was committed is unknown: {cause}. It was committed "
        f"if the manifest of that version contains transaction {candidate.transaction_uuid}; "
        "lance_core.commit.resolve reads it; keep all files until then",
        candidate.transaction_uuid,
        candidate.version,
    )
