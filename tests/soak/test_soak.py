"""A short form of the kill soak: ``tox -e soak`` is the full one."""

from __future__ import annotations

from tests.soak.run import Plan, soak

PLAN = Plan(seconds=0, seconds_between_kills=0.3, lets_begin=True, min_kills=12, min_commits=120)


def test_no_kill_loses_or_doubles_what_was_acknowledged() -> None:
    outcome = soak(PLAN)
    found = outcome.findings
    assert found.wrong == []
    assert (found.lost, found.duplicated) == (0, 0)
    assert outcome.kills >= PLAN.min_kills
    assert found.acknowledged >= PLAN.min_commits
    assert found.reads
