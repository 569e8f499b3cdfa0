"""What the tests beside pylance have in common."""

from __future__ import annotations

import pytest

from lance_core.checksums import environment


@pytest.fixture
def without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written files need not survive a loss of power."""
    monkeypatch.setenv("LANCE_CORE_DURABILITY", "fast")


@pytest.fixture
def without_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written files have no more than those of pylance."""
    monkeypatch.setattr(environment, "WRITTEN", "no")
