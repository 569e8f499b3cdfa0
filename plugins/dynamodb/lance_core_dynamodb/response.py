"""Bound the responses of a server, which may be long or slow or incomplete.

boto3 treats invalid JSON, such as the first half of a row, as an empty response, which means that
no row exists. So `bound_responses` also checks that responses are complete.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import botocore.awsrequest

from lance_core_remote import botocore_responses
from lance_core_remote.client import Failure, RequestError


def bound_responses(client: Any, seconds: float, idle: float | None = None) -> None:
    """See `lance_core_remote.botocore_responses`.

    Incomplete responses raise `RequestError`.
    """
    botocore_responses.bound_responses(
        client, seconds, botocore, "lance-core-dynamodb", _check_whole, idle
    )


def _check_whole(body: bytes, headers: Mapping[str, str]) -> None:
    if not _is_whole(body, headers):
        raise RequestError(Failure.UNKNOWN, "the response broke off, or is not from DynamoDB")


def _is_whole(body: bytes, headers: Mapping[str, str]) -> bool:
    """True if ``body`` is a JSON object with the checksum in the headers."""
    checksum = str(headers.get("x-amz-crc32", ""))
    if checksum and str(zlib.crc32(body)) != checksum:
        return False
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False
