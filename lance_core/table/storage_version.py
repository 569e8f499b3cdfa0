"""File versions in table metadata: number pairs in ``DataFile``, names in ``data_format``.

The versions themselves, known and unknown ones, are those of `lance_core.file_version`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.file_version import (
    FileVersion,
    VersionFacts,
    canonical_name,
    find_version,
    version_of_pair,
)

DEFAULT = "2.2"
"""File version of new tables and new data files."""

OLDEST = "0.1"
"""File version of tables whose manifests have none, and of tables that old releases mislabelled."""


def name_of_pair(major: int, minor: int) -> str:
    """Canonical name, such as "2.0", of the version pair in a ``DataFile``; (0, 0) is "0.1"."""
    version = version_of_pair(major, minor)
    return f"{major}.{minor}" if version is None else version.value


def facts_of(name: str) -> VersionFacts:
    """The facts of the version with a canonical name; an unknown one is taken for one like 2.2."""
    version = find_version(name)
    return VersionFacts(value=name, footer=(0, 0), data_file=(0, 0)) if version is None else version


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


def may_mix(left: str, right: str) -> bool:
    """True if a table may have files of both versions, by `VersionFacts.may_mix` of each."""
    if left == right:
        return True
    versions = find_version(left), find_version(right)
    return all(version is not None and version.may_mix for version in versions)


def check_supported(name: str) -> str:
    """Return ``name`` if it is the canonical name of a known version.

    Raises `UnsupportedFeatureError` otherwise.
    """
    if find_version(name) is None:
        raise UnsupportedFeatureError(
            f"unsupported data storage version {name!r}: this library cannot commit to the table"
        )
    return name


def check_requested(name: str) -> str:
    """Return ``name`` in canonical form. Raises `InvalidInputError` for an unknown version."""
    canonical = canonical_name(name)
    if find_version(canonical) is None:
        known = ", ".join(version.value for version in FileVersion)
        raise InvalidInputError(f"unknown data storage version {name!r}; known are {known}")
    return canonical
