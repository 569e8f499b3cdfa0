"""Classify error responses of the service and missing responses."""

from __future__ import annotations

import html
import os
import re
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import urllib3.exceptions as http

from lance_core.hookspecs.options import redacted, secrets_of_environment
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.connection_failures import (
    CONTACT_TIMEOUT,
    broken,
    failure_at_proxy,
    tls_failure,
    unreachable,
)

SKEW = 300
"""Clock difference in seconds that an error reports. The service accepts 15 minutes."""

_CODES = {
    "BlobNotFound": Failure.MISSING,
    "PathNotFound": Failure.MISSING,
    "ResourceNotFound": Failure.MISSING,
    "InvalidBlockList": Failure.MISSING,  # the blocks of the upload no longer exist
    "InvalidRange": Failure.RANGE,
    "ServerBusy": Failure.BUSY,
    "PendingCopyOperation": Failure.BUSY,
    "AccountBeingCreated": Failure.BUSY,
    "InvalidAuthenticationInfo": Failure.EXPIRED,
    "APINotImplemented": Failure.UNSUPPORTED,
    "NotImplemented": Failure.UNSUPPORTED,
    "UnsupportedHeader": Failure.UNSUPPORTED,
    "UnsupportedQueryParameter": Failure.UNSUPPORTED,
}
_UNMET = frozenset(
    {
        *("ConditionNotMet", "TargetConditionNotMet", "BlobAlreadyExists", "PathAlreadyExists"),
        "ResourceAlreadyExists",
        # The signature permits creating objects, but not overwriting them.
        "UnauthorizedBlobOverwrite",
    }
)
_STATUSES = {
    404: Failure.REFUSED,  # the container is missing, or the server is not a blob service
    408: Failure.UNKNOWN,
    416: Failure.RANGE,
    429: Failure.BUSY,
    501: Failure.UNSUPPORTED,
    507: Failure.REFUSED,  # no space: nothing was written
}
_MESSAGE = re.compile(r"\"message\"\s*:\s*\"([^\"]*)\"")
_CODE = re.compile(r"<Code>(\w{1,80})</Code>|\"code\"\s*:\s*\"(\w{1,80})\"")
_SECRETS = re.compile(r"(sig=|SharedKey \S+?:|Bearer )[^\s&'\"]+", re.IGNORECASE)
_HAS_EXPIRED = ("not valid in the specified time frame", "token is expired")


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, unmet: Failure
) -> RequestError:
    """The error for an error response. ``unmet``: the failure for an unmet condition."""
    text = body[:65536].decode("utf-8", "replace")
    code = headers.get("x-ms-error-code") or _group(_CODE, text) or ""
    detail = _element(text, "AuthenticationErrorDetail")
    failure = _failure(status, code, unmet)
    if failure is Failure.REFUSED and any(words in detail for words in _HAS_EXPIRED):
        failure = Failure.EXPIRED
    message = _first_line(_element(text, "Message") or _group(_MESSAGE, text) or "")
    reason = f"status {status}{f', {code}' if code else ''}{f': {message}' if message else ''}"
    if status in {401, 403}:
        reason += _clock_skew(headers.get("Date"))
    request_id = headers.get("x-ms-request-id", "")
    if request_id and failure not in {Failure.MISSING, Failure.EXISTS}:
        reason += f" (request {request_id[:60]})"
    return RequestError(failure, reason, _retry_after(headers))


def from_transport(error: http.HTTPError | OSError, endpoint: str) -> RequestError:
    """The error for a request to ``endpoint`` without a complete response.

    Only connection errors prove that the service did not receive the request.
    """
    if isinstance(error, http.ProxyError):
        # urllib3 also raises it if the connection breaks later; the cause tells these cases apart.
        return failure_at_proxy(error.original_error, f"the proxy for {endpoint}")
    if isinstance(error, http.NewConnectionError | http.ConnectTimeoutError):
        return unreachable(error, endpoint)
    if isinstance(error, http.SSLError | ssl.SSLError):
        return tls_failure(str(error), endpoint)
    if isinstance(error, http.TimeoutError | TimeoutError):
        reason = f"{endpoint} did not respond in time"
        return RequestError(Failure.UNKNOWN, reason, contact_timeout=CONTACT_TIMEOUT)
    return broken(error, endpoint)


def _failure(status: int, code: str, unmet: Failure) -> Failure:
    if code in _UNMET or (status in {304, 412} and not code):
        return unmet
    if code == "CannotVerifyCopySource":  # has the status of the failed read of the source
        return Failure.MISSING if status == 404 else Failure.REFUSED
    if code in _CODES:
        return _CODES[code]
    if status in _STATUSES:
        return _STATUSES[status]
    # A failed server may have applied the request; a 503 without "ServerBusy" may be from a
    # gateway, and so may a success status that the service does not use.
    return Failure.REFUSED if 300 <= status < 500 else Failure.UNKNOWN


def _clock_skew(date: str | None) -> str:
    try:
        ahead = (datetime.now(UTC) - parsedate_to_datetime(date or "")).total_seconds()
    except (TypeError, ValueError):
        return ""
    if abs(ahead) < SKEW:
        return ""
    which = "ahead of" if ahead > 0 else "behind"
    return (
        f"; this machine's clock is {round(abs(ahead) / 60)} minutes {which} that of the "
        "service, which refuses requests of another time: set the clock"
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After") or ""
    if text.isdecimal():
        return float(text[:6])
    milliseconds = headers.get("x-ms-retry-after-ms") or ""
    return float(milliseconds[:9]) / 1000 if milliseconds.isdecimal() else None


def _group(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return next(filter(None, match.groups()), None) if match else None


def _element(text: str, name: str) -> str:
    """The content of the first XML element of this name; "" if there is none."""
    content, end, _ = text.partition(f"<{name}>")[2].partition(f"</{name}>")
    return content if end else ""


def _first_line(message: str) -> str:
    """The first line of ``message``; the other lines are a time and a request id."""
    line = html.unescape(message).strip().split("\n")[0].split("\\n")[0]
    return redact(" ".join(line.split())[:300])


def redact(text: str) -> str:
    """``text`` without signatures and tokens."""
    return _SECRETS.sub(r"\1***", text)


def shown_error(text: str) -> str:
    """``text`` of the SDK without signatures, tokens, and the secrets of environment variables."""
    return redact(redacted(text, secrets_of_environment(os.environ)))
