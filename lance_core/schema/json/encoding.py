"""Encode JSON text as binary JSON, whose layout is described in `binary`.

The parser of the standard library and a recursive function encode ordinary values. They cannot
follow values that are nested deeply; for these, a loop parses and encodes at the same time.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import Union

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.schema.json.binary import (
    ARRAY,
    CONTAINER,
    ESCAPED_STRING,
    FALSE,
    FLOAT,
    INFINITY,
    MAX_LENGTH,
    MAX_NESTING,
    MINUS_INFINITY,
    NULL,
    NUMBER,
    NUMBER_WIDTHS,
    OBJECT,
    SCALAR,
    SIGNED,
    STRING,
    TRUE,
    UNSIGNED,
    ZERO,
)
from lance_core.schema.json.loops import JsonLoops, convert

Json = Union[None, bool, int, float, str, list["Json"], dict[str, "Json"]]  # noqa: UP007  # recursive

_RECURSIVE_LEVELS = 200
"""Levels that are encoded recursively; the caller needs a part of Python's stack, too."""

_BLANKS = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")

_Rope = list[Union[bytes, "_Rope"]]  # recursive
"""Parts of encoded data in order; the parts of large data are joined only once."""


class _NestedDeeplyError(Exception):
    """A value has more levels than are encoded recursively."""


def encode_json(
    texts: pa.Array,
    where: str,
    row_of: Callable[[int], int] = lambda position: position,
    loops: JsonLoops | None = None,
) -> pa.Array:
    """Convert an array of JSON text to binary JSON (``large_binary``).

    ``loops``: the compiled loops of plugins. Integers of more than 64 bits become floats. Raises
    `InvalidInputError` naming the field ``where`` and ``row_of`` its position for text that is not
    JSON, repeats a key in an object, or is nested deeper than 10,000 levels.
    """

    def one(position: int, text: str) -> bytes:
        try:
            return encode(text)
        except InvalidInputError as error:
            row = row_of(position)
            raise InvalidInputError(f"field {where}, row {row} of its batch: {error}") from error

    loop = None if loops is None else loops.encode_json
    try:
        if loop is not None:
            return convert(texts, pa.large_binary(), loop, one)
        values = enumerate(texts.to_pylist())
        encoded = [None if text is None else one(position, text) for position, text in values]
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"field {where}: text is not UTF-8: {error}") from error
    return pa.array(encoded, pa.large_binary())


def encode(text: str) -> bytes:
    """Encode one JSON text as binary JSON. Raises `InvalidInputError` without a field."""
    try:
        try:
            kind, data = _encoded(_DECODER.decode(text), _RECURSIVE_LEVELS)
        except (RecursionError, _NestedDeeplyError):
            kind, data = _NestedEncoder(text).run()
    except ValueError as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"not valid JSON: {error}: {text[:80]!r}") from error
    return data if kind == CONTAINER else struct.pack(">II", SCALAR, kind | len(data)) + data


def _number(digits: str) -> int | float:
    number = int(digits) if len(digits) <= 20 else None
    return number if number is not None and -(1 << 63) <= number < 1 << 64 else float(digits)


def _refused(name: str) -> Json:
    raise InvalidInputError(f"not valid JSON: {name}")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _key_twice()
    return members


def _key_twice() -> InvalidInputError:
    return InvalidInputError("a JSON object has the same key twice")


_DECODER = json.JSONDecoder(parse_int=_number, parse_constant=_refused, object_pairs_hook=_unique)


def _encoded(value: Json, levels: int) -> tuple[int, bytes]:
    """Kind bits and data of one member."""
    if not isinstance(value, (list, dict)):
        return _encoded_scalar(value)
    if levels == 0:
        raise _NestedDeeplyError
    if isinstance(value, list):
        kind, members = ARRAY, [_encoded(member, levels - 1) for member in value]
    else:
        kind = OBJECT
        fields = sorted(((_encoded_string(key), key) for key in value), key=_data_of_key)
        members = [key for key, _ in fields]
        members += [_encoded(value[name], levels - 1) for _, name in fields]
    header = _header(kind, len(value), [(kind, len(data)) for kind, data in members])
    return CONTAINER, b"".join([header, *(data for _, data in members)])


def _data_of_key(field: tuple[tuple[int, bytes], object]) -> bytes:
    return field[0][1]


def _header(kind: int, count: int, members: Sequence[tuple[int, int]]) -> bytes:
    """Header and entries of a container; ``members``: the kind and the size of each."""
    if any(size > MAX_LENGTH for _, size in members):
        raise InvalidInputError("a JSON value is larger than 256 MiB")
    entries = (member_kind | size for member_kind, size in members)
    return struct.pack(f">{1 + len(members)}I", kind | count, *entries)


def _encoded_scalar(value: bool | float | str | None) -> tuple[int, bytes]:
    if value is None:
        return NULL, b""
    if isinstance(value, bool):
        return (TRUE if value else FALSE), b""
    if isinstance(value, str):
        return _encoded_string(value)
    return NUMBER, _encoded_integer(value) if isinstance(value, int) else _encoded_float(value)


def _encoded_string(text: str) -> tuple[int, bytes]:
    try:
        return STRING, text.encode()
    except UnicodeEncodeError:
        escaped = _SURROGATE.sub(lambda code: f"\\u{ord(code[0]):04x}", text.replace("\\", "\\\\"))
        return ESCAPED_STRING, escaped.encode()


def _encoded_integer(number: int) -> bytes:
    if number == 0:
        return bytes([ZERO])
    signed = number < 0
    bits = number.bit_length() if not signed else (number + 1).bit_length() + 1
    width = next(width for width in NUMBER_WIDTHS if 8 * width >= bits)
    tag = bytes([SIGNED if signed else UNSIGNED])
    return tag + number.to_bytes(width, "big", signed=signed)


def _encoded_float(number: float) -> bytes:
    if math.isinf(number):
        return bytes([INFINITY if number > 0 else MINUS_INFINITY])
    return struct.pack(">Bd", FLOAT, number)


class _OpenContainer:
    """A container of which the parser has not seen the end.

    ``keys`` are empty in an array. ``members``: the kind, the size and the data of each value.
    """

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.keys: list[tuple[int, bytes]] = []
        self.members: list[tuple[int, int, _Rope]] = []

    @property
    def closing(self) -> str:
        """The bracket at its end."""
        return "]" if self.kind == ARRAY else "}"

    def encoded(self) -> tuple[int, int, _Rope]:
        """The container as a member of another one."""
        keys, members = self.keys, self.members
        if len(set(keys)) != len(keys):
            raise _key_twice()
        if keys:
            fields = sorted(zip(keys, members, strict=True), key=_data_of_key)
            keys, members = [key for key, _ in fields], [member for _, member in fields]
        sizes = [(kind, len(data)) for kind, data in keys]
        sizes += [(kind, size) for kind, size, _ in members]
        header = _header(self.kind, len(members), sizes)
        rope: _Rope = [header, *(data for _, data in keys), *(data for _, _, data in members)]
        return CONTAINER, len(header) + sum(size for _, size in sizes), rope


class _NestedEncoder:
    """Parses and encodes one JSON text without recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[_OpenContainer] = []

    def run(self) -> tuple[int, bytes]:
        """Kind bits and data. Raises `InvalidInputError` or `json.JSONDecodeError`."""
        while True:
            member = self._value()
            while self._open:
                container = self._open[-1]
                container.members.append(member)
                if self._skip(","):
                    self._skip_key(container)
                    break
                if not self._skip(container.closing):
                    raise self._expected(f"',' or {container.closing!r}")
                member = self._open.pop().encoded()
            else:
                if self._skip_blanks() < len(self._text):
                    raise json.JSONDecodeError("Extra data", self._text, self._at)
                kind, _, rope = member
                return kind, _joined(rope)

    def _value(self) -> tuple[int, int, _Rope]:
        """The next scalar or empty container; other containers are opened."""
        while True:
            start = self._skip_blanks()
            bracket = self._text[start : start + 1]
            if bracket not in {"[", "{"}:
                value, self._at = _DECODER.raw_decode(self._text, start)
                kind, data = _encoded_scalar(value)
                return kind, len(data), [data]
            if len(self._open) == MAX_NESTING:
                raise InvalidInputError(f"JSON is nested deeper than {MAX_NESTING} levels")
            self._at += 1
            container = _OpenContainer(ARRAY if bracket == "[" else OBJECT)
            if self._skip(container.closing):
                return container.encoded()
            self._skip_key(container)
            self._open.append(container)

    def _skip_key(self, container: _OpenContainer) -> None:
        """Add the key before the next value, which only an object has."""
        if container.kind == ARRAY:
            return
        start = self._skip_blanks()
        if self._text[start : start + 1] != '"':
            raise self._expected("a key in double quotes")
        key, self._at = _DECODER.raw_decode(self._text, start)
        container.keys.append(_encoded_string(key))
        if not self._skip(":"):
            raise self._expected("':'")

    def _skip(self, sign: str) -> bool:
        """Move behind blanks, and behind ``sign`` if it is next; False if it is not."""
        start = self._skip_blanks()
        self._at += self._text.startswith(sign, start)
        return self._at > start

    def _skip_blanks(self) -> int:
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at
        return self._at

    def _expected(self, sign: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(f"Expecting {sign}", self._text, self._at)


def _joined(rope: _Rope) -> bytes:
    """All parts of a rope in order."""
    parts: list[bytes] = []
    ropes = [iter(rope)]
    while ropes:
        part = next(ropes[-1], None)
        if part is None:
            ropes.pop()
        elif isinstance(part, bytes):
            parts.append(part)
        else:
            ropes.append(iter(part))
    return b"".join(parts)
