"""Part of the contract of commit handlers: how a commit ends when the store's calls go wrong.

Whatever happens, a commit that is reported as done is in the history once, one that is reported as
failed is not in it, and one whose outcome is unknown is in it at most once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lance_core.commits.attempt import commit_transaction
from lance_core.commits.base import CommitHandler
from lance_core.commits.history import Version
from lance_core.errors import CommitUnknownError, LanceError
from lance_core.store.base import Buffers, ObjectStore, PutMode
from lance_core.store.faulty import (
    Fault,
    FaultRule,
    FaultyStore,
    LandsLate,
    Refused,
    RequestLost,
    ResponseLost,
    SentTwice,
)
from lance_core.table.transaction import Transaction
from lance_core.testing.sample_transactions import IMPATIENT, append, creation, history

MakeHandler = Callable[[ObjectStore], CommitHandler]

FAULTS = (Refused(), RequestLost(), ResponseLost(), SentTwice(), LandsLate())
"""What can become of a write."""

FINAL = "_versions/*[0-9].manifest"
"""Where manifests are."""

WRITES = ("put", "rename_if_absent", "copy", "delete", "close")

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)


class FaultTests:
    """Commits on a `FaultyStore`."""

    @each_fault
    @pytest.mark.parametrize("nth", [1, 2, 3, 4])
    def test_a_fault_of_one_write_never_breaks_the_outcome(
        self, store: ObjectStore, make_handler: MakeHandler, fault: Fault, nth: int
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        rules = [FaultRule(fault, method, nth=nth) for method in WRITES]
        _check_outcome(FaultyStore(store, rules), make_handler, append(1), base)

    @each_fault
    def test_a_fault_of_every_write_never_breaks_the_outcome(
        self, store: ObjectStore, make_handler: MakeHandler, fault: Fault
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        rules = [FaultRule(fault, method, "_versions/*") for method in WRITES]
        _check_outcome(FaultyStore(store, rules), make_handler, append(1), base)

    @each_fault
    def test_a_fault_while_the_table_is_made_never_breaks_the_outcome(
        self, store: ObjectStore, make_handler: MakeHandler, fault: Fault
    ) -> None:
        rules = [FaultRule(fault, method, "_versions/*", times=1) for method in WRITES]
        _check_outcome(FaultyStore(store, rules), make_handler, creation(), None)

    @pytest.mark.parametrize("fault", [RequestLost(), ResponseLost(), SentTwice()])
    def test_one_lost_answer_does_not_fail_a_commit(
        self, store: ObjectStore, make_handler: MakeHandler, fault: Fault
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        rules = [
            FaultRule(fault, method, "_versions/*[0-9].manifest", times=1) for method in WRITES
        ]
        faulty = FaultyStore(store, rules)
        transaction = append(1)
        made = commit_transaction(
            make_handler(faulty), faulty, transaction, base, surroundings=IMPATIENT
        )
        assert faulty.injected
        assert made.location.version == 2
        assert history(make_handler(store), store)[1:] == [transaction.uuid]

    @pytest.mark.parametrize("fault", [RequestLost(), ResponseLost()])
    def test_a_lost_answer_that_cannot_be_looked_up_is_unknown(
        self, store: ObjectStore, make_handler: MakeHandler, fault: Fault
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        rules = [FaultRule(fault, method, FINAL) for method in WRITES]
        rules += [FaultRule(Refused(), method, FINAL) for method in ("get", "get_ranges")]
        faulty = _GoesBlind(store, rules)
        handler = make_handler(faulty)
        assert handler.latest() is not None
        transaction = append(1)
        with pytest.raises(CommitUnknownError) as unknown:
            commit_transaction(handler, faulty, transaction, base, surroundings=IMPATIENT)
        assert unknown.value.transaction_uuid == transaction.uuid
        assert unknown.value.version == 2
        faulty.later.clear()
        faulty.set_rules([])
        # Committing the same transaction again settles it, whatever had become of it.
        made = commit_transaction(handler, faulty, transaction, surroundings=IMPATIENT)
        assert made.location.version == 2
        assert history(handler, store)[1:] == [transaction.uuid]

    @each_fault
    def test_a_writer_that_comes_in_between_loses_nothing(
        self, store: ObjectStore, make_handler: MakeHandler, fault: Fault
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        rules = [FaultRule(fault, method, "_versions/*", nth=1) for method in WRITES]
        faulty = FaultyStore(store, rules)
        ours, theirs = append(1), append(1)
        pending = [theirs]

        def let_the_other_commit(_: float) -> None:
            if pending:
                commit_transaction(make_handler(store), store, pending.pop(), base)

        world = replace(IMPATIENT, sleep=let_the_other_commit)
        commit_transaction(make_handler(faulty), faulty, ours, base, surroundings=world)
        let_the_other_commit(0)
        faulty.land()
        assert sorted(history(make_handler(store), store)[1:]) == sorted([ours.uuid, theirs.uuid])


class _GoesBlind(FaultyStore):
    """Has no faults until the first write, which is not that of a manifest."""

    def __init__(self, inner: ObjectStore, later: list[FaultRule]) -> None:
        super().__init__(inner)
        self.later = later

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data, mode)
        if self.later:
            self.set_rules(self.later)


def _check_outcome(
    faulty: FaultyStore,
    make_handler: MakeHandler,
    transaction: Transaction,
    base: Version | None,
) -> None:
    store = faulty.inner
    handler = make_handler(faulty)
    try:
        commit_transaction(handler, faulty, transaction, base, surroundings=IMPATIENT)
        allowed = {1}
    except CommitUnknownError:
        allowed = {0, 1}
    except LanceError:
        allowed = {0}
    faulty.land()
    reader = make_handler(store)
    assert history(reader, store).count(transaction.uuid) in allowed
    # Nothing stands in the way of whoever comes next, least of all of the same transaction.
    commit_transaction(reader, store, transaction, surroundings=IMPATIENT)
    newest = commit_transaction(reader, store, append(1), surroundings=IMPATIENT)
    found = history(reader, store)
    assert found.count(transaction.uuid) == 1
    assert newest.location.version == len(found)
