"""Functions that take texts apart, put others into them, or change single characters."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import edges_of, spans_index
from lance_core.sql_functions import (
    Apply,
    Datum,
    Node,
    as_texts,
    by_chunk,
    call,
    converted,
    join_texts,
    literal_argument,
    null,
    text_argument,
)
from lance_core_functions.characters import (
    MAX_CODE,
    Characters,
    Int64Array,
    characters,
    text_array,
    text_bytes,
)

_MAX_SPLITS = 1 << 30
"""Maximum number of separators that are looked for; no text has more."""


def split_part(node: Node, separator: Node, number: Node) -> Node:
    """Part ``number`` of the text, counted from 1, or from -1 at the end; "" if there is none."""
    at = literal_argument("split_part", number, int)
    if at == 0:
        raise InvalidInputError("split_part counts from 1, or from -1 at the end, not from 0")
    between = literal_argument("split_part", separator, str)
    kernel = functools.partial(_part, separator=between, number=at)
    operator = Apply("split_part", (between, at))
    return call(operator, by_chunk(kernel), text_argument("split_part", node))


def substr_index(node: Node, separator: Node, count: Node) -> Node:
    """The text before the separator ``count``; for a negative count, after it from the end."""
    between = literal_argument("substr_index", separator, str)
    number = literal_argument("substr_index", count, int)
    kernel = functools.partial(_before_separator, separator=between, count=number)
    operator = Apply("substr_index", (between, number))
    return call(operator, by_chunk(kernel), text_argument("substr_index", node))


def find_in_set(node: Node, members: Node) -> Node:
    """The position of the text in a list of texts between commas, 0 if it is not there."""
    written = literal_argument("find_in_set", members, str)
    kernel = functools.partial(_index_in, members=tuple(written.split(",")))
    return call(Apply("find_in_set", (written,)), kernel, text_argument("find_in_set", node))


def translate(node: Node, old: Node, new: Node) -> Node:
    """The text with each character of ``old`` replaced by that of ``new`` at the same position.

    Characters without such a position are removed.
    """
    before = literal_argument("translate", old, str)
    after = literal_argument("translate", new, str)
    kernel = functools.partial(_translated, old=before, new=after)
    operator = Apply("translate", (before, after))
    return call(operator, by_chunk(kernel), text_argument("translate", node))


def overlay(node: Node, other: Node, start: Node, count: Node | None = None) -> Node:
    """The text with ``count`` characters from ``start`` replaced by ``other``.

    ``count`` is the length of ``other`` by default.
    """
    texts = as_texts([text_argument("overlay", node), text_argument("overlay", other)])
    numbers = [
        _integer("overlay", number) for number in (start, *([] if count is None else [count]))
    ]
    return call("overlay", _overlaid, *texts, *numbers, kind=texts[0].type)


def ascii_code(node: Node) -> Node:
    """The code point of the first character, 0 for an empty text."""
    return call("ascii", by_chunk(_first_code), text_argument("ascii", node))


def character(node: Node) -> Node:
    """The character with a code point."""
    return call("chr", by_chunk(_character), _integer("chr", node))


def to_hex(node: Node) -> Node:
    """The integer in hexadecimal digits; a negative one as its two's complement of 64 bits."""
    if pa.types.is_null(node.type):
        return null(pa.string())
    if not pa.types.is_integer(node.type):
        raise InvalidInputError(f"to_hex needs an integer, not {node.type}")
    return call("to_hex", by_chunk(_hexadecimal), node)


def _integer(what: str, node: Node) -> Node:
    if pa.types.is_null(node.type):
        return null(pa.int64())
    if not pa.types.is_integer(node.type):
        raise InvalidInputError(f"{what} needs an integer, not {node.type}")
    return converted(node, pa.int64())


def _split(texts: pa.Array, separator: str, count: int) -> tuple[pa.Array, Int64Array, Int64Array]:
    """The parts of all texts, where those of each text begin, and their number.

    ``count``: the number of separators that matter, negative from the end.
    """
    present = pc.fill_null(texts.cast(pa.large_string()), "")
    limit = min(abs(count), _MAX_SPLITS)
    parts = pc.split_pattern(present, separator, max_splits=limit, reverse=count < 0)
    starts = np.asarray(parts.offsets)[:-1].astype(np.int64)
    return parts.values, starts, np.asarray(pc.list_value_length(parts)).astype(np.int64)


def _part(texts: pa.Array, separator: str, number: int) -> pa.Array:
    if not separator:
        return texts if abs(number) == 1 else pc.utf8_slice_codeunits(texts, 0, 0)
    parts, starts, lengths = _split(texts, separator, number)
    is_missing = lengths < abs(number)
    positions = starts + (number - 1 if number > 0 else lengths + number)
    chosen = pc.fill_null(parts.take(pa.array(positions, mask=is_missing)), "").cast(texts.type)
    return pc.if_else(texts.is_valid(), chosen, pa.scalar(None, texts.type))


def _before_separator(texts: pa.Array, separator: str, count: int) -> pa.Array:
    if not separator or count == 0:
        return pc.utf8_slice_codeunits(texts, 0, 0)
    parts, starts, lengths = _split(texts, separator, count)
    edges, data = text_bytes(texts)
    is_found = lengths > abs(count)
    # The part on the far side of the separator, which is not in the result.
    other = starts + (lengths - 1 if count > 0 else 0)
    dropped = np.asarray(pc.binary_length(parts)).astype(np.int64)[other] + len(separator.encode())
    dropped[~is_found] = 0
    low = edges[:-1] + (0 if count > 0 else dropped)
    high = edges[1:] - (dropped if count > 0 else 0)
    is_null = np.asarray(texts.is_null())
    return text_array(edges_of(high - low), data[spans_index(low, high)], is_null, texts.type)


def _index_in(value: Datum, members: tuple[str, ...]) -> Datum:
    index = pc.index_in(value, value_set=pa.array(members, value.type))
    position = pc.add(pc.fill_null(index, -1), pa.scalar(1, pa.int32()))
    return pc.if_else(pc.is_valid(value), position, pa.scalar(None, pa.int32()))


def _translated(texts: pa.Array, old: str, new: str) -> pa.Array:
    points = characters(texts)
    distinct, index = points.distinct()
    pairs: dict[int, int] = {}
    for position, letter in enumerate(old):
        pairs.setdefault(ord(letter), ord(new[position]) if position < len(new) else -1)
    mapped = np.array([pairs.get(code, code) for code in distinct.tolist()], np.int64)
    codes = mapped[index] if len(mapped) else np.empty(0, np.int64)
    is_kept = codes >= 0
    edges = edges_of(is_kept)[points.edges]
    return Characters(codes[is_kept].astype(np.uint32), edges, points.is_null).texts(texts.type)


def _overlaid(*values: Datum) -> Datum:
    sizes = [len(value) for value in values if not isinstance(value, pa.Scalar)]
    num_rows = sizes[0] if sizes else 1
    texts, others, *numbers = (
        pa.repeat(value, num_rows) if isinstance(value, pa.Scalar) else value for value in values
    )
    is_valid = functools.reduce(pc.and_, [value.is_valid() for value in (texts, others, *numbers)])
    points = characters(texts)
    first, *rest = (np.asarray(pc.fill_null(number, 1)) for number in numbers)
    if (first[np.asarray(is_valid)] < 1).any():
        raise InvalidInputError("overlay needs a start of 1 or more")
    lengths = points.lengths
    head = np.clip(first - 1, 0, lengths)
    count = rest[0] if rest else np.asarray(pc.fill_null(pc.utf8_length(others), 0))
    # Clip before adding: the sum of two large numbers may overflow.
    tail = head + np.clip(count, -head, lengths - head)
    start = points.spans(np.zeros(num_rows, np.int64), head).texts(texts.type)
    end = points.spans(tail, lengths).texts(texts.type)
    joined = join_texts("overlay", start, others, end)
    result = pc.if_else(is_valid, joined, pa.scalar(None, joined.type))
    return result if sizes else result[0]


def _first_code(texts: pa.Array) -> pa.Array:
    points = characters(texts)
    first = np.zeros(len(texts), np.int32)
    has_one = points.lengths > 0
    first[has_one] = points.codes[points.edges[:-1][has_one]]
    return pa.array(first, mask=points.is_null)


def _character(codes: pa.Array) -> pa.Array:
    values = np.asarray(pc.fill_null(codes, 0))
    is_bad = (values < 0) | (values > MAX_CODE) | ((values >= 0xD800) & (values < 0xE000))
    if is_bad.any():
        raise InvalidInputError(f"chr: {values[is_bad][0]} is no code point of a character")
    is_null = np.asarray(codes.is_null())
    return Characters(values.astype(np.uint32)[~is_null], edges_of(~is_null), is_null).texts(
        pa.string()
    )


_DIGITS: npt.NDArray[np.uint8] = np.frombuffer(b"0123456789abcdef", np.uint8)


def _hexadecimal(numbers: pa.Array) -> pa.Array:
    is_null = np.asarray(numbers.is_null())
    values = np.asarray(pc.fill_null(numbers, 0))
    if values.dtype != np.uint64:
        values = values.astype(np.int64).view(np.uint64)
    shifts = np.arange(60, -4, -4, dtype=np.uint64)
    nibbles = (values[:, np.newaxis] >> shifts) & np.uint64(15)
    # Drop leading zeros, but not the last digit.
    is_kept = np.logical_or.accumulate(nibbles > 0, axis=1)
    is_kept[:, -1] = True
    is_kept[is_null] = False
    data = _DIGITS[nibbles[is_kept].astype(np.int64)]
    return text_array(edges_of(is_kept.sum(axis=1)), data, is_null, pa.string())
