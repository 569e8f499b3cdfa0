"""Classify errors without a response, for SDKs that send requests with urllib3.

SDKs wrap these errors and often keep only their text. An error without a response says where the
client tried to connect, and why that failed; it never shows a path, a query or a password.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
from typing import Any
from urllib.parse import urlsplit

from lance_core.hookspecs.options import redacted, secrets_of_environment, without_queries
from lance_core_remote.client import Failure, RequestError

CONTACT_TIMEOUT = 4.0
"""Maximum seconds to try to reach a service that has never responded, without the time of the last
attempt. A wrong name or port does not become right; a service that responded before may come back,
and gets the whole retry time."""

_UNCONNECTED = frozenset({"ConnectTimeoutError", "NameResolutionError", "NewConnectionError"})
"""urllib3 errors that prove that there was no connection."""

_RETRY_AFTER = re.compile(r"[0-9]{1,5}", re.ASCII)
_PASSWORD = re.compile(r"://[^/@\s]*@")
_UNTRUSTED = re.compile(r"certificate verify failed: (.{1,200}?)\.?\s*\(_ssl", re.IGNORECASE)
_MISMATCH = re.compile(r"(?:hostname|address) .{1,300} (?:doesn't match|not found)", re.IGNORECASE)
_MAX_SHOWN = 300


def shown(text: str) -> str:
    """``text`` as one line of at most 300 characters, without queries and passwords of URLs.

    Secrets in environment variables, which SDKs quote, are removed as well.
    """
    text = redacted(text, secrets_of_environment(os.environ))
    line = _PASSWORD.sub("://***@", without_queries(" ".join(text.split())))
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}…"


def origin_of(url: str) -> str:
    """Scheme, host and port of ``url``, without user, path and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def unreachable(error: object, where: str) -> RequestError:
    """The failure for a request that was not sent, because nothing connected to ``where``."""
    if type(error).__name__ == "ConnectTimeoutError":
        reason = f"no connection to {where} within the time for connecting"
    else:
        reason = f"no connection to {where}: {cause_of(error)}"
    return RequestError(Failure.UNSENT, reason, contact_timeout=CONTACT_TIMEOUT)


def broken(error: object, where: str) -> RequestError:
    """The failure for a connection to ``where`` that ended before the response was complete."""
    if _is_tls_alert(error):
        reason = f"the server expects TLS: give its address as https:// instead of {where}"
        return RequestError(Failure.REFUSED, reason)
    cause = cause_of(error)
    if where.startswith("http:") and cause in _CLOSED:
        cause += "; if it expects TLS, its address is an https:// one"
    reason = f"the connection to {where} broke: {cause}"
    return RequestError(Failure.UNKNOWN, reason, contact_timeout=CONTACT_TIMEOUT)


def tls_failure(text: str, where: str = "the server") -> RequestError:
    """The failure for a TLS error with this ``text`` of a connection to ``where``."""
    why = _UNTRUSTED.search(text)
    if why or "CERTIFICATE_VERIFY_FAILED" in text:
        reason = f"the certificate of {where} is not trusted{f': {why[1]}' if why else ''}"
        return RequestError(Failure.REFUSED, reason)
    if _MISMATCH.search(text):
        return RequestError(Failure.REFUSED, f"the certificate of {where} is for another host")
    if "WRONG_VERSION_NUMBER" in text or "record layer failure" in text.lower():
        reason = f"{where} does not speak TLS at this port: its address is an http:// one"
        return RequestError(Failure.REFUSED, reason)
    reason = f"the encrypted connection to {where} broke"
    return RequestError(Failure.UNKNOWN, reason, contact_timeout=CONTACT_TIMEOUT)


def cause_of(error: object) -> str:
    """The operating system's reason for ``error``, or else the name of the innermost type."""
    innermost = error
    for seen in _causes(error):
        if isinstance(seen, socket.gaierror):
            return "its name is not known"
        if isinstance(seen, http.client.RemoteDisconnected):
            return "closed without a response"
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        innermost = seen
    return type(innermost).__name__


_CLOSED = frozenset({"closed without a response", "Connection reset by peer"})


def is_unconnected(cause: object) -> bool:
    """True if ``cause``, the original error of a failed proxy, proves that nothing was sent.

    The proxy was not reached or did not open a tunnel. urllib3 also raises a ProxyError if the
    connection breaks during a request.
    """
    if type(cause).__name__ in _UNCONNECTED:
        return True
    return str(cause).startswith("Tunnel connection failed")


def proxy_failure(error: Any) -> RequestError:
    """The failure for botocore's ``ProxyConnectionError``, which wraps the urllib3 error."""
    cause = getattr(error.kwargs.get("error"), "original_error", None)
    # The environment may hold anything as the address of a proxy.
    where = f"the proxy {shown(origin_of(str(error.kwargs.get('proxy_url', ''))))}"
    return failure_at_proxy(cause, where)


def failure_at_proxy(cause: object, where: str) -> RequestError:
    """The failure for ``cause``, the original error of a request through the proxy ``where``."""
    if not is_unconnected(cause):
        return broken(cause, where)
    text = str(cause)
    if text.startswith("Tunnel connection failed"):
        reason = f"{where} opens no tunnel: {shown(text.partition(': ')[2])}"
        return RequestError(Failure.UNSENT, reason, contact_timeout=CONTACT_TIMEOUT)
    return unreachable(cause, where)


def retry_after(header: str | None) -> float | None:
    """The wait in seconds of a ``Retry-After`` header; None for dates and other values."""
    text = (header or "").strip()
    return float(text) if _RETRY_AFTER.fullmatch(text) else None


def _causes(error: object) -> list[BaseException]:
    """``error`` and the errors that it wraps, the outermost first."""
    causes: list[BaseException] = []
    while isinstance(error, BaseException) and error not in causes:
        causes.append(error)
        wrapped = getattr(error, "kwargs", {}).get("error") or getattr(error, "reason", None)
        if not isinstance(wrapped, BaseException):
            wrapped = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
        error = wrapped or error.__cause__ or error.__context__
    return causes


def _is_tls_alert(error: object) -> bool:
    """True if the server responded with an alert of TLS, which begins with these two bytes."""
    return any(
        isinstance(seen, http.client.BadStatusLine) and str(seen).startswith("\x15\x03")
        for seen in _causes(error)
    )
