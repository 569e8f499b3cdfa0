"""Servers without conditional writes are found out, and commits there are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import NoSafeCommitHandlerError, OutcomeUnknownError
from lance_core.store.base import Guarantee, PutMode
from lance_core.store.probe import probe
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Reset, Rule, Without, xml_error
from tests.cloud.s3.places import opened
from tests.servers.moto import Moto

DATA = pa.table({"id": [1, 2, 3]})
IGNORES = Without(frozenset({"if-none-match"}))
REFUSES = xml_error(501, "NotImplemented")
REMEDIES = ("+ddb", "+sql", "lock", "lease")


@pytest.fixture
def through(moto: Moto, proxy: FaultProxy) -> dict[str, str]:
    """Options of a server that may be made one without conditions."""
    return moto.options | {"aws_endpoint": proxy.url}


@pytest.fixture(
    params=[Rule(IGNORES, "PUT"), Rule(REFUSES, "PUT", "*_probe*")], ids=["ignores", "refuses"]
)
def lacking(
    request: pytest.FixtureRequest, proxy: FaultProxy, through: dict[str, str]
) -> dict[str, str]:
    """Options of a server without conditions."""
    proxy.set_rules([request.param])
    return through


def test_a_server_with_conditions_is_trusted_after_a_trial(moto: Moto, bucket: str) -> None:
    with opened(f"s3://{bucket}/t", moto.options) as store:
        assert store.capabilities.put_if_absent is Guarantee.UNKNOWN
        assert probe(store).put_if_absent is Guarantee.YES


def test_a_server_without_conditions_is_found_out(bucket: str, lacking: dict[str, str]) -> None:
    with opened(f"s3://{bucket}/t", lacking) as store:
        assert probe(store).put_if_absent is Guarantee.NO


def test_commits_are_refused_there_with_what_to_do(
    bucket: str, lacking: dict[str, str], proxy: FaultProxy
) -> None:
    with pytest.raises(NoSafeCommitHandlerError) as refused:
        lance.write_dataset(DATA, f"s3://{bucket}/t", storage_options=lacking)
    for remedy in REMEDIES:
        assert remedy in str(refused.value), remedy
    assert proxy.count("PUT", "*.manifest") == 0


def test_tables_can_be_read_there(moto: Moto, bucket: str, lacking: dict[str, str]) -> None:
    lance.write_dataset(DATA, f"s3://{bucket}/t", storage_options=moto.options)
    found = lance.dataset(f"s3://{bucket}/t", storage_options=lacking)
    assert found.to_table().equals(DATA)


def test_what_is_said_to_lack_conditions_is_not_tried(
    bucket: str, proxy: FaultProxy, through: dict[str, str]
) -> None:
    options = through | {"conditional_put": "disabled"}
    with pytest.raises(NoSafeCommitHandlerError):
        lance.write_dataset(DATA, f"s3://{bucket}/t", storage_options=options)
    assert proxy.count("PUT", "*_probe*") == 0


def test_who_vouches_for_a_server_spares_the_trial(
    bucket: str, proxy: FaultProxy, through: dict[str, str]
) -> None:
    options = through | {"put_if_absent": "yes"}
    lance.write_dataset(DATA, f"s3://{bucket}/t", storage_options=options)
    assert proxy.count(path="*_probe*") == 0


@pytest.mark.parametrize("suffix", ["sql", "lease"])
def test_other_ways_of_committing_work_there(
    bucket: str, proxy: FaultProxy, through: dict[str, str], suffix: str, tmp_path: object
) -> None:
    proxy.set_rules([Rule(IGNORES, "PUT")])
    elsewhere = {
        "sql": {"sqlUrl": f"sqlite:///{tmp_path}/rows.sqlite"},
        "lease": {"lease_uri": f"file://{tmp_path}/leases"},
    }
    options = through | elsewhere[suffix]
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
