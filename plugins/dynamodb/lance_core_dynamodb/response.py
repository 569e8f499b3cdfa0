"""Bound the responses of a server, which may be long or slow or incomplete.

boto3 reads a body to its end, and its time-outs restart with each byte. It also treats invalid
JSON, such as the first half of a row, as an empty response, which means that no row exists. The
store contract bounds each call in time and memory; `bound_responses` adds both bounds and checks
that responses are complete.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import botocore
from botocore.awsrequest import AWSHTTPConnectionPool, AWSHTTPSConnectionPool, AWSResponse

from lance_core.errors import PluginError
from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.remote.request_deadline import timed_pools
from lance_core.store.remote.response_limits import ReadBody, read_response


def bound_responses(client: Any, seconds: float) -> None:
    """Limit the time of each request of ``client`` with its whole response, and its memory.

    ``seconds`` is the limit per request. Incomplete responses raise `RequestError`. Raises
    `PluginError` if this version of the SDK does not allow it.
    """
    # botocore has no public way to select connection classes or to read a body first: a handler of
    # its event ``before-send`` would have to send the request, with proxies and certificates.
    endpoint = getattr(client, "_endpoint", None)
    session = getattr(endpoint, "http_session", None)
    pools = getattr(session, "_pool_classes_by_scheme", None)
    if endpoint is None or pools is None:
        raise PluginError(
            f"requests by botocore {botocore.__version__} cannot be bounded in time: install "
            "an older one, or a newer lance-core-dynamodb"
        )
    pools.update(timed_pools(seconds, AWSHTTPConnectionPool, AWSHTTPSConnectionPool))
    endpoint.http_session = _BoundedSession(session)


class _BoundedSession:
    """Sends requests as the SDK's ``session`` does, but reads bodies only up to a limit."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> AWSResponse:
        """The response to a request. Raises the errors of the SDK's session, and `RequestError`."""
        request.stream_output = True  # the session leaves the body unread
        response = self._session.send(request)
        body = read_response(response.raw)
        if response.status_code < 300 and not _is_whole(body, response.headers):
            raise RequestError(Failure.UNKNOWN, "the response broke off, or is not from DynamoDB")
        return AWSResponse(response.url, response.status_code, response.headers, ReadBody(body))

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


def _is_whole(body: bytes, headers: Mapping[str, str]) -> bool:
    """True if ``body`` is a JSON object with the checksum in the headers."""
    checksum = str(headers.get("x-amz-crc32", ""))
    if checksum and str(zlib.crc32(body)) != checksum:
        return False
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False
