"""The manifest store that the documentation writes keeps the contracts that the page names."""

from __future__ import annotations

from tests.docs.test_examples import ROOT, names_of

PAGE = ROOT / "docs" / "how-to" / "write-an-external-manifest-store.md"
NAMES = names_of(PAGE)


class TestRowsAsOnThePage(NAMES["TestFolderRows"]):  # type: ignore[misc]
    """The first test class of the page."""


class TestCommitsAsOnThePage(NAMES["TestCommitsThroughFolderRows"]):  # type: ignore[misc]
    """The second one."""
