"""The contract of commit handlers, as tests to inherit.

::

    class TestLedger(CommitHandlerTests):
        @pytest.fixture
        def store(self, tmp_path):
            return LocalStore(tmp_path / "table")

        @pytest.fixture
        def make_handler(self, tmp_path):
            return lambda store: LedgerCommitHandler(store, tmp_path / "ledger")
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_core.commits.base import CommitHandler
from lance_core.store.base import ObjectStore
from lance_core.testing.commit_handler_faults import FaultTests
from lance_core.testing.commit_handler_races import RaceTests
from lance_core.testing.commit_handler_versions import VersionTests

MakeHandler = Callable[[ObjectStore], CommitHandler]
"""Makes a handler of the table that the store is rooted at."""


class CommitHandlerTests(VersionTests, RaceTests, FaultTests):
    """Everything that a commit handler must hold. Subclass it and provide two fixtures.

    ``store``: a store without objects, new for each test, rooted at the table.
    ``make_handler``: makes a handler of the table, given the store or a wrapper around it.
    """

    @pytest.fixture
    def store(self) -> ObjectStore:
        raise NotImplementedError("provide the fixture `store`")

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        raise NotImplementedError("provide the fixture `make_handler`")

    @pytest.fixture
    def handler(self, store: ObjectStore, make_handler: MakeHandler) -> CommitHandler:
        return make_handler(store)
