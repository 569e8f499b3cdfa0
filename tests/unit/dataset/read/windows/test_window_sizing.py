"""How streams are cut into windows."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa

from lance_core.dataset.read.columns.widths import fixed_bytes
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.windows.window_sizing import WindowBytes, WindowSizer
from lance_core.schema import Schema
from tests.each_case import each_case

FRAGMENT = cast(Any, None)


def sizes(sizer: WindowSizer, rows: int, width: int) -> list[int]:
    """Rows of the windows of a span, each row of which takes ``width`` bytes."""
    found = []
    for window in sizer.windows([Span(FRAGMENT, 0, rows)]):
        found.append(window.stop - window.start)
        sizer.observe(found[-1], found[-1] * width)
    assert sum(found) == rows
    return found


def test_windows_grow_to_the_bytes_that_they_may_take() -> None:
    sizer = WindowSizer(10, 10_000, unit=10, bytes_=WindowBytes(4000, 4000))
    assert sizes(sizer, 2000, 10) == [10, 80, *[400] * 4, 310]


def test_windows_shrink_to_single_rows() -> None:
    sizer = WindowSizer(64, 10_000, unit=8, bytes_=WindowBytes(1000, 1000))
    assert sizes(sizer, 84, 5000) == [64, *[1] * 20]


def test_a_window_gets_the_rest_of_a_span_if_it_is_small() -> None:
    for rest in (0, 7, 8):
        found = sizes(WindowSizer(32, 32), 64 + rest, 1)
        assert found == ([32, 32 + rest] if rest < 8 else [32, 32, 8])


def test_windows_have_no_more_rows_than_they_may() -> None:
    sizer = WindowSizer(8, 100, unit=8, bytes_=WindowBytes(1 << 30, 1 << 30))
    assert sizes(sizer, 300, 1) == [8, 64, *[96] * 2, 36]


@each_case(("width", "expected"), [(10, 16), (100, 8), (300, 8), (1000, 4)])
def test_windows_have_the_rows_of_a_batch_up_to_the_ceiling(width: int, expected: int) -> None:
    sizer = WindowSizer(2, 10_000, unit=8, bytes_=WindowBytes(160, 4000))
    assert sizes(sizer, 200, width)[3] == expected


def test_windows_without_a_target_are_all_the_same() -> None:
    assert sizes(WindowSizer(30, 30), 100, 1 << 20) == [30, 30, 30, 10]


@each_case(
    ("type_", "expected"),
    [
        (pa.int64(), 8),
        (pa.list_(pa.float32(), 3), 12),
        (pa.struct([("a", pa.int8()), ("b", pa.decimal128(9, 2))]), 17),
        (pa.string(), None),
        (pa.list_(pa.int8()), None),
        (pa.struct([("a", pa.binary())]), None),
    ],
    ids=str,
)
def test_rows_of_fixed_width_are_known_by_their_types(
    type_: pa.DataType, expected: int | None
) -> None:
    found = fixed_bytes(Schema.from_arrow(pa.schema([("x", type_)])).fields)
    assert found == (None if expected is None else expected + 1)
