"""Tables whose commits need a lease."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, NoSafeCommitHandlerError
from lance_core.plugins import open_store, select_commit_handler
from lance_core.store.base import Guarantee, StoreCapabilities
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.store.uri import parse_uri
from lance_core.store.wrappers.capability_override import DeclaredStore
from lance_core_testing.sample_transactions import first_candidate
from lance_core_testing.stores.tracing import TracingStore
from tests.each_case import each_case

ROW = pa.table({"x": [1]})
NOTHING_KNOWN = StoreCapabilities(strong_reads=Guarantee.YES)
NO_CONDITIONS = StoreCapabilities(strong_reads=Guarantee.YES, put_if_absent=Guarantee.NO)


def test_the_suffix_of_a_url_asks_for_it(tmp_path: Path) -> None:
    uri = f"file+lease://{tmp_path}/t.lance"
    lance.write_dataset(ROW, uri)
    assert len(list((tmp_path / "t.lance" / "_leases").iterdir())) == 2
    lance.write_dataset(ROW, uri, mode="append")
    assert len(list((tmp_path / "t.lance" / "_leases").iterdir())) == 4
    assert lance.dataset(str(tmp_path / "t.lance")).count_rows() == 2


@pytest.mark.parametrize("where", ["option", "query"])
def test_the_lease_can_be_elsewhere(tmp_path: Path, where: str) -> None:
    uri, kept = f"file+lease://{tmp_path}/t.lance", f"{tmp_path}/kept"
    options = {"lease_uri": kept, "lease_duration": "20", "lease_request_lifetime": "5"}
    if where == "query":
        uri, options = f"{uri}?lease_uri={kept}&lease_duration=20&lease_request_lifetime=5", {}
    lance.write_dataset(ROW, uri, storage_options=options)
    assert not (tmp_path / "t.lance" / "_leases").exists()
    held = next(
        path for path in (tmp_path / "kept" / "_leases").iterdir() if "null" not in path.read_text()
    )
    assert '"duration": 20.0' in held.read_text()


def test_names_of_options_may_be_spelt_as_those_of_other_handlers(tmp_path: Path) -> None:
    uri, kept = f"file+lease://{tmp_path}/t.lance", f"{tmp_path}/kept"
    lance.write_dataset(ROW, uri, storage_options={"leaseUri": kept, "LEASE_DURATION": "90"})
    assert not (tmp_path / "t.lance" / "_leases").exists()
    assert any('"duration": 90.0' in path.read_text() for path in Path(kept, "_leases").iterdir())


def test_reading_takes_no_lease(tmp_path: Path) -> None:
    lance.write_dataset(ROW, tmp_path / "t.lance")
    uri = f"file+lease://{tmp_path}/t.lance"
    assert lance.dataset(uri).count_rows() == 1
    assert not (tmp_path / "t.lance" / "_leases").exists()


def test_data_without_conditions_needs_a_lease_elsewhere() -> None:
    store = DeclaredStore(MemoryStore(), NO_CONDITIONS)
    url = parse_uri("memory+lease://somewhere/table")
    with pytest.raises(NoSafeCommitHandlerError, match="option lease_uri"):
        select_commit_handler(store, url, {}).commit(first_candidate())
    kept = "memory://leases-of-tables/one"
    handler = select_commit_handler(store, url, {"lease_uri": kept})
    handler.commit(first_candidate())
    assert len(list_paths(open_store(kept))) == 2
    assert list_paths(store) == [first_candidate().path]


def test_what_a_store_leaves_open_is_probed() -> None:
    inner = TracingStore(MemoryStore())
    store = DeclaredStore(inner, NOTHING_KNOWN)
    handler = select_commit_handler(store, parse_uri("memory+lease://probed/table"), {})
    assert handler.latest() is None
    assert inner.trace.counts["put"] == 0
    handler.commit(first_candidate())
    assert handler.locate(1).version == 1


def test_the_users_word_about_the_table_decides_how_it_is_written() -> None:
    """A store that claims conditional writes and ignores them is written to without them."""
    inner = TracingStore(MemoryStore())
    options = {"put_if_absent": "no", "lease_uri": "memory://leases-of-tables/two"}
    url = parse_uri("memory+lease://a/table")
    select_commit_handler(inner, url, options).commit(first_candidate())
    assert [call.call.mode.name for call in inner.trace.records if call.call.mode] == ["overwrite"]


@each_case(
    "options",
    [
        {"lease_duration": "long"},
        {"lease_duration": "5"},
        {"lease_uri": ""},
        {"lease_patience": "0"},
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError):
        select_commit_handler(MemoryStore(), parse_uri("memory+lease://x/y"), options)
