"""Which Spark type a stored column is read as, and which type a Spark column is stored as.

Spark knows fewer types than Arrow. Where a stored type is not the one that its Spark type would be
written as, the column's metadata remembers it (`REMEMBERED`), so that a column which is read and
written again stays what it was.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import types as st

from lance_core.errors import InvalidInputError, LanceError, UnsupportedFeatureError
from lance_core.schema import BLOB_KEY, format_path, json_to_schema, schema_to_json

REMEMBERED = "lance.field"
"""Key of the metadata of a Spark column: its Arrow field, as JSON of pylance's form.

Where that has no word for a type, as an Arrow schema in base64, after `_ARROW`.
"""

_ARROW = "arrow:"

LIST_SIZE = "arrow.fixed-size-list.size"
FLOAT16 = "arrow.float16"
LARGE_TEXT = "arrow.large_var_char"
"""Keys by which the connector for the JVM asks for a type; understood here too."""

_KEPT = ("lance-encoding:", "lance-schema:")
"""Keys of a Spark column's metadata that begin so become metadata of the stored field."""

_SAME: tuple[tuple[pa.DataType, st.DataType], ...] = (
    (pa.null(), st.NullType()),
    (pa.bool_(), st.BooleanType()),
    (pa.int8(), st.ByteType()),
    (pa.int16(), st.ShortType()),
    (pa.int32(), st.IntegerType()),
    (pa.int64(), st.LongType()),
    (pa.float32(), st.FloatType()),
    (pa.float64(), st.DoubleType()),
    (pa.string(), st.StringType()),
    (pa.binary(), st.BinaryType()),
    (pa.date32(), st.DateType()),
    (pa.timestamp("us", "UTC"), st.TimestampType()),
    (pa.timestamp("us"), st.TimestampNTZType()),
    (pa.time64("ns"), st.TimeType()),
    (pa.duration("us"), st.DayTimeIntervalType()),
)
"""Arrow types and the Spark types that are exactly these."""

_READ_AS: dict[pa.DataType, st.DataType] = {
    **dict(_SAME),
    pa.uint8(): st.ShortType(),
    pa.uint16(): st.IntegerType(),
    pa.uint32(): st.LongType(),
    pa.uint64(): st.DecimalType(20, 0),
    pa.float16(): st.FloatType(),
    pa.large_string(): st.StringType(),
    pa.string_view(): st.StringType(),
    pa.large_binary(): st.BinaryType(),
    pa.binary_view(): st.BinaryType(),
    pa.date64(): st.DateType(),
}
_WRITTEN_AS = {spark: arrow for arrow, spark in _SAME}
_DECIMAL_DIGITS = 38

_ANY_LIST: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
)


def is_any_list(arrow: pa.DataType) -> bool:
    """Whether values are lists, of whatever layout."""
    return any(check(arrow) for check in _ANY_LIST)


def members(arrow: pa.DataType) -> list[pa.Field]:
    """The fields of a struct type."""
    return [arrow.field(i) for i in range(arrow.num_fields)]


def spark_field(field: pa.Field, parents: tuple[str, ...] = ()) -> st.StructField:
    """The Spark column of a stored field. Raises `UnsupportedFeatureError` naming the column."""
    path = (*parents, field.name)
    spark = spark_type(field.type, path)
    return st.StructField(field.name, spark, field.nullable, _remembering(field, spark))


def spark_type(arrow: pa.DataType, path: tuple[str, ...]) -> st.DataType:
    """The Spark type that values of an Arrow type are read as."""
    if isinstance(arrow, pa.BaseExtensionType):
        return spark_type(arrow.storage_type, path)
    if pa.types.is_dictionary(arrow):
        return spark_type(arrow.value_type, path)
    if pa.types.is_struct(arrow):
        return st.StructType([spark_field(member, path) for member in members(arrow)])
    if is_any_list(arrow):
        item = arrow.value_field
        return st.ArrayType(spark_type(item.type, (*path, "element")), item.nullable)
    if pa.types.is_map(arrow):
        key = spark_type(arrow.key_type, (*path, "key"))
        value = spark_type(arrow.item_type, (*path, "value"))
        return st.MapType(key, value, arrow.item_field.nullable)
    return _spark_leaf(arrow, path)


def _spark_leaf(arrow: pa.DataType, path: tuple[str, ...]) -> st.DataType:
    same = _READ_AS.get(arrow)
    if same is not None:
        return same
    if pa.types.is_fixed_size_binary(arrow):
        return st.BinaryType()
    if pa.types.is_timestamp(arrow):
        return st.TimestampNTZType() if arrow.tz is None else st.TimestampType()
    if pa.types.is_time(arrow):
        return st.TimeType()
    if pa.types.is_duration(arrow):
        return st.DayTimeIntervalType()
    if pa.types.is_decimal(arrow) and 0 <= arrow.scale <= arrow.precision <= _DECIMAL_DIGITS:
        return st.DecimalType(arrow.precision, arrow.scale)
    raise UnsupportedFeatureError(
        f"column {format_path(path)}: Spark has no type for {str(arrow)[:200]}; leave the column "
        "out with the option 'columns' or with .schema(...)"
    )


def arrow_type(spark: st.DataType, path: tuple[str, ...]) -> pa.DataType:
    """The Arrow type of a Spark type: that of the batches Spark takes, and of new columns."""
    if isinstance(spark, st.StructType):
        return pa.struct(
            pa.field(f.name, arrow_type(f.dataType, (*path, f.name)), f.nullable) for f in spark
        )
    if isinstance(spark, st.ArrayType):
        item = arrow_type(spark.elementType, (*path, "element"))
        return pa.list_(pa.field("item", item, spark.containsNull))
    if isinstance(spark, st.MapType):
        key = arrow_type(spark.keyType, (*path, "key"))
        value = arrow_type(spark.valueType, (*path, "value"))
        return pa.map_(key, pa.field("value", value, spark.valueContainsNull))
    if isinstance(spark, st.DecimalType):
        return pa.decimal128(spark.precision, spark.scale)
    if isinstance(spark, st.DayTimeIntervalType):
        return pa.duration("us")
    if isinstance(spark, st.TimeType):
        return pa.time64("ns")
    found = _WRITTEN_AS.get(spark)
    if found is None:
        raise UnsupportedFeatureError(
            f"column {format_path(path)}: Lance tables have no type for {spark.simpleString()}"
        )
    return found


def stored_field(field: st.StructField) -> pa.Field:
    """The field that a new table gets for a Spark column.

    What the column's metadata remembers or asks for counts if it still fits the column's type.
    """
    path = (field.name,)
    plain = pa.field(field.name, arrow_type(field.dataType, path), field.nullable)
    remembered = _remembered(field)
    if remembered is not None:
        fitting = _with_nullability(remembered.type, plain.type)
        metadata = {**(remembered.metadata or {}), **_kept(field)}
        return plain.with_type(fitting).with_metadata(metadata or None)
    asked = _asked_for(plain.type, field.metadata or {}, path)
    if isinstance(field.dataType, st.StructType):
        inner = [stored_field(member) for member in field.dataType]
        return plain.with_type(pa.struct(inner)).with_metadata(_kept(field) or None)
    kept = _kept(field)
    if BLOB_KEY in kept and asked == pa.binary():
        asked = pa.large_binary()
    return plain.with_type(asked).with_metadata(kept or None)


def _kept(field: st.StructField) -> dict[str, str]:
    """What the column's metadata says to the writer of files."""
    given = {key: value for key, value in (field.metadata or {}).items() if key.startswith(_KEPT)}
    return {
        # Spark's metadata knows booleans.
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in given.items()
    }


def fits(asked: st.DataType, found: st.DataType, widening: bool = True) -> bool:
    """Whether values of the type ``found`` can be handed out as ``asked``.

    Types must be the same; a struct may leave members out, which are matched by name. With
    ``widening``, what is asked for must be nullable where ``found`` is.
    """
    if isinstance(asked, st.StructType) and isinstance(found, st.StructType):
        there = {member.name: member for member in found}
        return all(
            member.name in there
            and (member.nullable or not widening or not there[member.name].nullable)
            and fits(member.dataType, there[member.name].dataType, widening)
            for member in asked
        )
    if isinstance(asked, st.ArrayType) and isinstance(found, st.ArrayType):
        wide = asked.containsNull or not widening or not found.containsNull
        return wide and fits(asked.elementType, found.elementType, widening)
    if isinstance(asked, st.MapType) and isinstance(found, st.MapType):
        wide = asked.valueContainsNull or not widening or not found.valueContainsNull
        keys = fits(asked.keyType, found.keyType, widening)
        return wide and keys and fits(asked.valueType, found.valueType, widening)
    return asked == found


def _remembering(field: pa.Field, spark: st.DataType) -> dict[str, str]:
    """Metadata for a Spark column, so that `stored_field` makes ``field`` of it again."""
    plain = pa.field(field.name, arrow_type(spark, (field.name,)), field.nullable)
    if plain.equals(field, check_metadata=True):
        return {}
    schema = pa.schema([field])
    try:
        return {REMEMBERED: json.dumps(schema_to_json(schema))}
    except UnsupportedFeatureError:
        # A map, perhaps below other types, has no JSON form.
        return {REMEMBERED: _ARROW + base64.b64encode(schema.serialize()).decode()}


def _remembered(field: st.StructField) -> pa.Field | None:
    text = (field.metadata or {}).get(REMEMBERED)
    if text is None:
        return None
    try:
        found = _parsed(text).field(0)
        spark = spark_type(found.type, (field.name,))
    except (LanceError, ValueError, TypeError, IndexError, OSError):
        return None  # not written by us
    same = fits(spark, field.dataType, widening=False)
    return found if same and fits(field.dataType, spark, widening=False) else None


def _parsed(text: str) -> pa.Schema:
    if text.startswith(_ARROW):
        return pa.ipc.read_schema(pa.BufferReader(base64.b64decode(text.removeprefix(_ARROW))))
    return json_to_schema(json.loads(text))


def _with_nullability(arrow: pa.DataType, model: pa.DataType) -> pa.DataType:
    """``arrow`` with nulls allowed in it where they are in ``model``, the plain form of it."""
    if pa.types.is_struct(arrow):
        return pa.struct(
            _as_in(member, other)
            for member, other in zip(members(arrow), members(model), strict=True)
        )
    if is_any_list(arrow):
        item = _as_in(arrow.value_field, model.value_field)
        if pa.types.is_fixed_size_list(arrow):
            return pa.list_(item, arrow.list_size)
        return pa.large_list(item) if pa.types.is_large_list(arrow) else pa.list_(item)
    if pa.types.is_map(arrow):
        item = _as_in(arrow.item_field, model.item_field)
        return pa.map_(arrow.key_field, item, arrow.keys_sorted)
    return arrow


def _as_in(field: pa.Field, model: pa.Field) -> pa.Field:
    inner = _with_nullability(field.type, model.type)
    return field.with_type(inner).with_nullable(model.nullable)


def _asked_for(
    arrow: pa.DataType, metadata: dict[str, object], path: tuple[str, ...]
) -> pa.DataType:
    """The type that the JVM connector's keys ask for."""
    size = metadata.get(LIST_SIZE)
    float16 = str(metadata.get(FLOAT16, "")).lower() == "true"
    if pa.types.is_list(arrow):
        item = arrow.value_field
        if float16 and item.type == pa.float32():
            item = item.with_type(pa.float16())
        if size is None:
            return pa.list_(item)
        if not str(size).isdigit() or int(str(size)) < 1:
            raise InvalidInputError(f"column {format_path(path)}: {LIST_SIZE} is {size!r}")
        return pa.list_(item, int(str(size)))
    if float16 and arrow == pa.float32():
        return pa.float16()
    if str(metadata.get(LARGE_TEXT, "")).lower() == "true" and arrow == pa.string():
        return pa.large_string()
    return arrow
