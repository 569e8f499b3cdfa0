"""The verdict of a probe belongs to a server's bucket; tables keep it for other processes."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import NoSafeCommitHandlerError
from lance_core.plugins import capability_evidence
from lance_core.plugins.probe_records import PROBE_KEY
from lance_core.plugins.store_cache import live_stores
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Rule, Without
from tests.servers.moto import Moto

ROWS = pa.table({"id": range(3)})
IGNORED = Rule(Without(frozenset({"if-none-match"})), "PUT")

OF_A_PROBE = 23
"""Requests of a probe. It is part of the first commit to a bucket of another server than Amazon."""
OF_AN_APPEND = 6
"""Requests of an append: two listings, a manifest, the file, the transaction, the new manifest."""


@pytest.fixture(autouse=True)
def new_process() -> None:
    """What a process has found out is forgotten, as in another one."""
    forget()


def forget() -> None:
    capability_evidence.probes.reset()
    capability_evidence._refuted.reset()
    live_stores.reset()


def probed(proxy: FaultProxy) -> int:
    return proxy.count(path="*/_probe/*")


def append(uri: str, options: dict[str, str]) -> lance.LanceDataset:
    return lance.write_dataset(ROWS, uri, mode="append", storage_options=options)


@pytest.fixture
def options(moto: Moto, proxy: FaultProxy) -> dict[str, str]:
    return moto.options | {"aws_endpoint": proxy.url}


def test_only_the_first_process_probes(
    bucket: str, proxy: FaultProxy, options: dict[str, str]
) -> None:
    uri = f"s3://{bucket}/t"
    made = lance.write_dataset(ROWS, uri, storage_options=options)
    assert probed(proxy) == OF_A_PROBE
    assert "put_if_absent" in made.config()[PROBE_KEY]
    for _ in range(2):
        forget()
        proxy.set_rules([])
        append(uri, options)
        assert (len(proxy.requests), probed(proxy)) == (OF_AN_APPEND, 0)
    forget()
    proxy.set_rules([])
    append(uri, options | {"put_if_absent": "probe"})
    assert probed(proxy) == OF_A_PROBE


def test_a_table_that_has_no_record_gets_one(
    bucket: str, proxy: FaultProxy, options: dict[str, str]
) -> None:
    uri = f"s3://{bucket}/t"
    asserted = options | {"put_if_absent": "yes"}
    assert PROBE_KEY not in lance.write_dataset(ROWS, uri, storage_options=asserted).config()
    assert probed(proxy) == 0
    before = append(uri, options).config()
    assert probed(proxy) == OF_A_PROBE
    proxy.set_rules([])
    assert append(uri, options).config() == before
    assert len(proxy.requests) == OF_AN_APPEND


def test_a_record_of_another_place_or_of_long_ago_is_not_believed(
    moto: Moto, bucket: str, proxy: FaultProxy, options: dict[str, str]
) -> None:
    uri = f"s3://{bucket}/t"
    made = lance.write_dataset(ROWS, uri, storage_options=options)
    recent = made.config()[PROBE_KEY]
    digest, day, found = recent.split(" ")
    for record in (
        f"{digest} 2026-01-01 {found}",
        f"{digest} 2999-01-01 {found}",
        f"{digest[::-1]} {day} {found}",
        f"{digest} {day} strong_reads",
        f"{digest} {day}",
        "yes",
    ):
        made.update_config({PROBE_KEY: record})
        forget()
        proxy.set_rules([])
        made = append(uri, options)
        assert probed(proxy) == OF_A_PROBE
        assert recent in made.config()[PROBE_KEY]
    forget()
    with FaultProxy(moto.endpoint) as other:
        both = append(uri, moto.options | {"aws_endpoint": other.url}).config()[PROBE_KEY]
        assert probed(other) == OF_A_PROBE
    assert recent in both.split(";")


def test_a_branch_and_other_tables_of_the_bucket_have_the_verdict(
    bucket: str, proxy: FaultProxy, options: dict[str, str]
) -> None:
    made = lance.write_dataset(ROWS, f"s3://{bucket}/t", storage_options=options)
    proxy.set_rules([])
    branch = made.create_branch("branch")
    branch.delete("id = 1")
    lance.write_dataset(ROWS, f"s3://{bucket}/other", storage_options=options)
    other_way = options | {"client_max_retries": "3"}
    lance.write_dataset(ROWS, f"s3://{bucket}/third", storage_options=other_way)
    assert probed(proxy) == 0


def test_a_server_that_is_found_unsafe_is_unsafe_for_all_and_is_asked_again(
    bucket: str, proxy: FaultProxy, options: dict[str, str]
) -> None:
    root = lance.write_dataset(ROWS, f"s3://{bucket}/t", storage_options=options)
    branch = root.create_branch("branch")
    root.delete("id = 0")
    # The branch is in a process that knows nothing, and the server has been replaced.
    root.delete_config_keys([PROBE_KEY])
    capability_evidence.probes.reset()
    proxy.set_rules([IGNORED])
    with pytest.raises(NoSafeCommitHandlerError):
        branch.delete("id = 1")
    with pytest.raises(NoSafeCommitHandlerError):
        root.delete("id = 1")
    # A record of a time when it was safe is not believed any more.
    lance.dataset(f"s3://{bucket}/t/tree/branch", storage_options=options)
    with pytest.raises(NoSafeCommitHandlerError):
        root.delete("id = 1")
    proxy.set_rules([])
    root.delete("id = 1")
    assert root.count_rows() == 1
