"""Tests that inherit contracts: pytest runs them in an environment that has nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.local import LocalStore
from lance_core_testing import CommitHandlerTests, ObjectStoreTests


class TestLocalStore(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], LocalStore]:
        return partial(LocalStore, tmp_path)


class TestPutIfAbsent(CommitHandlerTests):
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], LocalStore]:
        return partial(LocalStore, tmp_path)

    @pytest.fixture
    def make_handler(self) -> type[PutIfAbsentCommitHandler]:
        return PutIfAbsentCommitHandler
