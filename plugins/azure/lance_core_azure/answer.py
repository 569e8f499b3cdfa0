"""An answer of the service, as the SDK wants to see it; its body has been read."""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from typing import Any

from azure.core.exceptions import HttpResponseError
from azure.core.rest import HttpRequest, HttpResponse


class Answer(HttpResponse):
    """Status, headers and body. `body` is what the SDK asks for, too."""

    def __init__(
        self,
        request: HttpRequest,
        status: int,
        reason: str,
        headers: MutableMapping[str, str],
        body: bytes,
    ) -> None:
        self._request = request
        self._status = status
        self._reason = reason
        self._headers = headers
        self._body = body
        self._encoding: str | None = None

    @property
    def request(self) -> HttpRequest:
        return self._request

    @property
    def status_code(self) -> int:
        return self._status

    @property
    def headers(self) -> MutableMapping[str, str]:
        return self._headers

    @property
    def reason(self) -> str:
        return self._reason

    @property
    def content_type(self) -> str | None:
        return self._headers.get("Content-Type")

    @property
    def is_closed(self) -> bool:
        return True

    @property
    def is_stream_consumed(self) -> bool:
        return True

    @property
    def encoding(self) -> str | None:
        return self._encoding

    @encoding.setter
    def encoding(self, value: str | None) -> None:
        self._encoding = value

    @property
    def url(self) -> str:
        return self._request.url

    @property
    def content(self) -> bytes:
        return self._body

    def __repr__(self) -> str:
        return f"Answer({self._status})"

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *args: object) -> None:
        return

    def text(self, encoding: str | None = None) -> str:
        return self._body.decode(encoding or self._encoding or "utf-8-sig", "replace")

    def json(self) -> Any:
        return json.loads(self._body)

    def raise_for_status(self) -> None:
        if self._status >= 400:
            raise HttpResponseError(response=self)

    def close(self) -> None:
        return

    def read(self) -> bytes:
        return self._body

    def body(self) -> bytes:
        """The body."""
        return self._body

    def iter_raw(self, **kwargs: Any) -> Iterator[bytes]:
        yield self._body

    def iter_bytes(self, **kwargs: Any) -> Iterator[bytes]:
        yield self._body
