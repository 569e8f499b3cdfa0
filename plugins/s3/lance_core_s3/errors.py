"""Classify error responses of S3 and missing responses.

Codes are from Amazon's "Error responses" for S3; other servers send the same codes, or at least the
same status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from botocore import exceptions as sdk

from lance_core.store.remote.client import Failure, RequestError
from lance_core.store.remote.connection_failures import is_before_sending, retry_after, tls_failure

_CODES: Mapping[str, Failure] = {
    "NoSuchKey": Failure.MISSING,
    "NoSuchUpload": Failure.MISSING,
    "NoSuchBucket": Failure.REFUSED,
    "InvalidRange": Failure.RANGE,
    **dict.fromkeys(
        (
            *("SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable"),
            *("RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException"),
            *("Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled"),
            *("RequestThrottledException", "TooManyRequests", "TooManyRequestsException"),
            # Another write of the same object is in progress.
            *("ConditionalRequestConflict", "OperationAborted"),
            # The body did not arrive, or not as it was sent.
            *("RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch"),
        ),
        Failure.BUSY,
    ),
    **dict.fromkeys(
        ("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"),
        Failure.EXPIRED,
    ),
    "NotImplemented": Failure.UNSUPPORTED,
    "InternalError": Failure.UNKNOWN,
}

_STATUS: Mapping[int, Failure] = {
    404: Failure.MISSING,
    408: Failure.BUSY,
    409: Failure.BUSY,
    416: Failure.RANGE,
    429: Failure.BUSY,
    501: Failure.UNSUPPORTED,
    503: Failure.BUSY,
}

_NO_CREDENTIALS = (
    "no credentials for S3 were found: give storage options 'aws_access_key_id' and "
    "'aws_secret_access_key', set up one of AWS's sources of credentials, or say "
    "'aws_skip_signature' to read a public bucket"
)

_MAX_MESSAGE = 500
"""Maximum characters of a service's message to show."""


def request_error(
    error: Exception, *, unmet: Failure = Failure.EXISTS, secrets: Iterable[str] = ()
) -> RequestError:
    """The failure for ``error``, which the SDK raised for one request.

    ``unmet``: the failure for a condition that is not met. ``secrets``: texts to hide if the
    service repeats them.
    """
    if isinstance(error, sdk.ClientError):
        response = error.response
        failure, text = _of_response(response, error.operation_name, unmet)
        for secret in secrets:
            text = text.replace(secret, "***")
        headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        return RequestError(failure, text, retry_after(headers.get("retry-after")))
    return _without_response(error)


def _of_response(
    response: Mapping[str, Any], operation: str, unmet: Failure
) -> tuple[Failure, str]:
    code = str(response.get("Error", {}).get("Code", ""))
    message = str(response.get("Error", {}).get("Message", ""))[:_MAX_MESSAGE]
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    text = " ".join(filter(None, (operation, str(status), code if code != str(status) else "")))
    text = f"{text}: {message}" if message else text
    if code == "RequestTimeTooSkewed":
        return Failure.REFUSED, f"{text} ({_clock(response)})"
    if code == "NoSuchBucket":
        return Failure.REFUSED, f"{text} (the bucket does not exist)"
    if status == 412 or code == "PreconditionFailed":  # the code may follow after a status 200
        return unmet, text
    if operation == "HeadObject" and status == 400:
        # Responses to HEAD have no body with a reason; expired credentials give status 400.
        return Failure.EXPIRED, f"{text} (expired credentials, or a request that is wrong)"
    if code in _CODES:
        return _CODES[code], text
    if status >= 500 and (status not in _STATUS or code == str(status)):
        # A response without a code comes from a proxy, which may have forwarded the request.
        return Failure.UNKNOWN, text
    if 300 <= status < 400:
        return Failure.REFUSED, f"{text} (storage option 'aws_region' names another region)"
    return _STATUS.get(status, Failure.REFUSED if status >= 400 else Failure.UNKNOWN), text


def _without_response(error: Exception) -> RequestError:
    """The failure if there is no response. Hides the SDK's texts, which show URLs with queries."""
    if isinstance(error, sdk.SSLError):
        return tls_failure(str(error))
    return RequestError(*_connection_failure(error))


def _connection_failure(error: Exception) -> tuple[Failure, str]:
    if isinstance(error, sdk.NoCredentialsError):
        return Failure.REFUSED, _NO_CREDENTIALS
    if isinstance(error, sdk.ConnectTimeoutError):
        return Failure.UNSENT, "no connection within the time for connecting"
    if isinstance(error, sdk.ProxyConnectionError) and not is_before_sending(error):
        return Failure.UNKNOWN, f"the connection by way of the proxy broke: {_reason(error)}"
    if isinstance(error, sdk.EndpointConnectionError | sdk.ProxyConnectionError):
        return Failure.UNSENT, f"no connection: {_reason(error)}"
    if type(error).__name__ == "ReadTimeoutError":  # the SDK's, or that of urllib3
        return Failure.UNKNOWN, "no complete response within the time for one request"
    if isinstance(error, sdk.IncompleteReadError):
        return Failure.UNKNOWN, "the answer broke off"
    if isinstance(error, sdk.HTTPClientError):
        return Failure.UNKNOWN, f"the connection broke: {_reason(error)}"
    if isinstance(error, sdk.CredentialRetrievalError | sdk.MetadataRetrievalError):
        return Failure.UNSENT, f"credentials could not be fetched ({type(error).__name__})"
    if isinstance(error, _MISTAKES):
        return Failure.REFUSED, f"the SDK refuses the request ({type(error).__name__})"
    return Failure.UNKNOWN, f"the request failed ({type(error).__name__})"


_MISTAKES = (
    sdk.PartialCredentialsError,
    sdk.ParamValidationError,
    sdk.NoRegionError,
    sdk.EndpointProviderError,
    sdk.UnauthorizedSSOTokenError,
    sdk.SSOError,
    sdk.TokenRetrievalError,
    sdk.ConfigNotFound,
    sdk.ProfileNotFound,
    sdk.InvalidConfigError,
)
"""Errors that the SDK raises before it sends anything, and would raise again."""


def _reason(error: Exception) -> str:
    """The type name of the innermost cause, such as ConnectionRefusedError."""
    kept = getattr(error, "kwargs", {}).get("error")
    cause: BaseException = kept if isinstance(kept, BaseException) else error
    while isinstance(cause.__cause__ or cause.__context__, BaseException):
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment] # as was just asked
    return type(cause).__name__


def _clock(response: Mapping[str, Any]) -> str:
    """A text with the difference between the clocks of this machine and the service."""
    try:
        date = response["ResponseMetadata"]["HTTPHeaders"]["date"]
        ahead = round((datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds())
    except (KeyError, TypeError, ValueError):
        return "set the clock of this machine"
    way = "ahead of" if ahead > 0 else "behind"
    return f"the clock of this machine is {abs(ahead)} s {way} the service's: set it"
