"""Answers of a server that may be of any length and take any time."""

from __future__ import annotations

from typing import Any

import botocore
from botocore.awsrequest import AWSHTTPConnectionPool, AWSHTTPSConnectionPool, AWSResponse

from lance_core.errors import PluginError
from lance_core.store.remote.request_deadline import timed_pools
from lance_core.store.remote.response_limits import ReadBody, read_response


class Answers:
    """Sends requests as ``session``, one of the SDK's, does; of answers it reads no more than fits.

    A request and all of its answer take ``seconds`` together, which ``session`` heeds from now on.
    Contents of objects are left for the caller to read; everything else is read here, up to a
    limit. `PluginError` for a session that cannot heed a time.
    """

    def __init__(self, session: Any, seconds: float) -> None:
        # botocore lets nobody choose kinds of connections. It gives this mapping to all that makes
        # some, by way of proxies, too.
        pools = getattr(session, "_pool_classes_by_scheme", None)
        if pools is None:
            raise PluginError(
                f"requests by botocore {botocore.__version__} cannot be bounded in time: install "
                "an older one, or a newer lance-core-s3"
            )
        pools.update(timed_pools(seconds, AWSHTTPConnectionPool, AWSHTTPSConnectionPool))
        self._session = session

    def send(self, request: Any) -> AWSResponse:
        """The answer to a request; raises what the SDK's session does, and `RequestError`."""
        is_content = request.stream_output
        request.stream_output = True
        answer: AWSResponse = self._session.send(request)
        if is_content and answer.status_code < 300:
            return answer
        body = ReadBody(read_response(answer.raw))
        return AWSResponse(answer.url, answer.status_code, answer.headers, body)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()
