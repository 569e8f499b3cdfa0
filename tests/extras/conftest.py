"""Tests of what the libraries of extras, and pandas, add to the core."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.dataset.conftest import Sample, make_sample


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_CORE_DURABILITY", "fast")


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """100 rows in fragments of 30; not to be changed."""
    return make_sample(str(tmp_path_factory.mktemp("sample") / "table"))
