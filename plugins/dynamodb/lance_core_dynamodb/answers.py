"""Answers of a server that may be of any length, take any time, and break off.

The SDK takes what is no JSON, such as the first half of a row, for an answer that says nothing:
that there is no row.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.awsrequest import AWSResponse

from lance_core.store.remote.bodies import TimelyBody
from lance_core.store.remote.client import Failure, RequestError


class Answers:
    """Sends requests as ``session``, one of the SDK's, does; of answers it reads no more than fits.

    The body of an answer has ``seconds`` to arrive.
    """

    def __init__(self, session: Any, seconds: float) -> None:
        self._session = session
        self._seconds = seconds

    def send(self, request: Any) -> AWSResponse:
        """The answer to a request; raises what the SDK's session does, and `RequestError`."""
        request.stream_output = True  # the session leaves the body to us
        answer = self._session.send(request)
        body = TimelyBody(answer.raw, self._seconds).read()
        if answer.status_code < 300 and not _is_whole(body, answer.headers):
            raise RequestError(Failure.UNKNOWN, "the answer broke off, or is none of DynamoDB's")
        return AWSResponse(answer.url, answer.status_code, answer.headers, _Received(body))

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


class _Received(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        """What the SDK reads."""
        yield self.getvalue()
