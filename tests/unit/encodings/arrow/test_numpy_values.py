"""Arrays from values of Python and of numpy equal those of Arrow."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.arrow.numpy_values import from_numpy, from_values, to_numpy, to_scalar

VALUES: list[tuple[list[Any], pa.DataType]] = [
    ([], pa.int32()),
    ([], pa.list_(pa.string())),
    ([1, -2, 3], pa.int8()),
    ([1, 2**64 - 1], pa.uint64()),
    ([True, False, True], pa.bool_()),
    ([1.5, float("inf")], pa.float64()),
    ([1.5], pa.float32()),
    (["a", "", "später"], pa.string()),
    (["a", "bc"], pa.large_string()),
    ([b"\xff", b""], pa.binary()),
    ([b"\xff", b"\0"], pa.large_binary()),
    ([[1], [], [2, 3]], pa.list_(pa.int64())),
    ([["a"], ["b", "c"]], pa.large_list(pa.string())),
    ([[1, None]], pa.list_(pa.int64())),
    ([5, 7], pa.timestamp("us", "UTC")),
    ([5], pa.date32()),
    ([5], pa.duration("ns")),
    ([1, None], pa.int64()),
    ([1, 2.5], pa.float64()),
    ([Decimal("1.50")], pa.decimal128(10, 2)),
    ([pa.scalar(1, pa.int16()), pa.scalar(None, pa.int16())], pa.int16()),
]


@pytest.mark.parametrize(("values", "type_"), VALUES, ids=str)
def test_values_are_those_of_arrow(values: list[Any], type_: pa.DataType) -> None:
    made = from_values(values, type_)
    made.validate(full=True)
    assert made.type == type_
    assert made.equals(pa.array(values, type_))
    for value in values:
        if not isinstance(value, pa.Scalar):
            assert to_scalar(value, type_).equals(pa.scalar(value, type_))


@pytest.mark.parametrize(
    ("values", "type_"),
    [([300], pa.int8()), ([-1], pa.uint64()), (["\ud800"], pa.string()), (["a"], pa.int64())],
    ids=str,
)
def test_errors_are_those_of_arrow(values: list[Any], type_: pa.DataType) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  # whichever class Arrow chooses
        pa.array(values, type_)
    with pytest.raises(expected.type):
        from_values(values, type_)


@pytest.mark.parametrize("values", [[1, 2, 3], [True, False, True], [1.0, 2.0, 3.0]], ids=str)
def test_missing_values_are_null(values: list[Any]) -> None:
    mask = np.array([False, True, False])
    made = from_numpy(np.array(values), mask)
    made.validate(full=True)
    assert made.equals(pa.array(np.array(values), mask=mask))


def test_booleans_become_those_of_numpy() -> None:
    column = pa.array([True, False] * 9)
    for part in (column, column.slice(3), column.slice(5, 4), column.slice(0, 0)):
        assert to_numpy(part).tolist() == part.to_pylist()
        assert to_numpy(part).dtype == bool
