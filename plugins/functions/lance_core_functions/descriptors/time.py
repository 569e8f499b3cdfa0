"""Functions of dates, times and timestamps."""

from __future__ import annotations

import functools

from lance_core_functions.descriptors.describe import function, of_engine

GROUP = "time"
_function = functools.partial(function, GROUP)
_of_engine = functools.partial(of_engine, GROUP)

FUNCTIONS = (
    _function(
        "date_part",
        "date_parts:date_part",
        "text, time",
        "A part of a date, timestamp, time or duration: `year`, `isoyear`, `quarter`, `month`,"
        " `week` (ISO 8601), `day`, `doy`, `dow` (0 is Sunday), `isodow` (1 is Monday), `hour`,"
        " `minute`, `second`; `millisecond`, `microsecond`, `nanosecond` (since the start of the"
        " minute), `epoch` (seconds since 1970, as float). As `extract(part FROM time)`, too.",
        "datepart",
        infers_nullable=True,
    ),
    _function(
        "date_trunc",
        "date_parts:date_trunc",
        "text, time",
        "The start of the `year`, `quarter`, `month`, `week` (from Monday), `day`, `hour`,"
        " `minute`, `second`, `millisecond`, `microsecond` or `nanosecond`.",
        "datetrunc",
        infers_nullable=True,
    ),
    _function(
        "date_bin",
        "date_bins:date_bin",
        "interval, time, [time]",
        "The start of the interval that contains the time; intervals are counted from the third"
        " argument (default 1970-01-01).",
    ),
    _function(
        "now",
        "temporal:now",
        "",
        "The current time, one value for a whole expression.",
        "current_timestamp",
    ),
    _function("current_date", "temporal:today", "", "The current date in UTC.", "today"),
    _function("to_unixtime", "temporal:to_unixtime", "time", "The whole seconds since 1970."),
    _function(
        "from_unixtime",
        "temporal:from_unixtime",
        "integer, [text]",
        "The timestamp so many seconds after the start of 1970, in a zone.",
    ),
    _function(
        "to_timestamp",
        "temporal:to_timestamp",
        "any",
        "The timestamp in nanoseconds of a text, a date or a number of seconds since 1970.",
    ),
    _function(
        "to_timestamp_seconds",
        "temporal:to_timestamp_seconds",
        "any",
        "The timestamp in seconds of a text, a date or a number of seconds since 1970.",
    ),
    _function(
        "to_timestamp_millis",
        "temporal:to_timestamp_millis",
        "any",
        "The timestamp in milliseconds of a text, a date or a number of milliseconds since 1970.",
    ),
    _function(
        "to_timestamp_micros",
        "temporal:to_timestamp_micros",
        "any",
        "The timestamp in microseconds of a text, a date or a number of microseconds since 1970.",
    ),
    _function(
        "to_timestamp_nanos",
        "temporal:to_timestamp_nanos",
        "any",
        "The timestamp in nanoseconds of a text, a date or a number of nanoseconds since 1970.",
    ),
    _function(
        "to_date",
        "temporal:to_date",
        "any",
        "The date of a text, a timestamp or a number of days since 1970.",
    ),
    _function(
        "make_date",
        "temporal:make_date",
        "integer, integer, integer",
        "The date of a year, a month and a day.",
    ),
    _of_engine(
        "to_char",
        "time, text",
        "The date or timestamp as text, in a format such as `'%Y-%m-%d'`.",
        "date_format",
    ),
)
