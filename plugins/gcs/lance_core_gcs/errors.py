"""Classify failed requests: error responses of the service and connection errors."""

from __future__ import annotations

import json
import re
import ssl
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

from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.secret_detection import without_queries

_RATE_LIMITED = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "slowDown"})
_NO_BUCKET = "The specified bucket does not exist"

_BY_STATUS = {
    401: Failure.EXPIRED,
    408: Failure.UNKNOWN,
    409: Failure.BUSY,
    416: Failure.RANGE,
    429: Failure.BUSY,
    501: Failure.UNSUPPORTED,
}


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
    status: int, headers: Mapping[str, str], body: bytes, meaning: Meaning
) -> RequestError:
    """The failure for an error response."""
    refusal = _refusal(body)
    text = f"HTTP {status}: {refusal.message}" if refusal.message else f"HTTP {status}"
    return RequestError(
        _failure(status, refusal, meaning), text, _seconds(headers.get("retry-after"))
    )


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
        reasons = [one.get("reason") for one in error.get("errors", [])]
        reason = next((one for one in reasons if isinstance(one, str)), "")
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


def from_transport(error: Exception) -> RequestError:
    """The failure for a connection error, without the text of the error."""
    if isinstance(error, ProxyError):
        error = error.original_error
        where = "the proxy"
    else:
        where = "the endpoint"
    if isinstance(error, NewConnectionError):
        return RequestError(Failure.UNSENT, f"{where} cannot be reached")
    if isinstance(error, ConnectTimeoutError):
        return RequestError(Failure.UNSENT, f"{where} cannot be reached in time")
    if isinstance(error, ReadTimeoutError | TimeoutError):
        return RequestError(Failure.UNKNOWN, f"{where} did not respond in time")
    if isinstance(error, LocationValueError):
        return RequestError(Failure.REFUSED, f"the address of {where} is malformed")
    if isinstance(error, SSLError):
        if isinstance(error.args[0], ssl.SSLCertVerificationError):
            return RequestError(Failure.REFUSED, f"the certificate of {where} is not valid")
        return RequestError(Failure.UNKNOWN, f"the encrypted connection to {where} failed")
    return RequestError(
        Failure.UNKNOWN, f"the connection to {where} broke ({type(error).__name__})"
    )
