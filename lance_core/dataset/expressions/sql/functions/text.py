"""String functions. Positions and lengths are in characters; the first position is 1."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.functions.function import Function
from lance_core.dataset.expressions.sql.nodes.node import (
    Apply,
    Constant,
    Datum,
    HasPrefix,
    HasSubstring,
    HasSuffix,
    Infix,
    Kernel,
    Node,
    call,
    null,
)
from lance_core.dataset.expressions.sql.nodes.size_limit import (
    check_added,
    scalar_bytes,
    text_bytes,
)
from lance_core.dataset.expressions.sql.operators import like
from lance_core.dataset.expressions.sql.values import casts
from lance_core.dataset.expressions.sql.values.coerce import converted, is_bytes, is_text
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

_LENGTH = Apply("length", never_fails=True)
_OCTET_LENGTH = Apply("octet_length", never_fails=True)
_REVERSE = Apply("reverse", never_fails=True)


def length(node: Node) -> Node:
    """The length in characters; bytes are UTF-8."""
    return call(_LENGTH, pc.utf8_length, _decoded("length", node))


def octet_length(node: Node) -> Node:
    """The length in bytes."""
    if not is_bytes(node.type):
        node = text_argument("octet_length", node)
    return call(_OCTET_LENGTH, pc.binary_length, node)


def bit_length(node: Node) -> Node:
    """The length in bits."""
    return call("bit_length", _eightfold, octet_length(node))


def starts_with(node: Node, prefix: Node) -> Node:
    """True if the text begins with ``prefix``."""
    return _searched(HasPrefix, node, prefix)


def ends_with(node: Node, suffix: Node) -> Node:
    """True if the text ends with ``suffix``."""
    return _searched(HasSuffix, node, suffix)


def contains(node: Node, part: Node) -> Node:
    """True if the text contains ``part``."""
    return _searched(HasSubstring, node, part)


def position(node: Node, part: Node) -> Node:
    """The position of the first ``part`` in the text, 0 if there is none."""
    if isinstance(part, Constant) and part.is_null:
        return null(pa.bool_())
    text = literal_argument("strpos", part, str)
    kernel = functools.partial(_position, pattern=text)
    return call(Apply("strpos", (text,)), kernel, text_argument("strpos", node))


def replace(node: Node, part: Node, other: Node) -> Node:
    """The text with every ``part`` replaced by ``other``."""
    pattern = literal_argument("replace", part, str)
    replacement = literal_argument("replace", other, str)
    kernel = functools.partial(_replaced, pattern=pattern, replacement=replacement)
    operator = Apply("replace", (pattern, replacement))
    return call(operator, kernel, text_argument("replace", node))


def reverse(node: Node) -> Node:
    """The characters in reverse order; bytes are UTF-8."""
    return call(_REVERSE, pc.utf8_reverse, _decoded("reverse", node))


def left(node: Node, count: Node) -> Node:
    """The first ``count`` characters; for a negative count, all but the last ``-count``."""
    stop = _clipped(literal_argument("left", count, int))
    return _sliced("left", node, 0, stop, (stop,))


def right(node: Node, count: Node) -> Node:
    """The last ``count`` characters; for a negative count, all but the first ``-count``."""
    number = _clipped(literal_argument("right", count, int))
    if number == 0:
        return _sliced("right", node, 0, 0, (number,))
    return _sliced("right", node, -number, None, (number,))


def substring(node: Node, start: Node, count: Node | None = None) -> Node:
    """``count`` characters from ``start``; positions below 1 are empty but use up the count."""
    first = _clipped(literal_argument("substr", start, int))
    if count is None:
        return _sliced("substr", node, max(first - 1, 0), None, (first,))
    number = _clipped(literal_argument("substr", count, int))
    if number < 0:
        raise InvalidInputError("substr needs a length of 0 or more")
    stop = max(first - 1 + number, 0)
    return _sliced("substr", node, max(first - 1, 0), stop, (first, number))


def trim(node: Node, characters: Node | None = None) -> Node:
    """The text without leading and trailing ``characters`` (default: spaces)."""
    return _trimmed("trim", pc.utf8_trim, node, characters)


def ltrim(node: Node, characters: Node | None = None) -> Node:
    """The text without leading ``characters`` (default: spaces)."""
    return _trimmed("ltrim", pc.utf8_ltrim, node, characters)


def rtrim(node: Node, characters: Node | None = None) -> Node:
    """The text without trailing ``characters`` (default: spaces)."""
    return _trimmed("rtrim", pc.utf8_rtrim, node, characters)


def joined(*nodes: Node) -> Node:
    """``||``: the concatenated texts, or bytes if all are; NULL if one is NULL."""
    if all(is_bytes(node.type) for node in nodes):
        return call(Infix("||"), _joined, *[converted(node, pa.binary()) for node in nodes])
    return call(Infix("||"), _joined, *as_texts(nodes))


def concat(*nodes: Node) -> Node:
    """The concatenated texts; NULL counts as empty text."""
    return call("concat", _joined_present, *as_texts(nodes))


def concat_ws(separator: Node, *nodes: Node) -> Node:
    """The texts that are not NULL, joined with the separator."""
    between = literal_argument("concat_ws", separator, str)
    # Put the separator before each text that is not NULL, then drop the first separator.
    operator = Apply("concat_ws", leading=(between,))
    led = call(operator, functools.partial(_led, separator=between), *as_texts(nodes))
    return _sliced("substr", led, len(between), None, (len(between) + 1,))


def repeat(node: Node, count: Node) -> Node:
    """The text ``count`` times."""
    times = max(literal_argument("repeat", count, int), 0)
    kernel = functools.partial(_repeated, times=times)
    return call(Apply("repeat", (times,)), kernel, text_argument("repeat", node))


def _replaced(value: Datum, pattern: str, replacement: str) -> Datum:
    longer = len(replacement.encode()) - len(pattern.encode())
    if longer > 0:
        counts = pc.count_substring(value, pattern=pattern)
        check_added("replace", (pc.sum(pc.cast(counts, pa.int64())).as_py() or 0) * longer)
    if not pattern:
        # An empty pattern matches between all characters; Arrow's own kernel never ends for it.
        escaped = replacement.replace("\\", r"\\")
        return pc.replace_substring_regex(value, pattern="", replacement=escaped)
    return pc.replace_substring(value, pattern=pattern, replacement=replacement)


def _led(*values: Datum, separator: str) -> Datum:
    parts = [_joined(pa.scalar(separator, value.type), value) for value in values]
    return _joined_present(*parts)


def _repeated(value: Datum, times: int) -> Datum:
    if not times:
        return pc.utf8_slice_codeunits(value, 0, 0)
    length = text_bytes(value)
    check_added("repeat", length * (times - 1))
    # Arrow takes the time of `times` copies for empty texts too: repeat those once.
    return pc.binary_repeat(value, times if length else 1)


def _joined(*values: Datum) -> Datum:
    return join_texts("||", *values)


def join_texts(what: str, *values: Datum) -> Datum:
    """The concatenated texts, for the function ``what``."""
    rows = max((len(value) for value in values if not isinstance(value, pa.Scalar)), default=1)
    sizes = [
        scalar_bytes(value) * rows if isinstance(value, pa.Scalar) else value.nbytes
        for value in values
    ]
    check_added(what, sum(sizes) - max(sizes))
    return pc.binary_join_element_wise(*values, pa.scalar("", values[0].type))


def _joined_present(*values: Datum) -> Datum:
    return _joined(*[pc.fill_null(value, "") for value in values])


def as_texts(nodes: Sequence[Node]) -> list[Node]:
    """The nodes converted to one string type."""
    texts = [node if is_text(node.type) else casts.cast(node, pa.string()) for node in nodes]
    kinds = {node.type for node in texts}
    return texts if len(kinds) == 1 else [converted(node, pa.large_string()) for node in texts]


def text_argument(what: str, node: Node) -> Node:
    """The node if its type is a string; raises `InvalidInputError`, naming ``what``, otherwise."""
    if pa.types.is_null(node.type):
        return null(pa.string())
    if not is_text(node.type):
        raise InvalidInputError(f"{what} needs text, not {node.type}")
    return node


def literal_argument(what: str, node: Node, kind: type) -> Any:
    """The Python value of an argument that must be a literal of type ``kind``.

    Raises `UnsupportedFeatureError`, naming ``what``, otherwise.
    """
    value = node.value.as_py() if isinstance(node, Constant) else None
    if type(value) is not kind:
        kind_name = {str: "text", int: "integer"}[kind]
        raise UnsupportedFeatureError(f"{what} with an argument that is not a literal {kind_name}")
    return value


def _searched(operator: type[HasPrefix | HasSuffix | HasSubstring], node: Node, text: Node) -> Node:
    """A search of texts for a literal text; NULL for a NULL text."""
    if isinstance(text, Constant) and text.is_null:
        return null(pa.bool_())
    literal = literal_argument(operator.name, text, str)
    return like.search(operator(literal), text_argument(operator.name, node))


def _decoded(what: str, node: Node) -> Node:
    """A text, or bytes as text; evaluation fails for bytes that are not UTF-8."""
    return casts.cast(node, pa.string()) if is_bytes(node.type) else text_argument(what, node)


def _sliced(
    what: str, node: Node, start: int, stop: int | None, options: tuple[object, ...]
) -> Node:
    """The characters from ``start`` to ``stop``, for the function ``what`` with ``options``."""
    kernel = functools.partial(pc.utf8_slice_codeunits, start=start, stop=stop)
    return call(Apply(what, options), kernel, text_argument(what, node))


def _clipped(count: int) -> int:
    """A number of characters that Arrow's kernels take; no text has more."""
    return min(max(count, -(1 << 31)), 1 << 31)


def _trimmed(what: str, kernel: Kernel, node: Node, characters: Node | None) -> Node:
    trimmed = " " if characters is None else literal_argument(what, characters, str)
    kernel = functools.partial(kernel, characters=trimmed)
    return call(Apply(what, (trimmed,)), kernel, text_argument(what, node))


def _eightfold(value: Datum) -> Datum:
    return pc.multiply(value, pa.scalar(8, value.type))


def _position(value: Datum, pattern: str) -> Datum:
    """The position in characters: the length of the text before the byte offset from Arrow."""
    at = pc.find_substring(value, pattern=pattern)
    if pattern.isascii() and not pattern:
        return pc.add(at, pa.scalar(1, at.type))
    before = pc.list_element(pc.split_pattern(value, pattern=pattern, max_splits=1), 0)
    position = pc.add(pc.utf8_length(before), pa.scalar(1, at.type))
    return pc.if_else(pc.less(at, pa.scalar(0, at.type)), pa.scalar(0, at.type), position)


FUNCTIONS = (
    Function(
        "||",
        joined,
        "any, any, ...",
        "The texts joined; NULL if one is NULL.",
        infers_nullable=True,
    ),
    Function("concat", concat, "any, ...", "The texts joined; NULL counts as empty."),
    Function(
        "concat_ws",
        concat_ws,
        "text*, any, ...",
        "The texts that are not NULL, joined with the separator.",
    ),
    Function("repeat", repeat, "text, integer*", "The text so many times."),
    Function(
        "length", length, "text", "The number of characters.", ("char_length", "character_length")
    ),
    Function("octet_length", octet_length, "text", "The number of bytes."),
    Function("bit_length", bit_length, "text", "The number of bits."),
    Function(
        "starts_with",
        starts_with,
        "text, text*",
        "True if the text begins with the second one.",
        infers_nullable=True,
    ),
    Function("ends_with", ends_with, "text, text*", "True if the text ends with the second one."),
    Function("contains", contains, "text, text*", "True if the text contains the second one."),
    Function(
        "strpos",
        position,
        "text, text*",
        "The position of the first occurrence of the second text, 0 if there is none.",
        ("instr", "position"),
        infers_nullable=True,
    ),
    Function(
        "replace",
        replace,
        "text, text*, text*",
        "The text with every occurrence of the second replaced by the third.",
    ),
    Function("reverse", reverse, "text", "The characters in reverse order."),
    Function(
        "left",
        left,
        "text, integer*",
        "The first characters; for a negative number, all but the last ones.",
    ),
    Function(
        "right",
        right,
        "text, integer*",
        "The last characters; for a negative number, all but the first ones.",
    ),
    Function(
        "substr",
        substring,
        "text, integer*, [integer*]",
        "The text from a position, of at most so many characters.",
        ("substring",),
    ),
    Function(
        "btrim",
        trim,
        "text, [text*]",
        "The text without leading and trailing characters of a set (default: a space).",
        ("trim",),
    ),
    Function("ltrim", ltrim, "text, [text*]", "The text without leading characters of a set."),
    Function("rtrim", rtrim, "text, [text*]", "The text without trailing characters of a set."),
)
