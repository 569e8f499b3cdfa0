"""Writes whose safety rests on time are not sent again after that time."""

from __future__ import annotations

import pytest

from lance_core.commits.environment import Environment
from lance_core.commits.handlers.exclusive import ExclusiveWriter
from lance_core.errors import OutcomeUnknownError
from lance_core.store.base import Guarantee, StoreCapabilities
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core_remote.client import Failure
from lance_core_remote.store import RemoteStore
from lance_core_testing.sample_transactions import first_candidate
from lance_core_testing.stores.tracing import TracingStore
from tests.each_case import each_case
from tests.unit.remote.scripted import Fails, ScriptedClient, Time


@each_case(("seconds", "last"), [(60.0, 25.0), (35.0, 0.0), (1.0, 0.0)])
def test_a_hurried_store_sends_nothing_that_could_arrive_late(seconds: float, last: float) -> None:
    time = Time(1.0)
    client = ScriptedClient()
    client.fail_always("put", Fails(Failure.UNKNOWN))
    traced = TracingStore(RemoteStore(client, "root", waiting=time.waiting))
    store = PrefixStore(traced, "table")
    with pytest.raises(OutcomeUnknownError):
        store.within(seconds).put("file", b"1")
    assert time.now <= last
    assert client.sent["put"] == (1 if last == 0.0 else 8)
    assert [record.call.path for record in traced.trace.records] == ["table/file"]
    assert store.within(1000.0) is store


def test_a_manifest_that_rests_on_time_is_not_sent_for_longer_than_that() -> None:
    time = Time(1.0)
    client = ScriptedClient(StoreCapabilities(strong_reads=Guarantee.YES))
    store = RemoteStore(client, "root", waiting=time.waiting)
    environment = Environment(sleep=time.sleep)
    writer = ExclusiveWriter(store, environment, request_lifetime=60.0)
    sent: list[float] = []
    client.fail_always("put", Fails(Failure.UNKNOWN))
    with pytest.raises(OutcomeUnknownError):
        writer.write(first_candidate(), lambda: sent.append(time.now))
    assert len(sent) == 3
    assert client.sent["put"] == 3 * 8
