"""A client of google-cloud-storage that the caller made lends its credentials and its endpoint."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud.storage import Client
from google.oauth2.credentials import Credentials

import lance_core
from lance_core.errors import InvalidInputError, StoreError
from lance_core.plugins.store_cache import open_store
from lance_core.store.base import Guarantee
from lance_core.store.uri import parse_uri
from lance_core_gcs import register_client, unregister_client
from lance_core_gcs.options import RegisteredClient, read_options
from lance_core_testing.network.fault_proxy import FaultProxy
from tests.servers.gcs import GcsServer, running_gcs

TABLE = pa.table({"id": [1, 2, 3]})
NAME = "of-a-test"
TOKEN = "canary-of-a-client"
OPTIONS = {"google_client": NAME, "allow_http": "true"}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    unregister_client(NAME)


@pytest.fixture(scope="module")
def guarded() -> Iterator[GcsServer]:
    """A server that knows one token."""
    with running_gcs("--bucket", "bucket", "--writer", TOKEN) as server:
        yield server


def client_of(endpoint: str, token: str | None = TOKEN, **more: object) -> Client:
    credentials = AnonymousCredentials() if token is None else Credentials(token)
    options = {"api_endpoint": endpoint}
    return Client(project=None, credentials=credentials, client_options=options, **more)


def test_a_table_is_written_and_read_with_the_credentials_of_a_client(guarded: GcsServer) -> None:
    assert register_client(NAME, client_of(guarded.endpoint)) == NAME
    lance_core.write_dataset(TABLE, "gs://bucket/table", storage_options=OPTIONS)
    assert lance_core.dataset("gs://bucket/table", storage_options=OPTIONS).to_table() == TABLE


def test_a_client_without_rights_has_none_here(guarded: GcsServer) -> None:
    register_client(NAME, client_of(guarded.endpoint, None))
    with pytest.raises(StoreError, match="401"):
        open_store("gs://bucket/anonymous", OPTIONS).get("object")


def test_the_client_sends_no_request_itself(guarded: GcsServer) -> None:
    class Refusing:
        def request(self, *_: object, **__: object) -> None:
            raise AssertionError("the session of the client is its own")

    register_client(NAME, client_of(guarded.endpoint, _http=Refusing()))
    store = open_store("gs://bucket/own-session", OPTIONS)
    store.put("object", b"content")
    assert bytes(store.get("object")) == b"content"


def test_credentials_of_the_environment_are_not_those_of_the_client() -> None:
    register_client(NAME, client_of("https://storage.googleapis.com"))
    given = {"GOOGLE_STORAGE_TOKEN": "other", "GOOGLE_BASE_URL": "https://other.example"}
    read = read_options(parse_uri("gs://bucket"), {"google_client": NAME}, given)
    assert read.identity == RegisteredClient(NAME)
    assert read.endpoint == "https://storage.googleapis.com"
    assert open_store("gs://bucket/a", OPTIONS).capabilities.put_if_absent is Guarantee.YES


@pytest.mark.parametrize(
    "more",
    [
        {"google_storage_token": "t"},
        {"google_skip_signature": "true"},
        {"google_application_credentials": "f"},
        {"google_base_url": "https://a.example"},
    ],
)
def test_a_client_excludes_other_credentials_and_endpoints(more: dict[str, str]) -> None:
    register_client(NAME, client_of("https://storage.googleapis.com"))
    with pytest.raises(InvalidInputError, match="combined"):
        read_options(parse_uri("gs://bucket"), {"google_client": NAME, **more}, {})


def test_an_endpoint_without_encryption_has_to_be_allowed() -> None:
    register_client(NAME, client_of("http://a.example"))
    with pytest.raises(InvalidInputError, match="allow_http"):
        read_options(parse_uri("gs://bucket"), {"google_client": NAME}, {})


def test_only_clients_are_registered() -> None:
    with pytest.raises(InvalidInputError, match=r"must be a google\.cloud\.storage\.Client"):
        register_client(NAME, object())  # type: ignore[arg-type]  # that is the test


def test_an_open_store_uses_the_client_that_is_registered_now(guarded: GcsServer) -> None:
    register_client(NAME, client_of(guarded.endpoint))
    store = open_store("gs://bucket/now", OPTIONS)
    store.put("object", b"content")
    unregister_client(NAME)
    with pytest.raises(InvalidInputError, match=f"register_client\\('{NAME}'"):
        store.get("object")
    register_client(NAME, client_of(guarded.endpoint, None))
    with pytest.raises(StoreError, match="401"):
        store.get("object")
    unregister_client(NAME)
    register_client(NAME, client_of("http://elsewhere.example"))
    with pytest.raises(InvalidInputError, match="another endpoint"):
        store.get("object")


def test_headers_of_the_client_are_sent(guarded: GcsServer) -> None:
    with FaultProxy(guarded.endpoint) as proxy:
        headers = {"Range": "bytes=0-0"}  # one that the proxy records
        register_client(NAME, client_of(proxy.url, extra_headers=headers))
        list(open_store("gs://bucket/headers", OPTIONS).list(""))
        (sent,) = proxy.requests
    assert (sent.range, sent.authorization) == ("bytes=0-0", f"Bearer {TOKEN}")


SENT_ELSEWHERE = """
import pickle, sys
from google.cloud.storage import Client
from google.oauth2.credentials import Credentials
from lance_core.errors import InvalidInputError
from lance_core_gcs import register_client
name, token, endpoint = sys.argv[1:]
sent = sys.stdin.buffer.read()
try:
    pickle.loads(sent)
except InvalidInputError as error:
    assert f"register_client({name!r}" in str(error), error
else:
    raise AssertionError("no client is registered here")
client = Client(None, Credentials(token), client_options={"api_endpoint": endpoint})
register_client(name, client)
print(pickle.loads(sent).to_table()["id"].to_pylist())
"""


def test_the_name_of_a_client_travels_and_the_client_does_not(
    guarded: GcsServer, tmp_path: Path
) -> None:
    register_client(NAME, client_of(guarded.endpoint))
    uri = "gs://bucket/sent"
    dataset = lance_core.write_dataset(TABLE, uri, storage_options=OPTIONS)
    sent = pickle.dumps(dataset)
    assert TOKEN.encode() not in sent
    there = subprocess.run(
        [sys.executable, "-c", SENT_ELSEWHERE, NAME, TOKEN, guarded.endpoint],
        input=sent,
        capture_output=True,
        cwd=tmp_path,
        env=os.environ,
        check=False,
    )
    assert there.returncode == 0, there.stderr.decode()
    assert json.loads(there.stdout) == [1, 2, 3]
