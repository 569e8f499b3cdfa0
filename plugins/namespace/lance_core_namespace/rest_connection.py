"""Requests to a server of the REST interface, and what its answers and failures mean."""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import urllib3
from lance_namespace import errors
from lance_namespace_urllib3_client.configuration import Configuration
from lance_namespace_urllib3_client.rest import RESTClientObject
from urllib3.exceptions import HTTPError

from lance_core.commands import one_line
from lance_core.errors import InvalidInputError
from lance_core.hookspecs.commits import SYSTEM
from lance_core.hookspecs.options import Secret, plain, redacted
from lance_core.maintenance import backoff
from lance_core_namespace.routes import Route

MAX_JSON = 64 << 20
"""Maximum bytes of an answer that is JSON: a page of names is far smaller."""

MAX_ERROR = 64 << 10
"""Bytes of an answer about an error that are read."""

_MAX_TEXT = 400
_CHUNK = 1 << 16
_ATTEMPTS = 3
_PAUSE, _MAX_PAUSE = 0.1, 5.0
_CONNECT = 10.0

_OF_STATUS: dict[int, type[Exception]] = {
    400: errors.InvalidInputError,
    401: errors.UnauthenticatedError,
    403: errors.PermissionDeniedError,
    404: errors.UnsupportedOperationError,
    405: errors.UnsupportedOperationError,
    406: errors.UnsupportedOperationError,
    409: errors.ConcurrentModificationError,
    413: errors.InvalidInputError,
    429: errors.ThrottlingError,
    501: errors.UnsupportedOperationError,
    502: errors.ServiceUnavailableError,
    503: errors.ServiceUnavailableError,
    504: errors.ServiceUnavailableError,
}
"""What an answer means that has no error of lance-namespace."""

_HINTS = {
    404: ": it has no such operation, or it is not a server of lance-namespace",
    405: ": it has no such operation, or it is not a server of lance-namespace",
}


class TooManyRequestsError(errors.ThrottlingError):
    """A server refuses a request because of too many, and asks to wait for ``pause`` seconds."""

    def __init__(self, message: str, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of an answer without error; ``server`` names who sent it."""

    server: str
    body: bytes

    def json(self) -> Any:
        """The value of the JSON; raises ``InvalidInputError``."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise errors.InvalidInputError("it is not JSON") from None


class Connection:
    """Sends requests to the server at ``uri``, each within ``seconds``.

    Raises `InvalidInputError` unless ``uri`` is of the scheme http or https, without user,
    password, query and fragment. Redirects are not followed: headers are for this server only.
    """

    def __init__(self, uri: str, tls: Mapping[str, str], seconds: float) -> None:
        self.endpoint, self.host = _checked(uri)
        self._seconds = seconds
        configuration: Any = Configuration(host=self.endpoint, ssl_ca_cert=tls.get("ssl_ca_cert"))
        configuration.cert_file = tls.get("cert_file")
        configuration.key_file = tls.get("key_file")
        if tls.get("assert_hostname", "true").lower() == "false":
            configuration.assert_hostname = False
        self._pool = RESTClientObject(configuration).pool_manager

    def send(
        self, route: Route, target: str, body: bytes | None, headers: Mapping[str, str | Secret]
    ) -> Answer:
        """The answer to a request; raises the errors of lance-namespace.

        Reads are sent up to three times, and so is any request that the server refuses because of
        too many.
        """
        deadline = time.monotonic() + self._seconds
        for attempt in range(_ATTEMPTS):
            is_last = attempt == _ATTEMPTS - 1
            pause = backoff(attempt + 1, _PAUSE, _MAX_PAUSE, SYSTEM.random)
            try:
                return self._once(route, target, body, headers, deadline)
            except TooManyRequestsError as error:
                pause = max(pause, error.pause)
                if is_last or time.monotonic() + pause >= deadline:
                    raise
            except errors.ServiceUnavailableError:
                if is_last or not route.is_read or time.monotonic() + pause >= deadline:
                    raise
            time.sleep(min(pause, _MAX_PAUSE))
        raise AssertionError("unreachable")

    def _once(
        self,
        route: Route,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str | Secret],
        deadline: float,
    ) -> Answer:
        left = max(deadline - time.monotonic(), 0.001)
        failure = None
        try:
            response = self._pool.request(
                route.method,
                f"{self.endpoint}{target}",
                body=body,
                headers={name: plain(value) for name, value in headers.items()},
                timeout=urllib3.Timeout(connect=min(left, _CONNECT), read=left),
                preload_content=False,
                redirect=False,
                retries=False,
            )
            with response:
                status, answered = response.status, response.headers
                limit = (
                    MAX_ERROR if status >= 300 else None if route.answers == "rows" else MAX_JSON
                )
                data = b"".join(_chunks(response, limit, deadline))
        except (HTTPError, OSError) as error:
            failure = _reason(error)
        except ValueError:
            failure = "a header has characters that cannot be sent"
        if failure is not None:
            raise errors.ServiceUnavailableError(f"{self.endpoint} cannot be asked: {failure}")
        if status < 300:
            return Answer(self.endpoint, data)
        raise _error(self.endpoint, status, data, answered, [plain(v) for v in headers.values()])


def is_loopback(host: str) -> bool:
    """True if ``host`` is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked(uri: str) -> tuple[str, str]:
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInputError("uri of a RestNamespace is the URL of a server: http(s)://HOST…")
    if "@" in parts.netloc:
        raise InvalidInputError(
            "uri of a RestNamespace has a user or password: give the header "
            "header.Authorization instead"
        )
    if parts.query or parts.fragment or not uri.isprintable():
        raise InvalidInputError("uri of a RestNamespace has a query or a fragment")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", parts.hostname


def _chunks(response: Any, limit: int | None, deadline: float) -> Iterator[bytes]:
    size = 0
    while chunk := response.read1(_CHUNK) if hasattr(response, "read1") else response.read(_CHUNK):
        size += len(chunk)
        if time.monotonic() > deadline:
            raise TimeoutError("the answer takes too long")
        if limit is not None and size > limit:
            if limit == MAX_ERROR:
                yield chunk[: limit - size] if size - limit < len(chunk) else b""
                return
            raise OSError(f"the answer has more than {limit} bytes")
        yield chunk


def _reason(error: Exception) -> str:
    """Why there is no answer; texts of the SDK repeat URLs, so that only some are shown."""
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return "the answer takes too long"
    if isinstance(error, urllib3.exceptions.SSLError):
        return "its certificate is not accepted"
    if isinstance(error, urllib3.exceptions.NewConnectionError):
        return "there is no connection"
    if isinstance(error, urllib3.exceptions.HTTPError):
        return type(error).__name__
    return str(error) or type(error).__name__


def _error(
    server: str, status: int, body: bytes, headers: Mapping[str, str], secrets: list[str]
) -> Exception:
    """The error that an answer means; its text is one line, without what the request had secret."""
    stated = _stated(body)
    if stated is not None:
        code, text = stated
        # A server may repeat the headers of a request, or parts of them.
        parts = [part for secret in secrets for part in (secret, secret.rpartition(" ")[2])]
        text = one_line(redacted(text, parts))[:_MAX_TEXT]
        error: Exception = errors.from_error_code(
            code, text or f"{server} answers with code {code}"
        )
    elif 300 <= status < 400:
        error = errors.InternalError(
            f"{server} answers with a redirect ({status}), which is not followed: give the uri of "
            "the server itself"
        )
    else:
        known = _OF_STATUS.get(status, errors.InternalError)
        error = known(f"{server} answers with status {status}{_HINTS.get(status, '')}")
    if isinstance(error, errors.ThrottlingError):
        error = TooManyRequestsError(str(error), _retry_after(headers))
    return error


def _stated(body: bytes) -> tuple[int, str] | None:
    """The code and text of an error of lance-namespace, None if the body is something else."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    code = value.get("code") if isinstance(value, dict) else None
    if not isinstance(code, int) or code not in set(errors.ErrorCode):
        return None
    text = value.get("error") or value.get("message") or ""
    return code, text if isinstance(text, str) else ""


def _retry_after(headers: Mapping[str, str]) -> float:
    text = headers.get("retry-after", "")
    return float(text) if text.isdigit() else 0.0
