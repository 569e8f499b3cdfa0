"""The drawings in the documentation are what their scripts draw."""

from __future__ import annotations

from scripts.drawings.__main__ import stale


def test_drawings_are_up_to_date() -> None:
    assert not stale(), "run: python -m scripts.drawings"
