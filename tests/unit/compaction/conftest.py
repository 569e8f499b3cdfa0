"""The fixtures of tables."""

from __future__ import annotations

from tests.unit.dataset.conftest import (
    _without_waiting_for_the_disk,
    lose_outcomes,
    some_rows,
    uri,
)

__all__ = ["_without_waiting_for_the_disk", "lose_outcomes", "some_rows", "uri"]
