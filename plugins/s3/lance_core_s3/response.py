"""Bound the responses of a server, which may be long or slow or lack required fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import botocore.awsrequest

from lance_core.hookspecs.stores import ByteRange
from lance_core_remote import botocore_responses
from lance_core_remote.client import (
    Content,
    Failure,
    ListingPage,
    RemoteObject,
    RequestError,
)
from lance_core_remote.connection_failures import CONTACT_TIMEOUT
from lance_core_remote.response_limits import read_content

_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})", re.ASCII)

_OF_LISTINGS = ("IsTruncated", "KeyCount", "MaxKeys", "Name")
"""Every listing has at least one of these fields."""


def bound_responses(client: Any, seconds: float, idle: float | None = None) -> None:
    """See `lance_core_remote.botocore_responses`."""
    botocore_responses.bound_responses(
        client, seconds, botocore, "lance-core-s3", check=_check_is_of_s3, idle=idle
    )


def _check_is_of_s3(body: bytes, headers: Mapping[str, str]) -> None:
    """Raise `RequestError` for a page of another server, which the SDK takes for its own failure.

    Bodies of successful responses are empty or XML, after spaces that keep a connection alive.
    """
    if body.lstrip()[:1] not in {b"", b"<"}:
        reason = "the response is not of S3: check the endpoint"
        raise RequestError(Failure.UNKNOWN, reason, contact_timeout=CONTACT_TIMEOUT)


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
    objects = [
        object_of(entry, field(entry, "Key"), "Size") for entry in response.get("Contents", ())
    ]
    if not objects and not any(name in response for name in _OF_LISTINGS):
        reason = "the response is not a listing: the endpoint may not be that of S3"
        raise RequestError(Failure.UNKNOWN, reason, contact_timeout=CONTACT_TIMEOUT)
    if not response.get("IsTruncated"):
        return ListingPage(objects, None)
    return ListingPage(objects, str(field(response, "NextContinuationToken")))


def content_of(response: Any, requested: ByteRange | None) -> Content:
    """The body of a GET response, checked to be the range ``requested``."""
    try:
        length, size = _lengths(response, requested)
        return Content(read_content(response["Body"], length), size, response.get("ETag"))
    except BaseException:
        response["Body"].close()
        raise


def _lengths(response: Any, requested: ByteRange | None) -> tuple[int, int]:
    """The bytes of the body, and those of the whole object."""
    length = response.get("ContentLength")
    if length is None or length < 0:
        raise RequestError(
            Failure.UNSUPPORTED, "the server does not state the length of its response"
        )
    start, size = 0, length
    if "ContentRange" in response:
        start, size = _extent(response["ContentRange"])
    if requested is not None and (start != requested.start or length > requested.length):
        raise RequestError(Failure.UNSUPPORTED, "the server does not send the requested range")
    return length, size


def _extent(content_range: str) -> tuple[int, int]:
    """The start of a range and the size of the object: 10 and 100 in ``bytes 10-19/100``."""
    match = _RANGE.fullmatch(content_range)
    if match is None:
        raise RequestError(Failure.UNKNOWN, "the response does not state the size of the object")
    return int(match[1]), int(match[2])
