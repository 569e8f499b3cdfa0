"""Parse storage options, which are texts from users, into values.

Every function removes an option from a dictionary, so that the remaining options are the unknown
ones. Errors name the option, or the environment variable that sets it, and what was expected. They
never show the value, which may be a secret in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import TypeAlias

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret, plain

Options: TypeAlias = MutableMapping[str, str | Secret]


class GivenOptions(dict[str, str | Secret]):
    """Options by canonical name; ``variables`` has the environment variable of those set by one."""

    def __init__(self, options: Mapping[str, str | Secret]) -> None:
        super().__init__(options)
        self.variables: dict[str, str] = {}


_TRUE = frozenset({"1", "true", "on", "yes", "y"})
_FALSE = frozenset({"0", "false", "off", "no", "n"})

_SECONDS = {
    **dict.fromkeys(("nsec", "ns", "nanos"), 1e-9),
    **dict.fromkeys(("usec", "us", "micros"), 1e-6),
    **dict.fromkeys(("msec", "ms", "millis"), 1e-3),
    **dict.fromkeys(("seconds", "second", "secs", "sec", "s", ""), 1.0),
    **dict.fromkeys(("minutes", "minute", "mins", "min", "m"), 60.0),
    **dict.fromkeys(("hours", "hour", "hrs", "hr", "h"), 3600.0),
    **dict.fromkeys(("days", "day", "d"), 86400.0),
    **dict.fromkeys(("weeks", "week", "w"), 7 * 86400.0),
    **dict.fromkeys(("months", "month"), 30.44 * 86400.0),
    **dict.fromkeys(("years", "year", "y"), 365.25 * 86400.0),
}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.ASCII)


def described(options: Options, name: str) -> str:
    """The option in an error: by name, or by the environment variable that sets it."""
    variable = getattr(options, "variables", {}).get(name)
    return f"storage option {name!r}" if variable is None else f"environment variable {variable}"


def is_false(text: str) -> bool:
    """True for "" and all spellings of false."""
    word = text.strip().lower()
    return not word or word in _FALSE


def take(options: Options, *names: str) -> str | None:
    """Remove and return the option with one of ``names``; None if it is not given.

    Raises `InvalidInputError` if it is given under two names with different values.
    """
    values = [(name, plain(options.pop(name))) for name in names if name in options]
    if any(value != values[0][1] for _, value in values):
        both = " and ".join(repr(name) for name, _ in values)
        raise InvalidInputError(f"storage options {both} are the same and have different values")
    return values[0][1] if values else None


def take_boolean(options: Options, *names: str, default: bool = False) -> bool:
    """A boolean option, in any of the usual spellings."""
    text = take(options, *names)
    if text is None:
        return default
    word = text.strip().lower()
    if word not in _TRUE and word not in _FALSE:
        raise _malformed(options, names, "'true' or 'false'")
    return word in _TRUE


def take_integer(options: Options, *names: str, default: int, least: int = 0) -> int:
    """An option that is a whole number of at least ``least``."""
    text = take(options, *names)
    if text is None:
        return default
    word = text.strip()
    if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) >= least):
        raise _malformed(options, names, f"a whole number from {least} on")
    return int(word)


def take_seconds(options: Options, *names: str, default: float) -> float:
    """A duration option in seconds: ``30``, ``30s``, ``1m 30s``, ``500 ms``.

    Returns ``default`` if it is not given. Raises `InvalidInputError` unless it is positive.
    """
    text = take(options, *names)
    if text is None:
        return default
    seconds = _seconds(text.strip().lower())
    if seconds is None or not 0 < seconds < 1e9:
        raise _malformed(options, names, "a duration, such as '30s'")
    return seconds


def _seconds(text: str) -> float | None:
    total, position = 0.0, 0
    for part in _DURATION.finditer(text):
        if part.start() != position or part[2] not in _SECONDS:
            return None
        total += float(part[1]) * _SECONDS[part[2]]
        position = part.end()
    return total if text and position == len(text) else None


def _malformed(options: Options, names: tuple[str, ...], expected: str) -> InvalidInputError:
    return InvalidInputError(f"{described(options, names[0])} must be {expected}")
