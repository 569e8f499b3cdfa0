"""Writers behind networks that fail, in short: ``tox -e soak`` is the full form."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from lance_core.errors import OutcomeUnknownError, StoreError
from lance_core.plugins.store_cache import open_store
from lance_core.store.base import PutMode
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Fault, LateAnswer, Reset, Rule, SlowBody
from tests.patience import LASTING, SLACK, ends_within
from tests.soak.expiry import end_again_and_again, end_at_each_request, source_of
from tests.soak.mixes import INTERFACES
from tests.soak.network import LONGEST_CALL, Figures, Writers, check, run, scaled
from tests.soak.places import NAMES, Place

NewPlace = Callable[[str], Place]

WRITERS, COMMITS = 4, 3


MIXED = [
    ("s3", "conflicts"),
    ("s3+ddb", "truncated bodies"),
    ("gs", "twice as bad"),
    ("az", "bad network"),
    ("webdav", "slow bodies"),
]


@pytest.mark.parametrize(("kind", "mix"), MIXED)
def test_every_commit_lands_once_whatever_the_network_does(
    new_place: NewPlace, kind: str, mix: str
) -> None:
    found = run(new_place(kind), mix, WRITERS, COMMITS)
    assert found.wrong == []
    assert (found.acknowledged, found.lost, found.duplicated) == (WRITERS * COMMITS, 0, 0)
    assert found.struck > 10
    assert found.longest < LONGEST_CALL + SLACK


WITH_SOURCES = tuple(name for name in NAMES if name != "webdav")


@pytest.mark.parametrize("kind", WITH_SOURCES)
def test_credentials_may_end_at_any_request(new_place: NewPlace, kind: str) -> None:
    with source_of(new_place(kind)) as source:
        found = end_at_each_request(source)
    assert found.wrong == []
    assert found.struck >= found.requests


@pytest.mark.parametrize("kind", WITH_SOURCES)
def test_one_renewal_of_credentials_is_for_all_writers(new_place: NewPlace, kind: str) -> None:
    with source_of(new_place(kind)) as source:
        found = end_again_and_again(source, WRITERS, COMMITS)
    assert found.wrong == []
    assert found.acknowledged == WRITERS * COMMITS


@pytest.mark.parametrize("kind", NAMES)
def test_credentials_that_nobody_renews_end_in_a_refusal(new_place: NewPlace, kind: str) -> None:
    place = new_place(kind)
    with FaultProxy(place.endpoint) as proxy, scaled():
        at = Writers(place.uri(proxy.url), place.options(proxy.url) | {"put_if_absent": "yes"})
        at.run(1, 2)
        proxy.set_rules([])
        at.append()
        for number in range(1, proxy.count() + 1):
            proxy.set_rules(
                Rule(interface.expired, path=interface.path, since=number)
                for interface in INTERFACES[kind]
            )
            at.append()
        found = Figures(wrong=at.wrong)
    check(place, at.told, found)
    assert found.wrong == []
    assert found.refused > 3
    # Where a row decides, it can be there when nothing else can be done any more.
    assert found.unknown <= kind.count("+")


SILENCES: dict[str, Fault] = {
    "resets": Reset(),
    "resets after the fact": Reset(after=True),
    "nothing but errors": Answer(503),
    "no answers": LateAnswer(LASTING),
    "answers that never end": SlowBody(LASTING, pieces=3000),
}
DEADLINE = {"timeout": "150ms", "client_retry_timeout": "200ms", "client_max_retries": "10000"}
"""The number of retries is no limit: only the time is."""

LONGEST = 0.5


@pytest.mark.parametrize("silence", SILENCES)
@pytest.mark.parametrize("kind", [name for name in NAMES if "+" not in name])
def test_every_call_ends_within_its_deadline(new_place: NewPlace, kind: str, silence: str) -> None:
    place = new_place(kind)
    with FaultProxy(place.endpoint) as proxy, scaled():
        uri = place.uri(proxy.url)
        open_store(uri, place.options(proxy.url)).put("there", bytes(10_000))
        store = open_store(uri, place.options(proxy.url) | DEADLINE)
        proxy.set_rules([Rule(SILENCES[silence])])
        for act in (
            lambda: store.get("there"),
            lambda: store.head("there"),
            lambda: list(store.list("")),
            lambda: store.put("new", b"1"),
            lambda: store.put("newer", b"1", PutMode.create),
            lambda: store.delete("gone"),
        ):
            with ends_within(LONGEST), suppress(StoreError, OutcomeUnknownError):
                act()
        assert proxy.struck >= 6
