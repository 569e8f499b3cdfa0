"""Bound the responses of a server, which may be long or slow or lack required fields.

boto3 reads all responses except object contents to their end, and its time-outs restart with each
byte. The store contract bounds each call in time and memory, so `bound_responses` adds both bounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import botocore
from botocore.awsrequest import AWSHTTPConnectionPool, AWSHTTPSConnectionPool, AWSResponse

from lance_core.errors import PluginError
from lance_core.store.base import ByteRange
from lance_core.store.remote.client import (
    Content,
    Failure,
    ListingPage,
    RemoteObject,
    RequestError,
)
from lance_core.store.remote.request_deadline import timed_pools
from lance_core.store.remote.response_limits import ReadBody, read_content, read_response

_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})", re.ASCII)

_OF_LISTINGS = ("IsTruncated", "KeyCount", "MaxKeys", "Name")
"""Every listing has at least one of these fields."""


def bound_responses(client: Any, seconds: float) -> None:
    """Limit the time of each request of ``client`` with its whole response, and its memory.

    Object contents are left to the caller to read; other bodies are read up to a size limit.
    ``seconds`` is the limit per request. Raises `PluginError` if this version of the SDK does not
    allow it.
    """
    # botocore has no public way to select connection classes or to read a body first: a handler of
    # its event ``before-send`` would have to send the request, with proxies and certificates.
    endpoint = getattr(client, "_endpoint", None)
    session = getattr(endpoint, "http_session", None)
    pools = getattr(session, "_pool_classes_by_scheme", None)
    if endpoint is None or pools is None:
        raise PluginError(
            f"requests by botocore {botocore.__version__} cannot be bounded in time: install "
            "an older one, or a newer lance-core-s3"
        )
    pools.update(timed_pools(seconds, AWSHTTPConnectionPool, AWSHTTPSConnectionPool))
    endpoint.http_session = _BoundedSession(session)


class _BoundedSession:
    """Sends requests as the SDK's ``session`` does, but reads bodies only up to a limit."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> AWSResponse:
        """The response to a request. Raises the errors of the SDK's session, and `RequestError`."""
        is_content = request.stream_output
        request.stream_output = True
        response: AWSResponse = self._session.send(request)
        if is_content and response.status_code < 300:
            return response
        body = ReadBody(read_response(response.raw))
        return AWSResponse(response.url, response.status_code, response.headers, body)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


def field(response: Mapping[str, Any], name: str) -> Any:
    """A required field of a response. Raises `RequestError` if the server omitted it."""
    if name not in response:
        raise RequestError(Failure.UNKNOWN, f"the response has no {name}")
    return response[name]


def object_of(response: Mapping[str, Any], key: str, size: str) -> RemoteObject:
    """The object that a response describes; ``size`` names the field with its bytes."""
    length, date = field(response, size), field(response, "LastModified")
    if length < 0:
        raise RequestError(Failure.UNKNOWN, f"the response states a size of {length} bytes")
    return RemoteObject(key, length, date, response.get("ETag"))


def page_of(response: Mapping[str, Any]) -> ListingPage:
    """The page of a ListObjectsV2 response; an empty page must have other fields of a listing."""
    found = [object_of(one, field(one, "Key"), "Size") for one in response.get("Contents", ())]
    if not found and not any(name in response for name in _OF_LISTINGS):
        raise RequestError(Failure.UNKNOWN, "the response is not a listing")
    if not response.get("IsTruncated"):
        return ListingPage(found, None)
    return ListingPage(found, str(field(response, "NextContinuationToken")))


def content_of(response: Any, wanted: ByteRange | None) -> Content:
    """The body of a GET response, checked to be the range ``wanted``."""
    try:
        length, size = _lengths(response, wanted)
        return Content(read_content(response["Body"], length), size, response.get("ETag"))
    except BaseException:
        response["Body"].close()
        raise


def _lengths(response: Any, wanted: ByteRange | None) -> tuple[int, int]:
    """The bytes of the body, and those of the whole object."""
    length = response.get("ContentLength")
    if length is None or length < 0:
        raise RequestError(
            Failure.UNSUPPORTED, "the server does not state the length of its response"
        )
    start, size = 0, length
    if "ContentRange" in response:
        start, size = _extent(response["ContentRange"])
    if wanted is not None and (start != wanted.start or length > wanted.length):
        raise RequestError(Failure.UNSUPPORTED, "the server does not send the requested range")
    return length, size


def _extent(content_range: str) -> tuple[int, int]:
    """The start of a range and the size of the object: 10 and 100 in ``bytes 10-19/100``."""
    found = _RANGE.fullmatch(content_range)
    if found is None:
        raise RequestError(Failure.UNKNOWN, "the response does not state the size of the object")
    return int(found[1]), int(found[2])
