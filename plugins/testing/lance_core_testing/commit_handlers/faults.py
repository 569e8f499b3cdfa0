"""Part of the contract of commit handlers: the outcome of a commit when store calls fail.

In every case the history contains a commit reported as done exactly once, a commit reported as
failed never, and a commit with unknown outcome at most once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lance_core.commits.history import Version
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CommitUnknownError,
    DatasetNotFoundError,
    LanceError,
    ObjectExistsError,
    OutcomeUnknownError,
)
from lance_core.hookspecs.commits import Candidate, CommitHandler
from lance_core.hookspecs.stores import Buffers, ObjectStore, PutMode
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.assertions import check_bytes, must_raise
from lance_core_testing.commit_handlers.races import MakeHandler
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    append,
    creation,
    first_candidate,
    history,
)
from lance_core_testing.stores.faulty import (
    Fault,
    FaultRule,
    FaultyStore,
    LandsLate,
    Refused,
    RequestLost,
    ResponseLost,
    SentTwice,
)

FAULTS = (Refused(), RequestLost(), ResponseLost(), SentTwice(), LandsLate())
"""The faults of a write."""

FINAL = "_versions/*[0-9].manifest"
"""Pattern of the final paths of manifests."""

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
            make_handler(faulty), faulty, transaction, base, environment=IMPATIENT
        )
        assert faulty.injected, "the handler wrote no manifest to the store"
        _check_made(made, make_handler(store), store, transaction)

    @pytest.mark.parametrize("fault", [RequestLost(), ResponseLost()])
    def test_a_lost_answer_that_cannot_be_looked_up_is_unknown(
        self, store: ObjectStore, make_handler: MakeHandler, fault: Fault
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        rules = [FaultRule(fault, method, FINAL) for method in WRITES]
        rules += [FaultRule(Refused(), method, FINAL) for method in ("get", "get_ranges")]
        faulty = _GoesBlind(store, rules)
        handler = make_handler(faulty)
        assert handler.latest() is not None, "latest gave None after version 1 was committed"
        transaction = append(1)
        with must_raise(CommitUnknownError, "a commit of which every answer is lost") as unknown:
            commit_transaction(handler, faulty, transaction, base, environment=IMPATIENT)
        told = (unknown.error.transaction_uuid, unknown.error.version)
        assert told == (transaction.uuid, 2), "the error must name the transaction and the version"
        faulty.later.clear()
        faulty.set_rules([])
        # Committing the same transaction again determines the outcome.
        made = commit_transaction(handler, faulty, transaction, environment=IMPATIENT)
        _check_made(made, handler, store, transaction)

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
        commit_transaction(make_handler(faulty), faulty, ours, base, environment=world)
        let_the_other_commit(0)
        faulty.land()
        uuids = history(make_handler(store), store)[1:]
        assert sorted(uuids) == sorted([ours.uuid, theirs.uuid]), (
            f"two commits were acknowledged; the history has {len(uuids)} of them"
        )

    @pytest.mark.parametrize(
        "fault",
        [Refused(), RequestLost(), ResponseLost(), LandsLate()],
        ids=lambda f: type(f).__name__,
    )
    def test_a_candidate_that_is_said_not_to_be_applied_is_not(
        self, store: ObjectStore, make_handler: MakeHandler, fault: Fault
    ) -> None:
        for nth in range(1, 6):
            candidate = first_candidate(version=nth)
            rules = [FaultRule(fault, method, nth=nth) for method in WRITES]
            faulty = FaultyStore(store, rules)
            ending = ending_of(make_handler(faulty), candidate)
            faulty.land()
            what = f"{type(fault).__name__} of write {nth} of each kind"
            check_ending(ending, make_handler(store), store, candidate, what)

    def test_a_commit_of_which_nothing_was_applied_is_not_called_unknown(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        refusing = FaultyStore(store, [FaultRule(Refused(), method) for method in WRITES])
        candidate = first_candidate()
        ending = ending_of(make_handler(refusing), candidate)
        check_told_as_refused(ending, make_handler(store), candidate, "the store refused it")


class _GoesBlind(FaultyStore):
    """Applies ``later`` rules from the first write on, which does not write a manifest."""

    def __init__(self, inner: ObjectStore, later: list[FaultRule]) -> None:
        super().__init__(inner)
        self.later = later

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data, mode)
        if self.later:
            self.set_rules(self.later)


def ending_of(handler: CommitHandler, candidate: Candidate) -> Exception | None:
    """The error with which committing ``candidate`` ended; None: it was applied."""
    try:
        handler.commit(candidate)
    except Exception as error:
        return error
    return None


def check_ending(
    ending: Exception | None,
    reader: CommitHandler,
    store: ObjectStore,
    candidate: Candidate,
    what: str,
) -> None:
    """Raise `AssertionError` if ``ending`` is wrong; publish the version if it does not exist.

    ``reader`` and ``store`` have no faults; ``what`` names the injected faults.
    """
    version = candidate.version
    try:
        manifest: bytes | None = bytes(store.get(reader.locate(version).path))
    except DatasetNotFoundError:
        manifest = None
    if ending is None:
        assert manifest == candidate.data, (
            f"{what}: commit returned, but version {version} is not what was committed"
        )
    elif isinstance(ending, ObjectExistsError):
        assert manifest is not None, (
            f"{what}: commit raised {ending!r}, but there is no such version"
        )
    elif isinstance(ending, LanceError) and not isinstance(ending, OutcomeUnknownError):
        assert manifest is None, (
            f"{what}: commit raised {ending!r}, which says that nothing was applied, but version "
            f"{version} exists; after a lost answer it must raise OutcomeUnknownError"
        )
    if manifest is None:
        reader.commit(candidate)
        doing = f"{what}: the manifest of version {version}, committed again without faults,"
        check_bytes(store.get(reader.locate(version).path), candidate.data, doing)


def check_told_as_refused(
    ending: Exception | None, reader: CommitHandler, candidate: Candidate, what: str
) -> None:
    """Raise `AssertionError` if a commit without any effect ended as one that may have had some."""
    try:
        reader.locate(candidate.version)
    except DatasetNotFoundError:
        is_definite = isinstance(ending, LanceError) and not isinstance(ending, OutcomeUnknownError)
        assert is_definite, (
            f"{what}, and commit ended so: {ending!r}. It must raise a StoreError other than "
            "OutcomeUnknownError: the caller would keep all files of a change that was never made"
        )


def _check_outcome(
    faulty: FaultyStore,
    make_handler: MakeHandler,
    transaction: Transaction,
    base: Version | None,
) -> None:
    handler = make_handler(faulty)

    def commit() -> None:
        commit_transaction(handler, faulty, transaction, base, environment=IMPATIENT)

    check_outcome(commit, faulty.land, make_handler(faulty.inner), faulty.inner, transaction)


def check_outcome(
    commit: Callable[[], object],
    heal: Callable[[], object],
    reader: CommitHandler,
    store: ObjectStore,
    transaction: Transaction,
) -> Version:
    """The newest version; `AssertionError` if ``commit`` reports a wrong outcome.

    After ``heal``, ``reader`` and ``store`` have no faults.
    """
    try:
        commit()
        told, allowed = "returned", {1}
    except CommitUnknownError as error:
        told, allowed = repr(error), {0, 1}
    except LanceError as error:
        told, allowed = repr(error), {0}
    heal()
    times = history(reader, store).count(transaction.uuid)
    assert times in allowed, (
        f"a commit ended so: {told}. Its transaction is in the history {times} times, must be "
        f"{' or '.join(map(str, sorted(allowed)))}: only CommitUnknownError leaves it open"
    )
    # The next commit must succeed, and so must a repeated one of the same transaction.
    commit_transaction(reader, store, transaction, environment=IMPATIENT)
    newest = commit_transaction(reader, store, append(1), environment=IMPATIENT)
    uuids = history(reader, store)
    assert uuids.count(transaction.uuid) == 1, (
        "a transaction that was committed again must be in the history once"
    )
    assert newest.location.version == len(uuids), (
        f"the newest of {len(uuids)} versions has number {newest.location.version}"
    )
    return newest


def _check_made(
    made: Version, handler: CommitHandler, store: ObjectStore, transaction: Transaction
) -> None:
    version = made.location.version
    assert version == 2, f"the commit after version 1 made version {version}; it must make 2"
    uuids = history(handler, store)[1:]
    assert uuids == [transaction.uuid], "the history must have the transaction once"
