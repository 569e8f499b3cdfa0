"""Classify botocore's errors without a response. A plugin that uses botocore hands them in.

The SDK's own sentences about credentials are shown, because they name the profile, the file or the
command that helps; its other texts contain URLs with queries, so they are not.
"""

from __future__ import annotations

import os
from typing import Any

from lance_core.hookspecs.options import shown_path
from lance_core_remote.ca_files import check_ca_file, reason_unreadable
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.connection_failures import (
    CONTACT_TIMEOUT,
    broken,
    origin_of,
    proxy_failure,
    shown,
    tls_failure,
    unreachable,
)

_CONFIG_FILES = ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE")

_MISTAKES = frozenset(
    {
        *("ConfigNotFound", "ConfigParseError", "EndpointProviderError", "InvalidConfigError"),
        *("LoginError", "NoAuthTokenError", "NoRegionError", "ParamValidationError"),
        *("PartialCredentialsError", "ProfileNotFound", "RefreshWithMFAUnsupportedError"),
        *("SSOError", "TokenRetrievalError", "UnknownCredentialError"),
        *("UnsupportedS3AccesspointConfigurationError", "UnsupportedS3ConfigurationError"),
    }
)
"""Errors, with their subclasses, that the SDK raises before it sends anything, and would again."""


def failure_without_response(error: Exception, no_credentials: str) -> RequestError:
    """The failure for ``error``, which is not a response of the service.

    ``no_credentials`` is the sentence for a user without credentials.
    """
    # botocore is not imported here, and its modules differ between versions: names identify.
    type_names = {error_type.__name__ for error_type in type(error).__mro__}
    if "NoCredentialsError" in type_names:
        return RequestError(Failure.REFUSED, no_credentials + _unreadable_files())
    if type_names & {"CredentialRetrievalError", "MetadataRetrievalError"}:
        reason = f"no credentials: {shown(str(error))}"
        return RequestError(Failure.UNSENT, reason, contact_timeout=0.0)
    if type_names & _MISTAKES:
        reason = f"the SDK refuses the request ({type(error).__name__}): {shown(str(error))}"
        return RequestError(Failure.REFUSED, reason)
    if isinstance(error, OSError) and isinstance(error.filename, str):
        what = f"{shown_path(error.filename)}: {error.strerror}"
        reason = f"a file that the SDK needs cannot be read: {what}"
        return RequestError(Failure.REFUSED, reason)
    return _connection_failure(error, type_names)


def _connection_failure(error: Any, class_names: set[str]) -> RequestError:
    known: dict[str, Any] = getattr(error, "kwargs", {})
    url = str(known.get("endpoint_url") or "")
    where = origin_of(url) if url else "the service"
    if "SSLError" in class_names:
        return tls_failure(str(error), where)
    if "ProxyConnectionError" in class_names:
        return proxy_failure(error)
    if "ConnectTimeoutError" in class_names:
        reason = f"no connection to {where} within the time for connecting"
        return RequestError(Failure.UNSENT, reason, contact_timeout=CONTACT_TIMEOUT)
    if "EndpointConnectionError" in class_names:
        return unreachable(error, where)
    if "ReadTimeoutError" in class_names:  # the SDK's, or that of urllib3
        reason = f"no complete response from {where} within the time for one request"
        return RequestError(Failure.UNKNOWN, reason, contact_timeout=CONTACT_TIMEOUT)
    if "IncompleteReadError" in class_names:
        return RequestError(Failure.UNKNOWN, "the response broke off")
    if "HTTPClientError" in class_names:
        return broken(error, where)
    reason = f"the request failed ({type(error).__name__})"
    return RequestError(Failure.UNKNOWN, reason, contact_timeout=CONTACT_TIMEOUT)


def trusted_file(session: Any) -> str | None:
    """The file of certificates in SSL_CERT_FILE, unless the SDK finds another one; or None.

    The SDK ignores this variable, but object_store, and so pylance, uses it. ``session`` is a
    boto3 session.
    """
    configured = session._session.get_config_variable("ca_bundle")  # noqa: SLF001 (no other way)
    own = configured or os.environ.get("REQUESTS_CA_BUNDLE")
    return None if own else os.environ.get("SSL_CERT_FILE") or None


def check_ca_bundle(client: Any) -> None:
    """Raise `InvalidInputError` if the file of certificates that ``client`` uses cannot be read.

    The SDK would only find out while it connects, and call it a failure of TLS.
    """
    session = getattr(getattr(client, "_endpoint", None), "http_session", None)
    path = getattr(session, "_verify", True)
    if not isinstance(path, str) or not client.meta.endpoint_url.startswith("https:"):
        return
    names = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
    source = next((name for name in names if os.environ.get(name) == path), "ca_bundle")
    check_ca_file(path, source)


def _unreadable_files() -> str:
    """A text that names the SDK's configuration files that are set but do not exist."""
    bad = [
        f"{name} names {shown_path(path)}, which cannot be read"
        for name in _CONFIG_FILES
        if (path := os.environ.get(name)) and path != os.devnull and reason_unreadable(path)
    ]
    return f" ({'; '.join(bad)})" if bad else ""
