"""What a cleanup may be asked for."""

from __future__ import annotations

import pytest

from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.errors import InvalidInputError


@pytest.mark.parametrize("name", ["retain_versions", "delete_rate_limit"])
def test_numbers_begin_with_one(name: str) -> None:
    assert getattr(CleanupPolicy(**{name: 1}), name) == 1  # type: ignore[arg-type]
    for number in (0, -1):
        with pytest.raises(InvalidInputError, match=f"{name} must be greater than 0, got {number}"):
            CleanupPolicy(**{name: number})  # type: ignore[arg-type]
