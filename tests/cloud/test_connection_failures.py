"""What errors of connections say about a request."""

from __future__ import annotations

from urllib3.exceptions import NewConnectionError

from lance_core_remote.client import Failure
from lance_core_remote.connection_failures import is_unconnected, retry_after, tls_failure
from tests.each_case import each_case


@each_case(
    ("text", "failure"),
    [
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate of canary", Failure.REFUSED),
        ("[SSL: WRONG_VERSION_NUMBER] canary", Failure.REFUSED),
        ("[SSL] record layer failure", Failure.REFUSED),
        ("EOF occurred, canary", Failure.UNKNOWN),
    ],
)
def test_an_error_of_tls_may_have_come_after_sending(text: str, failure: Failure) -> None:
    error = tls_failure(text)
    assert error.failure is failure
    assert "canary" not in error.text


def test_only_errors_of_connecting_prove_that_nothing_was_sent() -> None:
    assert is_unconnected(NewConnectionError(None, "refused"))  # type: ignore[arg-type]
    assert is_unconnected(OSError("Tunnel connection failed: 403 Forbidden"))
    assert not is_unconnected(ConnectionResetError())
    assert not is_unconnected(None)


@each_case(
    ("header", "seconds"),
    [("7", 7.0), (" 12 ", 12.0), ("0", 0.0), ("-1", None), ("soon", None), ("٣", None)],
)
def test_only_seconds_are_waited_for(header: str, seconds: float | None) -> None:
    assert retry_after(header) == seconds


@each_case("header", [None, "", "999999", "Thu, 01 Jan 2026 00:00:00 GMT"])
def test_no_seconds_are_no_wait(header: str | None) -> None:
    assert retry_after(header) is None
