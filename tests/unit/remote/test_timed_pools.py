"""Pools of urllib3's shape make connections whose requests end in time."""

from __future__ import annotations

import http.client
from typing import Any

import pytest

from lance_core_remote.request_deadline import TimedConnection, timed_pools


class Pool:
    ConnectionCls: Any = http.client.HTTPConnection


class TlsPool(Pool):
    ConnectionCls = http.client.HTTPSConnection


@pytest.mark.parametrize(("scheme", "given"), [("http", Pool), ("https", TlsPool)])
def test_a_pool_makes_the_connections_of_its_kind_with_a_time(
    scheme: str, given: type[Pool]
) -> None:
    made = timed_pools(2.5, Pool, TlsPool)[scheme]
    connection = made.ConnectionCls("host")
    assert issubclass(made, given)
    assert isinstance(connection, TimedConnection)
    assert isinstance(connection, given.ConnectionCls)
    assert connection.seconds == 2.5


def test_pools_leave_each_others_time_and_what_they_are_made_of_alone() -> None:
    first, second = timed_pools(1.0, Pool, TlsPool), timed_pools(2.0, Pool, TlsPool)
    assert [first["http"].ConnectionCls.seconds, second["http"].ConnectionCls.seconds] == [1, 2]
    assert Pool.ConnectionCls is http.client.HTTPConnection
    assert TimedConnection.seconds == 30.0
