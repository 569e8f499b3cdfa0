"""``auto_cleanup_options`` of `write_dataset`, converted to keys of the table's config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from lance_core.error_texts.suggestions import hint
from lance_core.errors import InvalidInputError

INTERVAL = "lance.auto_cleanup.interval"
"""Config key: number of versions between automatic cleanups."""

OLDER_THAN = "lance.auto_cleanup.older_than"
"""Config key: minimum age of the versions that a cleanup removes, such as ``14days``."""

_UNITS = (
    ("year", 31_557_600, True),
    ("month", 2_630_016, True),
    ("day", 86_400, True),
    ("h", 3_600, False),
    ("m", 60, False),
    ("s", 1, False),
)
"""Name, length in seconds, and True if a count above 1 appends an ``s``."""


class AutoCleanupConfig(TypedDict, total=False):
    """When commits clean up older versions.

    ``interval``: number of versions between cleanups (20). ``older_than_seconds``: minimum age in
    seconds of the versions that a cleanup removes (14 days).
    """

    interval: int
    older_than_seconds: int


def auto_cleanup_keys(options: Mapping[str, int] | None) -> dict[str, str]:
    """The config entries of a new table for ``options``; empty if they are None.

    Raises `InvalidInputError` for a negative or fractional value, and for an unknown name.
    """
    if options is None:
        return {}
    known = AutoCleanupConfig.__annotations__
    for name in options.keys() - known.keys():
        raise InvalidInputError(f"auto_cleanup_options have no {name!r}{hint(str(name), known)}")
    interval = options.get("interval", 20)
    age = options.get("older_than_seconds", 14 * 86_400)
    for value in (interval, age):
        if not isinstance(value, int) or not 0 <= value < 1 << 63:
            raise InvalidInputError(
                f"auto_cleanup_options must be whole numbers of versions or seconds, got {value!r}"
            )
    return {INTERVAL: str(interval), OLDER_THAN: duration_text(age)}


def duration_text(seconds: int) -> str:
    """``seconds`` as text in the units that other Lance writers use, such as ``1day 1h 1m 1s``."""
    parts = []
    rest = seconds
    for name, length, has_plural in _UNITS:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{name}{'s' if has_plural and count > 1 else ''}")
    return " ".join(parts) or "0s"
