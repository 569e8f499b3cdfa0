"""Times in the forms that pylance's functions take."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from lance_core.errors import InvalidInputError, InvalidTypeError


def sanitize_ts(ts: Any) -> datetime:
    """A `datetime`, of one, a pandas Timestamp or a text such as "2026-01-31 12:00:00".

    Raises `InvalidInputError` for other texts and `InvalidTypeError` for other values.
    """
    if isinstance(ts, str):
        try:
            return datetime.strptime(ts, "%Y-%m-%d %H:%M:%S")
        except ValueError as error:
            raise InvalidInputError(f"{ts!r} is not a time like 2026-01-31 12:00:00") from error
    if not isinstance(ts, datetime):
        raise InvalidTypeError(f"{ts!r} is a {type(ts).__name__}, not a time")
    # A Timestamp of pandas is a datetime.
    converted: datetime = ts.to_pydatetime() if hasattr(ts, "to_pydatetime") else ts
    return converted


def td_to_micros(td: timedelta) -> int:
    """The microseconds of a duration."""
    return round(td / timedelta(microseconds=1))
