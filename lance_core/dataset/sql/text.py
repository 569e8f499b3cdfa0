"""Functions of text. Positions and lengths count characters, the first is 1."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.sql import casts
from lance_core.dataset.sql.coerce import converted, is_bytes, is_text
from lance_core.dataset.sql.node import (
    Call,
    Constant,
    Datum,
    Kernel,
    Node,
    call,
    constant,
    null,
)
from lance_core.errors import InvalidInputError, UnsupportedFeatureError


def lower(node: Node) -> Node:
    """In small letters."""
    return call("lower", pc.utf8_lower, _text("lower", node))


def upper(node: Node) -> Node:
    """In capital letters."""
    return call("upper", pc.utf8_upper, _text("upper", node))


def length(node: Node) -> Node:
    """In characters."""
    return call("length", pc.utf8_length, _text("length", node))


def octet_length(node: Node) -> Node:
    """In bytes."""
    if not is_bytes(node.type):
        node = _text("octet_length", node)
    return call("octet_length", pc.binary_length, node)


def bit_length(node: Node) -> Node:
    """In bits."""
    return call("bit_length", _eightfold, octet_length(node))


def starts_with(node: Node, prefix: Node) -> Node:
    """Whether the text begins with ``prefix``."""
    return _searched("starts_with", pc.starts_with, node, prefix)


def ends_with(node: Node, suffix: Node) -> Node:
    """Whether the text ends with ``suffix``."""
    return _searched("ends_with", pc.ends_with, node, suffix)


def contains(node: Node, part: Node) -> Node:
    """Whether ``part`` occurs in the text."""
    return _searched("contains", pc.match_substring, node, part)


def position(node: Node, part: Node) -> Node:
    """Where ``part`` begins, 0 if it does not occur."""
    return _searched("strpos", _position, node, part)


def regexp_like(node: Node, pattern: Node, flags: Node | None = None) -> Node:
    """Whether the pattern occurs (RE2 syntax). Flags: i (any case), s (``.`` takes newlines), m."""
    written = "" if flags is None else _given("regexp_like", flags, str)
    if set(written) - set("ims"):
        raise UnsupportedFeatureError(f"regexp_like with the flags {written!r}")
    found = _searched("regexp_like", functools.partial(_matches, flags=written), node, pattern)
    if isinstance(found, Call):
        # No row, no error: try the pattern now.
        call("regexp_like", found.kernel, constant(""))
    return found


def regexp_match(node: Node, pattern: Node, flags: Node | None = None) -> Node:
    """As a condition: whether the pattern occurs, false for NULL."""
    found = regexp_like(node, pattern, flags)
    return call("regexp_match", functools.partial(pc.fill_null, fill_value=False), found)


def _matches(value: Datum, pattern: str, flags: str) -> Datum:
    return pc.match_substring_regex(value, f"(?{flags}){pattern}" if flags else pattern)


def replace(node: Node, part: Node, other: Node) -> Node:
    """Every ``part`` by ``other``."""
    kernel = functools.partial(
        pc.replace_substring,
        pattern=_given("replace", part, str),
        replacement=_given("replace", other, str),
    )
    return call("replace", kernel, _text("replace", node))


def regexp_replace(node: Node, pattern: Node, other: Node, flags: Node | None = None) -> Node:
    """The first match of the pattern by ``other``, every match with the flag g."""
    written = "" if flags is None else _given("regexp_replace", flags, str)
    inline = written.replace("g", "")
    if set(inline) - set("ims"):
        raise UnsupportedFeatureError(f"regexp_replace with the flags {written!r}")
    expression = _given("regexp_replace", pattern, str)
    kernel = functools.partial(
        pc.replace_substring_regex,
        pattern=f"(?{inline}){expression}" if inline else expression,
        replacement=_given("regexp_replace", other, str),
        max_replacements=None if "g" in written else 1,
    )
    return call("regexp_replace", kernel, _text("regexp_replace", node))


def reverse(node: Node) -> Node:
    """The characters from the last to the first."""
    return call("reverse", pc.utf8_reverse, _text("reverse", node))


def left(node: Node, count: Node) -> Node:
    """The first ``count`` characters; with a negative count all but the last ones."""
    stop = _given("left", count, int)
    return _sliced("left", node, 0, stop)


def right(node: Node, count: Node) -> Node:
    """The last ``count`` characters; with a negative count all but the first ones."""
    number = _given("right", count, int)
    if number == 0:
        return _sliced("right", node, 0, 0)
    return _sliced("right", node, -number, None)


def substring(node: Node, start: Node, count: Node | None = None) -> Node:
    """``count`` characters from ``start``; what lies before the first character counts too."""
    first = _given("substr", start, int)
    if count is None:
        return _sliced("substr", node, max(first - 1, 0), None)
    number = _given("substr", count, int)
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
    between = _given("concat_ws", separator, str)
    # Each present text brings its separator along, the first one is cut off.
    led = call("concat_ws", functools.partial(_led, separator=between), *_as_texts(nodes))
    return _sliced("concat_ws", led, len(between), None)


def repeat(node: Node, count: Node) -> Node:
    """The text ``count`` times."""
    times = max(_given("repeat", count, int), 0)
    return call("repeat", functools.partial(_repeated, times=times), _text("repeat", node))


def _led(*values: Datum, separator: str) -> Datum:
    parts = [_joined(pa.scalar(separator, value.type), value) for value in values]
    return _joined_present(*parts)


def _repeated(value: Datum, times: int) -> Datum:
    return pc.binary_repeat(value, times)


def _joined(*values: Datum) -> Datum:
    return pc.binary_join_element_wise(*values, pa.scalar("", values[0].type))


def _joined_present(*values: Datum) -> Datum:
    return _joined(*[pc.fill_null(value, "") for value in values])


def _as_texts(nodes: Sequence[Node]) -> list[Node]:
    """The nodes as text of one type."""
    texts = [node if is_text(node.type) else casts.cast(node, pa.string()) for node in nodes]
    kinds = {node.type for node in texts}
    return texts if len(kinds) == 1 else [converted(node, pa.large_string()) for node in texts]


def _text(what: str, node: Node) -> Node:
    if pa.types.is_null(node.type):
        return null(pa.string())
    if not is_text(node.type):
        raise InvalidInputError(f"{what} needs text, not {node.type}")
    return node


def _given(what: str, node: Node, kind: type) -> Any:
    """The Python value of an argument that must be written out."""
    value = node.value.as_py() if isinstance(node, Constant) else None
    if type(value) is not kind:
        raise UnsupportedFeatureError(f"{what} with an argument that is not a literal {kind}")
    return value


def _searched(what: str, kernel: Kernel, node: Node, pattern: Node) -> Node:
    if isinstance(pattern, Constant) and pattern.is_null:
        return null(pa.bool_())
    wanted = _given(what, pattern, str)
    return call(what, functools.partial(kernel, pattern=wanted), _text(what, node))


def _sliced(what: str, node: Node, start: int, stop: int | None) -> Node:
    kernel = functools.partial(pc.utf8_slice_codeunits, start=start, stop=stop)
    return call(what, kernel, _text(what, node))


def _trimmed(what: str, kernel: Kernel, node: Node, characters: Node | None) -> Node:
    wanted = " " if characters is None else _given(what, characters, str)
    return call(what, functools.partial(kernel, characters=wanted), _text(what, node))


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
