"""What all tests have in common."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lance_core.fast_paths import VARIABLE, FastPaths
from tests.examples import examples
from tests.worker_memory import WorkerMemory, collect_and_freeze

# By default an example fails that takes 200 ms, and a test whose examples take long to make. Both
# depend on how fast and busy the machine is.
settings.register_profile(
    "any machine",
    deadline=None,
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")

_LONGEST_NAME = 80
_LONGEST_FOLDER_NAME = 30
_memory = WorkerMemory()
_folder_numbers = itertools.count()


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """An empty folder, in place of pytest's own fixture.

    That one leaves a link for each test and lists them all for the next one, which takes longer
    than most tests.
    """
    name = re.sub(r"\W", "_", request.node.name)[:_LONGEST_FOLDER_NAME]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(_folder_numbers)}"
    path.mkdir(mode=0o700)
    failed_before = request.session.testsfailed
    yield path
    keeps_all = request.config.getini("tmp_path_retention_policy") == "all"
    if not keeps_all and request.session.testsfailed == failed_before:
        shutil.rmtree(path, ignore_errors=True)


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
    collect_and_freeze()


def pytest_runtest_logfinish() -> None:
    """After each test."""
    _memory.give_back()
