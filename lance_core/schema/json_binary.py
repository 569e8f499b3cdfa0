"""JSON columns: convert between text for users and binary JSON in files.

The layout is known from files of the reference library. A value is a container: a big-endian uint32
header (kind in the top 3 bits, number of members in the other 29), a big-endian uint32 entry per
member (kind in bits 28 to 30, size of the member's data in bytes in the lower 28 bits), then the
data of all members. A top-level scalar is in a container with one member and a member count of 0.
An object has all its keys first, sorted by their bytes, then the values in the same order. A number
is a tag byte and the number in big-endian bytes of the smallest width (1, 2, 4 or 8 bytes).

Text is encoded value by value; `json_values` decodes many values at once.
"""

from __future__ import annotations

import json
import math
import re
import struct
from typing import Union

import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError

Json = Union[None, bool, int, float, str, list["Json"], dict[str, "Json"]]  # noqa: UP007  # recursive

_MAX_DEPTH = 200
_SCALAR, _OBJECT, _ARRAY = 0x20000000, 0x40000000, 0x80000000
_HEADER_KINDS, _COUNT = 0xE0000000, 0x1FFFFFFF
_NULL, _STRING, _NUMBER, _FALSE, _TRUE, _CONTAINER = (kind << 28 for kind in range(6))
_ENTRY_KINDS, _LENGTH = 0xF0000000, 0x0FFFFFFF
ZERO, SIGNED, UNSIGNED, FLOAT, DECIMAL = 0x00, 0x40, 0x50, 0x60, 0x70
_NAN, _INFINITY, _MINUS_INFINITY = 0x10, 0x20, 0x30
SPECIAL_FLOATS = {_NAN: math.nan, _INFINITY: math.inf, _MINUS_INFINITY: -math.inf}
"""Floats by their tag; they are stored without digits."""
_SMALL_EXPONENT = re.compile(r"e-0[1-9]")
_WIDTHS = (1, 2, 4, 8)


def encode_json(texts: pa.Array, where: str) -> pa.Array:
    """Convert an array of JSON text to binary JSON (``large_binary``).

    Integers of more than 64 bits become floats. Raises `InvalidInputError` naming the field
    ``where`` for text that is not JSON, repeats a key in an object, or nests over 200 levels deep.
    """
    try:
        values = [None if text is None else encode(text) for text in texts.to_pylist()]
    except InvalidInputError as error:
        raise InvalidInputError(f"field {where}: {error}") from error
    return pa.array(values, pa.large_binary())


def encode(text: str) -> bytes:
    """Encode one JSON text as binary JSON. Raises `InvalidInputError` without a field."""
    try:
        value: Json = json.loads(
            text, parse_int=_number, parse_constant=_refused, object_pairs_hook=_unique
        )
        kind, data = _encoded(value, _MAX_DEPTH)
    except InvalidInputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not valid JSON: {error}: {text[:80]!r}") from error
    return data if kind == _CONTAINER else struct.pack(">II", _SCALAR, kind | len(data)) + data


def decode(data: bytes) -> str:
    """Decode one binary JSON value to JSON text.

    Raises `CorruptFileError` for invalid binary JSON, and `UnsupportedFeatureError` for decimal
    numbers and unknown kinds of values.
    """
    value = _container(data, _MAX_DEPTH, at_top=True)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _formatted(value) if _SMALL_EXPONENT.search(text) else text


def float_text(number: float) -> str:
    """A float as JSON text: with the exponents of other implementations, ``null`` if not finite."""
    if not math.isfinite(number):
        return "null"
    text = repr(number)
    if not _SMALL_EXPONENT.search(text):
        return text
    if not text.endswith("e-05"):
        return text.replace("e-0", "e-")
    sign, digits = text[: number < 0], text[number < 0 : -4].replace(".", "")
    return f"{sign}0.0000{digits}"


def _formatted(value: Json) -> str:
    """JSON text with floats as `float_text`, which the standard library's encoder cannot do."""
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, list):
        return f"[{','.join(map(_formatted, value))}]"
    if isinstance(value, dict):
        members = (f"{_formatted(key)}:{_formatted(item)}" for key, item in value.items())
        return f"{{{','.join(members)}}}"
    return json.dumps(value, ensure_ascii=False)


def _number(digits: str) -> int | float:
    number = int(digits) if len(digits) <= 20 else None
    return number if number is not None and -(1 << 63) <= number < 1 << 64 else float(digits)


def _refused(name: str) -> Json:
    raise InvalidInputError(f"not valid JSON: {name}")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise InvalidInputError("a JSON object has the same key twice")
    return members


def _encoded(value: Json, depth: int) -> tuple[int, bytes]:
    """Kind bits and data of one member."""
    if value is None:
        return _NULL, b""
    if isinstance(value, bool):
        return (_TRUE if value else _FALSE), b""
    if isinstance(value, str):
        return _STRING, value.encode()
    if isinstance(value, int):
        return _NUMBER, _encoded_integer(value)
    if isinstance(value, float):
        return _NUMBER, _encoded_float(value)
    if depth == 0:
        raise InvalidInputError(f"JSON is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, list):
        kind, members = _ARRAY, [_encoded(member, depth - 1) for member in value]
    else:
        kind = _OBJECT
        sorted_members = sorted((key.encode(), member) for key, member in value.items())
        members = [(_STRING, key) for key, _ in sorted_members]
        members += [_encoded(member, depth - 1) for _, member in sorted_members]
    if any(len(data) > _LENGTH for _, data in members):
        raise InvalidInputError("a JSON value is larger than 256 MiB")
    header = struct.pack(">I", kind | len(value))
    entries = struct.pack(f">{len(members)}I", *(kind | len(data) for kind, data in members))
    return _CONTAINER, b"".join([header, entries, *(data for _, data in members)])


def _encoded_integer(number: int) -> bytes:
    if number == 0:
        return bytes([ZERO])
    signed = number < 0
    bits = number.bit_length() if not signed else (number + 1).bit_length() + 1
    width = next(width for width in _WIDTHS if 8 * width >= bits)
    tag = bytes([SIGNED if signed else UNSIGNED])
    return tag + number.to_bytes(width, "big", signed=signed)


def _encoded_float(number: float) -> bytes:
    if math.isinf(number):
        return bytes([_INFINITY if number > 0 else _MINUS_INFINITY])
    return struct.pack(">Bd", FLOAT, number)


def _container(data: bytes, depth: int, at_top: bool = False) -> Json:
    if depth == 0:
        raise CorruptFileError(f"binary JSON is nested deeper than {_MAX_DEPTH} levels")
    if len(data) < 4:
        raise CorruptFileError("binary JSON ends within a header")
    (header,) = struct.unpack_from(">I", data)
    kind, count = header & _HEADER_KINDS, header & _COUNT
    entries = 1 if kind == _SCALAR else 2 * count if kind == _OBJECT else count
    if 4 + 4 * entries > len(data):
        raise CorruptFileError(f"binary JSON of {len(data)} bytes cannot have {entries} members")
    members: list[Json] = []
    start = 4 + 4 * entries
    for entry in struct.unpack_from(f">{entries}I", data, 4):
        end = start + (entry & _LENGTH)
        if end > len(data):
            raise CorruptFileError("binary JSON ends within a value")
        members.append(_member(entry & _ENTRY_KINDS, data[start:end], depth))
        start = end
    if kind == _ARRAY:
        return members
    if kind == _OBJECT:
        return _object(members[:count], members[count:])
    if kind == _SCALAR and at_top:
        return members[0]
    raise CorruptFileError(f"invalid header {header:#010x} in binary JSON")


def _object(keys: list[Json], values: list[Json]) -> Json:
    members: dict[str, Json] = {}
    for key, value in zip(keys, values, strict=True):
        if not isinstance(key, str):
            raise CorruptFileError("an object in binary JSON has a key that is not a string")
        members[key] = value
    return members


def _member(kind: int, data: bytes, depth: int) -> Json:
    if kind == _STRING:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise CorruptFileError(f"a string in binary JSON is not UTF-8: {error}") from error
    if kind == _NUMBER:
        return _decoded_number(data)
    if kind == _CONTAINER:
        return _container(data, depth - 1)
    constants: dict[int, Json] = {_NULL: None, _FALSE: False, _TRUE: True}
    if kind not in constants:
        raise UnsupportedFeatureError(f"binary JSON contains a value of unknown kind {kind >> 28}")
    return constants[kind]


def _decoded_number(data: bytes) -> Json:
    tag, digits = (data[0], data[1:]) if data else (-1, b"")
    if tag in {SIGNED, UNSIGNED} and len(digits) in _WIDTHS:
        return int.from_bytes(digits, "big", signed=tag == SIGNED)
    if tag == FLOAT and len(digits) == 8:
        (number,) = struct.unpack(">d", digits)
        return float(number) if math.isfinite(number) else None
    if tag == ZERO and not digits:
        return 0
    if tag in SPECIAL_FLOATS and not digits:
        return None
    if tag == DECIMAL:
        raise UnsupportedFeatureError(
            "binary JSON contains a decimal number, which is not supported"
        )
    raise CorruptFileError(f"invalid number {data[:10].hex()!r} in binary JSON")
