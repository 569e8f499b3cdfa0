"""Processes killed while they commit to servers, in short: ``tox -e soak`` is the full form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.soak.places import Place
from tests.soak.run import Plan, soak

PLAN = Plan(
    workers=2,
    seconds=0,
    seconds_between_kills=0.7,
    lets_begin=True,
    min_kills=2,
    min_commits=6,
)


@pytest.mark.parametrize("kind", ["s3+ddb", "gs"])
def test_no_kill_loses_or_doubles_what_a_server_acknowledged(
    new_place: Callable[[str], Place], kind: str
) -> None:
    outcome = soak(PLAN, new_place(kind))
    found = outcome.findings
    assert found.wrong == []
    assert (found.lost, found.duplicated) == (0, 0)
    assert outcome.kills >= PLAN.min_kills
    assert found.acknowledged >= PLAN.min_commits
