"""Part of the contract of commit handlers: lasting outages, and faults of a handler's service.

An outage often begins with the lost response to a request that was applied. A handler that reports
this request as not applied reports an existing commit as failed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from lance_core.commits.loop import commit_transaction
from lance_core.errors import DatasetNotFoundError, LanceError, OutcomeUnknownError, StoreError
from lance_core.hookspecs.commits import CommitHandler
from lance_core.hookspecs.stores import REQUESTS, ObjectStore, StoreCall, StoreWrapper
from lance_core_testing.commit_handlers.faults import (
    check_ending,
    check_outcome,
    check_told_as_refused,
    ending_of,
)
from lance_core_testing.commit_handlers.races import MakeHandler
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    append,
    creation,
    first_candidate,
)
from lance_core_testing.service import FaultyService, ServiceFault
from lance_core_testing.stores.faulty import WRITES, FaultRule, FaultyStore, Refused

T = TypeVar("T")

WRITES_OF_A_COMMIT = range(1, 7)
"""Numbers of the write with which an outage begins; a commit sends fewer writes than the
largest."""

REQUESTS_OF_A_COMMIT = range(1, 5)
"""Numbers of the request to a service that fails."""


class OutageTests:
    """Outages of the store or of a service, and their ends."""

    def test_an_outage_that_begins_with_a_lost_answer_is_never_called_a_failure(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        for nth, is_applied in itertools.product(WRITES_OF_A_COMMIT, (True, False)):
            outage = _Outage(store, nth, is_applied)
            transaction = append(base.location.version)
            commit = partial(
                commit_transaction,
                *(make_handler(outage), outage, transaction, base),
                environment=IMPATIENT,
            )
            reader = make_handler(store)
            base = check_outcome(commit, lambda: None, reader, store, transaction)

    def test_an_outage_of_the_store_is_an_error_and_no_answer(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        commit_transaction(make_handler(store), store, append(1), base)
        down = FaultyStore(store, [FaultRule(Refused(), method) for method in REQUESTS])
        _check_reads(make_handler(down), "the store refuses everything")

    def test_a_candidate_is_not_applied_if_that_is_said_after_a_fault_of_the_service(
        self, store: ObjectStore, make_handler: MakeHandler, failing: FaultyService
    ) -> None:
        cases = itertools.product(ServiceFault, REQUESTS_OF_A_COMMIT)
        for version, (fault, nth) in enumerate(cases, start=1):
            candidate = first_candidate(version=version)
            handler = make_handler(store)
            failing.fail(fault, nth)
            ending = ending_of(handler, candidate)
            failing.heal()
            what = f"request {nth} to the service: {fault.value}"
            check_ending(ending, make_handler(store), store, candidate, what)

    def test_a_fault_of_the_service_never_breaks_the_outcome(
        self, store: ObjectStore, make_handler: MakeHandler, failing: FaultyService
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        for fault, nth, is_lasting in itertools.product(
            ServiceFault, REQUESTS_OF_A_COMMIT, (False, True)
        ):
            handler, transaction = make_handler(store), append(base.location.version)
            commit = partial(
                commit_transaction,
                *(handler, store, transaction, base),
                environment=IMPATIENT,
            )
            failing.fail(fault, nth, is_lasting)
            # The same handler must work again after the service recovers.
            base = check_outcome(commit, failing.heal, handler, store, transaction)

    def test_an_outage_of_the_service_is_an_error_and_no_answer(
        self, store: ObjectStore, make_handler: MakeHandler, failing: FaultyService
    ) -> None:
        base = commit_transaction(make_handler(store), store, creation())
        commit_transaction(make_handler(store), store, append(1), base)
        failing.fail(ServiceFault.REFUSED, is_lasting=True)
        _check_reads(make_handler(store), "the service refuses everything")
        failing.heal()
        _check_reads(make_handler(store), "the service answers again")

    def test_a_commit_that_the_service_refuses_is_not_called_unknown(
        self, store: ObjectStore, make_handler: MakeHandler, failing: FaultyService
    ) -> None:
        if not failing.refusals_are_known:
            return
        candidate, handler = first_candidate(), make_handler(store)
        failing.fail(ServiceFault.REFUSED, is_lasting=True)
        ending = ending_of(handler, candidate)
        failing.heal()
        what = "the service refused every connection"
        check_told_as_refused(ending, make_handler(store), candidate, what)


class _Outage(StoreWrapper):
    """Loses the response to the ``nth`` write and refuses everything after it."""

    def __init__(self, inner: ObjectStore, nth: int, is_applied: bool) -> None:
        super().__init__(inner)
        self._left = nth
        self._is_applied = is_applied

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        if self._left == 0:
            raise StoreError("injected fault: the store is not there")
        if call.method in WRITES:
            self._left -= 1
            if self._left == 0:
                if self._is_applied:
                    run()
                raise OutcomeUnknownError("injected fault: there was no answer")
        return run()


def _check_reads(handler: CommitHandler, when: str) -> None:
    """Check that the handler of a table with two versions finds both or raises."""
    looks: dict[str, Callable[[], object]] = {
        "latest": lambda: getattr(handler.latest(), "version", None),
        "locate": lambda: handler.locate(2).version,
        "list_versions": lambda: max((at.version for at in handler.list_versions()), default=None),
    }
    for name, look in looks.items():
        try:
            version = look()
        except DatasetNotFoundError as error:
            raise AssertionError(
                f"{name} raised {error!r} while {when}; it must find version 2 or raise StoreError"
            ) from error
        except LanceError:
            continue
        assert version == 2, (
            f"{name} gave version {version} while {when}; it must give 2, or raise an error: the "
            "caller would take the table for older than it is, or for missing"
        )
