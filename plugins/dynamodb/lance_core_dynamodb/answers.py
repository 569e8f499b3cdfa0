"""Answers of a server that may be of any length, take any time, and break off.

The SDK takes what is no JSON, such as the first half of a row, for an answer that says nothing:
that there is no row.
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


class Answers:
    """Sends requests as ``session``, one of the SDK's, does; of answers it reads no more than fits.

    A request and all of its answer take ``seconds`` together, which ``session`` heeds from now on.
    `PluginError` for a session that cannot heed a time.
    """

    def __init__(self, session: Any, seconds: float) -> None:
        # botocore lets nobody choose kinds of connections. It gives this mapping to all that makes
        # some, by way of proxies, too.
        pools = getattr(session, "_pool_classes_by_scheme", None)
        if pools is None:
            raise PluginError(
                f"requests by botocore {botocore.__version__} cannot be bounded in time: install "
                "an older one, or a newer lance-core-dynamodb"
            )
        pools.update(timed_pools(seconds, AWSHTTPConnectionPool, AWSHTTPSConnectionPool))
        self._session = session

    def send(self, request: Any) -> AWSResponse:
        """The answer to a request; raises what the SDK's session does, and `RequestError`."""
        request.stream_output = True  # the session leaves the body to us
        answer = self._session.send(request)
        body = read_response(answer.raw)
        if answer.status_code < 300 and not _is_whole(body, answer.headers):
            raise RequestError(Failure.UNKNOWN, "the answer broke off, or is none of DynamoDB's")
        return AWSResponse(answer.url, answer.status_code, answer.headers, ReadBody(body))

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


def _is_whole(body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether ``body`` is a JSON object, with the checksum that it is said to have."""
    checksum = str(headers.get("x-amz-crc32", ""))
    if checksum and str(zlib.crc32(body)) != checksum:
        return False
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False
