"""Two transactions computed from the same version: what is committed is what both mean."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest import mock

import numpy as np
import pytest

from lance_core.commits import loop, rebase
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions import conflict_conditions, conflicts
from lance_core.table.transactions.operations import Update, data_replacement, rewrite, update
from lance_core.table.transactions.operations import delete as delete_module
from tests.explore.pairs.base import base_of
from tests.explore.pairs.cases import Case, Outcome, Summary, run, run_all, triples, usual_pairs
from tests.explore.pairs.catalogue import BY_NAME, KINDS, Place
from tests.explore.pairs.exploring import MOST_CONTESTED, configuration, explore_pairs, unordered
from tests.explore.pairs.kinds import Kind

Patch = Callable[[], AbstractContextManager[object]]


def _case(first: str, second: str, place: Place, stable: bool = False, same: bool = False) -> Case:
    return Case((BY_NAME[first], BY_NAME[second]), place, same, stable)


@pytest.mark.parametrize("stable", [False, True])
def test_the_base_is_sound(stable: bool) -> None:
    for version in base_of(stable).history.values():
        assert version.problem == ""
    assert len(base_of(stable).history[5].model.rows) == 22


def _pairs_at_one_place(first: Kind) -> list[Case]:
    """Each second operation, at the places in turn; `tox -e explore` tries all places."""
    turn, places = KINDS.index(first), len(Place)
    cases = [case for case in usual_pairs() if case.kinds[0] is first]
    return [cases[places * j + (turn + j) % places] for j in range(len(KINDS))]


@pytest.mark.parametrize("first", KINDS, ids=lambda kind: kind.name)
def test_the_second_commit_keeps_what_the_first_means_or_is_refused(first: Kind) -> None:
    summary = run_all(_pairs_at_one_place(first))
    assert summary.violations == []
    assert summary.cases == len(KINDS)


def test_all_ordered_pairs_are_tried() -> None:
    cases = [case for first in KINDS for case in _pairs_at_one_place(first)]
    assert len({case.kinds for case in cases}) == len(KINDS) ** 2
    assert {case.place for case in cases} == set(Place)
    assert len(list(usual_pairs())) >= 3 * 432


def test_two_commits_in_between_are_as_good_as_one() -> None:
    contested = [BY_NAME[name] for name in ("delete", "update rows", "rewrite", "append")]
    summary = run_all(triples(contested, MOST_CONTESTED))
    assert summary.violations == []
    assert summary.ends["."] > 50 < summary.ends["R"]


@pytest.mark.parametrize("case", list(unordered())[::41], ids=lambda case: case.name)
def test_every_interleaving_of_two_commits_is_one_after_the_other(case: Case) -> None:
    explored = explore_pairs([configuration(case)])
    assert explored.violations == ()
    assert explored.ends >= 2


@pytest.mark.parametrize("case", list(unordered(MOST_CONTESTED))[::15], ids=lambda case: case.name)
def test_a_fault_changes_nothing_of_that(case: Case) -> None:
    assert explore_pairs([configuration(case, 1)]).violations == ()


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("pair", list(itertools.product(("delete", "update rows"), repeat=2)))
def test_changes_of_different_rows_of_a_fragment_are_merged(
    pair: tuple[str, str], stable: bool
) -> None:
    for same in (False, True):
        assert run(_case(*pair, Place.SAME_FRAGMENT, stable, same)).ends == (".", ".")
        assert run(_case(*pair, Place.SAME_ROWS, stable, same)).ends == (".", "R")


@pytest.mark.parametrize("pair", [("delete", "delete most rows"), ("update most rows", "delete")])
def test_a_fragment_whose_rows_go_by_halves_goes(pair: tuple[str, str]) -> None:
    for stable in (False, True):
        for kinds in (pair, pair[::-1]):
            assert run(_case(*kinds, Place.SAME_FRAGMENT, stable)) == Outcome((".", "."), "")


@pytest.mark.parametrize("place", Place)
def test_an_index_is_not_dropped_in_name_only(place: Place) -> None:
    """A rewrite gives an index another uuid: who drops it by the old one has dropped nothing."""
    assert run(_case("rewrite", "drop index", place)).ends == (".", "R")
    assert run(_case("drop index", "rewrite", place)).ends == (".", "R")
    assert run(_case("rewrite", "drop index", place, stable=True)).ends == (".", ".")


def test_a_rewrite_of_an_index_that_is_gone_can_be_tried_again() -> None:
    assert run(_case("rewrite", "rewrite", Place.DISJOINT)).ends == (".", "R")
    case = _case("drop a column", "rewrite", Place.DISJOINT, same=True)
    assert run(case).ends == (".", "R")


def _conflicts_are_not_checked() -> AbstractContextManager[object]:
    return mock.patch.object(conflicts, "check")


def _rows_are_not_merged() -> AbstractContextManager[object]:
    return mock.patch.object(loop, "rebased", lambda store, transaction, *_: transaction)


def _overlaps_are_not_seen() -> AbstractContextManager[object]:
    return mock.patch.object(rebase.np, "intersect1d", return_value=np.empty(0))


def _other_deletions_are_forgotten() -> AbstractContextManager[object]:
    return mock.patch.object(rebase.np, "union1d", lambda existing, affected: affected)


def _indices_go_on_covering_new_values() -> AbstractContextManager[object]:
    return mock.patch.object(data_replacement, "without_fragments", lambda indices, *_: indices)


def _updated_values_stay_indexed() -> AbstractContextManager[object]:
    return mock.patch.object(update, "without_fragments", lambda indices, *_: indices)


def _fragment_ids_are_used_again() -> AbstractContextManager[object]:
    def of_the_present(draft: Draft) -> int:
        return max(draft.fragments.ids, default=-1) + 1

    return mock.patch.object(Draft, "_next_fragment_id", of_the_present)


def _row_ids_of_moved_rows_are_new() -> AbstractContextManager[object]:
    original = Draft.with_new_fragments

    def forgetting(draft: Draft, kept: object, new: object, fill_row_ids: bool = False) -> Draft:
        bare = [dataclasses.replace(one, row_ids=None) for one in new]  # type: ignore[attr-defined]
        return original(draft, kept, bare, fill_row_ids)  # type: ignore[arg-type]

    return mock.patch.object(Draft, "with_new_fragments", forgetting)


def _a_delete_brings_back_old_files() -> AbstractContextManager[object]:
    def apply(operation: delete_module.Delete, draft: Draft) -> Draft:
        given = {fragment.id: fragment for fragment in operation.updated_fragments}
        fragments = draft.fragments.changed(given, frozenset(operation.deleted_fragment_ids))
        return dataclasses.replace(draft, fragments=fragments, has_deletion_files=None)

    return mock.patch.object(delete_module.Delete, "apply", apply)


def _a_rewrite_forgets_an_index() -> AbstractContextManager[object]:
    return mock.patch.object(rewrite.Rewrite, "_indices_of", return_value=())


def _keys_are_not_compared() -> AbstractContextManager[object]:
    return mock.patch.object(conflict_conditions, "_may_share", return_value=False)


def _an_update_brings_back_old_files() -> AbstractContextManager[object]:
    def updated(operation: Update, draft: Draft, current: object, given: object) -> object:
        return given

    return mock.patch.object(Update, "_updated", updated)


DEFECTS = [
    (_conflicts_are_not_checked, "append"),
    (_rows_are_not_merged, "delete"),
    (_overlaps_are_not_seen, "delete"),
    (_other_deletions_are_forgotten, "delete"),
    (_indices_go_on_covering_new_values, "replace data"),
    (_updated_values_stay_indexed, "update columns"),
    (_fragment_ids_are_used_again, "delete a fragment"),
    (_row_ids_of_moved_rows_are_new, "update rows"),
    (_a_delete_brings_back_old_files, "drop a column with its files"),
    (_an_update_brings_back_old_files, "drop a column with its files"),
    (_a_rewrite_forgets_an_index, "rewrite"),
    (_keys_are_not_compared, "insert"),
]
"""What is wrong, and the first of two operations with which it shows."""


@pytest.mark.parametrize(
    ("defect", "first"), [pytest.param(*each, id=each[0].__name__[1:]) for each in DEFECTS]
)
def test_a_defect_is_found(defect: Patch, first: str) -> None:
    """The oracle is worth something: it notices operations that do what they should not."""
    for stable in (False, True):
        base_of(stable)
    cases = (case for case in usual_pairs() if case.kinds[0].name == first)
    with defect():
        found = (run(case).violation for case in cases)
        assert next(filter(None, found), "")


def test_refusals_that_were_not_needed_are_counted() -> None:
    summary = Summary()
    case = _case("describe the schema", "describe the schema", Place.DISJOINT)
    summary.add(case, run(case))
    assert summary.careful == {"describe the schema | describe the schema": 1}
