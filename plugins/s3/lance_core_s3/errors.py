"""Classify error responses of S3 and missing responses.

Codes are from Amazon's "Error responses" for S3; other servers send the same codes, or at least the
same status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from botocore import exceptions as sdk

from lance_core.hookspecs.options import redacted
from lance_core_remote.botocore_failures import failure_without_response
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.connection_failures import origin_of, retry_after, shown

_CODES: Mapping[str, Failure] = {
    "NoSuchKey": Failure.MISSING,
    "NoSuchUpload": Failure.MISSING,
    "InvalidRange": Failure.RANGE,
    **dict.fromkeys(
        (
            *("SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable"),
            *("RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException"),
            *("Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled"),
            *("RequestThrottledException", "TooManyRequests", "TooManyRequestsException"),
            # Another write of the same object is in progress.
            *("ConditionalRequestConflict", "OperationAborted"),
            # The body did not arrive, or not as it was sent.
            *("RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch"),
        ),
        Failure.BUSY,
    ),
    **dict.fromkeys(
        ("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"),
        Failure.EXPIRED,
    ),
    "NotImplemented": Failure.UNSUPPORTED,
    "InternalError": Failure.UNKNOWN,
    # No space: the server wrote nothing, and a retry finds no space either.
    **dict.fromkeys(
        (
            *("XMinioStorageFull", "InsufficientStorage", "InsufficientCapacity", "QuotaExceeded"),
            *("XMinioAdminBucketQuotaExceeded", "XMinioObjectTooLarge", "EntityTooLarge"),
        ),
        Failure.REFUSED,
    ),
}

_STATUS: Mapping[int, Failure] = {
    404: Failure.MISSING,
    408: Failure.BUSY,
    409: Failure.BUSY,
    416: Failure.RANGE,
    429: Failure.BUSY,
    501: Failure.UNSUPPORTED,
    503: Failure.BUSY,
}

_NO_ROOM = 507
"""The status of a server without free space. It is a refusal from any server."""

_NO_CREDENTIALS = (
    "no credentials for S3 were found: give storage options 'aws_access_key_id' and "
    "'aws_secret_access_key', set up one of AWS's sources of credentials, or say "
    "'aws_skip_signature' to read a public bucket"
)

_MAX_MESSAGE = 500
"""Maximum characters of a service's message to show."""


def request_error(
    error: Exception,
    *,
    unmet: Failure = Failure.EXISTS,
    secrets: Iterable[str] = (),
    where: str = "the endpoint",
) -> RequestError:
    """The failure for ``error``, which the SDK raised for one request.

    ``unmet``: the failure for a condition that is not met. ``secrets``: texts to hide if the
    service repeats them. ``where``: bucket and endpoint, for responses that concern these.
    """
    if isinstance(error, sdk.ClientError):
        response = error.response
        failure, text = _of_response(response, error.operation_name, unmet, where, secrets)
        return RequestError(failure, text, retry_after(_headers(response).get("retry-after")))
    return failure_without_response(error, _NO_CREDENTIALS)


def _of_response(
    response: Mapping[str, Any],
    operation: str,
    unmet: Failure,
    where: str,
    secrets: Iterable[str],
) -> tuple[Failure, str]:
    code = redacted(str(response.get("Error", {}).get("Code", "")), secrets)
    message = redacted(str(response.get("Error", {}).get("Message", "")), secrets)[:_MAX_MESSAGE]
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    text = " ".join(filter(None, (operation, str(status), code if code != str(status) else "")))
    text = f"{text}: {message}" if message else text
    if code == "RequestTimeTooSkewed":
        return Failure.REFUSED, f"{text} ({_clock(response)})"
    if status == 412 or code == "PreconditionFailed":  # the code may follow after a status 200
        return unmet, text
    if status == 404 and (reason := _not_an_object(response, code, operation)):
        return Failure.REFUSED, f"{text} ({reason}: {where})"
    if operation == "HeadObject" and status == 400:
        # Responses to HEAD have no body with a reason; expired credentials give status 400.
        return Failure.EXPIRED, f"{text} (expired credentials, or a request that is wrong)"
    if code in _CODES:
        return _CODES[code], text
    if 300 <= status < 400:
        return Failure.REFUSED, f"{text} ({_redirect(response)}: {where})"
    if status == 400 and code == "400":
        return Failure.REFUSED, f"{text} (the response is not of S3: {where})"
    if status == _NO_ROOM:
        return Failure.REFUSED, text
    if status >= 500 and (status not in _STATUS or code == str(status)):
        # A response without a code comes from a proxy, which may have forwarded the request.
        return Failure.UNKNOWN, text
    return _STATUS.get(status, Failure.REFUSED if status >= 400 else Failure.UNKNOWN), text


def _not_an_object(response: Mapping[str, Any], code: str, operation: str) -> str:
    """What a response with status 404 misses, if that is not an object or an upload; or ""."""
    if code == "NoSuchBucket":
        return "the bucket does not exist"
    if operation == "ListObjectsV2":
        # S3 lists no objects with a success. A server that answers 404 has no such bucket.
        return "no listing is there, so this is not the bucket"
    if operation == "HeadObject" or code.isalpha():
        return ""
    # S3 sends a code with every 404 that may have a body. Some servers send no body at all.
    length = _headers(response).get("content-length", "")
    return "" if length in {"", "0"} else "the response is not of S3"


def _redirect(response: Mapping[str, Any]) -> str:
    """What a redirect says. It is not followed: the signature is for this host."""
    headers = _headers(response)
    region = headers.get("x-amz-bucket-region") or response.get("Error", {}).get("Region")
    if region:
        return f"the bucket is in region {shown(str(region))!r}: name it in 'aws_region'"
    target = headers.get("location") or response.get("Error", {}).get("Endpoint")
    if target:
        address = str(target)
        address = origin_of(address) if "://" in address else shown(address)
        return f"the server redirects to {address}, which is not followed: check 'aws_endpoint'"
    return "the server redirects without an address, as gateways do: check 'aws_endpoint'"


def _headers(response: Mapping[str, Any]) -> Mapping[str, str]:
    headers: Mapping[str, str] = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return headers


def _clock(response: Mapping[str, Any]) -> str:
    """A text with the difference between the clocks of this machine and the service."""
    try:
        date = response["ResponseMetadata"]["HTTPHeaders"]["date"]
        ahead = round((datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds())
    except (KeyError, TypeError, ValueError):
        return "set the clock of this machine"
    way = "ahead of" if ahead > 0 else "behind"
    return f"the clock of this machine is {abs(ahead)} s {way} the service's: set it"
