"""Binary JSON, as JSON columns have it in files: the layout, and decoding of single values.

The layout is known from files of the reference library. A value is a container: a big-endian uint32
header (kind in the top 3 bits, number of members in the other 29), a big-endian uint32 entry per
member (kind in the top 4 bits, size of the member's data in bytes in the lower 28 bits), then the
data of all members. A top-level scalar is in a container with one member and a member count of 0.
An object has all its keys first, sorted by their bytes, then the values in the same order. A number
is a tag byte and the number in big-endian bytes of the smallest width (1, 2, 4 or 8 bytes).

UTF-8 has no lone surrogates, but a JSON string can have the escape of one. Such a string is stored
with the six characters of this escape, as the reference library does. Alone, that would make it
equal to a string of these six characters. So the top bit of its entry is set, which the reference
library ignores, and its backslashes are doubled.

`encoding` encodes text; `values` decodes many values at once.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from lance_core.errors import CorruptFileError, UnsupportedFeatureError

MAX_NESTING = 10_000
"""Containers inside each other; it limits the time that a small value can cost."""

SCALAR, OBJECT, ARRAY = 0x20000000, 0x40000000, 0x80000000
_HEADER_KINDS, MAX_MEMBERS = 0xE0000000, 0x1FFFFFFF
NULL, STRING, NUMBER, FALSE, TRUE, CONTAINER = (kind << 28 for kind in range(6))
ESCAPED_STRING = 9 << 28
"""A string with lone surrogates."""
_ENTRY_KINDS, MAX_LENGTH = 0xF0000000, 0x0FFFFFFF
ZERO, SIGNED, UNSIGNED, FLOAT, DECIMAL = 0x00, 0x40, 0x50, 0x60, 0x70
_NAN, INFINITY, MINUS_INFINITY = 0x10, 0x20, 0x30
SPECIAL_FLOATS = {_NAN: math.nan, INFINITY: math.inf, MINUS_INFINITY: -math.inf}
"""Floats by their tag; they are stored without digits."""
NUMBER_WIDTHS = (1, 2, 4, 8)

_SMALL_EXPONENT = re.compile(r"e-0[1-9]")


class _Member(NamedTuple):
    """A member of a container: the JSON text before it, its kind and the range of its data."""

    prefix: str
    kind: int
    start: int
    end: int


class _Container(NamedTuple):
    """A container as JSON text: the brackets and the members between them."""

    opening: str
    members: Iterator[_Member]
    closing: str


def decode(data: bytes) -> str:
    """Decode one binary JSON value to JSON text.

    Raises `CorruptFileError` for invalid binary JSON, and `UnsupportedFeatureError` for decimal
    numbers and unknown kinds of values.
    """
    # No recursion: the stack of Python is not deep enough for what may be nested.
    stack = [_container(data, 0, len(data), at_top=True)]
    texts = [stack[0].opening]
    while stack:
        member = next(stack[-1].members, None)
        if member is None:
            texts.append(stack.pop().closing)
            continue
        texts.append(member.prefix)
        if member.kind != CONTAINER:
            texts.append(_scalar_text(member.kind, data[member.start : member.end]))
            continue
        if len(stack) == MAX_NESTING:
            raise CorruptFileError(f"binary JSON is nested deeper than {MAX_NESTING} levels")
        stack.append(_container(data, member.start, member.end))
        texts.append(stack[-1].opening)
    return "".join(texts)


def string_text(text: str) -> str:
    """A string as JSON text, in quotes."""
    return json.dumps(text, ensure_ascii=False)


def escaped_string_text(stored: str) -> str:
    """The stored form of a string with lone surrogates as JSON text, in quotes."""
    # Its backslashes are those of JSON text; other characters may still need an escape.
    parts = (string_text(part)[1:-1] for part in stored.split("\\"))
    return '"' + "\\".join(parts) + '"'


def float_text(number: float) -> str:
    """A float as JSON text, with the exponents of other implementations.

    NaN is ``null``. An infinity, which a number out of the range of floats has become, is a number
    out of this range again.
    """
    if math.isnan(number):
        return "null"
    if math.isinf(number):
        return "1e999" if number > 0 else "-1e999"
    text = repr(number)
    if not _SMALL_EXPONENT.search(text):
        return text
    if not text.endswith("e-05"):
        return text.replace("e-0", "e-")
    sign, digits = text[: number < 0], text[number < 0 : -4].replace(".", "")
    return f"{sign}0.0000{digits}"


def _container(data: bytes, start: int, end: int, at_top: bool = False) -> _Container:
    """The container in a range of ``data``."""
    if end - start < 4:
        raise CorruptFileError("binary JSON ends within a header")
    (header,) = struct.unpack_from(">I", data, start)
    kind, count = header & _HEADER_KINDS, header & MAX_MEMBERS
    entries = 1 if kind == SCALAR else 2 * count if kind == OBJECT else count
    if 4 + 4 * entries > end - start:
        raise CorruptFileError(f"binary JSON of {end - start} bytes cannot have {entries} members")
    members: list[_Member] = []
    at = start + 4 + 4 * entries
    for entry in struct.unpack_from(f">{entries}I", data, start + 4):
        stop = at + (entry & MAX_LENGTH)
        if stop > end:
            raise CorruptFileError("binary JSON ends within a value")
        members.append(_Member("," if members else "", entry & _ENTRY_KINDS, at, stop))
        at = stop
    if kind == ARRAY:
        return _Container("[", iter(members), "]")
    if kind == OBJECT:
        return _Container("{", _fields(data, members[:count], members[count:]), "}")
    if kind == SCALAR and at_top and members[0].kind != CONTAINER:
        return _Container("", iter(members), "")
    raise CorruptFileError(f"invalid header {header:#010x} in binary JSON")


def _fields(data: bytes, keys: list[_Member], values: list[_Member]) -> Iterator[_Member]:
    for key, value in zip(keys, values, strict=True):
        if key.kind not in {STRING, ESCAPED_STRING}:
            raise CorruptFileError("an object in binary JSON has a key that is not a string")
        name = _scalar_text(key.kind, data[key.start : key.end])
        yield value._replace(prefix=f"{key.prefix}{name}:")


def _scalar_text(kind: int, data: bytes) -> str:
    if kind in {STRING, ESCAPED_STRING}:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise CorruptFileError(f"a string in binary JSON is not UTF-8: {error}") from error
        return string_text(text) if kind == STRING else escaped_string_text(text)
    if kind == NUMBER:
        return _number_text(data)
    constants = {NULL: "null", FALSE: "false", TRUE: "true"}
    if kind not in constants:
        raise UnsupportedFeatureError(f"binary JSON contains a value of unknown kind {kind >> 28}")
    return constants[kind]


def _number_text(data: bytes) -> str:
    tag, digits = (data[0], data[1:]) if data else (-1, b"")
    if tag in {SIGNED, UNSIGNED} and len(digits) in NUMBER_WIDTHS:
        return str(int.from_bytes(digits, "big", signed=tag == SIGNED))
    if tag == FLOAT and len(digits) == 8:
        (number,) = struct.unpack(">d", digits)
        return float_text(number)
    if tag == ZERO and not digits:
        return "0"
    if tag in SPECIAL_FLOATS and not digits:
        return float_text(SPECIAL_FLOATS[tag])
    if tag == DECIMAL:
        raise UnsupportedFeatureError(
            "binary JSON contains a decimal number, which is not supported"
        )
    raise CorruptFileError(f"invalid number {data[:10].hex()!r} in binary JSON")
