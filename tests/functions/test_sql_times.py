"""Dates, timestamps, times and intervals in SQL."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import rows, values

DAYS = [dt.date(2021, 1, 3), dt.date(1969, 12, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
MOMENTS = [None if day is None else dt.datetime.combine(day, dt.time(5, 6, 7, 89)) for day in DAYS]
UTC = [None if m is None else m.replace(tzinfo=dt.UTC) for m in MOMENTS]
DATA = pa.table(
    {
        "d": pa.array(DAYS, pa.date32()),
        "e": pa.array(DAYS, pa.date64()),
        "t": pa.array(MOMENTS, pa.timestamp("us")),
        "m": pa.array(MOMENTS, pa.timestamp("us")).cast(pa.timestamp("ms"), safe=False),
        "z": pa.array(UTC, pa.timestamp("us", "UTC")),
        "c": pa.array([dt.time(23, 59, 58, 500)] * 4 + [None], pa.time64("us")),
        "p": pa.array([dt.timedelta(days=-1, seconds=1)] * 4 + [None], pa.duration("ms")),
    }
)
SECONDS = {"second": 1, "minute": 60, "hour": 3600}


def test_date_part_has_the_values_of_pythons_calendar() -> None:
    parts = {
        "year": lambda m: m.year,
        "isoyear": lambda m: m.isocalendar().year,
        "quarter": lambda m: (m.month + 2) // 3,
        "month": lambda m: m.month,
        "week": lambda m: m.isocalendar().week,
        "day": lambda m: m.day,
        "doy": lambda m: m.timetuple().tm_yday,
        "dow": lambda m: m.isoweekday() % 7,
        "isodow": lambda m: m.isoweekday(),
        "hour": lambda m: m.hour,
        "minute": lambda m: m.minute,
        "second": lambda m: m.second,
        "millisecond": lambda m: m.second * 1000 + m.microsecond // 1000,
        "microsecond": lambda m: m.second * 10**6 + m.microsecond,
        "nanosecond": lambda m: (m.second * 10**6 + m.microsecond) * 1000,
    }
    for name, part in parts.items():
        expected = [None if m is None else part(m) for m in MOMENTS]
        for column in ("t", "z"):
            assert values(f"date_part('{name}', {column})", DATA) == expected, (name, column)
            assert values(f"extract({name} FROM {column})", DATA) == expected, (name, column)
        midnights = [None if d is None else part(dt.datetime.combine(d, dt.time())) for d in DAYS]
        assert values(f"date_part('{name.upper()}', d)", DATA) == midnights, name
        assert values(f"date_part('{name}', e)", DATA) == midnights, name
    assert values("date_part('mons', d)", DATA) == values("date_part('month', d)", DATA)


def test_epochs_are_seconds_with_their_fraction() -> None:
    epoch = dt.datetime(1970, 1, 1)
    expected = [None if m is None else (m - epoch) / dt.timedelta(seconds=1) for m in MOMENTS]
    assert values("date_part('epoch', t)", DATA) == pytest.approx(expected, abs=0)
    assert values("date_part('epoch', d)", DATA)[:2] == [18630 * 86400.0, -86400.0]
    assert values("date_part('epoch', c)", DATA)[0] == 86398.0005
    assert values("date_part('epoch', p)", DATA)[0] == -86399.0


def test_parts_of_times_and_durations() -> None:
    assert values("date_part('hour', c)", DATA)[0] == 23
    assert values("date_part('microsecond', c)", DATA)[0] == 58_000_500
    assert values("date_part('hour', p)", DATA)[0] == -23
    assert values("date_part('day', p)", DATA)[0] == 0
    assert values("date_part('second', p)", DATA)[0] == -86399
    assert values("date_trunc('minute', c)", DATA)[0] == dt.time(23, 59)
    assert values("date_part('year', '2020-02-03')", DATA)[0] == 2020


@each_case(
    ("text", "why"),
    [
        ("date_part('decade', d)", "decade"),
        ("date_part('year', c)", "year"),
        ("date_part('month', p)", "month"),
        ("date_trunc('day', c)", "day"),
        ("date_trunc('fortnight', t)", "fortnight"),
        ("date_bin(interval '1 month 1 day', t)", "months"),
        ("date_bin(interval '0 days', t)", "zero"),
        ("date_bin(interval '-1 day', t)", "zero"),
        ("date_bin(interval '-1 month', t)", "zero"),
        ("date_bin(p, t)", "not a literal"),
        ("d + interval '1 fortnight'", "fortnight"),
        ("d + interval 'x'", "'x' is not an interval"),
        ("p > interval '1 month'", "months"),
        ("c + interval '1 hour'", "does not work on"),
        ("to_timestamp(b)", "does not work on bool"),
        ("from_unixtime(1, 'nowhere')", "nowhere"),
        ("from_unixtime(1, NULL)", "not a literal"),
        ("make_date(2021, 2, 29)", r"make_date\(2021, 2, 29\) is not a date"),
        ("make_date(2021, 13, 1)", "is not a date"),
        ("make_date(300000, 1, 1)", "is not a date"),
    ],
)
def test_what_is_no_part_unit_or_date_is_named(text: str, why: str) -> None:
    data = DATA.append_column("b", pa.array([True] * 5))
    with pytest.raises((InvalidInputError, UnsupportedFeatureError), match=why):
        as_value(text, data.schema)


def test_date_trunc_of_each_unit() -> None:
    for unit, expected in {
        "year": dt.datetime(1969, 1, 1),
        "quarter": dt.datetime(1969, 10, 1),
        "month": dt.datetime(1969, 12, 1),
        "week": dt.datetime(1969, 12, 29),
        "day": dt.datetime(1969, 12, 31),
        "hour": dt.datetime(1969, 12, 31, 5),
        "minute": dt.datetime(1969, 12, 31, 5, 6),
        "second": dt.datetime(1969, 12, 31, 5, 6, 7),
        "millisecond": dt.datetime(1969, 12, 31, 5, 6, 7),
        "microsecond": MOMENTS[1],
        "nanosecond": MOMENTS[1],
    }.items():
        assert values(f"date_trunc('{unit}', t)", DATA)[1] == expected, unit


def test_times_that_occur_twice_are_truncated_as_well() -> None:
    utc = pa.array([1730611800, 1730615400, 1730602800], pa.timestamp("s"))  # 01:30 twice
    zone = pa.timestamp("s", "America/New_York")
    data = pa.table({"z": utc.cast(pa.timestamp("s", "UTC")).cast(zone)})
    for unit, expected in {
        "second": [1730611800, 1730615400, 1730602800],
        "hour": [1730610000, 1730613600, 1730602800],
        "day": [1730606400, 1730606400, 1730520000],
    }.items():
        assert values(f"CAST(date_trunc('{unit}', z) AS bigint)", data) == expected, unit


@each_case(
    ("text", "expected"),
    [
        ("date_bin(interval '15 minutes', t)", [(2021, 1, 3, 5), (1969, 12, 31, 5), (1, 1, 1, 5)]),
        ("date_bin('1 day', d)", [(2021, 1, 3), (1969, 12, 31), (1, 1, 1)]),
        (
            "date_bin(interval '1 hour', t, timestamp '2000-01-01 00:30:00')",
            [(2021, 1, 3, 4, 30), (1969, 12, 31, 4, 30), (1, 1, 1, 4, 30)],
        ),
        ("date_bin(interval '1 month', t)", [(2021, 1, 1), (1969, 12, 1), (1, 1, 1)]),
        (
            "date_bin(interval '1 quarter', t, date '2020-01-31')",
            [(2020, 10, 31), (1969, 10, 31), (0, 0, 0)],
        ),
        ("date_bin(interval '7 milliseconds', CAST(t AS timestamp(0)), date '1970-01-01')", []),
    ],
)
def test_date_bin_counts_from_its_origin(text: str, expected: list[tuple[int, ...]]) -> None:
    found = values(text, DATA.slice(0, 3 if (0, 0, 0) not in expected else 2))
    assert found[: len(expected)] == [dt.datetime(*parts) for parts in expected if parts[0]]


@each_case(
    ("text", "expected"),
    [
        ("d + interval '1 month'", [dt.date(2021, 2, 3), dt.date(1970, 1, 31)]),
        ("d - interval '1' month", [dt.date(2020, 12, 3), dt.date(1969, 11, 30)]),
        ("interval 2 days + d", [dt.date(2021, 1, 5), dt.date(1970, 1, 2)]),
        ("d + interval '1.5 days'", [dt.datetime(2021, 1, 4, 12), dt.datetime(1970, 1, 1, 12)]),
        (
            "CAST(t AS timestamp(0)) - interval '1 ms'",
            [dt.datetime(2021, 1, 3, 5, 6, 6, 999000), dt.datetime(1969, 12, 31, 5, 6, 7, 999000)],
        ),
        ("t - d", [dt.timedelta(hours=5, minutes=6, seconds=7, microseconds=89)] * 2),
        ("d - e", [0, 0]),
        ("c - time '23:59:58'", [dt.timedelta(microseconds=500)] * 2),
        ("p + interval '1 hour'", [dt.timedelta(hours=-22, seconds=-3599)] * 2),
        ("t - z", [dt.timedelta(0)] * 2),
        ("to_date(t)", DAYS[:2]),
        ("to_date(1.9)", [dt.date(1970, 1, 2)] * 2),
        ("make_date(2020 + date_part('year', d) % 2, 2, 28)", [dt.date(2021, 2, 28)] * 2),
        ("to_timestamp_seconds(1.9)", [dt.datetime(1970, 1, 1, 0, 0, 1)] * 2),
        ("to_timestamp_millis(d)", [dt.datetime(2021, 1, 3), dt.datetime(1969, 12, 31)]),
        ("to_timestamp('1970-01-01T00:00:00.5Z')", [dt.datetime(1970, 1, 1, 0, 0, 0, 500_000)] * 2),
        ("CAST(to_timestamp(-1.5) AS bigint)", [-1_500_000_000] * 2),
        ("CAST(from_unixtime(0, 'Asia/Tokyo') AS bigint)", [0, 0]),
        ("date_part('hour', from_unixtime(0, 'Asia/Tokyo'))", [9, 9]),
        ("to_unixtime(d)", [18630 * 86400, -86400]),
        ("to_unixtime('1970-01-02')", [86400, 86400]),
    ],
)
def test_values_of_times(text: str, expected: list[Any]) -> None:
    assert values(text, DATA.slice(0, 2)) == expected


def test_days_are_added_on_the_calendar_of_the_zone() -> None:
    zone = pa.timestamp("s", "America/New_York")
    data = pa.table({"z": pa.array([1710003600], pa.timestamp("s", "UTC")).cast(zone)})
    # 2024-03-09 12:00 in New York; the next day has 23 hours.
    assert values("CAST(z + interval '1 day' AS bigint)", data) == [1710003600 + 23 * 3600]
    assert values("CAST(z + interval '24 hours' AS bigint)", data) == [1710003600 + 24 * 3600]


def test_conditions_of_intervals() -> None:
    assert rows("t > timestamp '2021-01-01' + interval '1 day'", DATA) == [0, 3]
    assert rows("t - d > interval '5 hours'", DATA) == [0, 1, 2, 3]
    assert rows("p < interval '-23 hours'", DATA) == [0, 1, 2, 3]
    assert rows("t < now() - interval '1 year'", DATA) == [0, 1, 2]


def test_moments_beyond_the_unit_are_errors() -> None:
    for text in ("to_timestamp(t)", "CAST(t AS timestamp(9))", "t + interval '300000 years'"):
        with pytest.raises(InvalidInputError):
            values(text, DATA)


def test_timestamps_of_two_units_are_compared_beyond_the_range_of_the_finer() -> None:
    data = pa.table(
        {
            "s": pa.array([-62135596800, 253402300799, 0, 1, None, 0], pa.timestamp("s")),
            "n": pa.array([2**63 - 1, -(2**63), 0, 1, 0, None], pa.timestamp("ns")),
            "d": pa.array([-719162, 2932896, 0, 0, None, 0], pa.int32()).cast(pa.date32()),
        }
    )
    assert values("s = n", data) == [False, False, True, False, None, None]
    assert values("s < n", data) == values("n > s", data) == [True, False, False, False, None, None]
    assert values("n >= d", data) == [True, False, True, True, None, None]
    assert values("d <> n", data) == [True, True, False, True, None, None]
    assert rows("s IS NOT DISTINCT FROM n", data) == [2]
