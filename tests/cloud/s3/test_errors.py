"""What answers and silence of S3 mean for a request."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from botocore import exceptions as sdk
from urllib3.exceptions import NewConnectionError, ProxyError

from lance_core_remote.client import Failure
from lance_core_s3.errors import request_error
from tests.each_case import each_case


def answer(status: int, code: str, operation: str = "PutObject", **headers: str) -> Exception:
    told: Any = {
        "Error": {"Code": code, "Message": "told"},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
    }
    return sdk.ClientError(told, operation)


ANSWERS = {
    "a key that is not there": (404, "NoSuchKey", Failure.MISSING),
    "nothing there, to HEAD": (404, "404", Failure.MISSING),
    "no such bucket": (404, "NoSuchBucket", Failure.REFUSED),
    "an upload that is gone": (404, "NoSuchUpload", Failure.MISSING),
    "an unmet condition": (412, "PreconditionFailed", Failure.EXISTS),
    "a conflict of conditional writes": (409, "ConditionalRequestConflict", Failure.BUSY),
    "a conflict of other writes": (409, "OperationAborted", Failure.BUSY),
    "a range behind the end": (416, "InvalidRange", Failure.RANGE),
    "slow down": (503, "SlowDown", Failure.BUSY),
    "unavailable": (503, "503", Failure.UNKNOWN),
    "too many requests": (429, "TooManyRequests", Failure.BUSY),
    "throttling with a strange status": (400, "ThrottlingException", Failure.BUSY),
    "a body that was damaged on its way": (400, "XAmzContentSHA256Mismatch", Failure.BUSY),
    "a body that did not arrive": (400, "RequestTimeout", Failure.BUSY),
    "expired token": (400, "ExpiredToken", Failure.EXPIRED),
    "expired request": (403, "RequestExpired", Failure.EXPIRED),
    "token to refresh": (400, "TokenRefreshRequired", Failure.EXPIRED),
    "a clock that is wrong": (403, "RequestTimeTooSkewed", Failure.REFUSED),
    "no rights": (403, "AccessDenied", Failure.REFUSED),
    "wrong keys": (403, "InvalidAccessKeyId", Failure.REFUSED),
    "a wrong signature": (403, "SignatureDoesNotMatch", Failure.REFUSED),
    "a wrong region": (301, "PermanentRedirect", Failure.REFUSED),
    "a bad request": (400, "InvalidArgument", Failure.REFUSED),
    "a method that is not allowed": (405, "MethodNotAllowed", Failure.REFUSED),
    "a header that is not implemented": (501, "NotImplemented", Failure.UNSUPPORTED),
    "no code at all": (501, "", Failure.UNSUPPORTED),
    "an internal error": (500, "InternalError", Failure.UNKNOWN),
    "an internal error behind a success": (200, "InternalError", Failure.UNKNOWN),
    "a bad gateway": (502, "502", Failure.UNKNOWN),
    "a gateway that gave up": (504, "504", Failure.UNKNOWN),
    "a disk without room": (507, "XMinioStorageFull", Failure.REFUSED),
    "a gateway without room": (507, "507", Failure.REFUSED),
    "a used-up quota": (400, "XMinioAdminBucketQuotaExceeded", Failure.REFUSED),
    "a used-up quota of Ceph": (403, "QuotaExceeded", Failure.REFUSED),
    "a body that is too large": (413, "413", Failure.REFUSED),
    "an object that is locked": (423, "423", Failure.REFUSED),
}


@each_case(("status", "code", "failure"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_means(status: int, code: str, failure: Failure) -> None:
    error = request_error(answer(status, code))
    assert error.failure is failure
    assert {str(status), "told"} <= set(error.text.replace(":", "").split())
    assert code in error.text


def test_a_condition_on_a_read_is_about_another_object() -> None:
    unmet = answer(412, "PreconditionFailed", "GetObject")
    assert request_error(unmet, unmet=Failure.CHANGED).failure is Failure.CHANGED


def test_an_unexplained_answer_to_head_may_be_about_expired_credentials() -> None:
    assert request_error(answer(400, "400", "HeadObject")).failure is Failure.EXPIRED
    assert request_error(answer(400, "400", "GetObject")).failure is Failure.REFUSED


@each_case(("told", "seconds"), [("7", 7.0), ("soon", None), ("-1", None)])
def test_the_service_says_when_to_come_back(told: str, seconds: float | None) -> None:
    busy = answer(503, "SlowDown", **{"retry-after": told})
    assert request_error(busy).retry_after == seconds


@pytest.mark.parametrize(("hours", "way"), [(2, "behind"), (-2, "ahead of")])
def test_a_wrong_clock_is_told_by_how_much(hours: int, way: str) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=hours), usegmt=True)
    text = request_error(answer(403, "RequestTimeTooSkewed", date=date)).text
    assert "clock of this machine" in text
    assert way in text
    assert any(f"{abs(seconds)} s" in text for seconds in (7199, 7200, 7201))


def test_a_wrong_clock_is_told_without_a_date_too() -> None:
    assert "set the clock" in request_error(answer(403, "RequestTimeTooSkewed")).text


@each_case(
    ("status", "code", "operation", "headers", "failure"),
    [
        (404, "NoSuchKey", "ListObjectsV2", {}, Failure.REFUSED),
        (404, "404", "ListObjectsV2", {}, Failure.REFUSED),
        (404, "404", "HeadObject", {"content-length": "19"}, Failure.MISSING),
        (404, "404", "GetObject", {"content-length": "0"}, Failure.MISSING),
        (404, "404", "GetObject", {"content-length": "19"}, Failure.REFUSED),
        (404, "", "DeleteObject", {"content-length": "19"}, Failure.REFUSED),
        (404, "404", "PutObject", {}, Failure.MISSING),
    ],
)
def test_a_404_says_that_an_object_is_missing_only_if_s3_says_it(
    status: int, code: str, operation: str, headers: dict[str, str], failure: Failure
) -> None:
    error = request_error(
        answer(status, code, operation, **headers), where="bucket 'b' at http://h"
    )
    assert error.failure is failure
    assert (failure is Failure.REFUSED) == ("bucket 'b' at http://h" in error.text)


@each_case(
    ("status", "headers", "text"),
    [
        (301, {"x-amz-bucket-region": "eu-west-1"}, "in region 'eu-west-1'"),
        (307, {"location": "https://other.example/b?X-Amz-Signature=hidden"}, "other.example"),
        (302, {}, "as gateways do"),
        (308, {"location": "/login?next=hidden"}, "redirects to /login"),
    ],
)
def test_a_redirect_names_the_region_or_where_it_leads(
    status: int, headers: dict[str, str], text: str
) -> None:
    error = request_error(answer(status, str(status), **headers), where="bucket 'b'")
    assert error.failure is Failure.REFUSED
    assert text in error.text
    assert "hidden" not in error.text
    assert ("aws_region" in error.text) == ("x-amz-bucket-region" in headers)


URL = "https://bucket.example/key?X-Amz-Signature=hidden"
SILENCE: dict[str, tuple[Exception, Failure]] = {
    "no connection": (
        sdk.EndpointConnectionError(endpoint_url=URL, error=ConnectionRefusedError()),
        Failure.UNSENT,
    ),
    "a name that nobody knows": (
        sdk.EndpointConnectionError(endpoint_url=URL, error=socket.gaierror()),
        Failure.UNSENT,
    ),
    "no connection in time": (
        sdk.ConnectTimeoutError(endpoint_url=URL, error=TimeoutError()),
        Failure.UNSENT,
    ),
    "no proxy": (
        sdk.ProxyConnectionError(
            proxy_url=URL,
            error=ProxyError("no", NewConnectionError(None, "refused")),  # type: ignore[arg-type]
        ),
        Failure.UNSENT,
    ),
    "a proxy that broke off": (
        sdk.ProxyConnectionError(proxy_url=URL, error=ProxyError("no", ConnectionResetError())),
        Failure.UNKNOWN,
    ),
    "no answer in time": (
        sdk.ReadTimeoutError(endpoint_url=URL, error=TimeoutError()),
        Failure.UNKNOWN,
    ),
    "a connection that was reset": (
        sdk.ConnectionClosedError(endpoint_url=URL, error=ConnectionResetError(), request=None),
        Failure.UNKNOWN,
    ),
    "a body that breaks off": (
        sdk.ResponseStreamingError(error=ConnectionResetError()),
        Failure.UNKNOWN,
    ),
    "a body that is short": (
        sdk.IncompleteReadError(actual_bytes=1, expected_bytes=2),
        Failure.UNKNOWN,
    ),
    "a certificate of somebody else": (
        sdk.SSLError(endpoint_url=URL, error="[SSL: CERTIFICATE_VERIFY_FAILED]"),
        Failure.REFUSED,
    ),
    "no TLS": (sdk.SSLError(endpoint_url=URL, error="WRONG_VERSION_NUMBER"), Failure.REFUSED),
    "TLS that breaks": (sdk.SSLError(endpoint_url=URL, error="EOF"), Failure.UNKNOWN),
    "no credentials": (sdk.NoCredentialsError(), Failure.REFUSED),
    "credentials that cannot be fetched": (
        sdk.CredentialRetrievalError(provider="x", error_msg=URL),
        Failure.UNSENT,
    ),
    "something that the SDK refuses": (sdk.ParamValidationError(report=URL), Failure.REFUSED),
    "anything else": (RuntimeError(URL), Failure.UNKNOWN),
}


@each_case(("error", "failure"), SILENCE.values(), ids=SILENCE.keys())
def test_silence_means(error: Exception, failure: Failure) -> None:
    found = request_error(error)
    assert found.failure is failure
    assert "hidden" not in found.text
    assert len(found.text) > 10


def test_what_the_service_repeats_of_a_secret_is_hidden() -> None:
    told: Any = {
        "Error": {"Code": "InvalidToken", "Message": "bad token canary-123"},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    error = request_error(sdk.ClientError(told, "GetObject"), secrets=["canary-123"])
    assert error.text == "GetObject 400 InvalidToken: bad token ***"
