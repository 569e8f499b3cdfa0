"""The options of the HTTP client have their effect on the requests that a server receives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import boto3
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import LanceError, StoreError
from lance_core.plugins.store_cache import open_store
from tests.each_case import each_case
from tests.patience import LASTING, ends_within
from tests.servers.azurite import Azurite
from tests.servers.gcs import GcsServer
from tests.servers.moto import Moto

ONCE = {"client_max_retries": 0, "download_retry_count": 0, "client_retry_timeout": 1}
TABLE = pa.table({"x": [1, 2]})


class Recorder:
    """A server, or proxy, that answers 404 after ``delay`` seconds, and keeps what it receives."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.delay = 0.0
        self._is_closing = Event()
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                recorder.requests.append((self.path, headers))
                recorder._is_closing.wait(recorder.delay)
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    server = Recorder()
    yield server
    server.close()


KEYS = {"aws_access_key_id": "k", "aws_secret_access_key": "word", "aws_region": "us-east-1"}
AT: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "s3": lambda url: ("s3://bucket/t", {**KEYS, "aws_endpoint": url}),
    "gcs": lambda url: ("gs://bucket/t", {"google_base_url": url, "google_skip_signature": True}),
    "azure": lambda url: (
        "az://container/t",
        {"account_name": "a", "endpoint": f"{url}/a", "skip_signature": True},
    ),
}
PREFIX = {"s3": "aws_", "gcs": "google_", "azure": "azure_"}


def head(kind: str, url: str, options: Mapping[str, Any]) -> None:
    """Send one request to ``url``; it fails."""
    uri, common = AT[kind](url)
    store = open_store(uri, {**common, "allow_http": True, **ONCE, **options})
    with pytest.raises(LanceError):
        store.get("object")


@each_case("kind", AT)
def test_headers_and_the_user_agent_are_sent(kind: str, recorder: Recorder) -> None:
    options = {"headers.X-Mine": "mine", "HEADERS.x-other": "2", f"{PREFIX[kind]}user_agent": "me"}
    head(kind, recorder.url, options)
    _, headers = recorder.requests[-1]
    assert (headers["x-mine"], headers["x-other"]) == ("mine", "2")
    assert headers["user-agent"].split()[0] == "me"


@each_case("kind", AT)
def test_headers_do_not_replace_those_of_the_client(kind: str, recorder: Recorder) -> None:
    head(kind, recorder.url, {"headers.User-Agent": "other", "user_agent": "me"})
    assert "other" not in recorder.requests[-1][1]["user-agent"]


@each_case("kind", AT)
@each_case("by", ["option", "prefix", "variable", "variable without prefix"])
def test_a_proxy_sees_the_requests(kind: str, by: str, recorder: Recorder) -> None:
    name = (
        "proxy_url" if by in {"option", "variable without prefix"} else f"{PREFIX[kind]}proxy_url"
    )
    with pytest.MonkeyPatch.context() as patch:
        options = {}
        if by.startswith("variable"):
            patch.setenv(name.upper(), recorder.url)
        else:
            options[name] = recorder.url
        before = len(recorder.requests)
        head(kind, "http://service.example:9", options)
    assert recorder.requests[before][0].startswith("http://service.example:9/")


@each_case("kind", AT)
@each_case("excludes", ["127.0.0.1", "127.0.0.0/8", "a.example, *", "127.0.0.1:80,x"])
def test_excluded_hosts_are_reached_without_the_proxy(
    kind: str, excludes: str, recorder: Recorder
) -> None:
    options = {"proxy_url": "http://127.0.0.1:9", "proxy_excludes": excludes}
    before = len(recorder.requests)
    head(kind, recorder.url, options)
    assert recorder.requests[before][0].startswith("/")


@each_case("kind", AT)
@each_case("name", ["read_timeout", "timeout", "variable"])
def test_a_time_out_is_felt(kind: str, name: str, recorder: Recorder) -> None:
    recorder.delay = LASTING
    options = {} if name == "variable" else {name: "200ms"}
    with pytest.MonkeyPatch.context() as patch:
        if name == "variable":
            patch.setenv(f"{PREFIX[kind]}timeout".upper(), "200ms")
        with ends_within(2):
            head(kind, recorder.url, options)


def test_a_variable_allows_addresses_without_tls(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOW_HTTP", "true")
    for kind, place in AT.items():
        uri, options = place(recorder.url)
        with pytest.raises(LanceError):
            open_store(f"{uri}/{kind}", {**options, **ONCE}).get("object")
    assert len(recorder.requests) >= len(AT)


@each_case(
    "name",
    [
        *("http1_only", "http2_only", "http2_keep_alive_while_idle", "randomize_addresses"),
        *("http2_keep_alive_interval", "http2_keep_alive_timeout", "pool_idle_timeout"),
        *("http2_max_frame_size", "pool_max_idle_per_host"),
    ],
)
@each_case("kind", AT)
def test_options_without_effect_change_no_request(kind: str, name: str, recorder: Recorder) -> None:
    value: object = 5 if "size" in name or "max" in name else "5s"
    head(kind, recorder.url, {name: value if "time" in name or "int" in name else 1})
    assert recorder.requests


def test_written_objects_have_the_content_type(
    moto: Moto, gcs: GcsServer, azurite: Azurite
) -> None:
    bucket = moto.new_bucket()
    options = moto.options | {"default_content_type": "text/x-lance"}
    lance.write_dataset(TABLE, f"s3://{bucket}/t", storage_options=options)
    sdk = boto3.client(
        "s3",
        endpoint_url=moto.endpoint,
        aws_access_key_id="k",
        aws_secret_access_key="word",
        region_name="us-east-1",
    )
    keys = [found["Key"] for found in sdk.list_objects_v2(Bucket=bucket)["Contents"]]
    kinds = {sdk.head_object(Bucket=bucket, Key=key)["ContentType"] for key in keys}
    sdk.close()
    assert kinds == {"text/x-lance"}


def test_a_connection_string_opens_a_table(
    azurite: Azurite, container: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.servers.azurite import ACCOUNT, KEY

    text = f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={azurite.origin}/{ACCOUNT};"
    uri = f"az://{container}/t"
    options = {"connection_string": text, "allow_http": True}
    lance.write_dataset(TABLE, uri, storage_options=options)  # type: ignore[arg-type]
    assert KEY not in repr(lance.dataset(uri, storage_options=options))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    monkeypatch.setenv("ALLOW_HTTP", "1")
    assert lance.dataset(uri).count_rows() == 2


def test_the_variable_of_emulators_opens_a_table_without_a_login(
    gcs: GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs.endpoint.removeprefix("http://"))
    uri = f"gs://{gcs.new_bucket()}/t"
    lance.write_dataset(TABLE, uri)
    assert lance.dataset(uri).count_rows() == 2


def test_a_silent_metadata_service_costs_at_most_three_seconds(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.delay = LASTING
    # The library reads NO_GCE_CHECK once, when another test may already have imported it.
    monkeypatch.setattr("google.auth.compute_engine._metadata._NO_GCE_CHECK", False)
    monkeypatch.setenv("GCE_METADATA_IP", recorder.url.removeprefix("http://"))
    message = "no credentials were found: give google_service_account"
    with ends_within(3), pytest.raises(StoreError, match=message):
        lance.dataset("gs://silent-metadata-service/t")
    assert len(recorder.requests) == 1  # each one may take three seconds


@each_case(
    ("uri", "options", "text"),
    [
        ("s3://bucket/t", {"aws_region": "eu-west-1"}, "'aws_skip_signature'"),
        ("gs://bucket/t", {}, "google_skip_signature"),
        ("az://container/t", {}, "AZURE_STORAGE_ACCOUNT_NAME"),
        ("az://container/t", {"account_name": "a"}, "no account_key, sas_token or bearer_token"),
    ],
)
def test_a_missing_login_is_told_at_once_with_the_options_that_help(
    uri: str, options: dict[str, str], text: str
) -> None:
    with ends_within(5), pytest.raises(LanceError) as caught:
        lance.dataset(uri, storage_options=options)
    assert text in str(caught.value)
