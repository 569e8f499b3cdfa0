"""Which columns of a data frame a table takes, and the values that are stored."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as st

from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core_spark.types.assignment import check_assignable
from lance_core_spark.types.convert import convert

BYTE, SHORT, INT, LONG = st.ByteType(), st.ShortType(), st.IntegerType(), st.LongType()
FLOAT, DOUBLE = st.FloatType(), st.DoubleType()


def decimal(precision: int, scale: int = 0) -> st.DecimalType:
    return st.DecimalType(precision, scale)


def fits(source: st.DataType, target: st.DataType, checked: bool = False) -> bool:
    try:
        check_assignable(source, target, ("c",), checked)
    except SchemaMismatchError:
        return False
    return True


@pytest.mark.parametrize(
    ("target", "sources"),
    [
        (BYTE, [decimal(2)]),
        (INT, [BYTE, SHORT, decimal(2), decimal(9)]),
        (LONG, [BYTE, SHORT, INT, decimal(2), decimal(9), decimal(18)]),
        (FLOAT, [BYTE, SHORT]),
        (DOUBLE, [BYTE, SHORT, INT, FLOAT]),
        (decimal(20), [BYTE, SHORT, INT, LONG, decimal(9), decimal(18), decimal(2)]),
        (decimal(5, 2), [BYTE, decimal(2)]),
        (st.StringType(), [st.StringType("UTF8_LCASE")]),
        (st.TimestampNTZType(), [st.DateType()]),
        (st.TimeType(), [st.TimeType(3)]),
        (st.DayTimeIntervalType(), [st.DayTimeIntervalType(0, 0)]),
    ],
    ids=str,
)
def test_casts_that_keep_all_values(target: st.DataType, sources: list[st.DataType]) -> None:
    others = [BYTE, SHORT, INT, LONG, FLOAT, DOUBLE, decimal(2), decimal(9), decimal(18)]
    others += [decimal(38, 10), st.StringType(), st.DateType(), st.TimestampType()]
    others += [st.BooleanType(), st.BinaryType(), st.ArrayType(LONG)]
    assert all(fits(source, target) for source in [*sources, target, st.NullType()])
    refused = [one for one in others if not fits(one, target)]
    assert [one for one in others if one not in refused and one not in (*sources, target)] == []
    numbers = isinstance(target, st.NumericType)
    for source in refused:
        assert fits(source, target, True) == (numbers and isinstance(source, st.NumericType))


def test_nested_columns_are_compared_by_name() -> None:
    target = st.StructType().add("a", LONG, False).add("b", st.ArrayType(DOUBLE))
    assert fits(st.StructType().add("b", st.ArrayType(INT)).add("a", INT), target)
    assert fits(st.StructType().add("a", LONG), target)
    maps = st.MapType(st.StringType(), LONG), st.MapType(st.StringType(), INT)
    assert fits(maps[1], maps[0])
    assert not fits(maps[0], maps[1])
    for source, reason in [
        (st.StructType().add("b", st.ArrayType(FLOAT)), r"column 'c\.a' is missing"),
        (st.StructType().add("a", LONG).add("bb", LONG), r"no member 'bb': did you mean 'b'"),
        (
            st.StructType().add("a", LONG).add("b", st.ArrayType(LONG)),
            r"column 'c\.b\.element' is bigint, the table has it as double.*'casts' to 'checked'",
        ),
        (st.ArrayType(LONG), "column 'c' is array<bigint>"),
    ]:
        with pytest.raises(SchemaMismatchError, match=reason):
            check_assignable(source, target, ("c",))


@pytest.mark.parametrize(
    ("values", "target", "stored"),
    [
        (pa.array([1, None], pa.int32()), pa.int64(), [1, None]),
        (pa.array([1, 2]), pa.decimal128(5, 2), [Decimal(1), Decimal(2)]),
        (pa.array([127]), pa.int8(), [127]),
        (pa.array([3.0]), pa.uint16(), [3]),
        (pa.array([Decimal("2.00")], pa.decimal128(5, 2)), pa.int32(), [2]),
        (pa.array([0.1]), pa.float32(), [pytest.approx(0.1)]),
        (pa.array([float("inf"), float("nan")]), pa.float16(), None),
        (pa.array([128]), pa.int8(), "not in range"),
        (pa.array([-1]), pa.uint64(), "not in range|out of bounds"),
        (pa.array([1.5]), pa.int32(), "truncated"),
        (pa.array([1000]), pa.decimal128(5, 2), "column c"),
        (pa.array([1e300]), pa.float32(), "overflows float32"),
        (pa.array([2**53 + 1]), pa.float64(), "not in range"),
    ],
    ids=str,
)
def test_a_value_is_stored_or_refused(
    values: pa.Array, target: pa.DataType, stored: object
) -> None:
    if isinstance(stored, str):
        with pytest.raises(InvalidInputError, match=stored):
            convert(values, target, ("c",))
    else:
        found = convert(values, target, ("c",))
        assert found.type == target
        assert stored is None or found.to_pylist() == stored


def test_members_that_are_missing_are_null() -> None:
    values = pa.array([{"a": 1}, None])
    target = pa.struct([("b", pa.list_(pa.float32(), 2)), ("a", pa.int64()), ("s", pa.string())])
    found = convert(values, target, ("c",))
    found.validate(full=True)
    assert found.to_pylist() == [{"b": None, "a": 1, "s": None}, None]
