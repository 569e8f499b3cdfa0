"""Times in the forms that pylance's functions take."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import lance_core
from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.util import td_to_micros

MOMENT = datetime(2026, 1, 31, 12, 30)


def test_times_become_datetimes() -> None:
    assert lance_core.sanitize_ts("2026-01-31 12:30:00") == MOMENT
    assert lance_core.sanitize_ts(MOMENT) is MOMENT


def test_a_timestamp_of_pandas_becomes_a_datetime() -> None:
    pandas = pytest.importorskip("pandas")
    converted = lance_core.sanitize_ts(pandas.Timestamp(MOMENT))
    assert type(converted) is datetime
    assert converted == MOMENT


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'yesterday' is not a time like"):
        lance_core.sanitize_ts("yesterday")
    with pytest.raises(InvalidTypeError, match="5 is a int, not a time"):
        lance_core.sanitize_ts(5)


def test_a_duration_has_microseconds() -> None:
    assert td_to_micros(timedelta(seconds=1, microseconds=5)) == 1_000_005
