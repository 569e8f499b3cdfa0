"""Functions of regular expressions, in RE2's syntax."""

from __future__ import annotations

import functools
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql import logic
from lance_core.dataset.expressions.sql.chunks import by_chunk
from lance_core.dataset.expressions.sql.function import Function
from lance_core.dataset.expressions.sql.node import (
    CallNode,
    Constant,
    Datum,
    Node,
    call,
    constant,
    null,
    with_condition,
    with_nullable,
)
from lance_core.dataset.expressions.sql.size_limit import check_added, text_bytes
from lance_core.dataset.expressions.sql.text import literal_argument, searched, text_argument
from lance_core.errors import UnsupportedFeatureError

_GROUPS = re.compile(
    r"(?P<other>\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])"
    r"|\((?:(?!\?)|\?P?<\w+>)",
    re.DOTALL,
)
"""Matches the start of a capturing group; ``other``: text in which a parenthesis is literal."""


def regexp_like(node: Node, pattern: Node, flags: Node | None = None) -> Node:
    """True if the text contains a match of the RE2 pattern.

    Flags: i (ignore case), s (``.`` matches newlines), m (``^`` and ``$`` match at lines).
    """
    written = "" if flags is None else literal_argument("regexp_like", flags, str)
    if set(written) - set("ims"):
        raise UnsupportedFeatureError(f"regexp_like with the flags {written!r}")
    found = searched("regexp_like", functools.partial(matches, flags=written), node, pattern)
    if isinstance(found, CallNode):
        # Data may have no rows, so report an invalid pattern now.
        call("regexp_like", found.kernel, constant(""))
    return found


def matches(value: Datum, pattern: str, flags: str) -> Datum:
    """The kernel of `regexp_like`; ``pattern`` is valid."""
    return pc.match_substring_regex(value, f"(?{flags}){pattern}" if flags else pattern)


def regexp_match(node: Node, pattern: Node, flags: Node | None = None) -> Node:
    """The list of the groups of the first match; the whole match if the pattern has no groups.

    Groups that do not participate in the match are left out. NULL without a match. As a condition:
    true if the text contains a match, false for NULL.
    """
    node = text_argument("regexp_match", node)
    kind = pa.list_(node.type)
    if isinstance(pattern, Constant) and pattern.is_null:
        return null(kind)
    found = regexp_like(node, pattern, flags)
    inline = "" if flags is None else literal_argument("regexp_match", flags, str)
    named, count = _with_named_groups(literal_argument("regexp_match", pattern, str))
    kernel = functools.partial(
        _match, pattern=f"(?{inline}){named}" if inline else named, count=count
    )
    result = with_nullable(call("regexp_match", by_chunk(kernel), node), True)
    return with_condition(result, logic.is_true(found))


def _with_named_groups(pattern: str) -> tuple[str, int]:
    """The pattern with groups named g0, g1, … because Arrow needs names, and their number.

    A pattern without groups is wrapped into the group g0; its number of groups is 0.
    """
    count = 0

    def named(found: re.Match[str]) -> str:
        nonlocal count
        if found["other"] is not None:
            return found[0]
        count += 1
        return f"(?P<g{count - 1}>"

    result = _GROUPS.sub(named, pattern)
    return (result, count) if count else (f"(?P<g0>{pattern})", 0)


def _match(texts: pa.Array, pattern: str, count: int) -> pa.Array:
    """The groups of the first match in each text, as lists.

    ``count``: the number of groups in the pattern; a match need not use them all.
    """
    found = pc.extract_regex(texts, pattern=pattern)
    matched = np.asarray(found.is_valid())
    present = matched[:, np.newaxis]
    if count:
        spans = pc.extract_regex_span(texts, pattern=pattern)
        groups = [np.asarray(spans.field(i).is_valid()) & matched for i in range(count)]
        present = np.stack(groups, axis=1)
    # The values are stored group by group; `places` takes them row by row.
    values = pa.concat_arrays([found.field(i) for i in range(present.shape[1])])
    places = np.arange(len(texts))[:, np.newaxis] + np.arange(present.shape[1]) * len(texts)
    ends = np.cumsum(present.sum(axis=1), dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    values = values.take(pa.array(places[present]))
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(~matched))


def regexp_replace(node: Node, pattern: Node, other: Node, flags: Node | None = None) -> Node:
    """The text with the first match replaced by ``other``; with the flag g, every match."""
    written = "" if flags is None else literal_argument("regexp_replace", flags, str)
    inline = written.replace("g", "")
    if set(inline) - set("ims"):
        raise UnsupportedFeatureError(f"regexp_replace with the flags {written!r}")
    expression = literal_argument("regexp_replace", pattern, str)
    kernel = functools.partial(
        _replaced,
        pattern=f"(?{inline}){expression}" if inline else expression,
        replacement=literal_argument("regexp_replace", other, str),
        max_replacements=None if "g" in written else 1,
    )
    return call("regexp_replace", kernel, text_argument("regexp_replace", node))


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


FUNCTIONS = (
    Function(
        *("regexp_like", regexp_like, "text, text*, [text*]"),
        "True if the text contains a match of the pattern. Flags: `i`, `s`, `m`.",
        infers_nullable=True,
    ),
    Function(
        *("regexp_match", regexp_match, "text, text*, [text*]"),
        "The groups of the first match as a list, the whole match if the pattern has no groups;"
        " NULL without a match.",
    ),
    Function(
        *("regexp_replace", regexp_replace, "text, text*, text*, [text*]"),
        "The text with the first match replaced; with the flag `g`, every match.",
    ),
)
