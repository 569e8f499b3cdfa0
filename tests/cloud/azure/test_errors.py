"""What responses of the service mean for a request."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import urllib3.exceptions as http

from lance_core_azure.errors import from_response, from_transport
from lance_core_remote.client import Failure
from tests.each_case import each_case

ANSWERS = {
    "nothing there": (404, "BlobNotFound", Failure.MISSING),
    "nothing to copy": (404, "CannotVerifyCopySource", Failure.MISSING),
    "nothing that may be copied": (403, "CannotVerifyCopySource", Failure.REFUSED),
    "blocks that are gone": (400, "InvalidBlockList", Failure.MISSING),
    "no such container": (404, "ContainerNotFound", Failure.REFUSED),
    "not found by something else": (404, "", Failure.REFUSED),
    "an object is there": (409, "BlobAlreadyExists", Failure.EXISTS),
    "an unmet condition": (412, "ConditionNotMet", Failure.EXISTS),
    "an unmet condition of a copy": (412, "TargetConditionNotMet", Failure.EXISTS),
    "an unmet condition without a code": (412, "", Failure.EXISTS),
    "a right to create only": (403, "UnauthorizedBlobOverwrite", Failure.EXISTS),
    "a lease": (412, "LeaseIdMissing", Failure.REFUSED),
    "a range behind the end": (416, "InvalidRange", Failure.RANGE),
    "a busy server": (503, "ServerBusy", Failure.BUSY),
    "a busy server with another status": (500, "ServerBusy", Failure.BUSY),
    "too many requests": (429, "", Failure.BUSY),
    "a copy under way": (409, "PendingCopyOperation", Failure.BUSY),
    "a gateway without a service": (503, "", Failure.UNKNOWN),
    "a gateway that gave up": (504, "", Failure.UNKNOWN),
    "an internal error": (500, "InternalError", Failure.UNKNOWN),
    "a time-out of the service": (500, "OperationTimedOut", Failure.UNKNOWN),
    "an expired token": (401, "InvalidAuthenticationInfo", Failure.EXPIRED),
    "no credentials": (401, "NoAuthenticationInformation", Failure.REFUSED),
    "a wrong key": (403, "AuthenticationFailed", Failure.REFUSED),
    "no rights": (403, "AuthorizationPermissionMismatch", Failure.REFUSED),
    "no such rights at all": (403, "InsufficientAccountPermissions", Failure.REFUSED),
    "a container that is being deleted": (409, "ContainerBeingDeleted", Failure.REFUSED),
    "a malformed name": (400, "InvalidResourceName", Failure.REFUSED),
    "a call that is not there": (501, "APINotImplemented", Failure.UNSUPPORTED),
    "a header that is not known": (400, "UnsupportedHeader", Failure.UNSUPPORTED),
    "a redirection": (307, "", Failure.REFUSED),
    "a success of another kind": (206, "", Failure.UNKNOWN),
}


@each_case(("status", "code", "failure"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_means(status: int, code: str, failure: Failure) -> None:
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>told</Message></Error>"
    in_body = from_response(status, {}, body.encode() if code else b"", Failure.EXISTS)
    headers = {"x-ms-error-code": code} if code else {}
    in_header = from_response(status, headers, b"", Failure.EXISTS)
    assert (in_body.failure, in_header.failure) == (failure, failure)
    assert f"status {status}" in in_body.text
    assert code in in_body.text
    assert code in in_header.text


@pytest.mark.parametrize("unmet", [Failure.CHANGED, Failure.REFUSED])
def test_what_an_unmet_condition_means_is_up_to_the_request(unmet: Failure) -> None:
    for status, code in ((412, "ConditionNotMet"), (403, "UnauthorizedBlobOverwrite")):
        assert from_response(status, {"x-ms-error-code": code}, b"", unmet).failure is unmet


MESSAGE = """<?xml version="1.0" encoding="utf-8"?><Error><Code>AuthenticationFailed</Code>
<Message>Server failed to authenticate the request &amp; said so.
RequestId:1\nTime:2</Message><AuthenticationErrorDetail>%s</AuthenticationErrorDetail></Error>"""


def test_the_first_line_of_the_message_is_told() -> None:
    body = (MESSAGE % "The MAC signature 's3cr3t' is not the same").encode()
    error = from_response(403, {"x-ms-request-id": "17-ab"}, body, Failure.EXISTS)
    assert error.text == (
        "status 403, AuthenticationFailed: Server failed to authenticate the request & said so. "
        "(request 17-ab)"
    )


def test_a_signature_that_is_over_is_expired() -> None:
    detail = "Signature not valid in the specified time frame: Start [A] - Expiry [B]"
    error = from_response(403, {}, (MESSAGE % detail).encode(), Failure.EXISTS)
    assert error.failure is Failure.EXPIRED


@each_case(("minutes", "said"), [(-40, "ahead of"), (40, "behind"), (0, None)])
def test_a_wrong_clock_is_named(minutes: int, said: str | None) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes))
    error = from_response(403, {"Date": date}, (MESSAGE % "").encode(), Failure.EXISTS)
    assert error.failure is Failure.REFUSED
    if said is None:
        assert "clock" not in error.text
    else:
        assert f"this machine's clock is 40 minutes {said} that of the service" in error.text


@each_case(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"Retry-After": "-1"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_passed_on(headers: dict[str, str], seconds: float | None) -> None:
    assert from_response(503, headers, b"", Failure.EXISTS).retry_after == seconds


SILENCE = {
    "no route": (http.NewConnectionError(None, "refused"), Failure.UNSENT),  # type: ignore[arg-type]
    "no connection in time": (http.ConnectTimeoutError(None, "slow"), Failure.UNSENT),
    "no proxy": (
        http.ProxyError("sig=s3cr3t", http.NewConnectionError(None, "refused")),  # type: ignore[arg-type]
        Failure.UNSENT,
    ),
    "a proxy that refuses": (
        http.ProxyError("sig=s3cr3t", OSError("Tunnel connection failed: 403 no")),
        Failure.UNSENT,
    ),
    "a proxy that breaks off": (
        http.ProxyError("sig=s3cr3t", ConnectionResetError(104, "reset")),
        Failure.UNKNOWN,
    ),
    "a broken connection": (http.ProtocolError("gone", ConnectionResetError(104)), Failure.UNKNOWN),
    "no answer in time": (http.ReadTimeoutError(None, "sig=s3cr3t", "slow"), Failure.UNKNOWN),  # type: ignore[arg-type]
    "a body that broke off": (http.IncompleteRead(1, 2), Failure.UNKNOWN),
    "a distrusted certificate": (
        http.SSLError(ssl.SSLError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")),
        Failure.REFUSED,
    ),
    "no TLS": (http.SSLError(ssl.SSLError("[SSL: WRONG_VERSION_NUMBER] wrong")), Failure.REFUSED),
    "TLS that fails otherwise": (http.SSLError(ssl.SSLError("[SSL] bad")), Failure.UNKNOWN),
}


@each_case(("error", "failure"), SILENCE.values(), ids=SILENCE.keys())
def test_no_answer_means(error: http.HTTPError, failure: Failure) -> None:
    found = from_transport(error, "account.blob.core.windows.net")
    assert found.failure is failure
    assert "account.blob.core.windows.net" in found.text
    assert "s3cr3t" not in found.text
