"""The errors of the store contract for exceptions of file systems.

Each implementation raises other ones. A write counts as not applied only if that is certain: many
implementations send requests again by themselves, and their last exception tells nothing of the
attempts before.
"""

from __future__ import annotations

from collections.abc import Sequence

from lance_core.errors import (
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)

_LONGEST = 300
"""Characters of an exception's text that are shown."""

_GONE = (404, 410)
"""Statuses of HTTP for what is not there."""


class Redaction:
    """Puts ``***`` in the place of secrets."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secrets)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def is_missing(error: BaseException) -> bool:
    """True if ``error`` says that there is no object, and not just that none could be reached."""
    if isinstance(error, IsADirectoryError | NotADirectoryError | KeyError):
        return True
    if not isinstance(error, FileNotFoundError):
        return False
    # fsspec's HTTP takes every failure of a look at an object for its absence.
    cause = error.__cause__
    status = getattr(cause, "status", None)
    if isinstance(status, int):
        return status in _GONE
    return not isinstance(cause, OSError) or isinstance(cause, FileNotFoundError)


def read_failure(error: Exception, path: str, where: str, redact: Redaction) -> LanceError:
    """For a failure to read the object, or the folder, at ``path``."""
    if is_missing(error):
        return ObjectNotFoundError(path, where)
    if isinstance(error, NotImplementedError):
        return UnsupportedFeatureError(f"{where} cannot read {path!r}: {one_line(error, redact)}")
    reason = error.__cause__ if isinstance(error, FileNotFoundError) else None
    return StoreError(f"reading {path!r} of {where} failed: {one_line(reason or error, redact)}")


def write_failure(error: Exception, path: str, where: str, redact: Redaction) -> LanceError:
    """For a failure of the step that makes a write of ``path`` visible."""
    if isinstance(error, NotImplementedError):
        return UnsupportedFeatureError(f"{where} cannot write {path!r}: {one_line(error, redact)}")
    if isinstance(error, FileExistsError):
        return ObjectExistsError(path)
    refusals = (PermissionError, IsADirectoryError, NotADirectoryError)
    if isinstance(error, refusals) or is_missing(error):
        return StoreError(f"{where} refused to write {path!r}: {one_line(error, redact)}")
    return OutcomeUnknownError(f"{where} did not confirm {path!r}: {one_line(error, redact)}")


def one_line(error: BaseException, redact: Redaction) -> str:
    """The exception in one line that can be shown."""
    text = " ".join(redact(str(error)).split())
    return f"{type(error).__name__}: {text[:_LONGEST]}"
