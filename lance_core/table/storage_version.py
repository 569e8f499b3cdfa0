"""File versions in table metadata: number pairs in ``DataFile``, names in ``data_format``.

This module has names and pairs only; the file readers and writers implement each version.
"""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.errors import InvalidInputError, UnsupportedFeatureError

DEFAULT = "2.2"
"""File version of new tables and new data files."""

LEGACY = "0.1"

_OLD_PAIRS = {(0, 0): "0.1", (0, 1): "0.1", (0, 2): "0.1", (0, 3): "2.0"}
_NAMES = {"0.1": "0.1", "legacy": "0.1", "0.3": "2.0"}
WRITABLE_PAIRS = {"0.1": (0, 2), "2.0": (2, 0), "2.1": (2, 1), "2.2": (2, 2)}


def name_of_pair(major: int, minor: int) -> str:
    """Canonical name, such as "2.0", of the version pair in a ``DataFile``; (0, 0) is "0.1"."""
    return _OLD_PAIRS.get((major, minor)) or f"{major}.{minor}"


def canonical_name(name: str) -> str:
    """Canonical form of the name in ``data_format.version``; unknown names are unchanged."""
    return _NAMES.get(name, name)


def common_version(names: Iterable[str]) -> str | None:
    """The version that all files have, None without files.

    Raises `UnsupportedFeatureError` if the versions differ. An early release wrote such tables:
    they can be read, but a commit requires that an earlier version is restored first.
    """
    distinct = sorted(set(names))
    if len(distinct) > 1:
        raise UnsupportedFeatureError(
            f"unsupported mixture of data file versions {', '.join(distinct)}; "
            "restore a version of the table from before the mixture"
        )
    return distinct[0] if distinct else None


def may_mix(one: str, other: str) -> bool:
    """True if a table may have files of both versions; 0.1 cannot be mixed with another version."""
    return one == other or (LEGACY not in (one, other) and {one, other} <= WRITABLE_PAIRS.keys())


def check_supported(name: str) -> str:
    """Return ``name`` if it is the canonical name of a version in `WRITABLE_PAIRS`.

    Raises `UnsupportedFeatureError` otherwise.
    """
    if name not in WRITABLE_PAIRS:
        raise UnsupportedFeatureError(
            f"unsupported data storage version {name!r}: this library cannot commit to the table"
        )
    return name


def check_requested(name: str) -> str:
    """Return ``name`` in canonical form. Raises `InvalidInputError` for an unknown version."""
    canonical = canonical_name(name)
    if canonical not in WRITABLE_PAIRS:
        known = ", ".join(WRITABLE_PAIRS)
        raise InvalidInputError(f"unknown data storage version {name!r}; known are {known}")
    return canonical
