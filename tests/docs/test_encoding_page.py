"""The encoding that the documentation writes keeps the contract that the page names."""

from __future__ import annotations

import contextlib
import tempfile
from typing import Any

from tests.docs.test_examples import ROOT, blocks

PAGE = ROOT / "docs" / "plugins" / "write-an-encoding.md"


def names_of_the_page() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks(PAGE):
            exec(compile(block.code, PAGE.name, "exec"), names)
    return names


NAMES = names_of_the_page()


class TestAsOnThePage(NAMES["TestRising"]):  # type: ignore[misc]
    """The test class of the page itself."""
