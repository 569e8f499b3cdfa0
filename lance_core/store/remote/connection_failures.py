"""What errors of connections say about a request, for SDKs that send by urllib3.

SDKs wrap the errors and often keep only their text.
"""

from __future__ import annotations

import re

from lance_core.store.remote.client import Failure, RequestError

_UNCONNECTED = frozenset({"ConnectTimeoutError", "NameResolutionError", "NewConnectionError"})
"""The errors of urllib3 that say that there is no connection."""

_RETRY_AFTER = re.compile(r"[0-9]{1,5}", re.ASCII)


def tls_failure(text: str) -> RequestError:
    """The failure for an error of TLS with this ``text``."""
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return RequestError(Failure.REFUSED, "the server's certificate cannot be verified")
    if "WRONG_VERSION_NUMBER" in text or "record layer failure" in text:
        reason = "the server does not speak TLS: its address is an http:// one"
        return RequestError(Failure.REFUSED, reason)
    return RequestError(Failure.UNKNOWN, "the encrypted connection broke")


def is_unconnected(cause: object) -> bool:
    """Whether ``cause``, the original error of a failed proxy, proves that nothing was sent.

    The proxy was not reached, or it made no tunnel. urllib3 raises a ProxyError as well if the
    connection breaks while a request is under way.
    """
    if type(cause).__name__ in _UNCONNECTED:
        return True
    return str(cause).startswith("Tunnel connection failed")


def retry_after(header: str | None) -> float | None:
    """The seconds that a ``Retry-After`` header asks to wait; None for dates and anything else."""
    text = (header or "").strip()
    return float(text) if _RETRY_AFTER.fullmatch(text) else None
