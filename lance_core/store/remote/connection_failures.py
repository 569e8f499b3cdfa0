"""Classify connection errors, for SDKs that send requests with urllib3.

SDKs wrap these errors and often keep only their text.
"""

from __future__ import annotations

import re
from typing import Any

from lance_core.store.remote.client import Failure, RequestError

_UNCONNECTED = frozenset({"ConnectTimeoutError", "NameResolutionError", "NewConnectionError"})
"""urllib3 errors that prove that there was no connection."""

_RETRY_AFTER = re.compile(r"[0-9]{1,5}", re.ASCII)


def tls_failure(text: str) -> RequestError:
    """The failure for a TLS error with this ``text``."""
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return RequestError(Failure.REFUSED, "the server's certificate cannot be verified")
    if "WRONG_VERSION_NUMBER" in text or "record layer failure" in text:
        reason = "the server does not speak TLS: its address is an http:// one"
        return RequestError(Failure.REFUSED, reason)
    return RequestError(Failure.UNKNOWN, "the encrypted connection broke")


def is_unconnected(cause: object) -> bool:
    """True if ``cause``, the original error of a failed proxy, proves that nothing was sent.

    The proxy was not reached or did not open a tunnel. urllib3 also raises a ProxyError if the
    connection breaks during a request.
    """
    if type(cause).__name__ in _UNCONNECTED:
        return True
    return str(cause).startswith("Tunnel connection failed")


def is_before_sending(error: Any) -> bool:
    """True if nothing was sent through the proxy, according to botocore's ``ProxyConnectionError``.

    It wraps the urllib3 error.
    """
    return is_unconnected(getattr(error.kwargs.get("error"), "original_error", None))


def retry_after(header: str | None) -> float | None:
    """The wait in seconds of a ``Retry-After`` header; None for dates and other values."""
    text = (header or "").strip()
    return float(text) if _RETRY_AFTER.fullmatch(text) else None
