"""Convert exceptions of file systems to errors of the store contract.

Each implementation raises different exceptions. A write counts as not applied only if this is
certain: many implementations retry requests internally, and their last exception says nothing about
earlier attempts.
"""

from __future__ import annotations

from collections.abc import Sequence

from lance_core.errors import (
    InvalidInputError,
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.options import redacted

_MAX_CHARACTERS = 300
"""Maximum characters of an exception's text that are shown."""

_GONE = (404, 410)
"""HTTP status codes for missing objects."""


class Redaction:
    """Replaces secrets by ``***``."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)

    def __call__(self, text: str) -> str:
        return redacted(text, self._secrets)


def is_missing(error: BaseException) -> bool:
    """True if ``error`` proves that the object does not exist, not just that it is unreachable."""
    if isinstance(error, IsADirectoryError | NotADirectoryError | KeyError):
        return True
    if not isinstance(error, FileNotFoundError):
        return False
    # fsspec's HTTP file system reports every failed request as a missing object.
    cause = error.__cause__
    status = getattr(cause, "status", None)
    if isinstance(status, int):
        return status in _GONE
    return not isinstance(cause, OSError) or isinstance(cause, FileNotFoundError)


def read_failure(error: Exception, path: str, where: str, redact: Redaction) -> LanceError:
    """The error for a failure to read the object or folder at ``path``."""
    if is_missing(error):
        return ObjectNotFoundError(path, where)
    if isinstance(error, NotImplementedError):
        return UnsupportedFeatureError(f"{where} cannot read {path!r}: {one_line(error, redact)}")
    if isinstance(error, TypeError):  # the client of the file system refuses an option
        return InvalidInputError(
            f"{where} cannot be read with these options: {one_line(error, redact)}"
        )
    reason = error.__cause__ if isinstance(error, FileNotFoundError) else None
    return StoreError(f"reading {path!r} of {where} failed: {one_line(reason or error, redact)}")


def write_failure(error: Exception, path: str, where: str, redact: Redaction) -> LanceError:
    """The error for a failure of the step that makes a write of ``path`` visible."""
    if isinstance(error, NotImplementedError):
        return UnsupportedFeatureError(f"{where} cannot write {path!r}: {one_line(error, redact)}")
    if isinstance(error, FileExistsError):
        return ObjectExistsError(path)
    refusals = (PermissionError, IsADirectoryError, NotADirectoryError)
    if isinstance(error, refusals) or is_missing(error):
        return StoreError(f"{where} refused to write {path!r}: {one_line(error, redact)}")
    return OutcomeUnknownError(f"{where} did not confirm {path!r}: {one_line(error, redact)}")


def one_line(error: BaseException, redact: Redaction) -> str:
    """The exception in one line, without secrets."""
    text = " ".join(redact(str(error)).split())
    return f"{type(error).__name__}: {text[:_MAX_CHARACTERS]}"
