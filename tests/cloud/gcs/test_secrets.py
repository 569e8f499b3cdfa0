"""What is secret is nowhere to be seen: no text, no log, no chain of errors, no pickle."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import LanceError
from lance_core.plugins.store_cache import open_store
from lance_core.store.config import StoreConfig
from lance_core.store.uri import parse_uri
from lance_core_gcs.capabilities import OF_GOOGLE
from lance_core_gcs.client import GcsClient
from lance_core_gcs.options import read_options
from lance_core_gcs.plugin import lance_object_stores
from lance_core_gcs.uploads import CHUNK
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Reset, Rule, Truncated, json_error
from tests.cloud.surfaces import everything
from tests.each_case import each_case
from tests.servers.gcs import GcsServer

CANARY = "canary-8f1e"
KEY = json.dumps(
    {
        "client_email": "me@example.com",
        "private_key": f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n",
        "private_key_id": "7",
    }
)
(SPEC,) = lance_object_stores()


GIVEN = [
    {"google_storage_token": CANARY},
    {"bearer_token": CANARY},
    {"GOOGLE_SERVICE_ACCOUNT_KEY": KEY},
    {"service_account_key": KEY},
    {"google_service_account_key": json.dumps({"disable_oauth": True, "private_key": CANARY})},
    {"google_skip_signature": "true", "proxy_url": f"http://me:{CANARY}@127.0.0.1:9"},
]


@pytest.mark.parametrize("given", GIVEN, ids=",".join)
def test_options_are_not_shown(
    gcs: GcsServer, bucket: str, given: dict[str, str], logged: list[str]
) -> None:
    common = {"base_url": gcs.endpoint, "allow_http": "true", "client_max_retries": "1"}
    options, shown = common | given, []
    uri = f"gs://{bucket}/table"
    config = StoreConfig(uri, options)
    shown += [repr(config), str(config)]
    shown.append(pickle.dumps(config).decode("latin-1"))
    read = read_options(parse_uri(uri), SPEC.canonical_options(options), {})
    shown += [repr(read.identity), str(read.identity)]
    try:
        store = open_store(uri, options)
        shown += [repr(store), str(store), repr(store.client)]  # type: ignore[attr-defined]
        store.put("object", b"content")
    except LanceError as error:
        shown.append(everything(error))
    try:
        dataset = lance_core.write_dataset(pa.table({"x": [1]}), uri, storage_options=options)
        shown += [repr(dataset), pickle.dumps(dataset).decode("latin-1")]
    except LanceError as error:
        shown.append(everything(error))
    for text in [*shown, *logged]:
        assert CANARY not in text


@each_case("name", ["google_storage_token", "google_service_account_key", "proxy_url"])
def test_no_error_about_an_option_shows_a_secret(name: str) -> None:
    secret = f"x:{CANARY}@[" if name == "proxy_url" else CANARY
    misspelt = f"{name}x" if name.startswith("g") else "a"
    given = {"google_skip_signature": "true", name: secret, misspelt: CANARY}
    with pytest.raises(LanceError) as caught:
        lance_core.dataset("gs://bucket/a", storage_options=given)
    assert CANARY not in everything(caught.value)


@each_case("value", [f"x:{CANARY}@[", f"http://me:{CANARY}@[", f"ftp://:{CANARY}@a"])
def test_no_error_about_a_proxy_shows_its_password(value: str) -> None:
    with pytest.raises(LanceError) as caught:
        lance_core.dataset("gs://bucket/a", storage_options={"proxy_url": value})
    assert CANARY not in everything(caught.value)


def test_what_is_exchanged_for_tokens_is_not_shown(
    gcs: GcsServer, tmp_path: Path, logged: list[str]
) -> None:
    (tmp_path / "subject").write_text(CANARY)
    file = tmp_path / "external.json"
    with FaultProxy(gcs.endpoint) as proxy:
        fields = {
            "type": "external_account",
            "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": f"{proxy.url}/token",
            "credential_source": {"file": str(tmp_path / "subject")},
            "client_id": "id",
            "client_secret": f"{CANARY}-2",
        }
        file.write_text(json.dumps(fields))
        proxy.set_rules([Rule(json_error(400, CANARY), path="/token")])
        given = {"base_url": proxy.url, "allow_http": "true", "application_credentials": str(file)}
        store = open_store("gs://bucket/a", given)
        with pytest.raises(LanceError) as caught:
            store.get("object")
        assert proxy.count(path="/token") >= 1
    for text in [everything(caught.value), *logged]:
        assert CANARY not in text


@pytest.mark.parametrize(
    "fault",
    [Reset(), Truncated(), json_error(500, "backendError"), json_error(410, "gone")],
)
def test_the_address_of_an_upload_is_not_shown(
    gcs: GcsServer, bucket: str, fault: object, logged: list[str]
) -> None:
    with FaultProxy(gcs.endpoint) as proxy:
        given = {"google_base_url": proxy.url, "allow_http": "true", "google_skip_signature": "1"}
        client = GcsClient(read_options(parse_uri(f"gs://{bucket}"), given, {}), OF_GOOGLE)
        settings = RemoteSettings(part_size=CHUNK, max_single_put=CHUNK, max_retries=1)
        proxy.set_rules([Rule(fault, "PUT", "/upload/*")])  # type: ignore[arg-type]  # a fault
        writer = RemoteStore(client, "t", settings).open_writer("object")
        shown = []
        with pytest.raises(LanceError) as caught:  # noqa: PT012 (the part is sent by one of them)
            writer.write(bytes(3 * CHUNK))
            shown = [repr(client.__dict__), repr(writer.__dict__)]
            writer.close()
        shown.append(everything(caught.value))
        uploads = {
            one.query.partition("upload_id=")[2] for one in proxy.requests if one.method == "PUT"
        }
        client.close()
    assert len(uploads) == 1
    (upload,) = uploads
    assert len(upload) == 32
    assert any("upload_id=***" in text for text in logged) or isinstance(fault, Reset)
    for text in [*shown, *logged]:
        assert upload not in text


def test_a_key_that_cannot_be_used_is_not_shown() -> None:
    options = {"google_service_account_key": KEY}
    with pytest.raises(LanceError, match="google_service_account_key") as caught:
        lance_core.dataset("gs://bucket/a", storage_options=options)
    assert CANARY not in everything(caught.value)
