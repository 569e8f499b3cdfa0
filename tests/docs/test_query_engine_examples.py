"""Every Python block of the page about query engines runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.page_examples import QUERY_ENGINES, ROOT, run


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(ROOT / QUERY_ENGINES, {"__name__": "example"})
