"""Checks and conversions of the parts of operations, from user values to stored values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lance_core.dataset.values.base_path import DatasetBasePath
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.errors import InvalidInputError
from lance_core.imports.pauses import pausing_for
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest_parts import BasePath

MAX_VERSION = (1 << 64) - 1
"""The highest version number: the format stores versions as u64."""


def checked_updates(updates: object) -> Mapping[str, str | None]:
    """``updates`` itself; raises ``TypeError`` unless it maps ``str`` to ``str`` or None."""
    if not isinstance(updates, Mapping):
        raise TypeError(f"updates must be a dict, got {type(updates).__name__}")
    for key, value in updates.items():
        if not isinstance(key, str) or not isinstance(value, str | None):
            raise TypeError(
                "updates must map text to text (None removes a key), got the entry "
                f"{key!r}: {value!r}"
            )
        check_text(key)
        check_text(value or "")
    return dict(updates)


def check_text(text: str) -> None:
    """Raise ``TypeError`` unless ``text`` is a ``str``, `InvalidInputError` if not valid UTF-8."""
    if not isinstance(text, str):
        raise TypeError(f"expected text, got {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{text!r} cannot be stored as UTF-8") from error


def check_fragments(fragments: Sequence[FragmentMetadata]) -> None:
    """Raise ``TypeError`` unless ``fragments`` is a list of `FragmentMetadata`."""
    for fragment in fragments:
        if not isinstance(fragment, FragmentMetadata):
            raise TypeError(
                f"fragments must be list[FragmentMetadata], got {type(fragment).__name__}"
            )


def to_fragments(fragments: Sequence[FragmentMetadata]) -> tuple[Fragment, ...]:
    """The stored form of ``fragments``, for a transaction."""
    with pausing_for(len(fragments)):
        return tuple([fragment.to_fragment() for fragment in fragments])


def to_bases(bases: Sequence[DatasetBasePath] | None) -> tuple[BasePath, ...]:
    """The stored form of ``bases``; raises ``TypeError`` for other classes."""
    for base in bases or ():
        if not isinstance(base, DatasetBasePath):
            raise TypeError(f"a base path must be a DatasetBasePath, got {type(base).__name__}")
    return tuple(base.to_stored() for base in bases or ())


def to_version(version: int) -> int:
    """``version`` itself; raises `InvalidInputError` unless it is a valid version number."""
    if not isinstance(version, int) or not 0 < version <= MAX_VERSION:
        raise InvalidInputError(
            f"version must be an integer from 1 to {MAX_VERSION}, got {version!r}"
        )
    return version
