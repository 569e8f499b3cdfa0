"""Long chains of AND and OR, as programs write them: many comparisons of one value become few.

``a = 1 OR a = 2 OR …`` is ``a IN (1, 2, …)``; of ``a < 5 AND a < 7 AND …`` the lowest bound
decides, of ``a < 5 OR a < 7 OR …`` the highest. NULL does not change this: each comparison with
NULL is NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from lance_core.dataset.expressions.sql.parser import syntax
from lance_core.dataset.expressions.sql.parser.grammar import literals
from lance_core.dataset.expressions.sql.parser.lexer import MIN_LITERALS
from lance_core.dataset.expressions.sql.parser.syntax import Name

_PLAIN_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,40})?")
"""Numbers whose exact values are cheap to compare."""

_UPPER, _LOWER = ("<", "<="), (">", ">=")


def shortened(tree: syntax.Logic) -> Sequence[syntax.Tree]:
    """Operands whose AND or OR is that of the operands of ``tree``; fewer if there are many."""
    if len(tree.operands) < MIN_LITERALS:
        return tree.operands
    return _tightest(_merged_into_lists(tree), tree.is_and)


def _merged_into_lists(tree: syntax.Logic) -> list[syntax.Tree]:
    """The operands, with all ``a = 1`` (under AND: ``a <> 1``) merged into one [NOT] IN."""
    operator = "<>" if tree.is_and else "="
    texts_of: dict[tuple[Name, ...], list[str]] = {}
    rest: list[syntax.Tree] = []
    for operand in tree.operands:
        literal = _literal_compared(operand, operator)
        if literal is None:
            rest.append(operand)
        else:
            texts_of.setdefault(literal[0], []).append(literal[1])
    for parts, texts in texts_of.items():
        choices = literals(",".join(texts))
        rest.append(syntax.In(syntax.NameReference(parts), choices, negated=tree.is_and))
    return rest


def _literal_compared(tree: syntax.Tree, operator: str) -> tuple[tuple[Name, ...], str] | None:
    """The column and the literal's text if ``tree`` is ``column operator literal``, else None."""
    match tree:
        case syntax.Comparison(sign, syntax.NameReference(parts), syntax.Number(digits)):
            return (parts, digits) if sign == operator else None
        case syntax.Comparison(sign, syntax.NameReference(parts), syntax.Text(value)):
            quoted = "'" + value.replace("'", "''") + "'"
            return (parts, quoted) if sign == operator else None
    return None


def _tightest(operands: Sequence[syntax.Tree], is_and: bool) -> list[syntax.Tree]:
    """Keep, of all bounds of one value with one operator, the only one that decides."""
    bounds: dict[tuple[syntax.Tree, str], tuple[Decimal, syntax.Tree]] = {}
    rest: list[syntax.Tree] = []
    for operand in operands:
        comparisons = list(_bounds(operand, is_and))
        if not comparisons:
            rest.append(operand)
        for comparison, number in comparisons:
            key = comparison.left, comparison.operator
            known = bounds.get(key)
            if known is None or _decides(number, known[0], comparison.operator, is_and):
                bounds[key] = number, comparison
    return [*rest, *(comparison for _, comparison in bounds.values())]


def _decides(number: Decimal, other: Decimal, operator: str, is_and: bool) -> bool:
    return number < other if (operator in _UPPER) is is_and else number > other


def _bounds(tree: syntax.Tree, is_and: bool) -> Iterator[tuple[syntax.Comparison, Decimal]]:
    """``tree`` as comparisons with numbers that AND (or OR) joins; none for another condition."""
    match tree:
        case syntax.Comparison(sign, subject, syntax.Number(digits)):
            if sign in (*_UPPER, *_LOWER) and _is_plain(subject, digits):
                yield tree, Decimal(digits)
        case syntax.Between(subject, syntax.Number(low), syntax.Number(high), negated):
            if negated is not is_and and _is_plain(subject, low, high):
                signs = (">=", "<=") if is_and else ("<", ">")
                for sign, digits in zip(signs, (low, high), strict=True):
                    bound = syntax.Comparison(sign, subject, syntax.Number(digits))
                    yield bound, Decimal(digits)


def _is_plain(subject: syntax.Tree, *numbers: str) -> bool:
    """Whether the subject is a column or arithmetic of columns and numbers, and numbers are short.

    Such subjects have the same value each time that they are computed, and are hashable.
    """
    match subject:
        case syntax.NameReference() | syntax.Number():
            pass
        case syntax.Arithmetic(first, rest):
            if not all(_is_plain(part) for part in (first, *(part for _, part in rest))):
                return False
        case _:
            return False
    return all(_PLAIN_NUMBER.fullmatch(number) for number in numbers)
