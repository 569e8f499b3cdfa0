"""When commits clean up older versions: the option of `write_dataset`, as keys of the config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from lance_core.errors import InvalidInputError
from lance_core.suggestions import hint

INTERVAL = "lance.auto_cleanup.interval"
"""Key of a table's config: a cleanup after every so many versions."""

OLDER_THAN = "lance.auto_cleanup.older_than"
"""Key of a table's config: how old a version is that is removed, such as ``14days``."""

_UNITS = (
    ("year", 31_557_600, True),
    ("month", 2_630_016, True),
    ("day", 86_400, True),
    ("h", 3_600, False),
    ("m", 60, False),
    ("s", 1, False),
)
"""Name, length in seconds, and whether the name has a plural."""


class AutoCleanupConfig(TypedDict, total=False):
    """``interval``: versions between cleanups (20); ``older_than_seconds``: age (14 days)."""

    interval: int
    older_than_seconds: int


def auto_cleanup_keys(options: Mapping[str, int] | None) -> dict[str, str]:
    """The keys of a new table's config; none if ``options`` is None.

    Raises `InvalidInputError` unless both are whole numbers from 0 on, and for unknown names.
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
            raise InvalidInputError(f"auto cleanup counts versions and seconds, got {value!r}")
    return {INTERVAL: str(interval), OLDER_THAN: duration_text(age)}


def duration_text(seconds: int) -> str:
    """``seconds`` in the units that writers of the format use: ``1day 1h 1m 1s``."""
    parts = []
    rest = seconds
    for name, length, has_plural in _UNITS:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{name}{'s' if has_plural and count > 1 else ''}")
    return " ".join(parts) or "0s"
