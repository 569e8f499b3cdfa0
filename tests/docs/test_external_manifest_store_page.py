"""The manifest store that the documentation writes keeps the contracts that the page names."""

from __future__ import annotations

import contextlib
import tempfile
from typing import Any

from tests.docs.test_examples import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "write-an-external-manifest-store.md"


def names_of_the_page() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks(PAGE):
            exec(compile(block.code, PAGE.name, "exec"), names)
    return names


NAMES = names_of_the_page()


class TestRowsAsOnThePage(NAMES["TestFolderRows"]):  # type: ignore[misc]
    """The first test class of the page."""


class TestCommitsAsOnThePage(NAMES["TestCommitsThroughFolderRows"]):  # type: ignore[misc]
    """The second one."""
