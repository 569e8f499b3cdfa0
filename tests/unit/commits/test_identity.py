"""Recognising a transaction that is in the table already."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lance_core.commits.identity import IdentityTakenError, is_same, with_intent
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import append, creation


def _rebased(original: Transaction, read_version: int = 7) -> Transaction:
    return with_intent(replace(original, read_version=read_version), original)


def test_the_same_bytes_are_the_same_transaction() -> None:
    ours = append(1)
    assert is_same(replace(ours), ours, 2)


def test_the_same_change_with_another_uuid_is_another_transaction() -> None:
    ours = append(1)
    assert not is_same(replace(ours, uuid=creation().uuid), ours, 2)
    assert not is_same(replace(_rebased(ours), uuid=creation().uuid), ours, 2)


def test_a_transaction_is_recognised_after_it_was_rebased() -> None:
    ours = append(1)
    assert is_same(_rebased(ours), ours, 2)


def test_two_rebased_forms_of_one_transaction_are_the_same() -> None:
    original = append(1)
    assert is_same(_rebased(original, 7), _rebased(original, 8), 9)


def test_another_change_with_the_same_uuid_is_refused_however_it_was_rebased() -> None:
    ours = append(1)
    other = replace(append(1), uuid=ours.uuid)
    for committed, mine in (
        (other, ours),
        (_rebased(other), ours),
        (other, _rebased(ours)),
        (_rebased(other), _rebased(ours)),
    ):
        with pytest.raises(IdentityTakenError, match=f"version 4 is another.*{ours.uuid}"):
            is_same(committed, mine, 4)
