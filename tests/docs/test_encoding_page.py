"""The encoding that the documentation writes keeps the contract that the page names."""

from __future__ import annotations

from tests.docs.test_examples import ROOT, names_of

PAGE = ROOT / "docs" / "plugins" / "write-an-encoding.md"
NAMES = names_of(PAGE)


class TestAsOnThePage(NAMES["TestRising"]):  # type: ignore[misc]
    """The test class of the page itself."""
