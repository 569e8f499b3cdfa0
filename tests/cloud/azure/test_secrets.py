"""What is secret is nowhere to be seen: no text, no log, no chain of errors, no pickle."""

from __future__ import annotations

import base64
import os
import pickle

import pyarrow as pa
import pytest

import lance_core
from lance_core.byte_ranges import ByteRange
from lance_core.errors import InvalidInputError, LanceError
from lance_core.plugins.store_cache import open_store
from lance_core.store.base import PutMode
from lance_core.store.config import StoreConfig
from lance_core.store.uri import parse_uri
from lance_core_azure.plugin import lance_object_stores
from lance_core_azure.settings import read_settings
from lance_core_remote.store import RemoteStore
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Reset, Rule, Truncated, xml_error
from tests.cloud.azure.test_failures import signature
from tests.cloud.surfaces import everything
from tests.servers.azurite import ACCOUNT, KEY, Azurite

CANARY = "canary8f1e"
OTHER_KEY = base64.b64encode(CANARY.encode()).decode()
(SPEC,) = lance_object_stores()


PRINCIPAL = {"client_id": "a", "tenant_id": "b", "authority_host": "127.0.0.1:1"}
GIVEN = {
    "a key": {"account_key": OTHER_KEY},
    "a key by another name": {"AZURE_STORAGE_MASTER_KEY": OTHER_KEY},
    "a signature": {"sas_token": f"?sv=2024-11-04&sr=c&sp=rwdl&sig={CANARY}%3D"},
    "a signature by another name": {"Azure_Storage_Sas_Key": f"sv=1&sig={CANARY}"},
    "a token": {"bearer_token": CANARY},
    "a token by another name": {"azure_storage_token": CANARY},
    "a principal": PRINCIPAL | {"client_secret": CANARY},
    "a principal by another name": PRINCIPAL | {"azure_client_secret": CANARY},
    "a key for encryption": {"encryption_key": CANARY},
    "a session of Fabric": {"fabric_session_token": CANARY},
    "a proxy": {"skip_signature": "true", "proxy_url": f"http://me:{CANARY}@127.0.0.1:9"},
    "a malformed key": {"account_key": f"!{CANARY}"},
    "a malformed signature": {"sas_token": CANARY},
    "a malformed token": {"bearer_token": f"{CANARY}\n"},
    "an endpoint with a query": {"endpoint": f"http://127.0.0.1:9/a?sig={CANARY}"},
    "an endpoint with a password": {"endpoint": f"http://me:{CANARY}@127.0.0.1:9/a"},
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN.keys())
def test_options_are_not_shown(
    azurite: Azurite, container: str, given: dict[str, str], logged: list[str]
) -> None:
    common = {"account_name": ACCOUNT, "endpoint": azurite.endpoint, "allow_http": "true"}
    options = common | {"client_max_retries": "1"} | given
    uri, shown = f"az://{container}/table", []
    config = StoreConfig(uri, options)
    shown += [repr(config), str(config)]
    if "endpoint" not in given:
        shown += [repr(SPEC.canonical_options(options)), pickle.dumps(config).decode("latin-1")]
    try:
        settings = read_settings(parse_uri(uri), SPEC.canonical_options(options), {})
        shown += [repr(settings.credentials), str(settings.credentials)]
        store = open_store(uri, options)
        assert isinstance(store, RemoteStore)
        shown += [repr(store), repr(store.client), repr(vars(store.client))]
        with pytest.raises(InvalidInputError):
            pickle.dumps(store)
        store.put("object", b"content")
    except LanceError as error:
        shown.append(everything(error))
    with pytest.raises(LanceError) as caught:
        lance_core.write_dataset(pa.table({"x": [1]}), uri, storage_options=options)
    for text in [*shown, everything(caught.value), *logged]:
        assert CANARY not in text
        assert OTHER_KEY not in text


FAULTS = {
    "nothing": None,
    "a lost answer": Reset(after=True),
    "a body that breaks off": Truncated(),
    "a busy server": xml_error(503, "ServerBusy"),
    "a server that repeats the request": Answer(
        403,
        b"<Error><Code>AuthenticationFailed</Code><Message>wrong: https://a/b?sv=1&amp;sig=SIGNED"
        b"</Message><AuthenticationErrorDetail>sig=SIGNED</AuthenticationErrorDetail></Error>",
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("kind", ["key", "signature"])
def test_signatures_in_urls_are_not_shown(
    azurite: Azurite, container: str, kind: str, fault: object, logged: list[str]
) -> None:
    signed = signature(container, "rwdl")
    (sent,) = [part[4:] for part in signed.split("&") if part.startswith("sig=")]
    if isinstance(fault, Answer):
        fault = Answer(fault.status, fault.body.replace(b"SIGNED", sent.encode()), fault.headers)
    with FaultProxy(azurite.origin) as proxy:
        options = {
            "account_name": ACCOUNT,
            "endpoint": f"{proxy.url}/{ACCOUNT}",
            "allow_http": "true",
            "client_retry_timeout": "200ms",
            **({"account_key": KEY} if kind == "key" else {"sas_token": signed}),
        }
        store = SPEC.open(parse_uri(f"az://{container}/t"), options)
        if fault is not None:
            proxy.set_rules([Rule(fault)])  # type: ignore[arg-type]  # one of the faults
        shown = []
        for operation in (
            lambda: store.put("a", b"content", PutMode.create),
            lambda: store.get("a"),
            lambda: store.get_ranges("a", [ByteRange(0, 3), ByteRange(90, 99)]),
            lambda: store.head("missing"),
            lambda: store.copy("a", "b"),
            lambda: list(store.list("")),
            lambda: store.delete("a"),
        ):
            try:
                operation()
            except LanceError as error:
                shown.append(everything(error))
        if kind == "signature" and fault is None:
            assert any("sig=***" in text for text in logged)
    for text in [*shown, *logged]:
        assert sent not in text
        assert KEY not in text
        assert "SharedKey devstoreaccount1:" not in text


def test_credentials_of_the_environment_are_not_shown(
    azurite: Azurite, container: str, monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", azurite.endpoint)
    monkeypatch.setenv("AZURE_ALLOW_HTTP", "true")
    assert KEY in os.environ.values()
    dataset = lance_core.write_dataset(pa.table({"x": [1, 2]}), f"az://{container}/t")
    again = pickle.loads(pickle.dumps(dataset))
    assert again.count_rows() == 2
    shown = [repr(dataset), pickle.dumps(dataset).decode("latin-1"), *logged]
    assert not any(KEY in text for text in shown)
    for held in store_bytes(f"az://{container}/t"):
        assert KEY.encode() not in held


def store_bytes(uri: str) -> list[bytes]:
    """Every byte of a table."""
    store = open_store(uri, {})
    return [bytes(store.get(found.path)) for found in store.list("")]
