"""Bound the responses that botocore reads. A plugin that uses botocore hands it in.

botocore reads all responses except object contents to their end, and its time-outs restart with
each byte. The store contract bounds each call in time and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lance_core.errors import PluginError
from lance_core_remote.request_deadline import timed_pools
from lance_core_remote.response_limits import ReadBody, read_response

Check = Callable[[bytes, Mapping[str, str]], None]
"""Raises an error unless the body of a successful response, with its headers, is complete."""


def bound_responses(
    client: Any,
    seconds: float,
    botocore: Any,
    plugin: str,
    check: Check | None = None,
    idle: float | None = None,
) -> None:
    """Limit the time of each request of ``client`` with its whole response, and its memory.

    Object contents are left to the caller to read; other bodies are read up to a size limit.
    ``seconds`` is the limit per request, ``idle`` that without a byte, ``botocore`` the package.
    Raises `PluginError`, which names ``plugin``, if this version of the SDK does not allow it.
    """
    # botocore has no public way to select connection classes or to read a body first: a handler of
    # its event ``before-send`` would have to send the request, with proxies and certificates.
    endpoint = getattr(client, "_endpoint", None)
    session = getattr(endpoint, "http_session", None)
    pools = getattr(session, "_pool_classes_by_scheme", None)
    if endpoint is None or pools is None:
        raise PluginError(
            f"requests by botocore {botocore.__version__} cannot be bounded in time: "
            f"install an older one, or a newer {plugin}"
        )
    sdk = botocore.awsrequest
    connection_classes = (sdk.AWSHTTPConnectionPool, sdk.AWSHTTPSConnectionPool)
    pools.update(timed_pools(seconds, *connection_classes, idle))
    endpoint.http_session = _BoundedSession(session, sdk.AWSResponse, check)


class _BoundedSession:
    """Sends requests as botocore's ``session`` does, but reads bodies only up to a limit."""

    def __init__(self, session: Any, response_type: Any, check: Check | None) -> None:
        self._session = session
        self._response_type = response_type
        self._check = check

    def send(self, request: Any) -> Any:
        """The response to a request. Raises the errors of the SDK's session, and `RequestError`."""
        is_content = request.stream_output
        request.stream_output = True  # the session leaves the body unread
        response = self._session.send(request)
        is_success = response.status_code < 300
        if is_content and is_success:
            return response
        body = read_response(response.raw)
        if is_success and self._check is not None:
            self._check(body, response.headers)
        return self._response_type(
            response.url, response.status_code, response.headers, ReadBody(body)
        )

    def close(self) -> None:
        """Close the connections."""
        self._session.close()
