"""Paths into JSON values: ``$.a[0]."b c"[*]``, as pylance's JSON functions take them.

A path is a sequence of steps. Each step maps every value to none, one or several values inside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.json import members as json_members
from lance_core.schema.json.members import Int64Array, Members

_STEP = re.compile(
    r"""
    [.:]"(?P<quoted>(?:[^"\\]|\\.)*)"
    | (?P<descendants>\.\*\*)
    | (?P<values>\.\*)
    | [.:](?P<name>\w+)
    | \[\s*"(?P<key>(?:[^"\\]|\\.)*)"\s*\]
    | (?P<elements>\[\s*\*\s*\])
    | \[(?P<places>[^\]]*)\]
    """,
    re.VERBOSE,
)
_PLACE = re.compile(r"\s*(?:(last)\s*(?:-\s*(\d{1,9}))?|(-?\d{1,9}))\s*")
_NAMES = frozenset({"quoted", "key", "name"})
"""The groups of `_STEP` that are names of fields."""

_FILTERS = re.compile(r"\s*(\?|[=!<>&|+*/@-])")


@dataclass(frozen=True, slots=True)
class PathMatches:
    """Values inside other values: ``owner`` is the position of the outer value, ascending."""

    owner: Int64Array
    values: Members


Step = Callable[[Members], PathMatches]


def parse_path(text: str) -> tuple[Step, ...]:
    """The steps of a path; ``$`` may be omitted, then the path starts with a name.

    Raises `InvalidInputError` for text that is no path, and `UnsupportedFeatureError` for filters
    and operators.
    """
    text = text.strip()
    rest = text.removeprefix("$")
    if rest == text and rest and (rest[0].isalnum() or rest[0] == "_"):
        rest = f".{rest}"
    at, steps = 0, []
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None:
            if _FILTERS.match(rest, at):
                raise UnsupportedFeatureError(f"the JSON path {text!r} with a filter or operator")
            raise InvalidInputError(f"invalid JSON path {text!r}")
        steps.append(_step(match, text))
        at = match.end()
    return tuple(steps)


def field_names(text: str) -> tuple[str, ...] | None:
    """The names of a path that only has names of fields, outermost first; None for other paths.

    None for text that is no path, too, and for the path of the whole value.
    """
    names, rest = [], text.strip()
    if rest and (rest[0].isalnum() or rest[0] == "_"):
        rest = f".{rest}"
    at, rest = 0, rest.removeprefix("$")
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None or match.lastgroup not in _NAMES:
            return None
        names.append(_name(match))
        at = match.end()
    return tuple(names) or None


def follow(steps: tuple[Step, ...], values: Members) -> PathMatches:
    """All values at the path, for each of ``values``."""
    rows = np.flatnonzero(values.exists)
    matches = PathMatches(rows, values.take(rows))
    for step in steps:
        inner = step(matches.values)
        matches = PathMatches(matches.owner[inner.owner], inner.values)
    return matches


def _step(match: re.Match[str], text: str) -> Step:
    group = match.lastgroup
    value = match[group or 0]
    if group in _NAMES:
        name = _name(match)
        return lambda values: _existing(json_members.field(values, name.encode()))
    if group == "elements":
        return _all_elements
    if group == "values":
        return _all_fields
    if group == "descendants":
        return _descendants
    ranges = [_range(part, text) for part in value.split(",")]
    return lambda values: _elements_at(values, ranges)


def _name(match: re.Match[str]) -> str:
    """The name of the field of a step."""
    group = match.lastgroup or ""
    return match[group] if group == "name" else re.sub(r"\\(.)", r"\1", match[group])


def _range(part: str, text: str) -> tuple[int, int]:
    """The first and last index of ``2``, ``last - 1`` or ``0 to last``; from the end if below 0."""
    ends = [_PLACE.fullmatch(end) for end in re.split(r"\bto\b", part)]
    if not 1 <= len(ends) <= 2 or None in ends:
        raise InvalidInputError(f"invalid JSON path {text!r}")
    # A number below 0 is no element.
    numbers = [int(end[3] or 0) for end in ends if end]
    if min(numbers) < 0:
        return 1, 0
    positions = [-1 - int(end[2] or 0) if end[1] else int(end[3]) for end in ends if end]
    return positions[0], positions[-1]


def _existing(values: Members) -> PathMatches:
    rows = np.flatnonzero(values.exists)
    return PathMatches(rows, values.take(rows))


def _all_elements(values: Members) -> PathMatches:
    """The elements of arrays; other values stand for themselves."""
    own = np.flatnonzero(~json_members.is_array(values))
    owner, inner = json_members.elements(values)
    return _merged([PathMatches(owner, inner), PathMatches(own, values.take(own))])


def _all_fields(values: Members) -> PathMatches:
    owner, _, inner = json_members.object_members(values)
    return PathMatches(owner, inner)


def _elements_at(values: Members, ranges: list[tuple[int, int]]) -> PathMatches:
    counts = json_members.lengths(values)
    owner, inner = json_members.elements(values)
    firsts = np.cumsum(counts) - counts
    number = np.arange(len(owner)) - firsts[owner]
    parts = []
    for first, last in ranges:
        low = np.where(first < 0, counts + first, first)[owner]
        high = np.where(last < 0, counts + last, last)[owner]
        hits = np.flatnonzero((low <= number) & (number <= high))
        parts.append(PathMatches(owner[hits], inner.take(hits)))
    return _merged(parts)


def _descendants(values: Members) -> PathMatches:
    """Each value, and all values inside it at any depth; a value comes before those inside it."""
    levels = [PathMatches(np.arange(len(values)), values)]
    while len(levels[-1].owner):
        last = levels[-1].values
        levels.append(_merged([PathMatches(*json_members.elements(last)), _all_fields(last)]))
    # The owners of a level are positions in the level above it.
    sizes = [np.zeros(0, np.int64)]
    for above, level in zip(levels[-2::-1], levels[:0:-1], strict=True):
        inside = np.bincount(level.owner, sizes[0], len(above.owner))
        sizes.insert(0, 1 + inside.astype(np.int64))
    orders, tops = [np.cumsum(sizes[0]) - sizes[0]], [levels[0].owner]
    for level, size in zip(levels[1:], sizes[1:], strict=True):
        before = np.cumsum(size) - size
        siblings = before - before[np.searchsorted(level.owner, level.owner)]
        orders.append(orders[-1][level.owner] + 1 + siblings)
        tops.append(tops[-1][level.owner])
    order = np.argsort(np.concatenate(orders))
    all_values = json_members.concatenated(*(level.values for level in levels))
    return PathMatches(np.concatenate(tops)[order], all_values.take(order))


def _merged(parts: list[PathMatches]) -> PathMatches:
    """The values of all parts (at least one), ordered by owner."""
    owner = np.concatenate([part.owner for part in parts])
    order = np.argsort(owner, kind="stable")
    values = json_members.concatenated(*(part.values for part in parts))
    return PathMatches(owner[order], values.take(order))
