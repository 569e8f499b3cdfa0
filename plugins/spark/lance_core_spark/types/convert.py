"""Conversion of Arrow arrays between a column's stored type and its type in Spark.

The types differ in layout only, see `lance_core_spark.types.spark_types`. A value that the target
type cannot hold is an error that names the column. There are two exceptions: times are truncated to
microseconds for Spark, and float32 is rounded for a column stored as float16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError, LanceError
from lance_core.schema import format_path
from lance_core_spark.types.arrow_types import is_any_list, struct_fields

MAX_BATCH_BYTES = 64 << 20
"""Maximum bytes of a batch for Spark; limits the memory of the JVM, which copies each batch."""


def convert_batch(columns: Sequence[pa.Array], schema: pa.Schema, num_rows: int) -> pa.RecordBatch:
    """A batch of ``schema`` with the values of ``columns``.

    Raises `InvalidInputError` for a value that the type in ``schema`` cannot hold.
    """
    if not schema.names:
        empty = pa.StructArray.from_buffers(pa.struct([]), num_rows, [None])
        return pa.RecordBatch.from_struct_array(empty)
    arrays = [
        convert(column, field.type, (field.name,))
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def split_batch(
    batch: pa.RecordBatch, max_bytes: int = MAX_BATCH_BYTES
) -> Iterator[pa.RecordBatch]:
    """The rows of ``batch`` in batches of at most ``max_bytes`` or of one row."""
    if batch.num_rows <= 1 or batch.nbytes <= max_bytes:
        yield batch
        return
    half = batch.num_rows // 2
    yield from split_batch(batch.slice(0, half), max_bytes)
    yield from split_batch(batch.slice(half), max_bytes)


def convert(array: pa.Array, target: pa.DataType, path: tuple[str, ...]) -> pa.Array:
    """``array`` converted to ``target``; ``path`` names the column in errors."""
    try:
        return _convert(array, target, path)
    except LanceError:
        raise
    except (pa.ArrowException, OverflowError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise InvalidInputError(f"column {format_path(path)}: {reason}") from error


def _convert(array: pa.Array, target: pa.DataType, path: tuple[str, ...]) -> pa.Array:
    if array.type.equals(target):
        return array
    if isinstance(array, pa.ExtensionArray):
        return convert(array.storage, target, path)
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, convert(array, target.storage_type, path))
    if pa.types.is_dictionary(array.type):
        return convert(array.dictionary_decode(), target, path)
    if pa.types.is_dictionary(target):
        return _dictionary(convert(array, target.value_type, path), target)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    if pa.types.is_struct(target):
        whole = _struct if pa.types.is_struct(array.type) else _blob_structs
        return whole(array, target, path)
    if is_any_list(target):
        return _list(array, target, path)
    if pa.types.is_map(target):
        return _map(array, target, path)
    return _leaf(array, target, path)


def _dictionary(values: pa.Array, target: pa.DataType) -> pa.Array:
    encoded = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        encoded.indices.cast(target.index_type), encoded.dictionary, ordered=target.ordered
    )


def _struct(array: pa.Array, target: pa.DataType, path: tuple[str, ...]) -> pa.Array:
    children = []
    for field in struct_fields(target):
        index = array.type.get_field_index(field.name)
        missing = index < 0
        child = pa.nulls(len(array), field.type) if missing else array.field(index)
        children.append(convert(child, field.type, (*path, field.name)))
    if not children:
        return pa.array([{}] * len(array), target, mask=_mask(array, as_numpy=True))
    return pa.StructArray.from_arrays(children, fields=struct_fields(target), mask=_mask(array))


def _blob_structs(array: pa.Array, target: pa.DataType, path: tuple[str, ...]) -> pa.Array:
    """Bytes as version 2 blobs: structs of the bytes and nulls."""
    children = [
        convert(array, field.type, path)
        if field.name == "data"
        else pa.nulls(len(array), field.type)
        for field in struct_fields(target)
    ]
    return pa.StructArray.from_arrays(children, fields=struct_fields(target), mask=_mask(array))


def _list(array: pa.Array, target: pa.DataType, path: tuple[str, ...]) -> pa.Array:
    offsets, values = _offsets_and_values(array)
    field = target.value_field
    values = convert(values, field.type, (*path, "element"))
    if pa.types.is_large_list(target):
        large = offsets.cast(pa.int64())
        return pa.LargeListArray.from_arrays(large, values, type=target, mask=_mask(array))
    small = offsets.cast(pa.int32())
    if pa.types.is_list(target):
        return pa.ListArray.from_arrays(small, values, type=target, mask=_mask(array))
    return _vectors(array, small, values, target, path)


def _vectors(
    array: pa.Array,
    offsets: pa.Array,
    values: pa.Array,
    target: pa.DataType,
    path: tuple[str, ...],
) -> pa.Array:
    """``array`` as fixed-size lists; all its lists must have the size of ``target``.

    Arrow's own cast aborts the process if all lists are null (pyarrow 26).
    """
    starts, size = offsets.to_numpy(), target.list_size
    is_valid = array.is_valid().to_numpy(zero_copy_only=False)
    wrong = np.count_nonzero((np.diff(starts) != size) & is_valid)
    if wrong:
        raise InvalidInputError(
            f"column {format_path(path)} holds lists of {size} values; {wrong} lists "
            "in the data have another length"
        )
    if array.null_count == len(array):
        return pa.nulls(len(array), target)
    if array.null_count == 0:
        return pa.FixedSizeListArray.from_arrays(values, type=target)
    # The values of a null list are never read, so any values are correct.
    first = np.where(is_valid, starts[:-1], 0).astype(np.int64)
    filled = values.take(pa.array((first[:, None] + np.arange(size)).ravel()))
    return pa.FixedSizeListArray.from_arrays(filled, type=target, mask=_mask(array))


def _offsets_and_values(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The offsets (starting at 0) and the values of lists of any layout."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        offsets = pa.array(np.arange(len(array) + 1, dtype=np.int64) * size)
        return offsets, array.values.slice(array.offset * size, len(array) * size)
    if len(array) == 0:
        return pa.array([0], pa.int64()), array.values.slice(0, 0)
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    # Compute a new array, because Arrow refuses a mask together with sliced offsets.
    offsets = pc.subtract(array.offsets, pa.scalar(first, array.offsets.type))
    return offsets, array.values.slice(first, last - first)


def _map(array: pa.Array, target: pa.DataType, path: tuple[str, ...]) -> pa.Array:
    if len(array) == 0:
        return pa.array([], target)
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    offsets = pc.subtract(array.offsets, pa.scalar(first, array.offsets.type))
    keys = array.keys.slice(first, last - first)
    items = array.items.slice(first, last - first)
    return pa.MapArray.from_arrays(
        offsets,
        convert(keys, target.key_type, (*path, "key")),
        convert(items, target.item_type, (*path, "value")),
        type=target,
        mask=_mask(array),
    )


def _mask(array: pa.Array, as_numpy: bool = False) -> object:
    if array.null_count == 0:
        return None
    return array.is_null().to_numpy(zero_copy_only=False) if as_numpy else array.is_null()


def _leaf(array: pa.Array, target: pa.DataType, path: tuple[str, ...]) -> pa.Array:
    source = array.type
    is_moment = pa.types.is_timestamp(source) or pa.types.is_duration(source)
    if is_moment and source.unit == "ns" and target.unit == "us":
        return _truncate_to_microseconds(array).cast(target)
    if pa.types.is_floating(source) and pa.types.is_floating(target):
        rounded = array.cast(target)
        is_narrower = target.bit_width < source.bit_width
        back = rounded.cast(source)
        if is_narrower and pc.sum(pc.is_inf(back)).as_py() != pc.sum(pc.is_inf(array)).as_py():
            name = f"float{target.bit_width}"
            raise InvalidInputError(f"column {format_path(path)}: a value overflows {name}")
        return rounded
    if pa.types.is_integer(source) and pa.types.is_decimal(target):
        # Arrow refuses a decimal type that could not hold every integer, whatever the values are.
        return array.cast(pa.decimal128(38, target.scale)).cast(target)
    return array.cast(target)


def _truncate_to_microseconds(array: pa.Array) -> pa.Array:
    """Nanoseconds rounded down to microseconds, also before 1970."""
    counts = array.view(pa.int64())
    thousand = pa.scalar(1000, pa.int64())
    quotient = pc.divide(counts, thousand)  # rounds towards zero
    beyond = pc.greater(pc.multiply(quotient, thousand), counts)
    floored = pc.subtract(quotient, beyond.cast(pa.int64()))
    if pa.types.is_timestamp(array.type):
        return floored.view(pa.timestamp("us", array.type.tz))
    return floored.view(pa.duration("us"))
