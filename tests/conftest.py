"""What all tests have in common."""

from __future__ import annotations

_LONGEST_NAME = 80


def pytest_make_parametrize_id(val: object) -> str | None:
    """Long values are named by their beginning: names go back and forth between processes."""
    if isinstance(val, bytes | str) and len(val) > _LONGEST_NAME:
        return f"{val[:_LONGEST_NAME]!r}...{len(val)}"
    return None
