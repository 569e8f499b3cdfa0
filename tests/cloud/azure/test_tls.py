"""Over TLS, and by tokens of Entra ID as Azurite takes them."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.core.credentials import AccessToken

from lance_core.errors import OutcomeUnknownError, StoreError
from lance_core.store.uri import parse_uri
from lance_core_azure import register_credential, unregister_credential
from lance_core_azure.plugin import lance_object_stores
from lance_core_remote.store import RemoteStore
from tests.cloud.azure.operations import use
from tests.patience import ends_within
from tests.servers.azurite import ACCOUNT, Azurite, running_azurite
from tests.servers.certificate import write_certificate

(SPEC,) = lance_object_stores()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for this machine that no authority has signed, and its key."""
    return write_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def secure(certificate: Path) -> Iterator[Azurite]:
    """A server that speaks TLS only."""
    files = ("--cert", str(certificate / "cert.pem"), "--key", str(certificate / "key.pem"))
    with running_azurite(*files, "--oauth", "basic") as server:
        yield server


@pytest.fixture(scope="module")
def container(secure: Azurite, certificate: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REQUESTS_CA_BUNDLE", str(certificate / "cert.pem"))
        return secure.new_container()


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch, certificate: Path) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate / "cert.pem"))


def opened(server: Azurite, container: str, **options: str) -> RemoteStore:
    given = {"account_name": ACCOUNT, "endpoint": server.endpoint, "client_retry_timeout": "1s"}
    store = SPEC.open(parse_uri(f"az://{container}/t"), given | options)
    assert isinstance(store, RemoteStore)
    return store


def token(seconds: float) -> str:
    """A token as Entra ID gives them, with an end; its signature is nobody's."""
    now = time.time()
    claims = {
        "aud": "https://storage.azure.com",
        "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
        "iat": int(now - 9000),
        "nbf": int(now - 9000),
        "exp": int(now + seconds),
    }
    parts = ({"alg": "none", "typ": "JWT"}, claims, {})
    texts = (base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts)
    return ".".join(text.decode().rstrip("=") for text in texts)


def test_a_certificate_that_nobody_vouches_for_is_refused(secure: Azurite, container: str) -> None:
    store = opened(secure, container, account_key=secure.options["account_key"])
    with pytest.raises(
        StoreError, match=r"the certificate of https://127\.0\.0\.1:\d+ is not trusted"
    ):
        store.get("file")


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_it_may_be_accepted_by_an_option(secure: Azurite, container: str) -> None:
    key = secure.options["account_key"]
    use(opened(secure, container, account_key=key, allow_invalid_certificates="true"))


@pytest.mark.usefixtures("trusted")
def test_a_bundle_of_the_environment_is_trusted(secure: Azurite, container: str) -> None:
    use(opened(secure, container, account_key=secure.options["account_key"]))


@pytest.mark.usefixtures("trusted")
def test_a_token_suffices_for_everything(secure: Azurite, container: str) -> None:
    use(opened(secure, container, bearer_token=token(3600)))


class OwnTokens:
    """A credential object, as users write them."""

    def get_token(self, *scopes: str, **_: object) -> AccessToken:
        assert scopes == ("https://storage.azure.com/.default",)
        return AccessToken(token(3600), int(time.time()) + 3600)


@pytest.mark.usefixtures("trusted")
def test_the_tokens_of_a_registered_object_suffice(secure: Azurite, container: str) -> None:
    name = register_credential("own-tokens", OwnTokens())
    try:
        use(opened(secure, container, identity=name))
    finally:
        unregister_credential(name)


@pytest.mark.usefixtures("trusted")
def test_a_token_that_ended_is_told(secure: Azurite, container: str) -> None:
    ended = token(-3600)
    store = opened(secure, container, bearer_token=ended)
    with pytest.raises(StoreError, match=r"status 40[13]") as caught:
        store.get("file")
    assert ended not in str(caught.value)


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("kind", ["client_secret", "federated_token_file"])
def test_a_service_of_tokens_that_is_down_is_told_within_the_deadline(
    secure: Azurite, container: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("canary8f1e")
    value = {"client_secret": "canary8f1e", "federated_token_file": str(tmp_path / "token")}[kind]
    who = {"client_id": "id", "tenant_id": "tenant", "authority_host": "127.0.0.1:1"}
    store = opened(secure, container, **who, **{kind: value})
    with ends_within(5), pytest.raises(StoreError, match="no token of Entra ID") as caught:
        store.put("file", b"content")
    assert not isinstance(caught.value, OutcomeUnknownError)
    assert "canary8f1e" not in str(caught.value)


@pytest.mark.usefixtures("trusted")
def test_a_token_that_cannot_be_had_is_told(
    secure: Azurite, container: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    store = opened(secure, container, use_azure_cli="true")
    with pytest.raises(StoreError, match="Azure CLI"):
        store.get("file")
