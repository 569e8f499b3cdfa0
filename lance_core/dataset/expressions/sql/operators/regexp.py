"""``~`` and regexp_like: a text contains a match of a regular expression, which RE2 evaluates.

A pattern takes flags: i (ignore case), s (``.`` matches newlines), m (``^`` and ``$`` match at
lines), U (repetitions are not greedy), x (spaces and comments are ignored).
"""

from __future__ import annotations

import functools

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.node import (
    Constant,
    Datum,
    Node,
    RegexMatch,
    call,
    constant,
    null,
)
from lance_core.dataset.expressions.sql.operators.distinct_options import call_for_distinct
from lance_core.dataset.expressions.sql.operators.regexp_syntax import to_re2
from lance_core.dataset.expressions.sql.values.arguments import literal_argument, text_argument
from lance_core.dataset.expressions.sql.values.coerce import plain


def matches(subject: Node, pattern: Node, ignore_case: bool) -> Node:
    """``subject ~ pattern`` or, if ``ignore_case``, ``subject ~* pattern``; NULL if one is NULL."""
    flags = [constant("i")] if ignore_case else []
    subject, pattern = plain(subject), plain(pattern)
    if isinstance(pattern, Constant) and not pattern.is_null:
        return regexp_like(subject, pattern, *flags)
    arguments = [subject, pattern, *flags]
    node = call_for_distinct("regexp_like", regexp_like, arguments, {1: constant("i")})
    return null(node.type) if isinstance(pattern, Constant) else node


def regexp_like(node: Node, pattern: Node, flags: Node | None = None) -> Node:
    """True if the text contains a match of the pattern; flags that are NULL are none."""
    return search("regexp_like", node, pattern, flags)


def search(what: str, node: Node, pattern: Node, flags: Node | None) -> Node:
    """`regexp_like` for the function ``what``; the pattern must be a literal."""
    written_flags = flags_of(what, flags)
    if isinstance(pattern, Constant) and pattern.is_null:
        return null(pa.bool_())
    written = literal_argument(what, pattern, str)
    kernel = functools.partial(_matches, pattern=written, flags=written_flags)
    texts = text_argument(what, node)
    if not isinstance(texts, Constant):
        call(what, kernel, constant(""))  # data may have no rows: report an invalid pattern now
    return call(RegexMatch(written, written_flags), kernel, texts)


def _matches(value: Datum, pattern: str, flags: str) -> Datum:
    return pc.match_substring_regex(value, to_re2("regexp_like", pattern, flags))


def flags_of(what: str, flags: Node | None, without: str = "") -> str:
    """The flags of a call, without those in ``without``; NULL is none."""
    if flags is None or (isinstance(flags, Constant) and flags.is_null):
        return ""
    written = literal_argument(what, flags, str)
    own_flags = "".join(flag for flag in written if flag not in without)
    to_re2(what, "", own_flags)
    return own_flags
