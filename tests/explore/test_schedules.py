"""What breaks a promise is found, told as a short text, and found again from that text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from unittest import mock

import pytest

from lance_core.commits import ancestry, catch_up, outcome
from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.errors import InvalidInputError
from lance_core.store.base import PutMode
from lance_core_explorer import (
    EXTERNAL,
    PUT_IF_ABSENT,
    UNSAFE,
    Actor,
    Configuration,
    Effects,
    Fate,
    Limits,
    bounded,
    configuration,
    explore,
    replay,
    writers,
)
from lance_core_explorer.configurations import stalled
from lance_core_explorer.search import Patch
from tests.each_case import each_case

UNSAFE_PAIR = writers(UNSAFE, 2, 1, 0)


def test_the_unsafe_handler_loses_an_acknowledged_commit() -> None:
    (violation,) = explore(UNSAFE_PAIR).violations
    assert violation.invariant == "I1"
    assert not violation.schedule.lines[-1].endswith(Fate.CRASH.value)


def test_a_schedule_can_be_replayed_from_its_text() -> None:
    (violation,) = explore(UNSAFE_PAIR).violations
    again = replay(str(violation.schedule), [UNSAFE_PAIR])
    assert again.verdict == violation.schedule.verdict
    assert str(again) == str(violation.schedule)


def test_exploring_again_finds_the_same() -> None:
    first, second = (explore(writers(PUT_IF_ABSENT, 2, 1, 1)) for _ in range(2))
    assert replace(first, seconds=0.0) == replace(second, seconds=0.0)


@each_case(
    ("change", "message"),
    [
        (("w1 store.put", "w9 store.put"), "is not possible here"),
        (("-> ok", "-> crash"), "is not possible here"),
        (("configuration", "c"), "begins with the line"),
        (("configuration unsafe", "configuration safe"), "does not exist"),
    ],
)
def test_a_schedule_that_does_not_fit_is_refused(change: tuple[str, str], message: str) -> None:
    (violation,) = explore(UNSAFE_PAIR).violations
    with pytest.raises(InvalidInputError, match=message):
        replay(str(violation.schedule).replace(*change, 1), [UNSAFE_PAIR])


def test_an_exploration_that_was_cut_short_says_so() -> None:
    report = explore(writers(EXTERNAL, 2, 1, 1), limits=Limits(states=2000))
    assert not report.exhausted
    assert report.states < 5000


def test_waiting_writers_do_not_change_what_others_can_do() -> None:
    """Bounding pre-emptions leaves schedules out, and never adds one."""
    every = explore(writers(PUT_IF_ABSENT, 2, 1, 1))
    few = explore(bounded(writers(PUT_IF_ABSENT, 2, 1, 1), 0))
    assert few.ends <= every.ends
    assert few.exhausted


@contextmanager
def _knows_nobody() -> Iterator[None]:
    """Whoever meets "exists" has lost, even if it is what it sent itself before."""
    lost = (outcome.CommittedBy.ANOTHER, None)
    with (
        mock.patch.object(outcome, "find_committer", return_value=lost),
        mock.patch.object(catch_up, "is_same", return_value=False),
    ):
        yield


def _believes_itself() -> AbstractContextManager[object]:
    return mock.patch.object(ancestry, "is_continued", return_value=True)


def _replaces() -> AbstractContextManager[object]:
    def commit(self: PutIfAbsentCommitHandler, candidate: Candidate) -> ManifestLocation:
        self.store.put(candidate.path, candidate.data, PutMode.overwrite)
        return candidate.location

    return mock.patch.object(PutIfAbsentCommitHandler, "commit", commit)


@each_case(
    ("defect", "where"),
    [
        pytest.param(_knows_nobody, writers(PUT_IF_ABSENT, 2, 1, 1), id="self-conflict"),
        pytest.param(_believes_itself, bounded(stalled(PUT_IF_ABSENT), 2), id="stalled writer"),
        pytest.param(_replaces, writers(PUT_IF_ABSENT, 2, 1, 0), id="unconditional write"),
    ],
)
def test_a_defect_is_found(defect: Patch, where: Configuration) -> None:
    (violation,) = explore(where, [defect]).violations
    assert violation.schedule.lines


def test_an_actor_that_never_ends_is_reported() -> None:
    def body(effects: Effects) -> None:
        while True:
            list(effects.store.list("_versions"))

    endless = configuration(PUT_IF_ABSENT, "endless", [Actor("loop", body)])
    (violation,) = explore(endless).violations
    assert "I13" in violation.text
