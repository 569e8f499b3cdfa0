"""Responses of a server, which may have any length, take any time and break off.

boto3 reads a body to its end, its time-outs begin anew with each byte, and it takes what is no
JSON, such as the first half of a row, for a response that says nothing: that there is no row. The
store contract bounds each call in time and memory, and `bound_responses` adds all three.
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
    """Let each request of ``client`` and its whole response take ``seconds``, in bounded memory.

    Responses that are not whole raise `RequestError`. Raises `PluginError` if this version of the
    SDK cannot be bounded.
    """
    # botocore has no public way to choose classes of connections, or to read a body before it
    # does: its event ``before-send`` has to send a request as well, with proxies and certificates.
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
    """Sends requests as ``session``, one of the SDK's, does; bodies are read up to a limit."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> AWSResponse:
        """The response to a request; raises what the SDK's session does, and `RequestError`."""
        request.stream_output = True  # the session leaves the body to us
        response = self._session.send(request)
        body = read_response(response.raw)
        if response.status_code < 300 and not _is_whole(body, response.headers):
            raise RequestError(Failure.UNKNOWN, "the answer broke off, or is none of DynamoDB's")
        return AWSResponse(response.url, response.status_code, response.headers, ReadBody(body))

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


def _is_whole(body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether ``body`` is a JSON object, with the checksum that the headers say."""
    checksum = str(headers.get("x-amz-crc32", ""))
    if checksum and str(zlib.crc32(body)) != checksum:
        return False
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False
