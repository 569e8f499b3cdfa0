"""Convert errors of databases to those of the store contract."""

from __future__ import annotations

from lance_core.errors import OutcomeUnknownError, StoreError

_MAX_CHARACTERS = 300


def refused(error: BaseException) -> StoreError:
    """The error for a failure before the commit was sent: nothing was applied."""
    return StoreError(f"the SQL database refused a call: {_told(error)}")


def unknown(error: BaseException) -> OutcomeUnknownError:
    """The error for a failure of the commit itself: the database may have applied it."""
    return OutcomeUnknownError(f"the SQL database did not confirm a commit: {_told(error)}")


def _told(error: BaseException) -> str:
    """The driver's message, without the statement and its parameters."""
    cause = getattr(error, "orig", None) or error
    text = " ".join(str(cause).split())
    return f"{type(cause).__name__}: {text[:_MAX_CHARACTERS]}"
