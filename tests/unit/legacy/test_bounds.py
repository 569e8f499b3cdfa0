"""Bounds of statistics hold for every value, and are those that other writers write."""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lance_core.encodings.arrow.strings import above_text
from lance_core_legacy.bounds import MAX_BYTES, above_bytes, cut, text_bound
from lance_core_legacy.statistics_collector import Collector
from tests.each_case import each_case


@given(st.lists(st.text(max_size=80), min_size=1, max_size=6))
def test_bounds_of_text_hold(values: list[str]) -> None:
    collector = Collector(pa.string())
    collector.add(pa.array(values))
    _, (low,), (high,) = (part.to_pylist() for part in collector.columns())
    assert low <= min(values)
    assert high is None or high >= max(values)
    assert text_bound(high) is None or text_bound(high) >= max(values)


@given(st.lists(st.binary(max_size=80), min_size=1, max_size=6))
def test_bounds_of_bytes_hold(values: list[bytes]) -> None:
    collector = Collector(pa.large_binary())
    collector.add(pa.array(values, pa.large_binary()))
    _, (low,), (high,) = (part.to_pylist() for part in collector.columns())
    assert low <= min(values)
    assert high is None or high >= max(values)


@given(st.lists(st.text(min_size=40, max_size=80), min_size=1, max_size=6))
def test_a_bound_of_strings_that_were_cut_before_they_were_compared_is_mended(
    values: list[str],
) -> None:
    """What pylance writes, and where it does not hold."""
    raw = [value.encode() for value in values]
    stored: bytes | None = max(cut(value, is_text=True) for value in raw)
    if any(len(value) > MAX_BYTES for value in raw):
        stored = above_text(stored or b"")
    mended = None if stored is None else text_bound(stored.decode())
    assert mended is None or mended.encode() >= max(raw)


@each_case(
    ("value", "expected"),
    [(b"ab", b"ac"), (b"a\xff", b"b\x00"), (b"\xff\xff", None), (b"", None)],
)
def test_bytes_are_counted_up(value: bytes, expected: bytes | None) -> None:
    assert above_bytes(value) == expected


@each_case(
    ("value", "expected"),
    [("ab", "ac"), ("a\x7f", "b\x7f"), ("aé", "aê"), ("\x7f", None), ("", None)],
)
def test_text_is_counted_up_and_stays_text(value: str, expected: str | None) -> None:
    found = above_text(value.encode())
    assert (None if found is None else found.decode()) == expected


NAN = float("nan")
CASES: dict[str, tuple[pa.Array, Any, Any]] = {
    "integers": (pa.array([3, None, -7]), -7, 3),
    "nulls": (pa.array([None], pa.int8()), -128, 127),
    "large": (pa.array([2**64 - 1, 5], pa.uint64()), 5, 2**64 - 1),
    "dates": (pa.array([None, None], pa.date32()).cast(pa.int32()), -(2**31), 2**31 - 1),
    "NaN": (pa.array([NAN, 2.5, None]), 2.5, 2.5),
    "only NaN": (pa.array([NAN, None]), float("-inf"), float("inf")),
    "true": (pa.array([True, None]), True, True),
    "both": (pa.array([True, False]), False, True),
    "no bool": (pa.array([None], pa.bool_()), False, True),
    "decimals": (
        pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("-2.5")]),
        decimal.Decimal("-2.5"),
        decimal.Decimal("1.5"),
    ),
    "strings": (pa.array(["b", None, "a"]), "a", "b"),
    "null strings": (pa.array([None], pa.string()), None, None),
}


@each_case(("array", "low", "high"), CASES.values(), ids=CASES)
def test_bounds_follow_the_rules_of_their_type(array: pa.Array, low: Any, high: Any) -> None:
    collector = Collector(array.type)
    collector.add(array)
    collector.add(array.slice(1))
    counts, lowest, highest = collector.columns()
    assert counts.to_pylist() == [array.null_count, array.slice(1).null_count]
    assert (lowest[0].as_py(), highest[0].as_py()) == (low, high)
    assert lowest.type == highest.type == array.type


def test_a_bound_of_zero_bounds_both_zeros() -> None:
    collector = Collector(pa.float64())
    collector.add(pa.array([0.0, -0.0]))
    _, lowest, highest = collector.columns()
    assert (str(lowest[0]), str(highest[0])) == ("-0.0", "0.0")
