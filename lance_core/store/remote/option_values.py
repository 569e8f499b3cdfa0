"""Parse storage options, which are texts from users, into values.

Every function removes an option from a dictionary, so that the remaining options are the unknown
ones. Errors name the option and never show the value of an option that may be secret.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import TypeAlias

from lance_core.errors import InvalidInputError
from lance_core.store.secret import Secret, plain

Options: TypeAlias = MutableMapping[str, "str | Secret"]

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
}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.ASCII)


def take(options: Options, *names: str) -> str | None:
    """Remove and return the option with one of ``names``; None if it is not given.

    Raises `InvalidInputError` if it is given under two names with different values.
    """
    given = [(name, plain(options.pop(name))) for name in names if name in options]
    if any(value != given[0][1] for _, value in given):
        both = " and ".join(repr(name) for name, _ in given)
        raise InvalidInputError(f"storage options {both} are the same and have different values")
    return given[0][1] if given else None


def take_boolean(options: Options, *names: str, default: bool = False) -> bool:
    """A boolean option, in any of the usual spellings."""
    text = take(options, *names)
    if text is None:
        return default
    word = text.strip().lower()
    if word not in _TRUE and word not in _FALSE:
        raise _malformed(names, "'true' or 'false'", text)
    return word in _TRUE


def take_integer(options: Options, *names: str, default: int, least: int = 0) -> int:
    """An option that is a whole number of at least ``least``."""
    text = take(options, *names)
    if text is None:
        return default
    word = text.strip()
    if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) >= least):
        raise _malformed(names, f"a whole number from {least} on", text)
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
        raise _malformed(names, "a duration, such as '30s'", text)
    return seconds


def _seconds(text: str) -> float | None:
    total, position = 0.0, 0
    for part in _DURATION.finditer(text):
        if part.start() != position or part[2] not in _SECONDS:
            return None
        total += float(part[1]) * _SECONDS[part[2]]
        position = part.end()
    return total if text and position == len(text) else None


def _malformed(names: tuple[str, ...], wanted: str, text: str) -> InvalidInputError:
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return InvalidInputError(f"storage option {names[0]!r} must be {wanted}, not {shown!r}")
