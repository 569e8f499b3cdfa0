"""Endpoints, certificates, proxies and logins that are wrong: one sentence that names the cause."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, LanceError, OutcomeUnknownError, StoreError
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Rule, xml_error
from tests.cloud.s3.places import opened, seen_requests
from tests.each_case import each_case
from tests.patience import ends_within
from tests.servers.certificate import write_certificate
from tests.servers.moto import Moto

ROWS = pa.table({"id": range(3)})
PAGE = Answer(404, b"<html>404 page not found</html>", {"Content-Type": "text/html"})
DOWN = "http://127.0.0.1:9"
ANY = {"aws_endpoint": DOWN, "allow_http": "true"}
FEW = {"client_max_retries": "1", "download_retry_count": "0"}
"""For errors whose time another test limits."""
KEYS = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_region": "us-east-1"}


class Page(BaseHTTPRequestHandler):
    """A server of pages that knows nothing of S3."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        return


class Quiet(ThreadingHTTPServer):
    """Prints nothing of connections that fail."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        return


@contextmanager
def pages(certificate: Path | None = None) -> Iterator[str]:
    """The ``host:port`` of a `Page` server, over TLS with a certificate."""
    with Quiet(("127.0.0.1", 0), Page) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for this machine that no authority has signed, and its key."""
    return write_certificate(tmp_path_factory.mktemp("tls"))


def failure(options: dict[str, str], agent: str, uri: str = "s3://bucket/t") -> str:
    """The text of the error when a table is opened; a store of its own for each ``agent``."""
    with ends_within(10), pytest.raises(LanceError) as caught:
        lance.dataset(uri, storage_options=options | {"user_agent": agent})
    assert not isinstance(caught.value, OutcomeUnknownError)
    return str(caught.value)


@pytest.mark.parametrize("found", [xml_error(404, "NoSuchKey"), PAGE, Answer(404)], ids=str)
def test_a_listing_that_answers_404_is_no_empty_table(
    moto: Moto, bucket: str, proxy: FaultProxy, found: Answer
) -> None:
    uri, options = f"s3://{bucket}/t", moto.options | {"aws_endpoint": proxy.url}
    lance.write_dataset(ROWS, uri, storage_options=moto.options)
    proxy.set_rules([Rule(found, "GET", query="*list-type=2*")])
    calls: dict[str, Callable[[], object]] = {
        "append": lambda: lance.write_dataset(ROWS, uri, mode="append", storage_options=options),
        "create": lambda: lance.write_dataset(ROWS, uri, storage_options=options),
        "open": lambda: lance.dataset(uri, storage_options=options),
    }
    for call in calls.values():
        with ends_within(5), pytest.raises(StoreError) as caught:
            call()
        assert type(caught.value) is StoreError
        assert all(text in str(caught.value) for text in ("404", repr(bucket), proxy.url))
    assert proxy.count("PUT") == 0
    assert lance.dataset(uri, storage_options=moto.options).count_rows() == 3


def test_a_bucket_that_the_endpoint_repeats_is_said_so_and_nothing_is_written(
    moto: Moto, bucket: str
) -> None:
    options = moto.options | {"aws_endpoint": f"{moto.endpoint}/{bucket}"}
    with pytest.raises(StoreError, match="already contains the bucket"):
        lance.write_dataset(ROWS, f"s3://{bucket}/t", storage_options=options)
    assert "Contents" not in moto.client("s3").list_objects_v2(Bucket=bucket)


def test_an_endpoint_that_is_not_there_is_named_in_time() -> None:
    assert "http://127.0.0.1:9: Connection refused" in failure(KEYS | ANY, "closed")
    nowhere = {"aws_endpoint": "http://no-such-host.invalid:9000"}
    text = failure(KEYS | ANY | FEW | nowhere, "name")
    assert "http://no-such-host.invalid:9000: its name is not known" in text


def test_a_server_that_responded_once_is_waited_for(
    moto: Moto, bucket: str, proxy: FaultProxy
) -> None:
    # The limit for services that never responded would end these retries after four seconds.
    with opened(f"s3://{bucket}/t", moto.options | {"aws_endpoint": proxy.url}) as store:
        assert not store._sender.is_reached
        store.put("a", b"1")
        assert store._sender.is_reached


def test_pages_of_other_servers_are_not_taken_for_s3() -> None:
    with pages() as host:
        text = failure(KEYS | ANY | FEW | {"aws_endpoint": f"http://{host}"}, "page")
        assert "the response is not of S3" in text


def test_a_protocol_that_the_port_does_not_speak_is_named(certificate: Path) -> None:
    with pages() as plain, pages(certificate) as secure:
        text = failure(KEYS | ANY | {"aws_endpoint": f"https://{plain}"}, "tls")
        assert "does not speak TLS" in text
        text = failure(KEYS | ANY | FEW | {"aws_endpoint": f"http://{secure}"}, "no-tls")
        assert "https" in text


def test_a_certificate_that_is_refused_is_refused_for_a_reason(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pages(certificate) as host:
        here = KEYS | FEW | {"aws_endpoint": f"https://{host}"}
        text = failure(here, "unknown")
        assert "not trusted: self-signed certificate" in text
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate / "cert.pem"))
        other = here | {"aws_endpoint": f"https://{host}".replace("127.0.0.1", "localhost")}
        text = failure(other, "other-host")
        assert "is for another host" in text
        assert "not of S3" in failure(here, "trusted")


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_a_file_of_certificates_that_is_not_there_is_named_at_once(
    variable: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = KEYS | {"aws_endpoint": "https://127.0.0.1:9"}
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.setenv(variable, "/no/ca.pem")
    with ends_within(1):
        text = failure(here, f"no-file-{variable}")
    assert variable in text
    assert "'/no/ca.pem': No such file or directory" in text
    monkeypatch.setenv(variable, str(certificate / "key.pem"))
    text = failure(here, f"no-pem-{variable}")
    assert "no certificate" in text
    assert "PRIVATE" not in text


def test_a_proxy_that_is_down_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = "http://user:hidden@127.0.0.1:9"
    text = failure(KEYS | ANY | FEW | {"proxy_url": address}, "option")
    assert "no connection to the proxy http://127.0.0.1:9: Connection refused" in text
    monkeypatch.setenv("HTTPS_PROXY", address)
    other = failure(KEYS | FEW | {"aws_endpoint": "https://s3.example"}, "variable")
    assert "no connection to the proxy http://127.0.0.1:9: Connection refused" in other
    assert "hidden" not in text + other


SESSION = "[sso-session mine]\nsso_region = us-east-1\nsso_start_url = https://mine.example/start\n"
LOGINS = {
    "a process that fails": (
        "[default]\ncredential_process = sh -c 'echo please log in >&2; exit 3'\n",
        "please log in",
    ),
    "a process that is not there": ("[default]\ncredential_process = /no/such\n", "'/no/such'"),
    "a process that prints something else": (
        "[default]\ncredential_process = echo hidden\n",
        "no JSON",
    ),
    "a login that is over": (
        f"[default]\nsso_session = mine\nsso_account_id = 1\nsso_role_name = r\n{SESSION}",
        "Error loading SSO Token: Token for mine does not exist",
    ),
    "a profile that is not there": (
        "[default]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = nobody\n",
        '"nobody"',
    ),
}


@pytest.mark.parametrize("login", LOGINS)
def test_a_login_that_is_missing_is_told_in_the_words_of_the_sdk(
    login: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, words = LOGINS[login]
    (tmp_path / "config").write_text(config)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with ends_within(3):
        text = failure(ANY, login)
    assert words in text
    assert "hidden" not in text


def test_a_token_file_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    role = {"aws_role_arn": "arn:aws:iam::123456789012:role/r"}
    for file in ("/no/token", str(tmp_path)):
        with ends_within(3):
            text = failure(ANY | role | {"aws_web_identity_token_file": file}, file)
        assert repr(file) in text
        assert "attempts" not in text


def test_a_file_of_credentials_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/no/file")
    assert "AWS_SHARED_CREDENTIALS_FILE names '/no/file'" in failure(ANY, "missing")
    (tmp_path / "garbled").write_bytes(b"\xff\xfe hidden [x\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "garbled"))
    text = failure(ANY, "garbled")
    assert str(tmp_path / "garbled") in text
    assert "hidden" not in text


def test_the_region_of_a_profile_counts_beside_an_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("[profile mine]\nregion = eu-central-2\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_profile": "mine"}
    for given, region in (({}, "eu-central-2"), ({"aws_region": "eu-west-1"}, "eu-west-1")):
        with opened("s3://bucket/t", ANY | keys | given) as store, seen_requests(store) as requests:
            store.client.delete("k")
        header = requests[0].headers["Authorization"]
        assert f"/{region}/s3/" in (header.decode() if isinstance(header, bytes) else header)


@each_case(
    "uri",
    [
        "s3://arn:aws:s3:us-east-1:123456789012:accesspoint/name/t",
        "s3://arn:aws:s3:us-east-1:123456789012:accesspoint:name/t",
        "s3://arn:aws:s3:::bucket/t",
    ],
)
def test_an_access_point_is_named_by_its_alias(uri: str) -> None:
    assert "s3alias" in failure(KEYS | ANY, "arn", uri)


@each_case("status", [413, 423, 507])
def test_a_server_without_room_refuses_at_once(
    status: int, moto: Moto, bucket: str, proxy: FaultProxy
) -> None:
    proxy.set_rules([Rule(xml_error(status, "XMinioStorageFull"), "PUT")])
    options = moto.options | {"aws_endpoint": proxy.url}
    with ends_within(5), pytest.raises(StoreError, match="StorageFull") as caught:
        lance.write_dataset(ROWS, f"s3://{bucket}/t", storage_options=options)
    assert not isinstance(caught.value, OutcomeUnknownError)
    assert proxy.count("PUT") == 1


def test_a_profile_that_is_not_there_is_an_invalid_option() -> None:
    with pytest.raises(InvalidInputError, match="nobody"):
        lance.dataset("s3://bucket/t", storage_options=ANY | {"aws_profile": "nobody"})
    assert os.environ.get("AWS_PROFILE") is None
