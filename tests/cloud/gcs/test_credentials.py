"""Tokens: signed here, fetched from a service, renewed once for all when they expire."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth.exceptions import TransportError

from lance_core.errors import InvalidInputError, StoreError
from lance_core.plugins.store_cache import open_store
from lance_core.store.config import Secret
from lance_core_gcs.credentials import SCOPES, Authorization
from lance_core_gcs.options import Ambient, Anonymous, CredentialsFile, ServiceAccount, Token
from lance_core_gcs.session import Fetched
from lance_core_remote.client import Failure, RequestError
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Rule, json_error
from tests.servers.gcs import GcsServer, running_gcs

USES = 3
"""Requests for which a token of the server is good."""


@pytest.fixture(scope="module")
def issuing() -> Iterator[GcsServer]:
    """A server that takes only tokens that it has issued, each a few times."""
    with running_gcs("--bucket", "bucket", "--issue", str(USES)) as server:
        yield server


@pytest.fixture(scope="module")
def key() -> str:
    """A key of a service account, with a private key of its own."""
    private = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    account = {"client_email": "writer@example.com", "private_key": private.decode()}
    return json.dumps(account | {"private_key_id": "7"})


def no_fetch(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing is to be fetched")


def test_a_service_account_signs_its_tokens_itself(key: str) -> None:
    account = ServiceAccount.parse(key, "the key")
    headers = Authorization(account, no_fetch).headers()
    head, claims, _ = headers["authorization"].removeprefix("Bearer ").split(".")
    said = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert (said["iss"], said["scope"]) == ("writer@example.com", " ".join(SCOPES))
    assert json.loads(base64.urlsafe_b64decode(head + "=="))["kid"] == "7"


def test_a_token_is_used_as_it_is() -> None:
    given = Authorization(Token(Secret("abc")), no_fetch)
    assert given.headers() == {"authorization": "Bearer abc"}
    assert not given.renew()


def test_nobody_sends_no_credentials() -> None:
    nobody = Authorization(Anonymous(), no_fetch)
    assert nobody.headers() == {}
    assert not nobody.renew()


def unreachable(*_: Any, **__: Any) -> Any:
    raise TransportError("no network")


def test_without_credentials_the_first_request_says_where_they_are_looked_for() -> None:
    ambient = Authorization(Ambient(), unreachable)
    with pytest.raises(RequestError, match="google_service_account") as caught:
        ambient.headers()
    assert caught.value.failure is Failure.REFUSED


def external_account(folder: Path, endpoint: str) -> str:
    """A file of credentials that are exchanged for tokens at the server."""
    (folder / "subject").write_text("subject-of-the-machine")
    file = folder / "external.json"
    account = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/a",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": f"{endpoint}/token",
        "credential_source": {"file": str(folder / "subject")},
    }
    file.write_text(json.dumps(account))
    return str(file)


def test_tokens_that_expire_are_renewed_once_for_all(issuing: GcsServer, tmp_path: Path) -> None:
    with FaultProxy(issuing.endpoint) as proxy:
        file = external_account(tmp_path, proxy.url)
        given = {"google_base_url": proxy.url, "allow_http": "true"}
        store = open_store("gs://bucket/a", {**given, "google_application_credentials": file})
        store.put("object", b"content")
        assert proxy.count(path="/token") == 1
        for _ in range(4 * USES):
            assert bytes(store.get("object")) == b"content"
        refused = [one for one in proxy.requests if one.status == 401]
        assert 4 <= len(refused) <= 5
        assert proxy.count(path="/token") == 1 + len(refused)


def test_many_threads_renew_one_token(tmp_path: Path) -> None:
    with (
        running_gcs("--bucket", "bucket", "--issue", "1000") as server,
        FaultProxy(server.endpoint) as proxy,
    ):
        file = external_account(tmp_path, proxy.url)
        given = {"google_base_url": proxy.url, "allow_http": "true"}
        store = open_store("gs://bucket/a", {**given, "google_application_credentials": file})
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: store.put(f"object-{n}", b"1"), range(16)))
            assert proxy.count(path="/token") == 1
            proxy.set_rules([Rule(json_error(401, "authError"), "POST", "/upload/*", times=8)])
            list(pool.map(lambda n: store.put(f"object-{n}", b"2"), range(8)))
        assert 1 <= proxy.count(path="/token") <= 2


def test_a_token_service_that_refuses_is_an_error(gcs: GcsServer, tmp_path: Path) -> None:
    with FaultProxy(gcs.endpoint) as proxy:
        file = external_account(tmp_path, proxy.url)
        proxy.set_rules([Rule(json_error(400, "invalid_grant"), path="/token")])
        given = {"google_base_url": proxy.url, "allow_http": "true"}
        store = open_store("gs://bucket/a", {**given, "google_application_credentials": file})
        with pytest.raises(StoreError, match="no token is issued") as caught:
            store.get("object")
        assert "subject-of-the-machine" not in str(caught.value)


USER = {
    "type": "authorized_user",
    "client_id": "id",
    "client_secret": "s",
    "refresh_token": "r",
    "quota_project_id": "payer",
}
IMPERSONATED = {
    "type": "impersonated_service_account",
    "source_credentials": USER,
    "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/"
    "projects/-/serviceAccounts/me@example.com:generateAccessToken",
}


@pytest.mark.parametrize(
    ("fields", "hosts", "payer"),
    [
        (USER, ["oauth2.googleapis.com"], "payer"),
        (IMPERSONATED, ["oauth2.googleapis.com", "iamcredentials.googleapis.com"], None),
    ],
)
def test_files_of_other_types_are_exchanged_where_google_does(
    tmp_path: Path, fields: dict[str, Any], hosts: list[str], payer: str | None
) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps(fields))
    asked = []

    def fetch(url: str, **_: Any) -> Fetched:
        asked.append(urlsplit(url).hostname)
        token = {"access_token": f"token-{len(asked)}", "expires_in": 3600}
        later = {"accessToken": f"token-{len(asked)}", "expireTime": "2099-01-01T00:00:00Z"}
        return Fetched(200, {}, json.dumps(token | later).encode())

    given = Authorization(CredentialsFile(str(file)), fetch)
    for _ in range(2):
        headers = given.headers()
        assert headers["authorization"] == f"Bearer token-{len(hosts)}"
        assert headers.get("x-goog-user-project") == payer
    assert asked == hosts
    assert given.renew()
    assert len(asked) > len(hosts)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "service_account", "client_email": "a", "private_key": "canary"},
        {"type": "authorized_user", "refresh_token": "canary"},
        {"type": "external_account", "credential_source": "canary"},
        {"type": "impersonated_service_account", "source_credentials": "canary"},
        {"type": "canary-of-no-type"},
        {"refresh_token": "canary"},
        ["canary"],
    ],
)
def test_credentials_that_cannot_be_used_are_refused_unshown(tmp_path: Path, fields: Any) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps(fields))
    with pytest.raises(InvalidInputError, match=r"credentials\.json") as caught:
        Authorization(CredentialsFile(str(file)), no_fetch)
    assert "canary" not in str(caught.value).replace("canary-of-no-type", "")
    assert caught.value.__context__ is None or "canary" not in repr(caught.value.__context__)
