"""Responses of a server, which may have any length, take any time and lack required fields.

boto3 reads everything but contents of objects to its end, and its time-outs begin anew with each
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
"""Of these, every listing has some."""


def bound_responses(client: Any, seconds: float) -> None:
    """Let each request of ``client`` and its whole response take ``seconds``, in bounded memory.

    Contents of objects are left to the caller to read; everything else is read up to a limit.
    Raises `PluginError` if this version of the SDK cannot be bounded.
    """
    # botocore has no public way to choose classes of connections, or to read a body before it
    # does: its event ``before-send`` has to send a request as well, with proxies and certificates.
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
    """Sends requests as ``session``, one of the SDK's, does; bodies are read up to a limit."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> AWSResponse:
        """The response to a request; raises what the SDK's session does, and `RequestError`."""
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
    """A field that each response of this kind has; `RequestError` if a server left it out."""
    if name not in response:
        raise RequestError(Failure.UNKNOWN, f"the response has no {name}")
    return response[name]


def object_of(response: Mapping[str, Any], key: str, size: str) -> RemoteObject:
    """The object that a response describes; ``size`` names the field with its bytes."""
    length, date = field(response, size), field(response, "LastModified")
    if length < 0:
        raise RequestError(Failure.UNKNOWN, f"the response says {length} bytes")
    return RemoteObject(key, length, date, response.get("ETag"))


def page_of(response: Mapping[str, Any]) -> ListingPage:
    """The page of a ListObjectsV2 response; an empty one must have other fields of a listing."""
    found = [object_of(one, field(one, "Key"), "Size") for one in response.get("Contents", ())]
    if not found and not any(name in response for name in _OF_LISTINGS):
        raise RequestError(Failure.UNKNOWN, "the response is no listing")
    if not response.get("IsTruncated"):
        return ListingPage(found, None)
    return ListingPage(found, str(field(response, "NextContinuationToken")))


def content_of(response: Any, wanted: ByteRange | None) -> Content:
    """The body of a response to GET, which must be what was ``wanted``."""
    try:
        length, size = _lengths(response, wanted)
        return Content(read_content(response["Body"], length), size, response.get("ETag"))
    except BaseException:
        response["Body"].close()
        raise


def _lengths(response: Any, wanted: ByteRange | None) -> tuple[int, int]:
    """The bytes of the body and of the whole object."""
    length = response.get("ContentLength")
    if length is None or length < 0:
        raise RequestError(Failure.UNSUPPORTED, "the server does not say how long its response is")
    start, size = 0, length
    if "ContentRange" in response:
        start, size = _extent(response["ContentRange"])
    if wanted is not None and (start != wanted.start or length > wanted.length):
        raise RequestError(Failure.UNSUPPORTED, "the server does not send the range asked for")
    return length, size


def _extent(content_range: str) -> tuple[int, int]:
    """The start of a range and the size of the object: 10 and 100 in ``bytes 10-19/100``."""
    found = _RANGE.fullmatch(content_range)
    if found is None:
        raise RequestError(Failure.UNKNOWN, "the response does not say the size of the object")
    return int(found[1]), int(found[2])
