"""CAST, TRY_CAST and arrow_cast: values of each type as values of each other type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lance_core.dataset.expressions.filters import as_value
from lance_core.dataset.expressions.sql.values.value_text import text_kernel
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case
from tests.unit.dataset.expressions.sql_tables import INF, NAN, values

_EPOCH = dt.datetime(1970, 1, 1)
MOMENTS = [_EPOCH, _EPOCH - dt.timedelta(microseconds=1), dt.datetime(9999, 12, 31, 23, 59, 59)]

NUMBERS = pa.table(
    {
        "i": pa.array([0, -7, 300, None]),
        "u": pa.array([0, 2**64 - 1, 1, None], pa.uint64()),
        "f": [2.9, -2.9, NAN, None],
        "g": [0.0, 1e300, -INF, None],
        "r": pa.array([2.675, 1e10, 0.1, None], pa.float32()),
        "d": pa.array([Decimal("2.50"), Decimal("-2.50"), Decimal("1e10"), None]),
        "b": [True, False, True, None],
    }
)
TIMES = pa.table(
    {
        "t": pa.array([*MOMENTS, None], pa.timestamp("us")),
        "s": pa.array([0, -1, 253402300799, None], pa.timestamp("s")),
        "z": pa.array([0, 1, 2, None], pa.timestamp("ms", "America/New_York")),
        "d": pa.array([0, -1, 2932896, None], pa.int32()).cast(pa.date32()),
        "c": pa.array([0, 1, 86399, None], pa.time32("s")),
        "p": pa.array([0, -1, 10**7, None], pa.duration("ms")),
    }
)


def test_numbers_are_cast_to_each_type() -> None:
    expected: dict[str, list[Any]] = {
        "CAST(d AS bigint)": [2, -2, 10**10, None],
        "CAST(d AS double)": [2.5, -2.5, 1e10, None],
        "CAST(d AS boolean)": [True, True, True, None],
        "CAST(d AS string)": ["2.50", "-2.50", "10000000000.00", None],
        "CAST(i AS timestamp)": [_EPOCH + dt.timedelta(microseconds=n) for n in (0, -7, 300)]
        + [None],
        "CAST(d AS timestamp(0))": [_EPOCH + dt.timedelta(seconds=n) for n in (2, -2, 10**10)]
        + [None],
        "CAST(i AS date)": [
            dt.date(1970, 1, 1),
            dt.date(1969, 12, 25),
            dt.date(1970, 10, 28),
            None,
        ],
        "CAST(i AS decimal(5, 2))": [Decimal(0), Decimal(-7), Decimal(300), None],
        "CAST(u AS decimal(20, 0))": [0, 2**64 - 1, 1, None],
        "CAST(r AS decimal(20, 1))": [Decimal("2.7"), Decimal(10**10), Decimal("0.1"), None],
        "CAST(b AS double)": [1.0, 0.0, 1.0, None],
        "TRY_CAST(f AS int)": [2, -2, None, None],
        "TRY_CAST(g AS bigint)": [0, None, None, None],
        "TRY_CAST(f AS decimal(3, 2))": [Decimal("2.90"), Decimal("-2.90"), None, None],
        "TRY_CAST(g AS timestamp)": [_EPOCH, None, None, None],
        "TRY_CAST(i AS tinyint)": [0, -7, None, None],
        "TRY_CAST(i AS tinyint unsigned)": [0, None, None, None],
        "TRY_CAST(u AS bigint)": [0, None, 1, None],
        "TRY_CAST(d AS smallint)": [2, -2, None, None],
        "TRY_CAST(d AS decimal(5, 1))": [Decimal("2.5"), Decimal("-2.5"), None, None],
        "TRY_CAST(d AS decimal(1, 0))": [3, -3, None, None],
        "arrow_cast(i, 'Float32')": [0.0, -7.0, 300.0, None],
        "arrow_cast(d, 'Decimal256(50, 1)')": [Decimal("2.5"), Decimal("-2.5"), 10**10, None],
        "arrow_cast(i, 'Duration(s)')": [dt.timedelta(seconds=n) for n in (0, -7, 300)] + [None],
        "arrow_cast(i, 'LargeUtf8')": ["0", "-7", "300", None],
        "arrow_try_cast(i, 'UInt16')": [0, None, 300, None],
    }
    for text, results in expected.items():
        assert values(text, NUMBERS) == results, text


def test_floats_are_rounded_to_decimals_without_digits_that_they_do_not_have() -> None:
    data = pa.table({"x": [1.005, 2.675, -1234.5, 0.1, 2.0**70, 0.5]})
    assert values("CAST(x AS decimal(30, 2))", data) == [
        *map(Decimal, ("1.00", "2.68", "-1234.50", "0.10", "1180591620717411303424.00", "0.50"))
    ]
    assert values("CAST(x AS decimal(60, 20))", data)[2:] == [
        *map(Decimal, ("-1234.5", "0.10000000000000000555", "1180591620717411303424", "0.5"))
    ]


def test_times_are_cast_to_each_type() -> None:
    expected: dict[str, list[Any]] = {
        "CAST(t AS bigint)": [0, -1, 253402300799 * 10**6, None],
        "CAST(t AS double)": [0.0, -1.0, 253402300799e6, None],
        "CAST(s AS decimal(20, 2))": [0, -1, 253402300799, None],
        "CAST(d AS bigint)": [0, -1, 2932896, None],
        "CAST(c AS bigint)": [0, 1, 86399, None],
        "CAST(p AS double)": [0.0, -1.0, 1e7, None],
        "CAST(t AS date)": [
            dt.date(1970, 1, 1),
            dt.date(1969, 12, 31),
            dt.date(9999, 12, 31),
            None,
        ],
        "CAST(d AS timestamp(0))": [
            dt.datetime(1970, 1, 1),
            dt.datetime(1969, 12, 31),
            dt.datetime(9999, 12, 31),
            None,
        ],
        "CAST(z AS date)": [dt.date(1969, 12, 31)] * 3 + [None],
        "TRY_CAST(s AS int)": [0, -1, None, None],
        "TRY_CAST(t AS timestamp(9))": [_EPOCH, MOMENTS[1], None, None],
        "TRY_CAST(d AS tinyint)": [0, -1, None, None],
        "arrow_cast(c, 'Time64(Microsecond)')": [
            dt.time(0),
            dt.time(0, 0, 1),
            dt.time(23, 59, 59),
            None,
        ],
        "arrow_cast(p, 'Duration(Second)')": [dt.timedelta(seconds=n) for n in (0, 0, 10**4)]
        + [None],
    }
    for text, results in expected.items():
        assert values(text, TIMES) == results, text


@each_case(
    ("kind", "texts", "expected"),
    [
        ("int", ["1", "+5", "-0", " 7", "1.0", "1e3", "0x10", "1_0", "", "9" * 90], [1, 5, 0]),
        ("tinyint unsigned", ["255", "-0", "256", "-1"], [255, 0]),
        ("bigint", ["-9223372036854775808", "9223372036854775808"], [-(2**63)]),
        (
            "double",
            ["1.5", ".5", "5.", "+1e3", "INF", "-infinity", "1e400", " 1", "1d", "0x1p3"],
            [1.5, 0.5, 5.0, 1000.0, INF, -INF, INF],
        ),
        ("boolean", ["true", "T", "yes", "on", "1", "ye", "2", ""], [True] * 6),
        ("boolean", ["false", "F", "no", "off", "0", "truee"], [False] * 5),
        (
            "decimal(5, 2)",
            ["1.5", " 7 ", ".5", "-.005", "2.345", "1e2", "999.995", "abc", ""],
            [Decimal(text) for text in ("1.5", "7", "0.5", "-0.01", "2.35", "100")],
        ),
        (
            "decimal(76, 2)",
            ["9" * 74 + ".99", "0" * 90 + "1", "1e90", "9" * 75],
            [Decimal("9" * 74 + ".99"), Decimal(1)],
        ),
        ("decimal(38, 0)", ["0." + "4" * 90, "1." + "0" * 90, "12e-1"], [0, 1, 1]),
        (
            "date",
            ["2020-02-29", "2020-1-1", "20200101", "2020-01-01T23:00:00-02:00", "2021-02-29"],
            [dt.date(2020, 2, 29), dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
        ),
        (
            "timestamp",
            ["2020-01-01", "2020-01-01 12:34:56.7891239999", "2020-01-01T01:00:00+01:00"],
            [
                dt.datetime(2020, 1, 1),
                dt.datetime(2020, 1, 1, 12, 34, 56, 789123),
                dt.datetime(2020, 1, 1),
            ],
        ),
        (
            "timestamp",
            ["1969-12-31T23:59:59.9Z", "2020-01-01T24:00:00", "2020-01-01T23:59:60"],
            [dt.datetime(1969, 12, 31, 23, 59, 59, 900000)],
        ),
        ("timestamp(9)", ["2262-04-11", "0001-01-01", "2300-01-01"], [dt.datetime(2262, 4, 11)]),
        (
            "time",
            ["23:59:59.5", "1:02:03", "24:00:00", "12"],
            [dt.time(23, 59, 59, 500000), dt.time(1, 2, 3)],
        ),
    ],
)
def test_text_is_read_completely_or_not_at_all(
    kind: str, texts: list[str], expected: list[Any]
) -> None:
    """The first texts are values; the others are errors, and NULL in a TRY_CAST."""
    views = (pa.string_view(), pa.dictionary(pa.int32(), pa.string()))
    for type_ in (pa.string(), pa.large_string(), *views):
        data = pa.table({"s": pa.array([*texts, None], pa.string()).cast(type_)})
        missing = [None] * (len(texts) - len(expected) + 1)
        assert values(f"TRY_CAST(s AS {kind})", data) == [*expected, *missing]
        for row in range(len(expected), len(texts)):
            with pytest.raises(InvalidInputError, match=r"CAST: '.* cannot be parsed as"):
                values(f"CAST(s AS {kind})", data.slice(row, 1))


@each_case(
    ("name", "kind"),
    [
        ("Int8", pa.int8()),
        ("Float16", pa.float16()),
        ("Utf8View", pa.string_view()),
        ("Date64", pa.date64()),
        ("Timestamp(Nanosecond, None)", pa.timestamp("ns")),
        ("Timestamp(ms)", pa.timestamp("ms")),
        ('Timestamp(Second, Some("+01:00"))', pa.timestamp("s", "+01:00")),
        ('Timestamp(us, "UTC")', pa.timestamp("us", "UTC")),
        ("Duration(Microsecond)", pa.duration("us")),
        ("Time32(Second)", pa.time32("s")),
        ("Decimal128(38, 10)", pa.decimal128(38, 10)),
        ("Decimal256(76, 0)", pa.decimal256(76, 0)),
        ("Dictionary(Int32, Utf8)", pa.dictionary(pa.int32(), pa.string())),
    ],
)
def test_arrow_types_have_the_names_of_datafusion(name: str, kind: pa.DataType) -> None:
    schema = pa.schema({"i": pa.int32()})
    assert as_value(f"arrow_cast(i, '{name}')", schema).type == kind


@each_case(
    "text",
    [
        "arrow_cast(i, 'int64')",
        "arrow_cast(i, 'Decimal128(39, 0)')",
        "arrow_cast(i, 'Time32(Nanosecond)')",
        "arrow_cast(i, 'Struct(a)')",
        "CAST(i AS decimal(2, 3))",
        "CAST(i AS decimal(77, 0))",
        "CAST(i AS hugeint)",
    ],
)
def test_an_unknown_type_is_named(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"arrow_cast|the type"):
        as_value(text, NUMBERS.schema)


@each_case(
    ("text", "data"),
    [
        ("CAST(b AS timestamp)", NUMBERS),
        ("CAST(f AS date)", NUMBERS),
        ("TRY_CAST(b AS decimal(5, 2))", NUMBERS),
        ("CAST(d AS boolean)", TIMES),
        ("CAST(d AS double)", TIMES),
        ("TRY_CAST(c AS date)", TIMES),
    ],
)
def test_types_without_a_common_value_are_refused(text: str, data: pa.Table) -> None:
    with pytest.raises(InvalidInputError, match="cannot be cast to"):
        as_value(text, data.schema)


def test_an_integer_is_no_time_beyond_a_day() -> None:
    data = pa.table({"i": pa.array([0, -1, 86_400], pa.int32())})
    assert values("arrow_try_cast(i, 'Time32(Second)')", data) == [dt.time(0), None, None]


def test_local_times_become_instants_in_the_zone_of_the_target() -> None:
    data = pa.table({"s": ["2020-01-01 12:00:00", "2020-01-01T12:00:00Z"]})
    data = data.append_column("t", pa.array([dt.datetime(2020, 1, 1, 12)] * 2, pa.timestamp("s")))
    kind = """'Timestamp(Second, Some("America/New_York"))'"""
    for text, hours in (("s", [17, 12]), ("t", [17, 17])):
        found = values(f"CAST(arrow_cast({text}, {kind}) AS bigint)", data)
        assert [(second - 1577836800) // 3600 for second in found] == hours


@each_case("source", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_bytes_that_do_not_fit_are_errors_and_null_in_a_try_cast(source: pa.DataType) -> None:
    """Text must be UTF-8: no lone continuation, no surrogate, no overlong form."""
    stored = [b"", "ß\n\U0010ffff".encode(), None, b"a\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xff"]
    data = pa.table({"s": pa.array(stored, source)})
    texts = ["", "ß\n\U0010ffff", *[None] * 5]
    for kind in ("Utf8", "LargeUtf8", "Utf8View", "Dictionary(Int32, Utf8)"):
        assert values(f"arrow_try_cast(s, '{kind}')", data) == texts
        assert values(f"arrow_cast(s, '{kind}')", data.slice(0, 3)) == texts[:3]
    of_two = [None, None, None, b"a\xc3", None, b"\xc0\x80", None]
    assert values("arrow_try_cast(s, 'FixedSizeBinary(2)')", data) == of_two
    for text, row in (("CAST(s AS string)", 3), ("arrow_cast(s, 'FixedSizeBinary(2)')", 4)):
        with pytest.raises(InvalidInputError, match=r"CAST: b'.*' is not in range as"):
            values(text, data.slice(row, 1))


@pytest.mark.parametrize("zone", [None, "UTC", "+02:00"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_an_array_have_the_texts_of_single_ones(unit: str, zone: str | None) -> None:
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    parts = [0, 1, second // 10, second // 1000, second // 1000 + second // 10, second - 1]
    years = [0, 951_827_696, -1, -6_000_000_000, 4_102_444_799]
    counts = [None, *(year * second + part for year in years for part in parts), None]
    type_ = pa.timestamp(unit, zone)
    cases = [pa.array(counts, type_), pa.array(counts, type_)[1:-1], pa.array(counts[:1], type_)]
    if unit == "s":
        cases.append(pa.array([*counts, 253_402_300_800, -62_198_755_200], type_))
    for array in cases:
        kernel = text_kernel(type_)
        assert kernel is not None
        texts = kernel(array)
        texts.validate(full=True)
        assert texts.to_pylist() == [kernel(one).as_py() for one in array]
