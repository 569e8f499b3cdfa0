"""Defects of cleanup: what is removed too early, and who is not asked before."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest import mock

from lance_core.commits import ancestry
from lance_core.commits.ancestry import Doubt
from lance_core.commits.cleanup import execution, planning, reachability, scope
from lance_core.commits.cleanup.execution import _Execution
from lance_core.commits.cleanup.reachability import Reachable
from lance_core.commits.verification import CommitVerification
from lance_core.table import file_references
from tests.explore import checks, places
from tests.explore.seed import Failure, Seed, put_in

_is_continued = CommitVerification.is_continued
_named_versions = scope.named_versions
_remove_versions = _Execution._remove_versions
_remove_files = _Execution._remove_files
_fragment_references = file_references.fragment_references


def _names_of_the_plan(self: Any) -> frozenset[int]:
    names: frozenset[int] = self._plan.named.versions
    return names


def _without_pins(store: Any, *rest: Any) -> Any:
    return dataclasses.replace(_named_versions(store, *rest), pinned=frozenset())


def _files_first(self: Any, batch: Any) -> None:
    _remove_files(self)
    _remove_versions(self, batch)


def _contains_by_one_name(self: Reachable, path: str) -> bool:
    return path in self._files or not self._folders.isdisjoint(reachability._parents(path))


def _without_deletions(manifest: Any, fragment: Any) -> Any:
    return _fragment_references(manifest, dataclasses.replace(fragment, deletion_file=None))


def _is_continued_if_late(self: Any, made: Any, before: Any, doubt: Doubt, slow: bool) -> bool:
    return doubt is not Doubt.LATE or _is_continued(self, made, before, doubt, slow)


@contextlib.contextmanager
def _pins_overlooked() -> Iterator[None]:
    with (
        mock.patch.object(execution, "named_versions", _without_pins),
        mock.patch.object(planning, "named_versions", _without_pins),
    ):
        yield


@contextlib.contextmanager
def _deletion_files_unknown() -> Iterator[None]:
    with (
        mock.patch.object(file_references, "fragment_references", _without_deletions),
        mock.patch.object(reachability, "fragment_references", _without_deletions),
    ):
        yield


SEEDS = (
    Seed(
        "no-time-to-finish",
        Failure.CLEANUP,
        "A version goes as soon as there is a newer one, while writers still build on it"
        " (lance#3718, ducklake#1472).",
        put_in(planning, "deadline_of", lambda *_: 0.0),
        places.CLEANED_YOUNG,
    ),
    Seed(
        "stalled-writer-believes-itself",
        Failure.CLEANUP,
        "A writer that was stopped for long does not look whether the history went on without it"
        " (lance#3718).",
        put_in(ancestry, "is_continued", lambda *_: True),
        places.STALLED,
    ),
    Seed(
        "freed-number-is-believed",
        Failure.CLEANUP,
        "A writer that was not stopped for long does not look at all, and the cleanup of another"
        " library has freed the number that it took.",
        put_in(CommitVerification, "is_continued", _is_continued_if_late),
        places.CLEANED_BY_ANOTHER,
    ),
    Seed(
        "names-looked-at-once",
        Failure.CLEANUP,
        "A tag that is made while a cleanup runs does not keep its version.",
        put_in(_Execution, "_named", _names_of_the_plan),
        places.CLEANED_TAG,
    ),
    Seed(
        "branches-not-seen",
        Failure.CLEANUP,
        "What a branch begins with is not kept (lance#7514).",
        put_in(scope, "list_branches", lambda store: {}),
        places.CLEANED_BRANCH,
    ),
    Seed(
        "pins-not-seen",
        Failure.CLEANUP,
        "A version goes while it is being restored.",
        _pins_overlooked,
        places.CLEANED_RESTORE,
    ),
    Seed(
        "newcomers-not-looked-at",
        Failure.CLEANUP,
        "Versions that were made since the plan lose the files that the plan found unneeded"
        " (hudi#7826).",
        put_in(_Execution, "_look_at_newcomers", lambda self: None),
        places.CLEANED_RESTORE,
    ),
    Seed(
        "files-before-manifests",
        Failure.CLEANUP,
        "A cleaner that dies leaves versions whose files are gone.",
        put_in(_Execution, "_remove_versions", _files_first),
        places.CLEANER_DIES,
    ),
    Seed(
        "deletions-not-referenced",
        Failure.CLEANUP,
        "The list of what a version needs leaves out a kind of file (lance#8956, trino#19965).",
        _deletion_files_unknown,
        places.CLEANED_DELETIONS,
    ),
    Seed(
        "base-paths-not-this-table",
        Failure.CLEANUP,
        "A file of the table that is named by another name of the table looks orphaned"
        " (iceberg#1471, iceberg#2890).",
        put_in(Reachable, "__contains__", _contains_by_one_name),
        places.CLEANED_BASES,
    ),
    Seed(
        "unknown-names-passed-over",
        Failure.CLEANUP,
        "What protects versions in a way that is not known is taken for nothing (lance#8956).",
        put_in(scope, "_check_kinds", lambda paths: None),
        checks.unknown_names_stop_a_cleanup,
    ),
    Seed(
        "young-files-removed",
        Failure.CLEANUP,
        "Files that no version names yet are removed under their writer"
        " (delta-rs#3645, hudi#11600, paimon#9269).",
        put_in(planning, "UNVERIFIED_AGE", timedelta(0)),
        places.CLEANED,
    ),
)
