"""What users are told when DynamoDB cannot be reached or does not let them in."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Iterator

import pyarrow as pa
import pytest
from botocore.exceptions import ProxyConnectionError
from urllib3.exceptions import NewConnectionError, ProxyError

import lance_core
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core_dynamodb.errors import request_error
from lance_core_dynamodb.options import named
from lance_core_dynamodb.store import DynamoManifestStore
from lance_core_remote.client import Failure
from tests.each_case import each_case
from tests.patience import ends_within
from tests.servers.moto import Moto, running_moto

IMPATIENT = {"client_max_retries": "1", "download_retry_count": "0", "connect_timeout": "500ms"}


@pytest.fixture(scope="module")
def strict_moto() -> Iterator[Moto]:
    """A server that knows nobody and lets nobody in."""
    with running_moto(INITIAL_NO_AUTH_ACTION_COUNT="0") as server:
        yield server


def check_refused(rows: DynamoManifestStore, match: str) -> None:
    """Every call ends in a `StoreError`: nothing was applied, and nothing takes for ever."""
    entry = ManifestEntry(1, "t/_versions/1.manifest")
    for call in (
        lambda: rows.get("t", 1),
        lambda: rows.get_latest("t"),
        lambda: rows.put_if_absent("t", entry),
        lambda: rows.put_if_present("t", entry),
        lambda: rows.delete("t"),
    ):
        with ends_within(4), pytest.raises(StoreError, match=match) as caught:
            call()
        assert not isinstance(caught.value, OutcomeUnknownError)
        assert "commits" in str(caught.value)
        assert "botocore" not in "".join(traceback.format_exception(caught.value)[-1:])


def test_wrong_credentials_are_told(strict_moto: Moto) -> None:
    options = {**strict_moto.options, "dynamodb_endpoint": strict_moto.endpoint}
    rows = DynamoManifestStore(named("commits", options))
    check_refused(rows, "UnrecognizedClientException|InvalidClientTokenId|security token")


def test_missing_credentials_are_told(moto: Moto) -> None:
    options = {"aws_region": "eu-west-1", "allow_http": "true", "dynamodb_endpoint": moto.endpoint}
    check_refused(DynamoManifestStore(named("commits", options)), "aws_access_key_id")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_endpoint_that_is_down_is_told_in_time(options: dict[str, str], scheme: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        down = f"{scheme}://127.0.0.1:{free.getsockname()[1]}"
        given = {**options, **IMPATIENT, "dynamodb_endpoint": down}
        check_refused(
            DynamoManifestStore(named("commits", given)), "no connection to .*: Connection refused"
        )


def test_a_name_that_nobody_knows_is_told_in_time(options: dict[str, str]) -> None:
    given = {**options, **IMPATIENT, "dynamodb_endpoint": "https://dynamodb.invalid"}
    check_refused(DynamoManifestStore(named("commits", given)), "no connection")


def test_a_server_without_encryption_is_told(moto: Moto, options: dict[str, str]) -> None:
    given = {**options, "dynamodb_endpoint": moto.endpoint.replace("http:", "https:")}
    check_refused(DynamoManifestStore(named("commits", given)), "TLS")


def test_a_profile_that_is_not_there_is_told(options: dict[str, str]) -> None:
    rows = DynamoManifestStore(named("commits", {**options, "aws_profile": "nobody"}))
    with pytest.raises(InvalidInputError, match="profile"):
        rows.get("t", 1)


def test_a_table_is_not_opened_without_its_rows(bucket: str, options: dict[str, str]) -> None:
    """Nobody falls back to what the folder says."""
    plain = f"s3://{bucket}/t.lance"
    lance_core.write_dataset(pa.table({"x": [1]}), plain, storage_options=options)
    given = {**options, **IMPATIENT, "dynamodb_endpoint": "http://127.0.0.1:9"}
    with pytest.raises(StoreError, match="commits"):
        lance_core.dataset(f"s3+ddb://{bucket}/t.lance?ddbTableName=commits", storage_options=given)


# --- items that others made -----------------------------------------------------------------------

ITEMS: dict[str, tuple[dict[str, dict[str, str]], ManifestEntry | None]] = {
    "of pylance": (
        {"path": {"S": "p"}, "committer": {"S": "lancedb"}, "size": {"N": "9"}},
        ManifestEntry(3, "p", 9),
    ),
    "without a size": ({"path": {"S": "p"}}, ManifestEntry(3, "p")),
    "with an e_tag": ({"path": {"S": "p"}, "e_tag": {"S": "old"}}, ManifestEntry(3, "p")),
    "with more": ({"path": {"S": "p"}, "more": {"S": "x"}}, ManifestEntry(3, "p")),
    "without a path": ({"committer": {"S": "lancedb"}}, None),
    "a path that is a number": ({"path": {"N": "1"}}, None),
    "a size that is text": ({"path": {"S": "p"}, "size": {"S": "9"}}, None),
    "a size that is broken": ({"path": {"S": "p"}, "size": {"N": "9.5"}}, None),
    "a size below nothing": ({"path": {"S": "p"}, "size": {"N": "-9"}}, None),
    "a size without end": ({"path": {"S": "p"}, "size": {"N": "1" + "0" * 30}}, None),
}


@pytest.mark.parametrize(("item", "entry"), ITEMS.values(), ids=ITEMS)
def test_an_item_is_read_or_refused(
    moto: Moto,
    ddb_table: str,
    options: dict[str, str],
    base_uri: str,
    item: dict[str, dict[str, str]],
    entry: ManifestEntry | None,
) -> None:
    client = moto.client("dynamodb")
    key = {"base_uri": {"S": base_uri}, "version": {"N": "3"}}
    client.put_item(TableName=ddb_table, Item={**key, **item})
    client.close()
    rows = DynamoManifestStore(named(ddb_table, options))
    if entry is not None:
        assert rows.get(base_uri, 3) == rows.get_latest(base_uri) == entry
        return
    for call in (lambda: rows.get(base_uri, 3), lambda: rows.get_latest(base_uri)):
        with pytest.raises(CorruptFileError):
            call()


def test_detached_versions_of_others_are_not_the_latest(
    moto: Moto, ddb_table: str, options: dict[str, str], base_uri: str
) -> None:
    client = moto.client("dynamodb")
    for version in (7, (1 << 63) + 5):
        key = {"base_uri": {"S": base_uri}, "version": {"N": str(version)}}
        client.put_item(TableName=ddb_table, Item={**key, "path": {"S": "p"}})
    client.close()
    rows = DynamoManifestStore(named(ddb_table, options))
    assert rows.get_latest(base_uri) == ManifestEntry(7, "p")
    rows.delete(base_uri)
    assert rows.get_latest(base_uri) is None


# --- processes ------------------------------------------------------------------------------------


def test_a_forked_child_uses_connections_of_its_own(
    ddb_table: str, options: dict[str, str], base_uri: str
) -> None:
    rows = DynamoManifestStore(named(ddb_table, options))
    entries = [ManifestEntry(number, f"{base_uri}/{number}") for number in range(4)]
    rows.put_if_absent(base_uri, entries[1])
    child = os.fork()
    if child == 0:
        try:
            rows.put_if_absent(base_uri, entries[2])
            os._exit(0 if rows.get_latest(base_uri) == entries[2] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert rows.get(base_uri, 2) == entries[2]
    rows.put_if_absent(base_uri, entries[3])
    assert rows.get_latest(base_uri) == entries[3]


@each_case(
    ("cause", "failure"),
    [
        (NewConnectionError(None, "refused"), Failure.UNSENT),  # type: ignore[arg-type]
        (OSError("Tunnel connection failed: 403 Forbidden"), Failure.UNSENT),
        (ConnectionResetError(104, "reset"), Failure.UNKNOWN),
    ],
)
def test_only_a_proxy_that_was_not_reached_got_no_request(
    cause: Exception, failure: Failure
) -> None:
    error = ProxyConnectionError(proxy_url="http://x", error=ProxyError("no", cause))
    assert request_error(error).failure is failure
