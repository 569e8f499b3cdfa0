"""Binary JSON values as Arrow arrays: numbers, booleans, text, and binary JSON again.

Numpy and Arrow convert the values of one level of nesting together. Floats, and strings with
characters to escape, are formatted in Python once for each distinct value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.error_texts.suggestions import shortened
from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.json.binary import (
    DECIMAL,
    FLOAT,
    SIGNED,
    SPECIAL_FLOATS,
    UNSIGNED,
    ZERO,
    decode,
    escaped_string_text,
    float_text,
    string_text,
)
from lance_core.schema.json.loops import JsonLoops, convert
from lance_core.schema.json.members import (
    CONTAINER,
    ESCAPED_STRING,
    FALSE,
    NULL,
    NUMBER,
    STRING,
    TRUE,
    Int64Array,
    Mask,
    Members,
    concatenated,
    elements,
    is_array,
    members_of,
    object_members,
)

MAX_VECTORISED_DEPTH = 40
"""Levels of nesting that are converted together; deeper values are decoded one by one."""

_FLOAT = re.compile(
    r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf|infinity|nan)", re.I
)
_INTEGER = re.compile(r"[+-]?\d+")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_MIN, _MAX = -(1 << 63), (1 << 63) - 1
_WIDTHS = [
    *((SIGNED, "i", width) for width in (1, 2, 4, 8)),
    *((UNSIGNED, "u", width) for width in (1, 2, 4, 8)),
    (FLOAT, "f", 8),
]
"""The tag, numpy's letter and the width in bytes of the digits of each kind of number."""


def decode_json(values: pa.Array, where: str, loops: JsonLoops | None = None) -> pa.Array:
    """Convert an array of binary JSON to JSON text; ``loops``: the compiled loops of plugins.

    Raises `CorruptFileError` naming the field ``where`` for invalid binary JSON, and
    `UnsupportedFeatureError` for decimal numbers and unknown kinds of values.
    """
    loop = None if loops is None else loops.decode_json
    try:
        if loop is None:
            return texts(members_of(values))
        converted = convert(values, pa.large_string(), loop, lambda _, document: decode(document))
        return converted.cast(pa.string())
    except CorruptFileError as error:
        raise error.at(field=where) from error


def strings(values: Members) -> pa.Array:
    """The text of scalars: strings without quotes. Raises `InvalidInputError` for containers."""
    _refuse(values.kinds == CONTAINER, "string")
    return _text(values, quoted=False)


def texts(values: Members) -> pa.Array:
    """The JSON text of each value."""
    return _text(values, quoted=True)


def _text(values: Members, quoted: bool, depth: int = 0) -> pa.Array:
    kinds = values.kinds
    words = [None, "true", "false", "null" if quoted else None]
    word = np.select([kinds == TRUE, kinds == FALSE, kinds == NULL], [1, 2, 3], 0)
    array = pa.array(words, pa.string()).take(pa.array(word))
    for kind in (STRING, ESCAPED_STRING, NUMBER, CONTAINER):
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            part = _text_of(kind, values.take(rows), quoted, depth)
            array = part if len(rows) == len(kinds) else _filled(array, kinds == kind, part)
    return array


def _text_of(kind: int, values: Members, quoted: bool, depth: int) -> pa.Array:
    import pyarrow.compute as pc

    if kind == STRING:
        return _quoted(_utf8(values)) if quoted else _utf8(values)
    if kind == ESCAPED_STRING:
        convert = escaped_string_text if quoted else _unescaped
        return _each_distinct(_utf8(values), convert, pa.string())
    if kind == NUMBER:
        return _decoded(values).as_text()
    if depth == MAX_VECTORISED_DEPTH:
        return _each_distinct(_bytes(values), decode, pa.string())
    of_array, inner = elements(values)
    of_object, keys, fields = object_members(values)
    members = _text(concatenated(inner, fields), True, depth + 1)
    names = _text(keys, True)
    pairs = pc.binary_join_element_wise(names, members.slice(len(inner)), ":")
    lists = _joined_by(of_array, len(values), members.slice(0, len(inner)))
    objects = pc.binary_join_element_wise("{", _joined_by(of_object, len(values), pairs), "}", "")
    lists = pc.binary_join_element_wise("[", lists, "]", "")
    return pc.if_else(pa.array(is_array(values)), lists, objects)


def _joined_by(owner: Int64Array, count: int, members: pa.Array) -> pa.Array:
    """The members of each owner, which ascend, with commas between them."""
    import pyarrow.compute as pc

    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=count), out=offsets[1:])
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), members), ",")


def integers(values: Members) -> pa.Array:
    """Each scalar as int64; fractions are rounded, a half away from zero.

    Raises `InvalidInputError` for values that are no such number.
    """
    return _numbers(values, "integer", Numbers.as_integers, _as_integer)


def are_int64(values: Members) -> Mask:
    """True for numbers that are written as integers and are in the range of int64."""
    mask: Mask = values.kinds == NUMBER
    numbers = _decoded(values.take(np.flatnonzero(mask)))
    mask[mask] = ~(numbers.is_float | numbers.is_large)
    return mask


def floats(values: Members) -> pa.Array:
    """Each scalar as float64. Raises `InvalidInputError` for values that are no number."""
    return _numbers(values, "float", Numbers.as_floats, _as_float)


def booleans(values: Members) -> pa.Array:
    """The values as booleans; converts text such as "true" and "no".

    Raises `InvalidInputError` for other values.
    """
    kinds = values.kinds
    _refuse((kinds == NUMBER) | (kinds == CONTAINER), "boolean")
    array = _masked(kinds == TRUE, (kinds != TRUE) & (kinds != FALSE))
    raw = strings(values.take(np.flatnonzero(values.is_string)))
    return _filled(array, values.is_string, _each_distinct(raw, _boolean, pa.bool_()))


def _boolean(text: str) -> bool:
    return bool(_required(_WORDS.get(text.lower()), text, "boolean"))


def binary(values: Members) -> pa.Array:
    """Each value as binary JSON of its own."""
    import pyarrow.compute as pc

    rows = np.flatnonzero(values.exists)
    part = values.take(rows)
    array = _bytes(part)
    is_scalar = part.kinds != CONTAINER
    if is_scalar.any():
        entries = np.stack(
            [np.full(len(rows), 0x20000000), (part.kinds << 28) | (part.ends - part.starts)], axis=1
        )
        headers = entries[is_scalar].astype(">u4")
        parts = _joined(pa.large_binary(), np.where(is_scalar, 8, 0), headers)
        array = pc.binary_join_element_wise(parts, array, pa.scalar(b"", pa.large_binary()))
    if len(rows) == len(values):
        return array
    positions = np.cumsum(values.exists) - 1
    return array.take(_masked(positions, ~values.exists))


def _numbers(
    values: Members,
    what: str,
    of_numbers: Callable[[Numbers], pa.Array],
    of_text: Callable[[str], int | float | None],
) -> pa.Array:
    kinds = values.kinds
    _refuse(kinds == CONTAINER, what)
    numbers = _decoded(values.take(np.flatnonzero(kinds == NUMBER)))
    array = of_numbers(numbers)
    booleans = (kinds == TRUE).astype(np.asarray(array).dtype)
    missing = (kinds != TRUE) & (kinds != FALSE)
    result = _filled(_masked(booleans, missing), kinds == NUMBER, array)
    raw = strings(values.take(np.flatnonzero(values.is_string)))
    converted = _each_distinct(raw, lambda text: _required(of_text(text), text, what), array.type)
    return _filled(result, values.is_string, converted)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Decoded numbers: ``integers``, or ``floats`` where ``is_float``.

    ``is_large``: the integer is 2**63 or more, and ``integers`` has the bits of its unsigned form.
    """

    integers: Int64Array
    floats: npt.NDArray[np.float64]
    is_float: Mask
    is_large: Mask

    def as_integers(self) -> pa.Array:
        """The numbers rounded to int64; raises `InvalidInputError` for numbers out of its range."""
        size = np.abs(self.floats)
        whole = np.floor(size)
        rounded = np.copysign(whole + (size - whole >= 0.5), self.floats)
        fits = (rounded >= -(2.0**63)) & (rounded < 2.0**63)
        _refuse(self.is_large | (self.is_float & ~fits), "integer")
        rounded = np.where(self.is_float, rounded, 0).astype(np.int64)
        return pa.array(np.where(self.is_float, rounded, self.integers))

    def as_floats(self) -> pa.Array:
        """As float64."""
        whole = np.where(self.is_large, self.integers.view(np.uint64), self.integers)
        return pa.array(np.where(self.is_float, self.floats, whole.astype(np.float64)))

    def as_text(self) -> pa.Array:
        """As in JSON text."""
        import pyarrow.compute as pc

        array = pc.cast(pa.array(self.integers), pa.string())
        large = pa.array(self.integers[self.is_large].view(np.uint64))
        array = _filled(array, self.is_large, pc.cast(large, pa.string()))
        fractions = pa.array(self.floats[self.is_float])
        return _filled(array, self.is_float, _each_distinct(fractions, float_text, pa.string()))


def _decoded(values: Members) -> Numbers:
    tags, sizes = _tags(values)
    whole, fractions = np.zeros(len(values), np.int64), np.zeros(len(values))
    is_float = np.isin(tags, (*SPECIAL_FLOATS, FLOAT))
    is_large = np.zeros(len(values), bool)
    for tag, value in SPECIAL_FLOATS.items():
        fractions[tags == tag] = value
    known = (is_float | (tags == ZERO)) & (sizes == 1)
    for tag, letter, width in _WIDTHS:
        rows = np.flatnonzero((tags == tag) & (sizes == width + 1))
        digits = values.data[(values.starts[rows] + 1)[:, None] + np.arange(width)]
        decoded = np.ascontiguousarray(digits).view(f">{letter}{width}")[:, 0]
        known[rows] = True
        if letter == "f":
            fractions[rows] = decoded
            continue
        whole[rows] = decoded.astype(np.uint64 if letter == "u" else np.int64).view(np.int64)
        is_large[rows] = (letter == "u") & (whole[rows] < 0)
    if (tags == DECIMAL).any():
        raise UnsupportedFeatureError(
            "binary JSON contains a decimal number, which is not supported"
        )
    if not known.all():
        raise CorruptFileError("invalid number in binary JSON")
    return Numbers(whole, fractions, is_float, is_large)


def _tags(values: Members) -> tuple[Int64Array, Int64Array]:
    """The tag of each number, -1 without one, and its size with the tag."""
    sizes = values.ends - values.starts
    tags = np.full(len(values), -1, np.int64)
    tags[sizes > 0] = values.data[values.starts[sizes > 0]]
    return tags, sizes


def _as_integer(text: str) -> int | None:
    if _INTEGER.fullmatch(text) and _MIN <= int(text) <= _MAX:
        return int(text)
    number = _as_float(text)
    if number is None or not abs(number) < 2.0**63:
        return None
    whole = math.floor(abs(number))
    return int(math.copysign(whole + (abs(number) - whole >= 0.5), number))


def _as_float(text: str) -> float | None:
    return float(text) if _FLOAT.fullmatch(text) else None


def _required(value: Any, text: str, what: str) -> Any:
    if value is None:
        raise _no_conversion(what, f": {shortened(text)}")
    return value


def _refuse(wrong: Mask, what: str) -> None:
    if wrong.any():
        raise _no_conversion(what, "")


def _no_conversion(what: str, detail: str) -> InvalidInputError:
    return InvalidInputError(f"Failed to convert to {what}: a JSON value is no {what}{detail}")


def _quoted(raw: pa.Array) -> pa.Array:
    """Strings as JSON text; only strings with characters to escape are handled in Python."""
    import pyarrow.compute as pc

    plain = pc.binary_join_element_wise('"', raw, '"', "")
    special = np.asarray(pc.match_substring_regex(raw, r'[\x00-\x1f"\\]'))
    if not special.any():
        return plain
    with_specials = raw.filter(pa.array(special))
    return _filled(plain, special, _each_distinct(with_specials, string_text, pa.string()))


def _unescaped(stored: str) -> str:
    """A string with lone surrogates, which Arrow cannot hold, with their escapes."""
    return stored.replace("\\\\", "\\")


def _each_distinct(values: pa.Array, convert: Callable[[Any], Any], type_: pa.DataType) -> pa.Array:
    """``convert`` of each value, called once for each distinct one."""
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(values)
    return pa.array(list(map(convert, coded.dictionary.to_pylist())), type_).take(coded.indices)


def _filled(array: pa.Array, mask: Mask, values: pa.Array) -> pa.Array:
    """``array`` with the next of ``values`` at each place of ``mask``."""
    import pyarrow.compute as pc

    if not len(values):
        return array
    return pc.replace_with_mask(array, pa.array(mask), values)


def _masked(values: npt.NDArray[Any], missing: Mask) -> pa.Array:
    import pyarrow.compute as pc

    plain = pa.array(values)
    return plain if not missing.any() else pc.if_else(pa.array(missing), None, plain)


def _utf8(values: Members) -> pa.Array:
    import pyarrow.compute as pc

    try:
        return pc.cast(_bytes(values), pa.string())
    except pa.ArrowInvalid as error:
        raise CorruptFileError(f"a string in binary JSON is not UTF-8: {error}") from error


def _bytes(values: Members) -> pa.Array:
    """The data of each value."""
    bounds = np.stack([values.starts, values.ends], axis=1).ravel()
    if len(values) and (bounds[1:] >= bounds[:-1]).all():
        # Every second value of this array is one between those of ``values``.
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(values.data)]
        both = pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, buffers)
        return both.take(pa.array(np.arange(0, len(bounds), 2)))
    sizes = values.ends - values.starts
    return _joined(pa.large_binary(), sizes, values.data[_ranges(values.starts, sizes)])


def _joined(type_: pa.DataType, sizes: Int64Array, data: npt.NDArray[np.uint8]) -> pa.Array:
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return pa.Array.from_buffers(
        type_, len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def _ranges(starts: Int64Array, sizes: Int64Array) -> Int64Array:
    """All numbers of the ranges of ``sizes`` numbers from ``starts`` on."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))
