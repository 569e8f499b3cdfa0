"""Values of every kind that compressive encodings store, and where they may be stored."""

from __future__ import annotations

import pytest

from lance_core.encodings.context import DecodeContext
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.plugins.builtin import lance_encodings


@pytest.fixture(scope="session")
def registry() -> EncodingRegistry:
    return EncodingRegistry(("built-in", spec) for spec in lance_encodings())


@pytest.fixture(scope="session")
def context(registry: EncodingRegistry) -> DecodeContext:
    return DecodeContext(0, 0, FileVersion.V2_2, registry)
