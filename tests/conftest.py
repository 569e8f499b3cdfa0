"""What all tests have in common."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, settings

from lance_core.fast_paths import VARIABLE, FastPaths
from tests.worker_memory import WorkerMemory

# By default an example fails that takes 200 ms, and a test whose examples take long to make. Both
# depend on how fast and busy the machine is.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

_LONGEST_NAME = 80
_memory = WorkerMemory()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Long values are named by their beginning: names go back and forth between processes."""
    if isinstance(val, bytes | str) and len(val) > _LONGEST_NAME:
        return f"{val[:_LONGEST_NAME]!r}...{len(val)}"
    return None


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """In the plain mode, tests of what fast paths save are skipped."""
    if FastPaths.is_plain:
        skip = pytest.mark.skip(reason=f"{VARIABLE}=1: there are no fast paths")
        for item in items:
            if item.get_closest_marker("fast_path"):
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Before the first test: what is there stays there."""
    _memory.freeze()


def pytest_runtest_logfinish() -> None:
    """After each test."""
    _memory.give_back()
