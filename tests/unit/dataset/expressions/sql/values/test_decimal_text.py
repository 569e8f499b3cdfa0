"""Decimals as text have all digits of their scale, never an exponent."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from lance_core.dataset.expressions.filters import as_value

COUNTS = [0, 7, -7, None, 10**10, -(10**10) - 3, 10**30, 5]


def test_a_decimal_as_text_has_all_digits_of_its_scale() -> None:
    makes = (
        pa.decimal128(38, 10),
        pa.decimal128(38, 0),
        pa.decimal256(76, 38),
        pa.decimal128(9, 9),
    )
    for kind in makes:
        counts = [n for n in COUNTS if n is None or abs(n) < 10**kind.precision]
        exact = [None if n is None else Decimal(n).scaleb(-kind.scale) for n in counts]
        data = pa.table({"d": pa.array(exact, kind)})
        expected = [None if value is None else f"{value:.{kind.scale}f}" for value in exact]
        for start in (0, 1, 3):
            part = data.slice(start)
            for sql in ("CAST(d AS string)", "d || ''", "lpad(d, 60, '')"):
                found = as_value(sql, data.schema).evaluate(part)
                assert found.to_pylist() == expected[start:], (kind, sql)


def test_a_small_decimal_beside_others_changes_none_of_them() -> None:
    data = pa.table(
        {"d": pa.array([Decimal("7E-10"), Decimal("12.5"), None], pa.decimal128(20, 10))}
    )
    found = as_value("concat(d, '|')", data.schema).evaluate(data)
    assert found.to_pylist() == ["0.0000000007|", "12.5000000000|", "|"]
