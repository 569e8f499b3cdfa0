"""The manifest store that the documentation writes keeps the contracts that the page names."""

from __future__ import annotations

from tests.docs.test_examples import ROOT, names_of

PAGE = ROOT / "docs" / "how-to" / "write-an-external-manifest-store.md"
NAMES = names_of(PAGE)
IN_NO_MODULE = "what a page defines is in no module that another process can import"


class TestRowsAsOnThePage(NAMES["TestFolderRows"]):  # type: ignore[misc]
    """The first test class of the page."""

    in_process_only = IN_NO_MODULE


class TestCommitsAsOnThePage(NAMES["TestCommitsThroughFolderRows"]):  # type: ignore[misc]
    """The second one."""

    in_process_only = IN_NO_MODULE
