"""The handler that the documentation writes keeps the contract that the documentation names."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_core.commits.surroundings import REAL
from lance_core.store.base import ObjectStore
from lance_core.store.local import Durability, LocalStore
from lance_core.testing.commit_handler import CommitHandlerTests, MakeHandler
from tests.docs.test_examples import ROOT, names_of

PAGE = ROOT / "docs" / "how-to" / "write-a-commit-handler.md"
NAMES = names_of(PAGE)


class TestAsOnThePage(NAMES["TestCopyCommitHandler"]):  # type: ignore[misc]
    """The test class of the page itself."""

    in_process_only = "what a page defines is in no module that another process can import"


class TestOnLocalFiles(CommitHandlerTests):
    """The same handler on another store, made as the page's plugin makes it."""

    in_process_only = "what a page defines is in no module that another process can import"

    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        (spec,) = NAMES["Plugin"]().lance_commit_handlers()
        return lambda store: spec.factory(store, None, {}, REAL)
