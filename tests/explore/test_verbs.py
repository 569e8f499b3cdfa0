"""Verbs that run while others are under way come to what they would have come to in turn."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from lance_core.commits import loop
from lance_core.dataset.write.merge_insert.inserted_keys import InsertedKeys
from lance_core.table.transactions import conflicts
from tests.each_case import each_case
from tests.explore.verbs import VERBS, Pair, violations

UPSERTS = ("upsert", "upsert new rows", "insert new rows", "mirror")
"""All of them insert row 7."""


@each_case("number", range((len(VERBS) + 1) // 2)[::3])
def test_what_two_verbs_come_to_is_what_one_after_the_other_does(number: int) -> None:
    """Each third verb with one other; `tox -e explore` tries all pairs."""
    verbs = list(VERBS)[number], list(VERBS)[-1 - number]
    texts = violations(Pair(*verbs[:: -1 if number % 2 else 1], stable=number % 4 < 2))
    assert texts
    assert not any(texts)


@each_case("first", UPSERTS)
def test_two_upserts_of_a_new_key_never_both_insert_it(first: str) -> None:
    second = UPSERTS[UPSERTS.index(first) // 2]
    texts = violations(Pair(first, second, stable=True))
    assert len(texts) >= 3
    assert not any(texts)


@each_case("first", ("update other rows", "upsert", "create a bitmap"))
def test_values_that_are_replaced_in_place_are_kept(first: str) -> None:
    texts = violations(Pair(first, "replace values", stable=first == "upsert"))
    assert len(texts) >= 2
    assert not any(texts)


def _keys_are_not_compared() -> AbstractContextManager[object]:
    return mock.patch.object(InsertedKeys, "check", return_value=None)


def _conflicts_are_not_checked() -> AbstractContextManager[object]:
    return mock.patch.object(conflicts, "check")


def _rows_are_not_merged() -> AbstractContextManager[object]:
    return mock.patch.object(loop, "rebased", lambda store, transaction, *_: transaction)


DEFECTS = [
    (_keys_are_not_compared, Pair("upsert new rows", "insert new rows", stable=False)),
    (_conflicts_are_not_checked, Pair("append", "cast", stable=False)),
    (_conflicts_are_not_checked, Pair("update some columns", "join", stable=False)),
    (_rows_are_not_merged, Pair("update", "update other rows", stable=False)),
]


@each_case(("defect", "pair"), DEFECTS)
def test_a_defect_is_found(defect: Any, pair: Pair) -> None:
    with defect():
        assert any(violations(pair))
    assert not any(violations(pair))
