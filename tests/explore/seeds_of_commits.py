"""Defects of settling, identity and retries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from lance_core.commits import catch_up, loop, outcome
from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.catch_up import CatchUp
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import Version
from lance_core.commits.outcome import CommittedBy
from lance_core.errors import (
    CommitConflictError,
    CommitError,
    CommitUnknownError,
    ObjectExistsError,
    OutcomeUnknownError,
)
from lance_core.store.base import PutMode
from tests.explore import places
from tests.explore.seed import REFUSALS_COUNT, Failure, Seed, put_in, together

_commit = PutIfAbsentCommitHandler.commit
_who_holds = outcome.find_committer
_run = loop._Attempts.run
_init = loop._Attempts.__init__
_catch_up = CatchUp.run
_check_until = CatchUp._check_until
_check = CatchUp._check


@contextlib.contextmanager
def _exists_is_foreign() -> Iterator[None]:
    another = (CommittedBy.ANOTHER, None)
    with (
        mock.patch.object(outcome, "find_committer", return_value=another),
        mock.patch.object(catch_up, "is_same", return_value=False),
    ):
        yield


def _commit_taking_exists_for_conflict(
    self: PutIfAbsentCommitHandler, candidate: Candidate
) -> ManifestLocation:
    try:
        return _commit(self, candidate)
    except ObjectExistsError as error:
        raise CommitConflictError("somebody else was faster") from error


def _check_as_if_new(self: CatchUp, number: int, version: Version | None) -> Version | None:
    self._may_be_repeated = False
    return _check(self, number, version)


def _commit_taking_silence_for_success(
    self: PutIfAbsentCommitHandler, candidate: Candidate
) -> ManifestLocation:
    with contextlib.suppress(OutcomeUnknownError):
        return _commit(self, candidate)
    return candidate.location


@contextlib.contextmanager
def _refusal_is_exists() -> Iterator[None]:
    def who_holds(handler: Any, store: Any, candidate: Candidate) -> Any:
        found = _who_holds(handler, store, candidate)
        return (CommittedBy.US, candidate.location) if found[0] is CommittedBy.NOBODY else found

    with (
        mock.patch.object(outcome, "is_definitely_not_applied", return_value=False),
        mock.patch.object(outcome, "find_committer", who_holds),
    ):
        yield


def _run_removing_files_in_doubt(self: Any) -> Any:
    try:
        return _run(self)
    except CommitUnknownError:
        self._remove_file()
        raise


def _init_with_new_uuid(self: Any, handler: Any, store: Any, transaction: Any, *rest: Any) -> None:
    environment = rest[-1]
    _init(self, handler, store, _renamed(transaction, environment), *rest)


def _renamed(transaction: Any, environment: Any) -> Any:
    import dataclasses

    return dataclasses.replace(transaction, uuid=str(environment.new_uuid()))


def _failed(candidate: Candidate, cause: Exception | None) -> CommitError:
    return CommitError(f"version {candidate.version} failed: {cause}")


def _catch_up_once(self: CatchUp) -> Any:
    if getattr(self, "has_run", False):
        return None
    self.has_run = True  # type: ignore[attr-defined]
    return _catch_up(self)


def _same_uuid(committed: Any, ours: Any, version: int) -> bool:
    return bool(committed.uuid == ours.uuid)


def _overwriting_commit(self: PutIfAbsentCommitHandler, candidate: Candidate) -> ManifestLocation:
    self.store.put(candidate.path, candidate.data, PutMode.overwrite)
    return candidate.location


def _looking_commit(self: PutIfAbsentCommitHandler, candidate: Candidate) -> ManifestLocation:
    with contextlib.suppress(FileNotFoundError):
        self.store.head(candidate.path)
        raise ObjectExistsError(candidate.path)
    return _overwriting_commit(self, candidate)


SEEDS = (
    Seed(
        "exists-is-foreign",
        Failure.LOST_ANSWER,
        "Whoever meets 'exists' has lost, even if it is its own manifest, sent before"
        " (lance#7722, trino#27400).",
        _exists_is_foreign,
        places.PAIR_1,
    ),
    Seed(
        "resent-request-is-a-conflict",
        Failure.LOST_ANSWER,
        "The client library sends a request again by itself, and the second answer counts"
        " (aws-sdk-java-v2#6580).",
        together(
            put_in(PutIfAbsentCommitHandler, "commit", _commit_taking_exists_for_conflict),
            REFUSALS_COUNT,
        ),
        places.PAIR_1,
    ),
    Seed(
        "silence-is-success",
        Failure.LOST_ANSWER,
        "A commit is reported before it is known to be there.",
        put_in(PutIfAbsentCommitHandler, "commit", _commit_taking_silence_for_success),
        places.PAIR_1,
    ),
    Seed(
        "unknown-is-failed",
        Failure.LOST_ANSWER,
        "What may still land is reported as failed (delta-rs#268, iceberg#2317).",
        put_in(outcome, "_unknown", _failed),
        places.NO_ANSWER,
    ),
    Seed(
        "files-removed-in-doubt",
        Failure.LOST_ANSWER,
        "A writer that does not know what became of its commit removes its files (iceberg#13443).",
        put_in(loop._Attempts, "run", _run_removing_files_in_doubt),
        places.NO_ANSWER,
    ),
    Seed(
        "uuid-of-each-sending",
        Failure.LOST_ANSWER,
        "Each time it is committed a transaction gets a new identity (iceberg-python#3320).",
        put_in(loop._Attempts, "__init__", _init_with_new_uuid),
        places.REDELIVERED,
    ),
    Seed(
        "uuid-is-enough",
        Failure.LOST_ANSWER,
        "Another change with the same identity counts as one's own (lance#8137).",
        put_in(catch_up, "is_same", _same_uuid),
        places.SAME_IDENTITY,
    ),
    Seed(
        "replay-not-recognised",
        Failure.REPETITION,
        "A change that is in the table already is committed again"
        " (iceberg#2808, delta#7345, paimon#9666).",
        put_in(catch_up, "is_same", lambda *_: False),
        places.REDELIVERED,
    ),
    Seed(
        "replay-after-cleanup",
        Failure.REPETITION,
        "A change whose version has been cleaned up is reported as failed when it is sent again.",
        put_in(CatchUp, "_check", _check_as_if_new),
        places.FORGOTTEN,
    ),
    Seed(
        "retry-without-refresh",
        Failure.CONFLICT,
        "Who lost tries again with what it knew before (lance#3760, delta-rs#3066).",
        together(
            put_in(CatchUp, "run", _catch_up_once),
            put_in(CatchUp, "follow", lambda self, _: None),
            put_in(loop, "MAX_LOSSES", 1000),
        ),
        places.PAIR,
    ),
    Seed(
        "refusal-is-exists",
        Failure.CREATE_ONLY,
        "'409, try again' is read as 'exists', although nothing landed"
        " (arrow-rs-object-store#852).",
        _refusal_is_exists,
        places.PAIR_1,
    ),
    Seed(
        "unconditional-put",
        Failure.CREATE_ONLY,
        "The condition is dropped on the way to the store (lance#6595, lance#5332).",
        put_in(PutIfAbsentCommitHandler, "commit", _overwriting_commit),
        places.PAIR,
    ),
    Seed(
        "look-then-put",
        Failure.CREATE_ONLY,
        "The version is looked for and then written, as fsspec's create mode does.",
        put_in(PutIfAbsentCommitHandler, "commit", _looking_commit),
        places.PAIR,
    ),
)
