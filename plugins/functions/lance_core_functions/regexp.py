"""Functions of regular expressions; `regexp_syntax` translates them to RE2, which evaluates them.

A pattern takes flags: i (ignore case), s (``.`` matches newlines), m (``^`` and ``$`` match at
lines), U (repetitions are not greedy), x (spaces and comments are ignored).
"""

from __future__ import annotations

import functools
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.sql_functions import (
    Apply,
    Constant,
    Datum,
    Node,
    by_chunk,
    call,
    call_for_distinct,
    check_added,
    constant,
    literal_argument,
    logic,
    regexp,
    regexp_syntax,
    text_argument,
    text_bytes,
    with_condition,
    with_nullable,
)
from lance_core_functions.characters import count_before
from lance_core_functions.regexp_groups import (
    check_groups,
    group_names,
    replacement_to_re2,
    with_numbered_groups,
)
from lance_core_functions.text import substring


def regexp_match(node: Node, pattern: Node, flags: Node | None = None) -> Node:
    """The list of the groups of the first match; the whole match if the pattern has no groups.

    Groups that do not participate in the match are left out. NULL without a match. As a condition:
    true if the text contains a match, false for NULL.
    """
    node = text_argument("regexp_match", node)
    condition = regexp.search("regexp_match", node, pattern, flags)
    written = literal_argument("regexp_match", pattern, str)
    named, count = with_numbered_groups(
        regexp_syntax.to_re2("regexp_match", written, regexp.flags_of("regexp_match", flags))
    )
    kernel = functools.partial(_match, pattern=named, count=count)
    result = with_nullable(call(Apply("regexp_match", (written,)), by_chunk(kernel), node), True)
    return with_condition(result, logic.is_true(condition))


def _match(texts: pa.Array, pattern: str, count: int) -> pa.Array:
    """The groups of the first match in each text, as lists.

    ``count``: the number of groups in the pattern; a match need not use them all.
    """
    groups_of_match = pc.extract_regex(texts, pattern=pattern)
    matched = to_numpy(groups_of_match.is_valid())
    present = matched[:, np.newaxis]
    if count:
        spans = pc.extract_regex_span(texts, pattern=pattern)
        groups = [to_numpy(spans.field(i).is_valid()) & matched for i in range(count)]
        present = np.stack(groups, axis=1)
    # The values are stored group by group; `places` takes them row by row.
    values = pa.concat_arrays([groups_of_match.field(i) for i in range(present.shape[1])])
    positions = np.arange(len(texts))[:, np.newaxis] + np.arange(present.shape[1]) * len(texts)
    ends = np.cumsum(present.sum(axis=1), dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    values = values.take(from_numpy(positions[present]))
    return pa.ListArray.from_arrays(from_numpy(offsets), values, mask=from_numpy(~matched))


def regexp_replace(node: Node, pattern: Node, other: Node, flags: Node | None = None) -> Node:
    """The text with the first match replaced by ``other``; with the flag g, every match."""
    is_every = flags is not None and "g" in literal_argument("regexp_replace", flags, str)
    written = literal_argument("regexp_replace", pattern, str)
    replacement = literal_argument("regexp_replace", other, str)
    kernel = functools.partial(
        _replaced,
        pattern=regexp_syntax.to_re2(
            "regexp_replace", written, regexp.flags_of("regexp_replace", flags, without="g")
        ),
        replacement=replacement_to_re2(replacement, group_names(written)),
        max_replacements=None if is_every else 1,
    )
    operator = Apply("regexp_replace", (written, replacement))
    call(operator, kernel, constant(""))  # an invalid pattern is reported now
    return call(operator, kernel, text_argument("regexp_replace", node))


def _replaced(value: Datum, pattern: str, replacement: str, max_replacements: int | None) -> Datum:
    """The texts with matches replaced.

    The size check assumes that each reference to a group repeats the whole text.
    """
    counts = pc.count_substring_regex(value, pattern=pattern)
    matches = pc.sum(pc.cast(counts, pa.int64())).as_py() or 0
    repeated = len(re.findall(r"\\\d", replacement)) * text_bytes(value)
    check_added("regexp_replace", matches * len(replacement.encode()) + repeated)
    return pc.replace_substring_regex(
        value, pattern=pattern, replacement=replacement, max_replacements=max_replacements
    )


def regexp_count(
    node: Node, pattern: Node, start: Node | None = None, flags: Node | None = None
) -> Node:
    """The number of matches from a position; 0 for NULL, as in pylance."""
    node = _from("regexp_count", node, start)
    if isinstance(pattern, Constant) and pattern.is_null:
        return call("regexp_count", _no_matches, node)
    if not isinstance(pattern, Constant):
        plan = functools.partial(regexp_count, flags=flags)
        counts = call_for_distinct("regexp_count", plan, [node, pattern], {1: constant("a")})
        return call("regexp_count", functools.partial(pc.fill_null, fill_value=0), counts)
    written = literal_argument("regexp_count", pattern, str)
    kernel = functools.partial(
        _count,
        pattern=regexp_syntax.to_re2(
            "regexp_count", written, regexp.flags_of("regexp_count", flags)
        ),
    )
    operator = Apply("regexp_count", (written,))
    call(operator, kernel, constant(""))
    return call(operator, kernel, node)


def _from(what: str, node: Node, start: Node | None) -> Node:
    """The text from the position ``start`` (1 for NULL)."""
    node = text_argument(what, node)
    if start is None or (isinstance(start, Constant) and start.is_null):
        return node
    if isinstance(start, Constant) and literal_argument(what, start, int) < 1:
        raise InvalidInputError(f"{what} needs a start of 1 or more")
    return substring(node, start)


def _no_matches(value: Datum) -> Datum:
    return pc.if_else(pc.is_valid(value), pa.scalar(0, pa.int64()), pa.scalar(0, pa.int64()))


def _count(value: Datum, pattern: str) -> Datum:
    """The kernel of `regexp_count`. Arrow's own counts ``^`` again after each match."""
    marked = pc.replace_substring_regex(value, pattern=pattern, replacement=r"\0.")
    counts = pc.subtract(pc.binary_length(marked), pc.binary_length(value))
    return pc.fill_null(pc.cast(counts, pa.int64()), 0)


def regexp_instr(
    node: Node,
    pattern: Node,
    start: Node | None = None,
    occurrence: Node | None = None,
    flags: Node | None = None,
    group: Node | None = None,
) -> Node:
    """The position of the first match, or of a group of it, from ``start``; 0 without a match."""
    if occurrence is not None and literal_argument("regexp_instr", occurrence, int) != 1:
        raise UnsupportedFeatureError("regexp_instr of an occurrence other than the first")
    first = 1 if start is None else literal_argument("regexp_instr", start, int)
    number = 0 if group is None else literal_argument("regexp_instr", group, int)
    written = literal_argument("regexp_instr", pattern, str)
    check_groups("regexp_instr", written, number)
    expression = regexp_syntax.to_re2(
        "regexp_instr", written, regexp.flags_of("regexp_instr", flags)
    )
    named, _ = with_numbered_groups(expression if number else f"({expression})")
    rest = _from("regexp_instr", node, start)
    kernel = functools.partial(
        _position, pattern=named, group=max(number - 1, 0), start=first, is_empty=not written
    )
    operator = Apply("regexp_instr", (written,))
    call(operator, by_chunk(kernel), constant(""))
    return call(operator, by_chunk(kernel), rest)


def _position(texts: pa.Array, pattern: str, group: int, start: int, is_empty: bool) -> pa.Array:
    if is_empty:
        return pc.if_else(pc.is_valid(texts), pa.scalar(0, pa.int64()), None)
    matched = np.asarray(pc.extract_regex(texts, pattern=pattern).is_valid())
    spans = pc.extract_regex_span(texts, pattern=pattern).field(group)
    is_found = matched & np.asarray(spans.is_valid())
    offsets = np.zeros(len(texts), np.int64)
    offsets[is_found] = np.asarray(pc.list_element(spans.filter(pa.array(is_found)), 0))
    at = np.where(is_found, count_before(texts, offsets) + start, 0)
    return pa.array(at, mask=np.asarray(texts.is_null()))
