"""Who may not, or asks at the wrong place, gets one typed error, in time."""

from __future__ import annotations

from collections.abc import Iterator

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import (
    InvalidInputError,
    NoSafeCommitHandlerError,
    NotFoundError,
    StoreError,
)
from lance_core.plugins.store_cache import open_store
from lance_core.store.base import Guarantee, ObjectStore
from lance_core.store.probe import probe
from tests.patience import ends_within
from tests.servers.gcs import GcsServer, running_gcs

TABLE = pa.table({"id": [1, 2, 3]})


@pytest.fixture(scope="module")
def guarded() -> Iterator[GcsServer]:
    """A server that knows a writer and a reader."""
    known = ("--writer", "the-writer", "--reader", "the-reader")
    with running_gcs("--bucket", "bucket", *known) as server:
        yield server


@pytest.fixture(scope="module")
def heedless() -> Iterator[GcsServer]:
    """A server that accepts conditions and ignores them."""
    with running_gcs("--bucket", "bucket", "--ignore-preconditions") as server:
        yield server


def options(server: GcsServer, token: str | None = None) -> dict[str, str]:
    given = {"google_base_url": server.endpoint, "allow_http": "true"}
    if token is None:
        return {**given, "google_skip_signature": "true"}
    return {**given, "google_storage_token": token}


def test_a_reader_reads_what_a_writer_wrote_and_writes_nothing(guarded: GcsServer) -> None:
    uri = "gs://bucket/table"
    lance_core.write_dataset(TABLE, uri, storage_options=options(guarded, "the-writer"))
    reader = options(guarded, "the-reader")
    assert lance_core.dataset(uri, storage_options=reader).to_table() == TABLE
    with pytest.raises(StoreError, match=r"403.*storage\.objects\.create"):
        lance_core.write_dataset(TABLE, uri, mode="append", storage_options=reader)
    assert lance_core.dataset(uri, storage_options=reader).version == 1


@pytest.mark.parametrize("token", ["wrong", None])
def test_wrong_credentials_are_one_error(guarded: GcsServer, token: str | None) -> None:
    store = open_store("gs://bucket/a", options(guarded, token))
    for call in (
        lambda: store.get("x"),
        lambda: store.head("x"),
        lambda: store.put("x", b"1"),
        lambda: store.delete("x"),
        lambda: store.copy("x", "y"),
        lambda: list(store.list("")),
    ):
        with ends_within(1), pytest.raises(StoreError, match="401"):
            call()


def test_a_missing_bucket_is_named(gcs: GcsServer) -> None:
    store = open_store("gs://not-there/a", gcs.options)
    for call in (
        lambda: store.get("x"),
        lambda: store.put("x", b"1"),
        lambda: store.delete("x"),
        lambda: list(store.list("")),
        lambda: store.open_writer("x").__exit__(None, None, None),
    ):
        with pytest.raises(StoreError, match=r"gs://not-there.*bucket does not exist") as caught:
            call()
        assert not isinstance(caught.value, NotFoundError)
    with pytest.raises(StoreError, match="gs://not-there"):
        lance_core.dataset("gs://not-there/table", storage_options=gcs.options)


def test_a_service_that_is_down_is_an_error_within_the_deadline(unused_endpoint: str) -> None:
    given = {"google_base_url": unused_endpoint, "allow_http": "true"}
    more = {"google_skip_signature": "true", "client_retry_timeout": "1s"}
    more["client_max_retries"] = "1000"
    with ends_within(1), pytest.raises(StoreError, match="no connection to"):
        lance_core.dataset("gs://bucket/table", storage_options=given | more)


def test_without_encryption_nothing_is_sent_unless_allowed(gcs: GcsServer) -> None:
    with pytest.raises(InvalidInputError, match="allow_http"):
        lance_core.dataset("gs://bucket/table", storage_options={"base_url": gcs.endpoint})


def test_no_variable_of_the_sdk_chooses_another_endpoint(
    gcs: GcsServer, bucket: str, unused_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_USE_MTLS_ENDPOINT", "always")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", unused_endpoint)
    monkeypatch.setenv("API_ENDPOINT_OVERRIDE", unused_endpoint)
    store = open_store(f"gs://{bucket}/a", gcs.options)
    store.put("object", b"content")
    assert bytes(store.get("object")) == b"content"
    assert [one.path for one in store.list("")] == ["object"]


def test_a_table_that_is_not_there_is_not_found(gcs: GcsServer, bucket: str) -> None:
    with pytest.raises(NotFoundError):
        lance_core.dataset(f"gs://{bucket}/table", storage_options=gcs.options)


def test_the_probe_finds_a_server_that_ignores_conditions(heedless: GcsServer) -> None:
    store = open_store("gs://bucket/probed", heedless.options)
    assert store.capabilities.put_if_absent is Guarantee.UNKNOWN
    seen = probe(store)
    assert (seen.put_if_absent, seen.copy_if_absent) == (Guarantee.NO, Guarantee.NO)


def test_nothing_is_committed_where_conditions_are_ignored(heedless: GcsServer) -> None:
    uri = "gs://bucket/table"
    with pytest.raises(NoSafeCommitHandlerError, match="put_if_absent"):
        lance_core.write_dataset(TABLE, uri, storage_options=heedless.options)
    lance.write_dataset(TABLE, uri, storage_options=heedless.options)
    dataset = lance_core.dataset(uri, storage_options=heedless.options)
    assert dataset.to_table() == TABLE
    with pytest.raises(NoSafeCommitHandlerError):
        dataset.delete("id = 1")


def test_the_probe_trusts_a_server_that_heeds_them(store: ObjectStore) -> None:
    seen = probe(store)
    assert (seen.put_if_absent, seen.copy_if_absent) == (Guarantee.YES, Guarantee.YES)
