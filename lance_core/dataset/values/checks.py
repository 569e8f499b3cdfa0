"""The parts of operations, from what users pass to what the format stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lance_core.dataset.values.base_path import DatasetBasePath
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.errors import InvalidInputError
from lance_core.schema import Schema
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest_parts import BasePath

MAX_VERSION = (1 << 64) - 1
"""The highest number that the format has room for."""


def checked_updates(updates: object) -> Mapping[str, str | None]:
    """``updates`` of a map from text to text; raises ``TypeError`` for anything else."""
    if not isinstance(updates, Mapping):
        raise TypeError(f"updates are a dict, got {type(updates).__name__}")
    for key, value in updates.items():
        if not isinstance(key, str) or not isinstance(value, str | None):
            raise TypeError(f"keys and values are text (or None to remove): {key!r}: {value!r}")
        check_text(key)
        check_text(value or "")
    return dict(updates)


def check_text(text: str) -> None:
    """Raises ``TypeError`` for what is no text, `InvalidInputError` for what UTF-8 cannot say."""
    if not isinstance(text, str):
        raise TypeError(f"not text: {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{text!r} cannot be stored as UTF-8") from error


def check_fragments(fragments: Sequence[FragmentMetadata]) -> None:
    """Raises ``TypeError`` unless these are fragments."""
    for fragment in fragments:
        if not isinstance(fragment, FragmentMetadata):
            raise TypeError(
                f"fragments must be list[FragmentMetadata], got {type(fragment).__name__}"
            )


def to_fragments(fragments: Sequence[FragmentMetadata]) -> tuple[Fragment, ...]:
    """The fragments as transactions hold them."""
    return tuple(fragment.to_fragment() for fragment in fragments)


def to_bases(bases: Sequence[DatasetBasePath] | None) -> tuple[BasePath, ...]:
    """Base paths as transactions hold them; ``TypeError`` if they are anything else."""
    for base in bases or ():
        if not isinstance(base, DatasetBasePath):
            raise TypeError(f"a base path is a DatasetBasePath, got {type(base).__name__}")
    return tuple(base.to_stored() for base in bases or ())


def to_schema(schema: Schema | pa.Schema) -> Schema:
    """The schema with field ids; an Arrow schema gets them in order. ``TypeError`` for others."""
    if isinstance(schema, pa.Schema):
        return Schema.from_arrow(schema)
    if not isinstance(schema, Schema):
        raise TypeError(f"schema must be a LanceSchema, got {type(schema).__name__}")
    return schema


def to_version(version: int) -> int:
    """``version``, or `InvalidInputError` if it cannot be the number of one."""
    if not isinstance(version, int) or not 0 < version <= MAX_VERSION:
        raise InvalidInputError(f"a version is a number from 1 on, got {version!r}")
    return version
