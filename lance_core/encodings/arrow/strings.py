"""Build Arrow string and binary arrays from the end offsets of their values."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.memory_pool import empty
from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError, ResultTooLargeError

_TEXT = frozenset(type_.id for type_ in (pa.string(), pa.large_string()))
_VARIABLE = _TEXT | {pa.binary().id, pa.large_binary().id}
_LARGE = frozenset(type_.id for type_ in (pa.large_string(), pa.large_binary()))


class Spans(NamedTuple):
    """Adjacent values: each value starts where the one before it ends.

    ``begin`` (the start of the first value) and ``ends`` count bytes from the same origin.
    ``valid`` is None if no value is null.
    """

    begin: int
    ends: Int64Array
    valid: npt.NDArray[np.bool_] | None


@lru_cache(maxsize=1024)
def is_variable(type_: pa.DataType) -> bool:
    """True if ``type_`` is string or binary, with 32-bit or 64-bit offsets."""
    return type_.id in _VARIABLE


def is_plain(type_: pa.DataType) -> bool:
    """True for types whose values are one number, or one string of bytes."""
    types = pa.types
    is_fixed = types.is_primitive(type_) or types.is_decimal(type_)
    return is_fixed or types.is_fixed_size_binary(type_) or is_variable(type_)


@lru_cache(maxsize=1024)
def is_text(type_: pa.DataType) -> bool:
    """True if ``type_`` is a string type, whose values must be UTF-8."""
    return type_.id in _TEXT


@lru_cache(maxsize=1024)
def offset_dtype(type_: pa.DataType) -> type[np.int32] | type[np.int64]:
    """The numpy type of the offsets of a variable-width type."""
    return np.int64 if type_.id in _LARGE else np.int32


def variable_arrays(
    type_: pa.DataType, spans: Spans, data: pa.Buffer, validate_utf8: bool
) -> list[pa.Array]:
    """Arrays of ``type_`` over ``data``, whose first byte is at ``spans.begin``.

    No end may exceed ``data``. The result has several arrays only if one array with 32-bit offsets
    cannot hold the bytes. Raises `CorruptFileError` if ends do not ascend or a string is not UTF-8.
    """
    begin, ends, valid = spans
    dtype = offset_dtype(type_)
    if dtype is np.int64 or data.size <= MAX_OFFSET:
        return [_array(type_, spans, data, validate_utf8)]
    if (ends[1:] < ends[:-1]).any():
        raise CorruptFileError("the ends of values do not ascend", field="Binary.indices")
    arrays, row = [], 0
    while row < len(ends):
        stop = row + int(np.searchsorted(ends[row:], begin + MAX_OFFSET, side="right"))
        if stop == row:
            raise _value_too_large(type_, int(ends[row]) - begin)
        part = Spans(begin, ends[row:stop], None if valid is None else valid[row:stop])
        last = int(ends[stop - 1])
        arrays.append(
            _array(type_, part, data.slice(begin - spans.begin, last - begin), validate_utf8)
        )
        begin, row = last, stop
    return arrays


def _array(type_: pa.DataType, spans: Spans, data: pa.Buffer, validate_utf8: bool) -> pa.Array:
    begin, ends, valid = spans
    offsets = empty(len(ends) + 1, offset_dtype(type_))
    if begin:
        np.subtract(ends, begin, out=offsets[1:], casting="unsafe")
    else:
        offsets[1:] = ends
    # The last to be set: the first access to new memory, which the system clears then, takes long,
    # and an assignment of one item holds the interpreter lock.
    offsets[0] = 0
    if (offsets[1:] < offsets[:-1]).any():
        raise CorruptFileError("the ends of values do not ascend", field="Binary.indices")
    if validate_utf8 and is_text(type_):
        check_utf8(offsets, data)
    nulls = 0 if valid is None else -1
    buffers = [_bitmap(valid), pa.py_buffer(offsets), data]
    return pa.Array.from_buffers(type_, len(ends), buffers, nulls)


def taken_arrays(
    type_: pa.DataType,
    taken: pa.Array,
    valid: npt.NDArray[np.bool_] | None,
    validate_utf8: bool,
) -> list[pa.Array]:
    """``taken``, a (large) binary array at offset 0, as ``type_`` with the nulls of ``valid``."""
    dtype = offset_dtype(taken.type)
    _, offset_buffer, data = taken.buffers()
    offsets: npt.NDArray[Any] = np.frombuffer(offset_buffer, dtype, len(taken) + 1)
    data = pa.py_buffer(b"") if data is None else data.slice(0, int(offsets[-1]))
    if dtype is not offset_dtype(type_):
        return variable_arrays(type_, Spans(0, offsets[1:], valid), data, validate_utf8)
    if validate_utf8 and is_text(type_):
        check_utf8(offsets, data)
    nulls = 0 if valid is None else -1
    buffers = [_bitmap(valid), offset_buffer, data]
    return [pa.Array.from_buffers(type_, len(taken), buffers, nulls)]


def single_value(
    type_: pa.DataType, data: pa.Buffer, is_null: bool, validate_utf8: bool
) -> pa.Array:
    """An array of one value with the bytes ``data``; raises as `variable_arrays` does."""
    large = offset_dtype(type_) is np.int64
    if not large and data.size > MAX_OFFSET:
        raise _value_too_large(type_, data.size)
    if validate_utf8 and is_text(type_):
        try:
            str(data, "utf-8")
        except UnicodeDecodeError as error:
            raise CorruptFileError("a string is not UTF-8") from error
    offsets = pa.py_buffer(struct.pack("<qq" if large else "<ii", 0, data.size))
    bitmap = pa.py_buffer(b"\0") if is_null else None
    return pa.Array.from_buffers(type_, 1, [bitmap, offsets, data], int(is_null))


def value_offsets(array: pa.Array) -> npt.NDArray[Any]:
    """Where the values of an array of strings or binary values begin, and where the last ends."""
    dtype = np.dtype(offset_dtype(array.type))
    start = array.offset * dtype.itemsize
    return np.frombuffer(array.buffers()[1], dtype, len(array) + 1, start)


def value_sizes(array: pa.Array) -> Int64Array:
    """The stored bytes of each value of an array of strings or binary values."""
    return np.diff(value_offsets(array)).astype(np.int64)


def _value_too_large(type_: pa.DataType, size: int) -> ResultTooLargeError:
    return ResultTooLargeError(
        f"a value of {size} bytes does not fit into {type_}, which holds {MAX_OFFSET}"
    )


def _bitmap(valid: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def is_ascii(text: pa.Buffer) -> bool:
    """True if all bytes are ASCII."""
    octets = np.frombuffer(text, np.uint8)
    return not len(octets) or bool(np.maximum.reduce(octets) < 0x80)


def check_utf8(offsets: npt.NDArray[np.integer[Any]], data: pa.Buffer) -> None:
    """Raise `CorruptFileError` unless each string of ``data`` is UTF-8.

    The check validates ``data`` as a whole and then tests that no string starts inside a character.
    ``data`` has no bytes before the first string or after the last one.
    """
    if is_ascii(data):
        return
    octets = np.frombuffer(data, np.uint8)
    edges = pa.py_buffer(np.array([0, len(octets)], np.int64))
    whole = pa.Array.from_buffers(pa.large_string(), 1, [None, edges, data], 0)
    try:
        whole.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptFileError("a string is not UTF-8") from error
    starts = offsets[:-1]
    starts = starts[starts < len(octets)]
    if ((octets[starts] & 0xC0) == 0x80).any():
        raise CorruptFileError("a string is not UTF-8")


def above_text(value: bytes) -> bytes | None:
    """UTF-8 of equal length that is greater than all text that starts with ``value``, or None.

    Increments one byte: the last one for which the result is valid UTF-8.
    """
    for position in range(len(value) - 1, -1, -1):
        for byte in range(value[position] + 1, 256):
            changed = value[:position] + bytes([byte]) + value[position + 1 :]
            if _is_utf8(changed):
                return changed
    return None


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
