"""Functions of text. Positions and lengths count characters, the first is 1."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import casts
from lance_core.dataset.expressions.sql.coerce import converted, is_bytes, is_text
from lance_core.dataset.expressions.sql.node import (
    Constant,
    Datum,
    Kernel,
    Node,
    call,
    null,
)
from lance_core.dataset.expressions.sql.size_limit import check_added, scalar_bytes, text_bytes
from lance_core.errors import InvalidInputError, UnsupportedFeatureError


def lower(node: Node) -> Node:
    """In small letters."""
    return call("lower", pc.utf8_lower, text_argument("lower", node))


def upper(node: Node) -> Node:
    """In capital letters."""
    return call("upper", pc.utf8_upper, text_argument("upper", node))


def length(node: Node) -> Node:
    """In characters."""
    return call("length", pc.utf8_length, text_argument("length", node))


def octet_length(node: Node) -> Node:
    """In bytes."""
    if not is_bytes(node.type):
        node = text_argument("octet_length", node)
    return call("octet_length", pc.binary_length, node)


def bit_length(node: Node) -> Node:
    """In bits."""
    return call("bit_length", _eightfold, octet_length(node))


def starts_with(node: Node, prefix: Node) -> Node:
    """Whether the text begins with ``prefix``."""
    return searched("starts_with", pc.starts_with, node, prefix)


def ends_with(node: Node, suffix: Node) -> Node:
    """Whether the text ends with ``suffix``."""
    return searched("ends_with", pc.ends_with, node, suffix)


def contains(node: Node, part: Node) -> Node:
    """Whether ``part`` occurs in the text."""
    return searched("contains", pc.match_substring, node, part)


def position(node: Node, part: Node) -> Node:
    """Where ``part`` begins, 0 if it does not occur."""
    return searched("strpos", _position, node, part)


def replace(node: Node, part: Node, other: Node) -> Node:
    """Every ``part`` by ``other``."""
    kernel = functools.partial(
        _replaced,
        pattern=literal_argument("replace", part, str),
        replacement=literal_argument("replace", other, str),
    )
    return call("replace", kernel, text_argument("replace", node))


def reverse(node: Node) -> Node:
    """The characters from the last to the first."""
    return call("reverse", pc.utf8_reverse, text_argument("reverse", node))


def left(node: Node, count: Node) -> Node:
    """The first ``count`` characters; with a negative count all but the last ones."""
    stop = literal_argument("left", count, int)
    return _sliced("left", node, 0, stop)


def right(node: Node, count: Node) -> Node:
    """The last ``count`` characters; with a negative count all but the first ones."""
    number = literal_argument("right", count, int)
    if number == 0:
        return _sliced("right", node, 0, 0)
    return _sliced("right", node, -number, None)


def substring(node: Node, start: Node, count: Node | None = None) -> Node:
    """``count`` characters from ``start``; what lies before the first character counts too."""
    first = literal_argument("substr", start, int)
    if count is None:
        return _sliced("substr", node, max(first - 1, 0), None)
    number = literal_argument("substr", count, int)
    if number < 0:
        raise InvalidInputError("substr needs a length of 0 or more")
    return _sliced("substr", node, max(first - 1, 0), max(first - 1 + number, 0))


def trim(node: Node, characters: Node | None = None) -> Node:
    """Without ``characters`` (spaces if not given) on both sides."""
    return _trimmed("trim", pc.utf8_trim, node, characters)


def ltrim(node: Node, characters: Node | None = None) -> Node:
    """Without ``characters`` at the beginning."""
    return _trimmed("ltrim", pc.utf8_ltrim, node, characters)


def rtrim(node: Node, characters: Node | None = None) -> Node:
    """Without ``characters`` at the end."""
    return _trimmed("rtrim", pc.utf8_rtrim, node, characters)


def joined(*nodes: Node) -> Node:
    """``||``: the texts one after the other, NULL if one is."""
    return call("||", _joined, *_as_texts(nodes))


def concat(*nodes: Node) -> Node:
    """The texts one after the other, NULL as nothing."""
    return call("concat", _joined_present, *_as_texts(nodes))


def concat_ws(separator: Node, *nodes: Node) -> Node:
    """The texts that are not NULL with the separator between them."""
    between = literal_argument("concat_ws", separator, str)
    # Each present text brings its separator along, the first one is cut off.
    led = call("concat_ws", functools.partial(_led, separator=between), *_as_texts(nodes))
    return _sliced("concat_ws", led, len(between), None)


def repeat(node: Node, count: Node) -> Node:
    """The text ``count`` times."""
    times = max(literal_argument("repeat", count, int), 0)
    return call("repeat", functools.partial(_repeated, times=times), text_argument("repeat", node))


def _replaced(value: Datum, pattern: str, replacement: str) -> Datum:
    longer = len(replacement.encode()) - len(pattern.encode())
    if longer > 0:
        counts = pc.count_substring(value, pattern=pattern)
        check_added("replace", (pc.sum(pc.cast(counts, pa.int64())).as_py() or 0) * longer)
    if not pattern:
        # Between all characters; Arrow's own way never ends.
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
    # Arrow copies empty texts as often as others.
    return pc.binary_repeat(value, times if length else 1)


def _joined(*values: Datum) -> Datum:
    rows = max((len(value) for value in values if not isinstance(value, pa.Scalar)), default=1)
    sizes = [
        scalar_bytes(value) * rows if isinstance(value, pa.Scalar) else value.nbytes
        for value in values
    ]
    check_added("||", sum(sizes) - max(sizes))
    return pc.binary_join_element_wise(*values, pa.scalar("", values[0].type))


def _joined_present(*values: Datum) -> Datum:
    return _joined(*[pc.fill_null(value, "") for value in values])


def _as_texts(nodes: Sequence[Node]) -> list[Node]:
    """The nodes as text of one type."""
    texts = [node if is_text(node.type) else casts.cast(node, pa.string()) for node in nodes]
    kinds = {node.type for node in texts}
    return texts if len(kinds) == 1 else [converted(node, pa.large_string()) for node in texts]


def text_argument(what: str, node: Node) -> Node:
    """The node if it is text. Raises `InvalidInputError` naming ``what`` needs it otherwise."""
    if pa.types.is_null(node.type):
        return null(pa.string())
    if not is_text(node.type):
        raise InvalidInputError(f"{what} needs text, not {node.type}")
    return node


def literal_argument(what: str, node: Node, kind: type) -> Any:
    """The Python value of an argument that must be written out."""
    value = node.value.as_py() if isinstance(node, Constant) else None
    if type(value) is not kind:
        kind_name = {str: "text", int: "integer"}[kind]
        raise UnsupportedFeatureError(f"{what} with an argument that is no literal {kind_name}")
    return value


def searched(what: str, kernel: Kernel, node: Node, pattern: Node) -> Node:
    """``kernel``, which has a boolean or a number for each text, of the text and a pattern."""
    if isinstance(pattern, Constant) and pattern.is_null:
        return null(pa.bool_())
    wanted = literal_argument(what, pattern, str)
    return call(what, functools.partial(kernel, pattern=wanted), text_argument(what, node))


def _sliced(what: str, node: Node, start: int, stop: int | None) -> Node:
    kernel = functools.partial(pc.utf8_slice_codeunits, start=start, stop=stop)
    return call(what, kernel, text_argument(what, node))


def _trimmed(what: str, kernel: Kernel, node: Node, characters: Node | None) -> Node:
    wanted = " " if characters is None else literal_argument(what, characters, str)
    return call(what, functools.partial(kernel, characters=wanted), text_argument(what, node))


def _eightfold(value: Datum) -> Datum:
    return pc.multiply(value, pa.scalar(8, value.type))


def _position(value: Datum, pattern: str) -> Datum:
    """Arrow counts bytes: the position in characters is the length of what comes before."""
    at = pc.find_substring(value, pattern=pattern)
    if pattern.isascii() and not pattern:
        return pc.add(at, pa.scalar(1, at.type))
    before = pc.list_element(pc.split_pattern(value, pattern=pattern, max_splits=1), 0)
    found = pc.add(pc.utf8_length(before), pa.scalar(1, at.type))
    return pc.if_else(pc.less(at, pa.scalar(0, at.type)), pa.scalar(0, at.type), found)
