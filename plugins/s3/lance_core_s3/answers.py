"""Answers of a server that may be of any length and take any time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from botocore.awsrequest import AWSResponse

from lance_core.store.remote.bodies import TimelyBody


class Answers:
    """Sends requests as ``session``, one of the SDK's, does; of answers it reads no more than fits.

    The body of an answer has ``seconds`` to arrive. Contents of objects are left for the caller to
    read; everything else is read here, up to a limit.
    """

    def __init__(self, session: Any, seconds: float) -> None:
        self._session = session
        self._seconds = seconds

    def send(self, request: Any) -> AWSResponse:
        """The answer to a request; raises what the SDK's session does, and `RequestError`."""
        is_content = request.stream_output
        request.stream_output = True
        answer = self._session.send(request)
        body = TimelyBody(answer.raw, self._seconds)
        raw: Any = body
        if not is_content or answer.status_code >= 300:
            raw = _Received(body.read())
        return AWSResponse(answer.url, answer.status_code, answer.headers, raw)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


class _Received(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        """What the SDK reads."""
        yield self.getvalue()
