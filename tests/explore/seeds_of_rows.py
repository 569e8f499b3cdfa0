"""Defects of conflict rules, rebasing, and of the numbers of rows and fragments."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

from lance_core.commits import loop, rebase
from lance_core.commits.catch_up import CatchUp
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions import conflict_conditions, conflicts
from lance_core.table.transactions.conflicts import Verdict
from lance_core.table.transactions.operations import rewrite
from lance_core.table.transactions.operations.base import OperationKind as Kind
from lance_core.table.transactions.operations.overwrite import Overwrite
from lance_core.table.transactions.operations.reserve_fragments import ReserveFragments
from lance_core.table.transactions.operations.restore import Restore
from tests.explore import places
from tests.explore.seed import Failure, Patch, Seed, put_in, together

_run = CatchUp.run
_check_until = CatchUp._check_until
_restore = Restore.apply
_overwrite = Overwrite.apply
_with_new_fragments = Draft.with_new_fragments
_following: Any = Draft.following.__func__  # type: ignore[attr-defined]


def allowing(*pairs: tuple[Kind, Kind]) -> Patch:
    """Pairs that get in each other's way count as compatible: committing, committed."""

    @contextlib.contextmanager
    def patch() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for ours, committed in pairs:
                row = conflicts.MATRIX[ours]
                stack.enter_context(mock.patch.dict(row, {committed: Verdict.COMPATIBLE}))
            yield

    return patch


def _read_when_committing(self: CatchUp, newest: Any) -> Any:
    self._checked = max(self._checked, newest.version)
    return _check_until(self, newest)


def _checking_the_newest_only(self: CatchUp, newest: Any) -> Any:
    self._checked = max(self._checked, newest.version - 1)
    return _check_until(self, newest)


def _checking_once(self: CatchUp) -> Any:
    if not hasattr(self, "has_run"):
        self.has_run = True  # type: ignore[attr-defined]
        return _run(self)
    with mock.patch.object(conflicts, "check", return_value=None):
        return _run(self)


@contextlib.contextmanager
def _compacting_over_deletes() -> Iterator[None]:
    """The rule is gone, and so is the count of rows behind it."""
    with (
        allowing((Kind.REWRITE, Kind.DELETE))(),
        mock.patch.object(rewrite, "_check_group", return_value=None),
    ):
        yield


@contextlib.contextmanager
def _overlooking_shared_rows() -> Iterator[None]:
    """Of the two sides, nothing is ever found in both."""
    nothing = mock.Mock(wraps=np)
    nothing.intersect1d = lambda *_, **__: np.empty(0, np.uint32)
    with mock.patch.object(rebase, "np", nothing):
        yield


def _restoring_fragment_ids(self: Restore, draft: Draft) -> Draft:
    assert draft.source is not None
    old = draft.source.manifest.max_fragment_id
    return dataclasses.replace(_restore(self, draft), max_fragment_id=old)


def _restoring_row_ids(self: Restore, draft: Draft) -> Draft:
    assert draft.source is not None
    return dataclasses.replace(_restore(self, draft), next_row_id=draft.source.manifest.next_row_id)


def _starting_over(self: Overwrite, draft: Draft) -> Draft:
    return _overwrite(self, dataclasses.replace(draft, max_fragment_id=None))


def _highest_that_is_left(self: Draft) -> int:
    return max(self.fragments.ids, default=-1) + 1


def _stamped_when_prepared(self: Draft, *rest: Any, **options: Any) -> Draft:
    prepared = dataclasses.replace(self, version=self.read_version + 1)
    made = _with_new_fragments(prepared, *rest, **options)
    return dataclasses.replace(made, version=self.version)


def _without_config(base: Any, index_section: Any) -> Draft:
    draft: Draft = _following(Draft, base, index_section)
    return dataclasses.replace(draft, config={})


SEEDS = (
    Seed(
        "read-version-of-the-commit",
        Failure.CONFLICT,
        "The version at commit time counts as the one that was read (lance#6653, refiner#120).",
        put_in(CatchUp, "_check_until", _read_when_committing),
        places.BLIND_DELETES,
    ),
    Seed(
        "newest-version-only",
        Failure.CONFLICT,
        "Of the versions that came between only the newest is checked.",
        put_in(CatchUp, "_check_until", _checking_the_newest_only),
        places.BLIND_DELETES,
    ),
    Seed(
        "retry-without-check",
        Failure.CONFLICT,
        "What came between is checked before the first attempt, and not again.",
        together(
            put_in(CatchUp, "run", _checking_once),
            put_in(CatchUp, "follow", lambda self, _: _checking_once(self)),
        ),
        places.BLIND_DELETES,
    ),
    Seed(
        "last-deletions-win",
        Failure.CONFLICT,
        "Deleted rows of two writers are not merged.",
        put_in(loop, "rebased", lambda store, transaction, *_: transaction),
        places.DELETES,
    ),
    Seed(
        "same-rows-merged",
        Failure.CONFLICT,
        "Two updates of the same row are merged as if they were of different ones.",
        _overlooking_shared_rows,
        places.UPDATES,
    ),
    Seed(
        "compaction-over-deletes",
        Failure.CONFLICT,
        "A compaction follows a delete of rows that it has copied (lance#6653).",
        _compacting_over_deletes,
        places.COMPACTED,
    ),
    Seed(
        "replacement-always-fits",
        Failure.CONFLICT,
        "A column's new file is taken whatever has become of its rows (lance#7373).",
        allowing(
            (Kind.DATA_REPLACEMENT, Kind.DATA_REPLACEMENT),
            (Kind.DATA_REPLACEMENT, Kind.UPDATE_ROWS),
            (Kind.DATA_REPLACEMENT, Kind.REWRITE),
        ),
        places.REPLACED,
    ),
    Seed(
        "overwrites-are-compatible",
        Failure.CONFLICT,
        "One overwrite follows another that it did not see (lance#6014).",
        allowing((Kind.OVERWRITE, Kind.OVERWRITE)),
        places.OVERWRITES,
    ),
    Seed(
        "append-to-what-was-replaced",
        Failure.CONFLICT,
        "Rows are added to a table whose content and schema were replaced meanwhile.",
        allowing((Kind.APPEND, Kind.OVERWRITE)),
        places.OVERTAKEN,
    ),
    Seed(
        "same-key-inserted-twice",
        Failure.CONFLICT,
        "Two upserts of the same new key both insert it (lance#4585, lance#8949).",
        put_in(conflict_conditions, "same_inserted_keys", lambda *_: False),
        places.UPSERTS,
    ),
    Seed(
        "config-lost-by-rebasing",
        Failure.CONFLICT,
        "What others have set meanwhile is not carried over (lance#8701).",
        put_in(Draft, "following", staticmethod(_without_config)),
        places.SETTINGS,
    ),
    Seed(
        "restore-resets-fragment-ids",
        Failure.IDENTITY,
        "Bringing back an old version brings back its highest fragment id.",
        put_in(Restore, "apply", _restoring_fragment_ids),
        places.RESTORED,
    ),
    Seed(
        "restore-resets-row-ids",
        Failure.IDENTITY,
        "Bringing back an old version brings back its next row id.",
        put_in(Restore, "apply", _restoring_row_ids),
        places.RESTORED,
    ),
    Seed(
        "overwrite-starts-over",
        Failure.IDENTITY,
        "An overwrite numbers fragments from 0 again, so that what is kept by fragment id is wrong"
        " (lance#8075).",
        put_in(Overwrite, "apply", _starting_over),
        places.OVERTAKEN,
    ),
    Seed(
        "reservation-takes-nothing",
        Failure.IDENTITY,
        "Two who reserve fragment ids are given the same ones (lance#1865, lance#6072).",
        put_in(ReserveFragments, "apply", lambda self, draft: draft),
        places.RESERVED,
    ),
    Seed(
        "stamped-when-prepared",
        Failure.IDENTITY,
        "Rows say that they were made in the version that was meant, not in the one they became"
        " (lance#8423).",
        put_in(Draft, "with_new_fragments", _stamped_when_prepared),
        places.STAMPED,
    ),
    Seed(
        "removed-ids-used-again",
        Failure.IDENTITY,
        "The next fragment id follows from the fragments that are left.",
        put_in(Draft, "_next_fragment_id", _highest_that_is_left),
        places.REMOVED,
    ),
)
