"""Environment of encoders of 2.1 and 2.2 files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_core.encodings.context import DecodeContext, EncodeContext
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.plugins.builtin import lance_encodings

REGISTRY = EncodingRegistry(("built-in", spec) for spec in lance_encodings())
Encoding = Callable[[str], EncodeContext]


@pytest.fixture(scope="session")
def encoding() -> Encoding:
    """The context of an encoder, by the file version."""
    return lambda version: EncodeContext(FileVersion(version), REGISTRY, lambda _: 0)


@pytest.fixture(scope="session")
def decoding() -> DecodeContext:
    return DecodeContext(0, 0, FileVersion.V2_2, REGISTRY)
