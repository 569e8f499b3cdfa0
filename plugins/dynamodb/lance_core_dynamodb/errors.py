"""Classify SDK exceptions.

The exceptions themselves are not shown or chained. They contain headers, addresses and, after a
signature mismatch, the signed text with the session token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from lance_core.hookspecs.options import redacted
from lance_core_dynamodb.schema import how_to_create
from lance_core_remote.botocore_failures import failure_without_response
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.connection_failures import retry_after

CONDITION = "ConditionalCheckFailedException"
NO_TABLE = "ResourceNotFoundException"
TABLE_EXISTS = "ResourceInUseException"

_BY_CODE = {
    CONDITION: Failure.EXISTS,
    "ProvisionedThroughputExceededException": Failure.BUSY,
    "ThrottlingException": Failure.BUSY,
    "Throttling": Failure.BUSY,
    "ThrottledException": Failure.BUSY,
    "RequestLimitExceeded": Failure.BUSY,
    "RequestThrottled": Failure.BUSY,
    "RequestThrottledException": Failure.BUSY,
    "TooManyRequestsException": Failure.BUSY,
    "LimitExceededException": Failure.BUSY,
    # The item takes part in a transaction, or in a write from another region.
    "TransactionConflictException": Failure.BUSY,
    "ReplicatedWriteConflictException": Failure.BUSY,
    "ExpiredTokenException": Failure.EXPIRED,
    "ExpiredToken": Failure.EXPIRED,
    TABLE_EXISTS: Failure.EXISTS,
}
_NO_CREDENTIALS = (
    "there are no credentials: give the storage options aws_access_key_id and "
    "aws_secret_access_key, or those of the AWS environment"
)
_SIGNED = "The Canonical String"
"""The text after this marker repeats the headers of the request."""
_MAX_MESSAGE = 300
_NO_ROOM = 507
"""The status of a server without free space, which has written nothing."""


class MissingTableError(RequestError):
    """The DynamoDB table does not exist."""

    def __init__(self) -> None:
        super().__init__(Failure.REFUSED, f"there is no such table; {how_to_create()}")


def request_error(error: Exception, secrets: Iterable[str] = ()) -> RequestError:
    """The failure for an SDK exception, with a text without ``secrets``."""
    if isinstance(error, ClientError):
        return _of_response(error.response, secrets)
    return failure_without_response(error, _NO_CREDENTIALS)


def _of_response(response: Mapping[str, Any], secrets: Iterable[str]) -> RequestError:
    error, about = response.get("Error", {}), response.get("ResponseMetadata", {})
    code = str(error.get("Code", "")).rpartition("#")[2]
    if code == NO_TABLE:
        return MissingTableError()
    status = about.get("HTTPStatusCode", 0)
    text = f"{status} {code}: {_cleaned(str(error.get('Message', '')), secrets)}"
    wait = retry_after(about.get("HTTPHeaders", {}).get("retry-after"))
    return RequestError(_failure(code, status), text, wait)


def _failure(code: str, status: int) -> Failure:
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status == 429:
        return Failure.BUSY
    if status == _NO_ROOM:
        return Failure.REFUSED
    # A status from 500 on: the service or a proxy failed, and the request may have been applied.
    return Failure.REFUSED if 300 <= status < 500 and status != 408 else Failure.UNKNOWN


def _cleaned(message: str, secrets: Iterable[str]) -> str:
    text = " ".join(message.partition(_SIGNED)[0].split())
    return redacted(text, secrets)[:_MAX_MESSAGE]
