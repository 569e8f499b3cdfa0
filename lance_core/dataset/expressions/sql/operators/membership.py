"""IN: membership in a list of values, with one kernel.

The result is NULL if the value is NULL, or if it is not in a list that contains NULL.
"""

from __future__ import annotations

import decimal
import functools
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.expressions.sql.nodes.chunks import once_per_entry
from lance_core.dataset.expressions.sql.nodes.node import (
    Constant,
    Datum,
    InList,
    Node,
    call,
    constant,
    null,
    with_nullable,
)
from lance_core.dataset.expressions.sql.operators import logic
from lance_core.dataset.expressions.sql.operators.compare import compare, equals, float_bits
from lance_core.dataset.expressions.sql.parser.syntax import Literals
from lance_core.dataset.expressions.sql.values import literals
from lance_core.dataset.expressions.sql.values.coerce import as_local, is_text, literal_as, plain
from lance_core.dataset.expressions.sql.values.exact import Grid, exact_value, grid
from lance_core.encodings.arrow.numpy_values import from_values, to_scalar

MAX_COMPARED = 15
"""Maximum length of a list of values of at most 64 bits for which comparisons are faster.

Arrow's hash table of fewer values has more collisions than one of 16. Comparisons of other values
take as long as a look-up in the table, even if there are two.
"""


def is_in(node: Node, choices: Sequence[Node]) -> Node:
    """True if the value is in ``choices``; NULL if this depends on a NULL."""
    if not all(isinstance(choice, Constant) for choice in choices):
        return logic.any_of([compare("=", node, choice) for choice in choices])
    entries = once_per_entry(node, lambda entry: is_in(entry, choices))
    if entries is not None:
        return entries
    node = plain(node)
    few = MAX_COMPARED if _is_word(node.type) else 1
    if len(choices) <= few or isinstance(node, Constant):
        return logic.any_of([compare("=", node, choice) for choice in choices])
    literals = [literal_as(c, node.type) for c in choices if isinstance(c, Constant)]
    valid = [literal for literal in literals if not literal.is_null]
    equal = [value for literal in valid for value in equals(node.type, literal)]
    return _member(node, from_values(equal, node.type), has_null=len(valid) < len(literals))


def is_among(node: Node, choices: Literals) -> Node:
    """`is_in` for a long list of literals, with one kernel.

    Raises `InvalidInputError` for types that cannot be compared.
    """
    entries = once_per_entry(node, lambda entry: is_among(entry, choices))
    if entries is not None:
        return entries
    node = plain(node)
    if pa.types.is_null(node.type):
        return null(pa.bool_())
    return _member(node, members(node.type, choices), choices.has_null)


def _member(node: Node, values: pa.Array, has_null: bool) -> Node:
    kernel = functools.partial(is_member, values=values, has_null=has_null)
    return with_nullable(call(InList(values, has_null), kernel, node), node.nullable or has_null)


def _is_word(type_: pa.DataType) -> bool:
    """True for types whose values have at most 64 bits."""
    try:
        return bool(type_.bit_width <= 64)
    except ValueError:
        return False


def members(type_: pa.DataType, choices: Literals) -> pa.Array:
    """The values of ``type_`` that equal one of the literals."""
    for example in _examples(choices):
        equals(type_, literal_as(example, type_))
    if is_text(type_):
        return pa.array(choices.texts, type_)
    if choices.texts:
        return _moments(type_, choices.texts)
    where = grid(type_)
    if where is not None:
        return _at(type_, [n for n in _counts(where, choices) if where.low <= n <= where.high])
    if pa.types.is_floating(type_):
        return _floats(type_, choices)
    return pa.array([], type_)


def _examples(choices: Literals) -> Iterator[Constant]:
    """One literal of each kind that occurs, as examples for type checks."""
    if choices.texts:
        yield constant(choices.texts[0])
    if choices.integers or choices.fractions:
        yield literals.number(str((choices.integers or choices.fractions)[0]))


def _counts(where: Grid, choices: Literals) -> Iterator[int]:
    """The multiples of the grid's step that equal one of the numbers in ``choices``."""
    per_unit = 1 / where.step
    if per_unit.denominator == 1:
        yield from (number * per_unit.numerator for number in choices.integers)
    else:
        whole = (number * per_unit for number in choices.integers)
        yield from (count.numerator for count in whole if count.denominator == 1)
    scale = len(str(per_unit)) - 1 if per_unit.denominator == 1 else None
    for text in choices.fractions:
        if scale is not None and len(text) <= _SHORT and _EXPONENT.isdisjoint(text):
            yield from _count(text, scale)
            continue
        exact = exact_value(literals.number(text))
        if isinstance(exact, Fraction) and (exact * per_unit).denominator == 1:
            yield (exact * per_unit).numerator


_SHORT = 40
"""Maximum characters of a number that `_count` reads."""

_EXPONENT = frozenset("eE_")


def _count(text: str, scale: int) -> tuple[int, ...]:
    """A number without an exponent in steps of ``10 ** -scale``; nothing if it is between two."""
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    if len(fraction) > scale:
        return ()
    digits = whole + fraction.ljust(scale, "0")
    return (int(digits) if digits not in ("", "-") else 0,)


def _at(type_: pa.DataType, counts: list[int]) -> pa.Array:
    """The integers or decimals of so many steps: ``counts`` has one number for each."""
    if pa.types.is_integer(type_):
        return pa.array(counts, type_)
    if not counts or (min(counts) >= -(2**63) and max(counts) < 2**63):
        low = np.array(counts, np.int64)
        # The higher words of a decimal repeat the sign.
        words = [low, *[low >> 63] * (type_.bit_width // 64 - 1)]
        values = pa.py_buffer(np.stack(words, axis=1))
        return pa.Array.from_buffers(type_, len(counts), [None, values])
    with decimal.localcontext(prec=100):
        return pa.array([decimal.Decimal(n).scaleb(-type_.scale) for n in counts], type_)


_PLAIN_MOMENT = re.compile(
    r"(?!0000)\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?)?", re.ASCII
)
"""Texts of dates and times that Arrow reads as `literals.timestamp` does."""


def _moments(type_: pa.DataType, texts: list[str]) -> pa.Array:
    """The values of a type of dates or times that equal one of ``texts``."""
    if _are_plain(type_, texts):
        try:
            return _plain_moments(type_, pa.array(texts))
        except pa.ArrowInvalid:
            pass  # not a day, or not a day in 64 bits: the loop below names the text
    values = [literal_as(constant(text), type_) for text in texts]
    return pa.array([value for text in values for value in equals(type_, text)], type_)


def _are_plain(type_: pa.DataType, texts: list[str]) -> bool:
    if not (pa.types.is_date(type_) or pa.types.is_timestamp(type_)):
        return False
    has_zone = pa.types.is_timestamp(type_) and type_.tz
    if has_zone and any("." in text for text in texts):
        return False  # a local time is converted in whole seconds
    return all(map(_PLAIN_MOMENT.fullmatch, texts))


def _plain_moments(type_: pa.DataType, texts: pa.StringArray) -> pa.Array:
    """`_moments` of texts in the form `_PLAIN_MOMENT`; raises `ArrowInvalid` for other days."""
    has_fraction = pc.any(pc.match_substring(texts, ".")).as_py()
    exact = pc.cast(texts, pa.timestamp("ns" if has_fraction else "s"))
    if pa.types.is_timestamp(type_) and type_.tz:
        return pc.cast(as_local(exact, type_.tz), type_)
    # A date64 is a time in milliseconds, which Arrow's casts would cut to a day.
    stored = pa.timestamp("ms") if pa.types.is_date64(type_) else type_
    values = pc.cast(exact, stored, safe=False)
    values = values.filter(pc.equal(pc.cast(values, exact.type), exact))
    return values if stored == type_ else values.view(pa.int64()).view(type_)


def _floats(type_: pa.DataType, choices: Literals) -> pa.Array:
    """The float nearest to each number; 0.0 and -0.0 for zero."""
    numbers = [*map(float, choices.integers), *map(float, choices.fractions)]
    values = pa.array(numbers, pa.float64()).cast(type_, safe=False)
    if pc.any(pc.equal(values.cast(pa.float64()), 0.0)).as_py():
        zeros = pa.array([0.0, -0.0], pa.float64()).cast(type_)
        return pa.concat_arrays([values, zeros])
    return values


def is_member(value: Datum, values: pa.Array, has_null: bool) -> Datum:
    """True if the value is in ``values``; otherwise NULL if ``has_null``, else false."""
    if isinstance(value, pa.Scalar):
        return is_member(pa.array([value]), values, has_null)[0]
    is_listed = pc.is_in(float_bits(value), value_set=float_bits(values))
    missing = to_scalar(None, pa.bool_())
    if has_null:
        return pc.if_else(is_listed, is_listed, missing)
    return pc.if_else(pc.is_valid(value), is_listed, missing) if value.null_count else is_listed
