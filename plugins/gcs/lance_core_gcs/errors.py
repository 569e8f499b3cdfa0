"""Classify failed requests: error responses of the service and connection errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from urllib3.exceptions import (
    ConnectTimeoutError,
    LocationValueError,
    NewConnectionError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)

from lance_core.hookspecs.options import without_queries
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.connection_failures import (
    CONTACT_TIMEOUT,
    broken,
    failure_at_proxy,
    origin_of,
    tls_failure,
    unreachable,
)

_RATE_LIMITED = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "slowDown"})
_NO_BUCKET = "The specified bucket does not exist"

_BY_STATUS = {
    401: Failure.EXPIRED,
    408: Failure.UNKNOWN,
    409: Failure.BUSY,
    416: Failure.RANGE,
    429: Failure.BUSY,
    501: Failure.UNSUPPORTED,
    507: Failure.REFUSED,  # no space: nothing was written
}


_PAGE = re.compile(rb"\s*<(?:!doctype\s+)?html", re.IGNORECASE)
_OF_PLACES = frozenset({301, 302, 303, 307, 308, 404, 410})
"""Statuses that concern the bucket or the endpoint, unless an object is missing."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The failures for statuses 412 and 404, which depend on the request.

    ``unmet``: if the request's precondition fails; None for a request without one. ``missing``: if
    the object or upload does not exist.
    """

    unmet: Failure | None = None
    missing: Failure = Failure.MISSING
    expected: frozenset[int] = frozenset()
    """Statuses that count as success, besides 200 to 299."""

    def accepts(self, status: int) -> bool:
        """True if this status is a success."""
        return 200 <= status < 300 or status in self.expected


class Refusal(NamedTuple):
    """The body of an error response: a code ("" for none) and a message."""

    reason: str
    message: str


def from_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    meaning: Meaning,
    endpoint: str = "the endpoint",
) -> RequestError:
    """The failure for an error response of ``endpoint``."""
    refusal = _refusal(body)
    failure = _failure(status, refusal, meaning)
    text = f"HTTP {status}: {refusal.message}" if refusal.message else f"HTTP {status}"
    if failure is Failure.MISSING and _PAGE.match(body):
        failure, text = Failure.REFUSED, f"{text}: a page, not a response of Cloud Storage"
    if 300 <= status < 400:
        target = headers.get("location", "")
        where = f" to {origin_of(target)}" if "://" in target else ""
        text += f": the server redirects{where}, which is not followed"
    if failure is Failure.REFUSED and status in _OF_PLACES:
        text += f" (endpoint {endpoint})"
    return RequestError(failure, text, _seconds(headers.get("retry-after")))


def _failure(status: int, refusal: Refusal, meaning: Meaning) -> Failure:
    if refusal.reason in _RATE_LIMITED:
        return Failure.BUSY
    if status in {404, 410}:
        is_bucket = refusal.message.startswith(_NO_BUCKET)
        return Failure.REFUSED if is_bucket else meaning.missing
    if status == 412:
        # Violated policies of an organization also have status 412.
        is_ours = refusal.reason in {"conditionNotMet", ""}
        return meaning.unmet if meaning.unmet is not None and is_ours else Failure.REFUSED
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Failure.UNKNOWN if status >= 500 else Failure.REFUSED


def _refusal(body: bytes) -> Refusal:
    """The code and message of an error response, which is JSON or a plain sentence."""
    text = body[:100_000].decode("utf-8", "replace").strip()
    try:
        error = json.loads(text)["error"]
        reasons = [detail.get("reason") for detail in error.get("errors", [])]
        reason = next((detail for detail in reasons if isinstance(detail, str)), "")
        message = error.get("message")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # Do not quote HTML pages, which proxies send.
        return Refusal("", "" if text.startswith("<") else _shown(text))
    return Refusal(reason, _shown(message) if isinstance(message, str) else "")


def _shown(text: str) -> str:
    """``text`` as one line of at most 300 characters, without queries of URLs."""
    line = without_queries(" ".join(text.split()))
    return line if len(line) <= 300 else f"{line[:300]}…"


def _seconds(text: str | None) -> float | None:
    """The seconds of a ``Retry-After`` header; None for dates."""
    if text is None or not re.fullmatch(r"\d{1,6}", text.strip()):
        return None
    return float(text)


def from_transport(error: Exception, endpoint: str) -> RequestError:
    """The failure for a connection error on the way to ``endpoint``, without its text."""
    if isinstance(error, ProxyError):
        return failure_at_proxy(error.original_error, "the proxy")
    if isinstance(error, NewConnectionError | ConnectTimeoutError):
        return unreachable(error, endpoint)
    if isinstance(error, ReadTimeoutError | TimeoutError):
        reason = f"{endpoint} did not respond in time"
        return RequestError(Failure.UNKNOWN, reason, contact_timeout=CONTACT_TIMEOUT)
    if isinstance(error, LocationValueError):
        return RequestError(Failure.REFUSED, f"the address {endpoint} is malformed")
    if isinstance(error, SSLError):
        return tls_failure(str(error), endpoint)
    return broken(error, endpoint)
