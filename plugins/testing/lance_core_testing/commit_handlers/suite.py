"""The contract of commit handlers, as tests to inherit.

::

    class TestLedger(CommitHandlerTests):
        @pytest.fixture
        def open_store(self, tmp_path):
            return functools.partial(LocalStore, tmp_path / "table")

        @pytest.fixture
        def make_handler(self, tmp_path):
            return functools.partial(LedgerCommitHandler, ledger=tmp_path / "ledger")
"""

from __future__ import annotations

from typing import ClassVar

import pytest

from lance_core.hookspecs.commits import CommitHandler
from lance_core.hookspecs.stores import ObjectStore
from lance_core_testing.commit_handlers.etags import EtagTests
from lance_core_testing.commit_handlers.faults import FaultTests
from lance_core_testing.commit_handlers.outages import OutageTests
from lance_core_testing.commit_handlers.races import MakeHandler, OpenTable, RaceTests
from lance_core_testing.commit_handlers.versions import MakeOther, VersionTests
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.processes import portable
from lance_core_testing.service import FaultyService, service_or_reason

__all__ = ["CommitHandlerTests", "MakeHandler", "MakeOther"]


class CommitHandlerTests(VersionTests, EtagTests, RaceTests, FaultTests, OutageTests):
    """The contract of a commit handler. Subclass it and provide four fixtures.

    ``open_store``: each call returns a new instance of a store; all instances of a test are rooted
    at the same table, which has no objects when the test starts.
    ``make_handler``: returns a handler of the table for the given store or wrapper of it.

    Other processes call both, so both must be picklable: module-level functions, classes, or a
    `functools.partial` of one. If the store or the handler keeps its state in one process, provide
    ``store`` in place of ``open_store``, and set ``in_process_only``.

    ``store``: the instance that most tests use, by default what ``open_store`` makes.
    ``service``: the `FaultyService` that the handler talks to. If it has none, say so in
    ``without_service``.
    ``make_other``: returns the store and the handler of a second table, which shares with the first
    everything that tables may share, such as a service. If they can share nothing, say so in
    ``tables_share_nothing``.

    The tests that need a missing fixture fail; they are skipped only for a reason that is given.
    """

    in_process_only: ClassVar[str] = ""
    """The reason why no other process can commit; tests with several processes are then skipped."""

    without_service: ClassVar[str] = ""
    """The reason why no service of the handler can be made to fail; tests of lost answers of a
    service are then skipped."""

    tables_share_nothing: ClassVar[str] = ""
    """The reason why no second table can affect the first one; its test is then skipped."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        raise NotImplementedError(
            "provide the fixture `open_store`: a function that makes an instance of the store and "
            "that can be pickled, since other processes call it; or say in `in_process_only` why "
            "no other process can commit, and provide `store`"
        )

    @pytest.fixture
    def store(self, request: pytest.FixtureRequest) -> ObjectStore:
        opened: ObjectStore = request.getfixturevalue("open_store")()
        return opened

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        raise NotImplementedError("provide the fixture `make_handler`")

    @pytest.fixture
    def handler(self, store: ObjectStore, make_handler: MakeHandler) -> CommitHandler:
        return make_handler(store)

    @pytest.fixture
    def shared_table(self, request: pytest.FixtureRequest, make_handler: MakeHandler) -> OpenTable:
        """``open_store`` and ``make_handler``, for other processes."""
        if self.in_process_only:
            pytest.skip(f"other processes cannot commit: {self.in_process_only}")
        opener: OpenStore = request.getfixturevalue("open_store")
        return OpenTable(portable(opener, "open_store"), portable(make_handler, "make_handler"))

    @pytest.fixture
    def service(self) -> FaultyService | None:
        return None

    @pytest.fixture
    def failing(self, service: FaultyService | None) -> FaultyService:
        """``service``; without one, skips the test if ``without_service`` says why."""
        return service_or_reason(service, self.without_service)

    @pytest.fixture
    def make_other(self) -> MakeOther:
        if self.tables_share_nothing:
            pytest.skip(f"tables share nothing: {self.tables_share_nothing}")
        raise NotImplementedError(
            "provide the fixture `make_other`: a function that makes the store and the handler of "
            "a second table beside that of the test, with the same service; or say in "
            "`tables_share_nothing` why no table can affect another one"
        )
