"""Types and values between Lance and Spark, without a session."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as st

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core_spark.types.arrow_types import arrow_type
from lance_core_spark.types.convert import convert, split_batch
from lance_core_spark.types.spark_types import ARROW_FIELD_KEY, is_compatible, spark_field
from lance_core_spark.types.stored_fields import stored_field
from tests.spark.types.test_round_trips import TABLE

EPOCH = datetime.datetime(1970, 1, 1)


@pytest.mark.parametrize("name", TABLE.column_names)
def test_a_column_keeps_its_type_and_values(name: str) -> None:
    field, array = TABLE.schema.field(name), TABLE[name].chunk(0)
    column = spark_field(field)
    assert stored_field(column).equals(field, check_metadata=True)
    for part in (array, array.slice(1), array.slice(0, 2), array.slice(1, 0)):
        there = convert(part, arrow_type(column.dataType, (name,)), (name,))
        there.validate(full=True)
        back = convert(there, field.type, (name,))
        back.validate(full=True)
        assert back.type == field.type
        assert back.to_pylist() == part.to_pylist()


def test_slices_of_nested_values_are_converted_by_themselves() -> None:
    lists = pa.array([[1, 2], None, [3], [], [4, 5]], pa.large_list(pa.uint8()))
    structs = pa.StructArray.from_arrays(
        [lists], names=["l"], mask=pa.array([False, False, True, False, False])
    )
    target = pa.struct([("l", pa.list_(pa.int16()))])
    for start in range(5):
        part = structs.slice(start, 2)
        converted = convert(part, target, ("s",))
        converted.validate(full=True)
        assert converted.to_pylist() == part.to_pylist()


def test_maps_are_converted() -> None:
    array = pa.array([[("a", 1)], None, [], [("b", None)]], pa.map_(pa.large_string(), pa.uint8()))
    target = arrow_type(spark_field(pa.field("m", array.type)).dataType, ("m",))
    assert target == pa.map_(pa.string(), pa.int16())
    for part in (array, array.slice(1), array.slice(0, 0)):
        converted = convert(part, target, ("m",))
        converted.validate(full=True)
        assert converted.to_pylist() == part.to_pylist()


@pytest.mark.parametrize("item", [pa.float32(), pa.struct([("x", pa.string())])], ids=str)
def test_vectors_are_made_of_lists(item: pa.DataType) -> None:
    value = {"x": "a"} if pa.types.is_struct(item) else 1.5
    rows = [None, 2 * [value], None, 2 * [None], None]
    lists = pa.array(rows, pa.list_(item))
    for start, stop in ((0, 5), (1, 2), (0, 1), (2, 3), (4, 5), (0, 0), (1, 5)):
        made = convert(lists.slice(start, stop - start), pa.list_(item, 2), ("v",))
        made.validate(full=True)
        assert made.to_pylist() == rows[start:stop]
        assert made.type == pa.list_(item, 2)


def test_nanoseconds_are_cut_towards_the_past() -> None:
    array = pa.array([-1, 0, 1, 999, 1000, -1000, -1001, None], pa.timestamp("ns"))
    cut = convert(array, pa.timestamp("us"), ("t",)).cast(pa.int64())
    assert cut.to_pylist() == [-1, 0, 0, 0, 1, -1, -2, None]


@pytest.mark.parametrize(
    ("array", "target", "reason"),
    [
        (pa.array([EPOCH.replace(microsecond=1)]), pa.timestamp("ms"), "would lose data"),
        (pa.array([300], pa.int16()), pa.uint8(), "not in range"),
        (pa.array([Decimal(-1)], pa.decimal128(20, 0)), pa.uint64(), "out of bounds"),
        (pa.array([b"ab"]), pa.binary(3), "widths must match"),
        (pa.array([1e9], pa.float32()), pa.float16(), "overflows float16"),
        (pa.array([2**62], pa.timestamp("s")), pa.timestamp("us"), "out of bounds"),
        (pa.array([[1.0]], pa.list_(pa.float32())), pa.list_(pa.float32(), 2), "another length"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_an_error_that_names_the_column(
    array: pa.Array, target: pa.DataType, reason: str
) -> None:
    nested = pa.StructArray.from_arrays([array], names=["inner"])
    with pytest.raises(InvalidInputError, match=rf"column outer\.inner.*{reason}"):
        convert(nested, pa.struct([("inner", target)]), ("outer",))


def test_batches_are_cut_to_the_size_that_is_allowed() -> None:
    batch = pa.record_batch({"x": pa.array(range(1000)), "s": ["y" * 50] * 1000})
    pieces = list(split_batch(batch, 4000))
    assert max(piece.nbytes for piece in pieces) <= 4000
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([batch]))
    assert [p.num_rows for p in split_batch(batch.slice(0, 2), 1)] == [1, 1]


def test_a_remembered_type_that_no_longer_fits_is_forgotten() -> None:
    vector = spark_field(pa.field("v", pa.list_(pa.float32(), 3)))
    assert ARROW_FIELD_KEY in vector.metadata
    changed = st.StructField("v", st.ArrayType(st.DoubleType()), True, vector.metadata)
    assert stored_field(changed).type == pa.list_(pa.float64())
    garbled = st.StructField("v", st.LongType(), True, {ARROW_FIELD_KEY: "{"})
    assert stored_field(garbled).type == pa.int64()


def test_what_is_asked_for_may_be_less_but_not_other() -> None:
    found = st.StructType().add("a", "integer", False).add("b", "string")
    assert is_compatible(st.StructType().add("a", "integer"), found)
    assert not is_compatible(st.StructType().add("a", "long"), found)
    assert not is_compatible(st.StructType().add("b", "string", False), found)
    assert not is_compatible(st.StructType().add("c", "integer"), found)


@pytest.mark.parametrize(
    "arrow", [pa.decimal256(39, 0), pa.decimal128(5, -2), pa.month_day_nano_interval()], ids=str
)
def test_types_unknown_to_spark_are_refused_by_path(arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"column s\.x: Spark has no type"):
        spark_field(pa.field("s", pa.struct([("x", arrow)])))
