"""Whatever is done in whatever order, tables hold the same as with pylance and as a plain model."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.histories.machine import VERBS, machine

IS_FULL_RUN = "LANCE_CORE_HISTORIES" in os.environ
"""Whether this is `tox -e histories`: only then each run tries other histories."""
HISTORIES = int(os.environ.get("LANCE_CORE_HISTORIES", "120"))
KINDS = [(version, stable) for version in ("2.0", "2.1", "2.2") for stable in (False, True)]


@pytest.fixture(autouse=True, scope="module")
def _without_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANCE_CORE_DURABILITY", "fast")
        yield


@pytest.mark.parametrize(("file_version", "stable"), KINDS)
def test_histories(file_version: str, stable: bool) -> None:
    run_state_machine_as_test(
        machine(file_version, stable, VERBS),
        settings=settings(
            max_examples=-(-HISTORIES // len(KINDS)),
            stateful_step_count=6,
            deadline=None,
            derandomize=not IS_FULL_RUN,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
            report_multiple_bugs=False,
        ),
    )
