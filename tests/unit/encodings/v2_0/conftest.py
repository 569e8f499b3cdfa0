"""Storing a field or an array in memory with the built-in encodings."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from lance_core.encodings import v2_0
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.schema import Field, Schema
from lance_core_testing.encodings.stored_field import StoredField

Store = Callable[..., StoredField]


@pytest.fixture(scope="session")
def registry() -> EncodingRegistry:
    return EncodingRegistry(("built-in", spec) for spec in v2_0.specs())


@pytest.fixture
def store(registry: EncodingRegistry) -> Store:
    """Stores arrays as the column ``x``, whose metadata may be given, with limits."""

    def write(
        *arrays: pa.Array, metadata: dict[str, str] | None = None, **limits: int
    ) -> StoredField:
        arrow = pa.field("x", arrays[0].type, metadata=metadata)
        return StoredField.write(field_of(arrow), arrays, registry, FileVersion.V2_0, **limits)

    return write


def field_of(arrow: pa.Field) -> Field:
    return Schema.from_arrow(pa.schema([arrow])).fields[0]
