"""What an answer or a broken connection says of a request."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from urllib3.exceptions import InsecureRequestWarning

from lance_core.byte_ranges import ByteRange
from lance_core.store.uri import parse_uri
from lance_core_gcs.capabilities import OF_GOOGLE
from lance_core_gcs.client import GcsClient
from lance_core_gcs.errors import Meaning, from_response
from lance_core_gcs.options import read_options
from lance_core_remote.client import Failure, RequestError
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Fault, LateAnswer, Reset, Rule, SlowBody, Truncated
from tests.each_case import each_case
from tests.patience import LASTING, ends_within
from tests.servers.gcs import GcsServer

CREATE = Meaning(Failure.EXISTS, Failure.REFUSED)
READ = Meaning(Failure.CHANGED)
PLAIN = Meaning()


def said(reason: str, message: str = "words") -> bytes:
    error = {"message": message, "errors": [{"reason": reason}]}
    return json.dumps({"error": error}).encode()


@each_case(
    ("status", "body", "meaning", "failure"),
    [
        (400, said("invalid"), PLAIN, Failure.REFUSED),
        (401, said("authError"), PLAIN, Failure.EXPIRED),
        (403, said("forbidden"), PLAIN, Failure.REFUSED),
        (403, said("rateLimitExceeded"), PLAIN, Failure.BUSY),
        (404, b"No such object: bucket/a", PLAIN, Failure.MISSING),
        (404, said("notFound", "No such object: b/a"), PLAIN, Failure.MISSING),
        (404, said("notFound", "The specified bucket does not exist."), PLAIN, Failure.REFUSED),
        (404, said("notFound"), CREATE, Failure.REFUSED),
        (408, b"", PLAIN, Failure.UNKNOWN),
        (409, said("conflict"), CREATE, Failure.BUSY),
        (412, said("conditionNotMet"), CREATE, Failure.EXISTS),
        (412, b"Precondition Failed", READ, Failure.CHANGED),
        (412, said("conditionNotMet"), PLAIN, Failure.REFUSED),
        (412, said("orgPolicyConstraintFailed"), CREATE, Failure.REFUSED),
        (413, b"", PLAIN, Failure.REFUSED),
        (416, b"", PLAIN, Failure.RANGE),
        (429, said("rateLimitExceeded"), CREATE, Failure.BUSY),
        (500, said("backendError"), CREATE, Failure.UNKNOWN),
        (501, said("notImplemented"), CREATE, Failure.UNSUPPORTED),
        (502, b"<html>Bad Gateway</html>", PLAIN, Failure.UNKNOWN),
        (503, said("backendError"), CREATE, Failure.UNKNOWN),
        (503, said("slowDown"), CREATE, Failure.BUSY),
        (504, b"", PLAIN, Failure.UNKNOWN),
        (302, b"", PLAIN, Failure.REFUSED),
        (500, b"[" * 100_000, PLAIN, Failure.UNKNOWN),
        (500, b'{"error": {"errors": [1]}}', PLAIN, Failure.UNKNOWN),
    ],
)
def test_an_answer_stands_for_a_failure(
    status: int, body: bytes, meaning: Meaning, failure: Failure
) -> None:
    error = from_response(status, {}, body, meaning)
    assert error.failure is failure
    assert str(status) in error.text


@each_case(
    ("header", "seconds"), [("3", 3.0), (" 120 ", 120.0), ("Mon, 1 Jan 2029", None), ("-1", None)]
)
def test_the_service_may_ask_to_wait(header: str, seconds: float | None) -> None:
    assert from_response(429, {"retry-after": header}, b"", PLAIN).retry_after == seconds


def test_the_text_is_short_and_shows_no_query() -> None:
    text = from_response(400, {}, said("x", "bad https://a/b?upload_id=secret " * 50), PLAIN).text
    assert "secret" not in text
    assert len(text) < 400


def client_at(endpoint: str, bucket: str = "bucket", **options: str) -> GcsClient:
    given = {"google_base_url": endpoint, "allow_http": "true", "google_skip_signature": "1"}
    read = read_options(parse_uri(f"gs://{bucket}"), {**given, **options}, {})
    return GcsClient(read, OF_GOOGLE)


def failure_of(client: GcsClient) -> Failure:
    with closing(client), pytest.raises(RequestError) as caught:
        client.get("key", ByteRange(0, 100_000))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value.failure


def test_without_a_connection_nothing_was_sent() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert failure_of(client_at(f"http://127.0.0.1:{free.getsockname()[1]}")) is Failure.UNSENT
    assert failure_of(client_at("http://nowhere.invalid")) is Failure.UNSENT


@pytest.mark.parametrize(
    "fault", [Reset(), Reset(after=True), LateAnswer(LASTING), SlowBody(LASTING), Truncated()]
)
def test_without_a_whole_answer_nothing_is_known(gcs: GcsServer, bucket: str, fault: Fault) -> None:
    with FaultProxy(gcs.endpoint) as proxy:
        patient = client_at(proxy.url, bucket)
        patient.put("key", [memoryview(bytes(100_000))], if_absent=False)
        proxy.set_rules([Rule(fault, "GET")])
        with ends_within(0.7):
            assert failure_of(client_at(proxy.url, bucket, timeout="700ms")) is Failure.UNKNOWN


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose certificate nobody has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = Path(tmp_path_factory.mktemp("tls")) / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with listening:
                while True:
                    try:
                        connection, _ = listening.accept()
                        context.wrap_socket(connection, server_side=True).close()
                    except ssl.SSLError:
                        connection.close()
                    except OSError:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://localhost:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_certificate_that_nobody_signed_is_refused(stranger: str) -> None:
    assert failure_of(client_at(stranger)) is Failure.REFUSED


def test_certificates_go_unchecked_only_if_asked(stranger: str) -> None:
    client = client_at(stranger, allow_invalid_certificates="true")
    with pytest.warns(InsecureRequestWarning):
        assert failure_of(client) is Failure.UNKNOWN  # the server hangs up at once


@pytest.mark.parametrize(
    ("given", "environment", "is_direct"),
    [
        ({"proxy_url": "{dead}"}, {}, False),
        ({"proxy_url": "{dead}", "proxy_excludes": "example.com,127.0.0.1"}, {}, True),
        ({"proxy_url": "{dead}", "proxy_excludes": "example.com"}, {}, False),
        ({}, {"http_proxy": "{dead}"}, False),
        ({}, {"all_proxy": "{dead}"}, False),
        ({}, {"http_proxy": "{dead}", "no_proxy": "127.0.0.1"}, True),
        ({}, {"https_proxy": "{dead}"}, True),
    ],
)
def test_proxies_of_options_and_environment_are_used(
    gcs: GcsServer,
    unused_endpoint: str,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    environment: dict[str, str],
    is_direct: bool,
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(dead=unused_endpoint))
    options = {name: value.format(dead=unused_endpoint) for name, value in given.items()}
    found = failure_of(client_at(gcs.endpoint, "no-such-bucket", **options))
    assert found is (Failure.REFUSED if is_direct else Failure.UNSENT)
