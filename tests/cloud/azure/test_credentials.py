"""Credential objects of Azure's SDKs are used by their names, and never travel."""

from __future__ import annotations

import io
import pickle
import time
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pytest
from azure.core.credentials import (
    AccessToken,
    AzureNamedKeyCredential,
    AzureSasCredential,
    TokenCredential,
)
from requests import Response

import lance_core
from lance_core.byte_ranges import ByteRange
from lance_core.errors import InvalidInputError, OutcomeUnknownError, StoreError
from lance_core.store.base import PutMode
from lance_core.store.uri import parse_uri
from lance_core_azure import register_credential, unregister_credential
from lance_core_azure.plugin import lance_object_stores
from lance_core_azure.settings import read_settings
from lance_core_azure.store import open_store
from tests.cloud.azure.operations import use
from tests.cloud.azure.test_failures import OTHER_KEY, signature
from tests.servers.azurite import ACCOUNT, KEY, Azurite

NAME = "mine"
(SPEC,) = lance_object_stores()


class Failing:
    """A credential that raises what no SDK does."""

    def get_token(self, *_: str, **__: object) -> object:
        raise RuntimeError("canary8f1e")


class Asynchronous:
    async def get_token(self, *_: str, **__: object) -> object:
        raise AssertionError


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    unregister_credential(NAME)


@pytest.fixture
def options(azurite: Azurite) -> dict[str, str]:
    return {
        "endpoint": azurite.endpoint,
        "allow_http": "true",
        "account_name": ACCOUNT,
        "identity": NAME,
        "client_retry_timeout": "1s",
    }


def test_a_key_suffices_and_names_its_account(container: str, options: dict[str, str]) -> None:
    del options["account_name"]
    assert register_credential(NAME, AzureNamedKeyCredential(ACCOUNT, KEY)) == NAME
    use(open_store(parse_uri(f"az://{container}/t"), options))


@pytest.mark.parametrize("prefix", ["", "?"])
def test_a_signature_suffices(container: str, options: dict[str, str], prefix: str) -> None:
    register_credential(NAME, AzureSasCredential(prefix + signature(container, "rwdl")))
    use(open_store(parse_uri(f"az://{container}/t"), options))


def test_a_signature_may_be_replaced_in_its_object(container: str, options: dict[str, str]) -> None:
    credential = AzureSasCredential(signature(container, "rwdl", hours=-1))
    register_credential(NAME, credential)
    store = open_store(parse_uri(f"az://{container}/t"), options)
    with pytest.raises(StoreError, match="the shared access signature ended"):
        store.put("file", b"content")
    credential.update(signature(container, "rwdl"))
    store.put("file", b"content")


def test_what_a_name_stands_for_now_is_used(container: str, options: dict[str, str]) -> None:
    register_credential(NAME, AzureNamedKeyCredential(ACCOUNT, OTHER_KEY))
    store = open_store(parse_uri(f"az://{container}/t"), options)
    with pytest.raises(StoreError, match="status 403"):
        store.put("file", b"content")
    unregister_credential(NAME)
    with pytest.raises(StoreError, match="no credential is registered as 'mine'"):
        store.put("file", b"content")
    register_credential(NAME, AzureNamedKeyCredential(ACCOUNT, KEY))
    store.put("file", b"content")


def test_the_name_travels_and_the_object_does_not(container: str, options: dict[str, str]) -> None:
    register_credential(NAME, AzureNamedKeyCredential(ACCOUNT, KEY))
    uri = f"az://{container}/table"
    dataset = lance_core.write_dataset(pa.table({"x": [1, 2]}), uri, storage_options=options)
    sent = pickle.dumps(dataset)
    assert KEY.encode() not in sent
    assert pickle.loads(sent).count_rows() == 2
    unregister_credential(NAME)
    with pytest.raises(StoreError, match="register_credential"):
        pickle.loads(sent).to_table()


def test_an_object_that_fails_is_told_without_its_text(container: str) -> None:
    register_credential(NAME, Failing())  # type: ignore[arg-type]  # it has no token
    options = {"account_name": "nobody", "identity": NAME, "client_retry_timeout": "1s"}
    store = open_store(parse_uri(f"az://{container}/t"), options)
    for operation in (
        lambda: store.get("a"),
        lambda: store.put("a", b"", PutMode.create),
        lambda: store.copy("a", "b"),
        lambda: list(store.list("")),
    ):
        with pytest.raises(StoreError, match="credential fails with RuntimeError") as caught:
            operation()
        assert not isinstance(caught.value, OutcomeUnknownError)
        assert "canary8f1e" not in str(caught.value)
        assert caught.value.__context__ is None


class OfTenants:
    """Gives a token that names the tenant."""

    def get_token(self, *_: str, tenant_id: str = "mine", **__: object) -> AccessToken:
        return AccessToken(tenant_id, int(time.time()) + 3600)


def one_tenant(method: str, url: str, headers: Mapping[str, str], **_: object) -> Response:
    """What a service of the tenant ``theirs`` answers to a read of bytes 5 to 7."""
    response = Response()
    response.url = url
    if headers["Authorization"] == "Bearer theirs":
        response.status_code, response.raw = 206, BodyOnce(b"abc")
        part = {
            "Content-Range": "bytes 5-7/20",
            "Content-Length": "3",
            "x-ms-blob-type": "BlockBlob",
        }
        response.headers.update(part)
        return response
    authority = "https://login.microsoftonline.com/theirs/oauth2/authorize"
    asked = f"Bearer authorization_uri={authority} resource_id=https://storage.azure.com"
    response.status_code, response.raw = 401, BodyOnce()
    response.headers.update({"WWW-Authenticate": asked})
    return response


class BodyOnce(io.BytesIO):
    """A body, to which the SDK sets attributes."""


def test_a_token_of_another_tenant_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    register_credential(NAME, OfTenants())
    given = {"account_name": "nobody", "identity": NAME}
    store = open_store(parse_uri("az://container/t"), given)
    client = store.client  # type: ignore[attr-defined]  # stores of the factory are remote stores
    monkeypatch.setattr(client._session, "request", one_tenant)
    assert bytes(client.get("key", ByteRange(5, 8)).data) == b"abc"


@pytest.mark.parametrize("value", [object(), "key", None, Asynchronous()])
def test_what_is_no_credential_is_refused(value: TokenCredential) -> None:
    with pytest.raises(InvalidInputError, match=r"must be an AzureNamedKeyCredential"):
        register_credential(NAME, value)


REFUSED = {
    "a name that nobody registered": ({"identity": "other"}, "no credential is registered"),
    "a key as well": ({"account_key": OTHER_KEY}, "'account_key' cannot be combined"),
    "a signature as well": ({"sas_token": "sig=a"}, "'sas_token' cannot be combined"),
    "a flag as well": ({"use_azure_cli": "true"}, "'use_azure_cli' cannot be combined"),
    "nobody as well": ({"skip_signature": "true"}, "'skip_signature' cannot be combined"),
    "another account": ({"account_name": "acct"}, f"is of the account '{ACCOUNT}', not of 'acct'"),
}


@pytest.mark.parametrize(("more", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_options_that_contradict_are_refused(more: dict[str, str], reason: str) -> None:
    register_credential(NAME, AzureNamedKeyCredential(ACCOUNT, KEY))
    given = SPEC.canonical_options({"identity": NAME} | more)
    with pytest.raises(InvalidInputError, match=reason):
        read_settings(parse_uri("az://c/t"), given, {})


def test_a_token_is_not_sent_without_tls(options: dict[str, str]) -> None:
    register_credential(NAME, Failing())  # type: ignore[arg-type]  # it has no token
    with pytest.raises(InvalidInputError, match="tokens of Entra ID are sent to https"):
        open_store(parse_uri("az://c/t"), options)


def test_the_environment_names_no_object() -> None:
    environment = {"AZURE_IDENTITY": NAME, "AZURE_STORAGE_ACCOUNT_KEY": KEY}
    found = read_settings(parse_uri(f"az://c@{ACCOUNT}/t"), {}, environment)
    assert found.credentials.registered is None
