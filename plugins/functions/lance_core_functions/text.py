"""String functions. Positions and lengths are in characters; the first position is 1."""

from __future__ import annotations

import functools

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError
from lance_core.sql_functions import (
    Apply,
    Constant,
    Datum,
    HasPrefix,
    HasSubstring,
    HasSuffix,
    Kernel,
    Node,
    as_texts,
    call,
    cast,
    check_added,
    is_bytes,
    join_texts,
    like,
    literal_argument,
    null,
    text_argument,
    text_bytes,
)

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
    parts = [join_texts("concat_ws", pa.scalar(separator, value.type), value) for value in values]
    return _joined_present(*parts)


def _repeated(value: Datum, times: int) -> Datum:
    if not times:
        return pc.utf8_slice_codeunits(value, 0, 0)
    length = text_bytes(value)
    check_added("repeat", length * (times - 1))
    # Arrow takes the time of `times` copies for empty texts too: repeat those once.
    return pc.binary_repeat(value, times if length else 1)


def _joined_present(*values: Datum) -> Datum:
    return join_texts("concat", *[pc.fill_null(value, "") for value in values])


def _searched(operator: type[HasPrefix | HasSuffix | HasSubstring], node: Node, text: Node) -> Node:
    """A search of texts for a literal text; NULL for a NULL text."""
    if isinstance(text, Constant) and text.is_null:
        return null(pa.bool_())
    literal = literal_argument(operator.name, text, str)
    return like.search(operator(literal), text_argument(operator.name, node))


def _decoded(what: str, node: Node) -> Node:
    """A text, or bytes as text; evaluation fails for bytes that are not UTF-8."""
    return cast(node, pa.string()) if is_bytes(node.type) else text_argument(what, node)


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
