"""Endpoints and logins of Google's and Azure's stores that are wrong: the cause, in time."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import LanceError, OutcomeUnknownError, StoreError
from tests.each_case import each_case
from tests.patience import ends_within
from tests.servers.raw import Says, http, saying

ROWS = pa.table({"id": range(3)})
FEW = {"client_max_retries": "1", "download_retry_count": "0", "allow_http": "true"}
STORES = {
    "gs://bucket/t": ("google_base_url", {"google_skip_signature": "true"}),
    "az://container/t": ("endpoint", {"account_name": "account", "skip_signature": "true"}),
}
PAGE = b"<html>404 page not found</html>"


def failure(uri: str, options: dict[str, str], agent: str) -> str:
    """The text of the error when a table is opened; a store of its own for each ``agent``."""
    with ends_within(10), pytest.raises(LanceError) as caught:
        lance.dataset(uri, storage_options=FEW | options | {"user_agent": agent})
    assert not isinstance(caught.value, OutcomeUnknownError)
    return str(caught.value)


@each_case("uri", STORES)
@each_case(
    ("answer", "text"),
    [
        (http(404, PAGE), "404"),
        (http(404), "404"),
        (http(302, location="http://other.example/?sig=hidden"), "302"),
        (http(200, b"hello"), "not"),
    ],
)
def test_another_server_is_no_empty_table(uri: str, answer: Says, text: str) -> None:
    option, others = STORES[uri]
    with saying(answer) as server:
        given = FEW | others | {option: server.url}
        for mode in ("create", "append"):
            with ends_within(8), pytest.raises(StoreError) as caught:
                lance.write_dataset(ROWS, uri, mode=mode, storage_options=given)
            assert type(caught.value) is StoreError
            assert text in str(caught.value)
            assert "hidden" not in str(caught.value)
        assert not any(request.startswith(("PUT", "POST")) for request in server.requests)


@each_case("uri", STORES)
def test_a_server_without_room_refuses_at_once(uri: str) -> None:
    option, others = STORES[uri]
    with saying(http(507)) as server:
        text = failure(uri, others | {option: server.url}, "full")
        assert "507" in text
        assert len(server.requests) == 1


@each_case("uri", STORES)
def test_what_cannot_be_reached_is_named(uri: str) -> None:
    option, others = STORES[uri]
    down = "http://127.0.0.1:9"
    here = others | {option: down}
    assert f"no connection to {down}: Connection refused" in failure(uri, here, "down")
    nowhere = others | {option: "http://no-such-host.invalid:9000"}
    assert "its name is not known" in failure(uri, nowhere, "name")
    text = failure(uri, here | {"proxy_url": "http://user:hidden@127.0.0.1:9"}, "proxy")
    assert "no connection to the proxy" in text
    assert "hidden" not in text


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_file_of_certificates_that_is_not_there_is_named(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "/no/ca.pem")
    for uri, (option, others) in STORES.items():
        text = failure(uri, others | {option: "https://127.0.0.1:9"}, variable)
        assert variable in text
        assert "'/no/ca.pem': No such file or directory" in text


def test_logins_that_are_missing_are_told_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gcs = {"google_base_url": "http://127.0.0.1:9"}
    with ends_within(3):
        assert "Your default credentials were not found" in failure("gs://b-b/t", gcs, "none")
    (tmp_path / "key.json").write_text('{"private_key": "hidden')
    for file, text in (("/no/file", "No such file"), (str(tmp_path / "key.json"), "JSON")):
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
        found = failure("gs://b-b/t", gcs, file)
        assert text in found
        assert "hidden" not in found


def test_a_federated_token_that_is_not_there_is_named_at_once() -> None:
    login = {"azure_tenant_id": "tenant", "azure_client_id": "client"}
    given = {"account_name": "account", "azure_federated_token_file": "/no/token"}
    with ends_within(3):
        text = failure("az://container/t", login | given, "federated")
    assert "a file of credentials cannot be read: '/no/token': No such file" in text
