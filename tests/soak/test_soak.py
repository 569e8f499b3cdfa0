"""A short form of the kill soak: ``tox -e soak`` is the full one."""

from __future__ import annotations

from tests.soak.run import Plan, soak


def test_no_kill_loses_or_doubles_what_was_acknowledged() -> None:
    outcome = soak(Plan(seconds=15, seconds_between_kills=0.4))
    found = outcome.findings
    assert found.wrong == []
    assert (found.lost, found.duplicated) == (0, 0)
    assert outcome.kills >= 10
    assert found.acknowledged >= 100
    assert found.reads
