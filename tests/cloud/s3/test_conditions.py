"""Servers without conditional writes are found out, and commits there are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import NoSafeCommitHandlerError, OutcomeUnknownError
from lance_core.store.base import Guarantee, PutMode
from lance_core.store.probe import probe
from tests.cloud.s3.places import opened
from tests.servers.faults import Fault, Reset, Rule, Without, xml_error
from tests.servers.moto import Moto
from tests.servers.proxy import FaultProxy

DATA = pa.table({"id": [1, 2, 3]})
IGNORES = Without(frozenset({"if-none-match"}))
REFUSES = xml_error(501, "NotImplemented")
SERVERS = pytest.mark.parametrize("fault", [IGNORES, REFUSES], ids=["ignores", "refuses"])
REMEDIES = ("+ddb", "+sql", "lock", "lease")


@pytest.fixture
def proxy(moto: Moto) -> Iterator[FaultProxy]:
    with FaultProxy(moto.endpoint) as running:
        yield running


def without_conditions(proxy: FaultProxy, fault: Fault) -> None:
    path = "*" if fault is IGNORES else "*_probe*"
    proxy.set_rules([Rule(fault, "PUT", path)])


def test_a_server_with_conditions_is_trusted_after_a_trial(moto: Moto, bucket: str) -> None:
    with opened(f"s3://{bucket}/t", moto.options) as store:
        assert store.capabilities.put_if_absent is Guarantee.UNKNOWN
        assert probe(store).put_if_absent is Guarantee.YES


@SERVERS
def test_a_server_without_conditions_is_found_out(
    moto: Moto, bucket: str, proxy: FaultProxy, fault: Fault
) -> None:
    without_conditions(proxy, fault)
    with opened(f"s3://{bucket}/t", moto.options | {"aws_endpoint": proxy.url}) as store:
        assert probe(store).put_if_absent is Guarantee.NO


@SERVERS
def test_commits_are_refused_there_with_what_to_do(
    moto: Moto, bucket: str, proxy: FaultProxy, fault: Fault
) -> None:
    without_conditions(proxy, fault)
    options = moto.options | {"aws_endpoint": proxy.url}
    with pytest.raises(NoSafeCommitHandlerError) as refused:
        lance.write_dataset(DATA, f"s3://{bucket}/t", storage_options=options)
    for remedy in REMEDIES:
        assert remedy in str(refused.value), remedy
    assert proxy.count("PUT", "*.manifest") == 0


@SERVERS
def test_tables_can_be_read_there(moto: Moto, bucket: str, proxy: FaultProxy, fault: Fault) -> None:
    lance.write_dataset(DATA, f"s3://{bucket}/t", storage_options=moto.options)
    without_conditions(proxy, fault)
    found = lance.dataset(
        f"s3://{bucket}/t", storage_options=moto.options | {"aws_endpoint": proxy.url}
    )
    assert found.to_table().equals(DATA)


def test_what_is_said_to_lack_conditions_is_not_tried(
    moto: Moto, bucket: str, proxy: FaultProxy
) -> None:
    options = moto.options | {"aws_endpoint": proxy.url, "conditional_put": "disabled"}
    with pytest.raises(NoSafeCommitHandlerError):
        lance.write_dataset(DATA, f"s3://{bucket}/t", storage_options=options)
    assert proxy.count("PUT", "*_probe*") == 0


def test_who_vouches_for_a_server_spares_the_trial(
    moto: Moto, bucket: str, proxy: FaultProxy
) -> None:
    options = moto.options | {"aws_endpoint": proxy.url, "put_if_absent": "yes"}
    lance.write_dataset(DATA, f"s3://{bucket}/t", storage_options=options)
    assert proxy.count(path="*_probe*") == 0


@pytest.mark.parametrize("suffix", ["sql", "lease"])
def test_other_ways_of_committing_work_there(
    moto: Moto, bucket: str, proxy: FaultProxy, suffix: str, tmp_path: object
) -> None:
    without_conditions(proxy, IGNORES)
    elsewhere = {
        "sql": {"sqlUrl": f"sqlite:///{tmp_path}/rows.sqlite"},
        "lease": {"lease_uri": f"file://{tmp_path}/leases"},
    }
    options = moto.options | {"aws_endpoint": proxy.url} | elsewhere[suffix]
    uri = f"s3+{suffix}://{bucket}/t"
    for _ in range(3):
        lance.write_dataset(DATA, uri, mode="append", storage_options=options)
    assert lance.dataset(uri, storage_options=options).count_rows() == 9


@pytest.mark.parametrize("after", [False, True])
def test_a_connection_that_breaks_by_way_of_a_proxy_leaves_a_write_open(
    moto: Moto, bucket: str, proxy: FaultProxy, after: bool
) -> None:
    with opened(f"s3://{bucket}/t", moto.options | {"proxy_url": proxy.url}) as store:
        proxy.set_rules([Rule(Reset(after), "PUT", times=1)])
        if after:  # the second attempt meets the first
            with pytest.raises(OutcomeUnknownError):
                store.put("file", b"content", PutMode.create)
        else:
            store.put("file", b"content", PutMode.create)
        assert proxy.count("PUT") == 2
        assert bytes(store.get("file")) == b"content"
