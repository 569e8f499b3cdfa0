"""Looking encodings up: by family and key, with errors that help."""

from __future__ import annotations

import pytest

from lance_core.encodings.registry import EncodingFamily, EncodingRegistry, EncodingSpec
from lance_core.encodings.version import FileVersion
from lance_core.errors import PluginConflictError, UnsupportedFeatureError

FLAT = EncodingSpec("flat", FileVersion.V2_0, len)
FLAT_2_1 = EncodingSpec("flat", FileVersion.V2_1, len, family=EncodingFamily.COMPRESSIVE)
OTHER = EncodingSpec("nullable", FileVersion.V2_0, len)


def test_a_key_is_found_in_its_family() -> None:
    registry = EncodingRegistry([("a", FLAT), ("b", FLAT_2_1), ("b", OTHER)])
    assert registry.find("flat") is FLAT
    assert registry.find("flat", EncodingFamily.COMPRESSIVE) is FLAT_2_1
    assert registry.find("nullable") is OTHER
    assert registry.keys() == ["flat", "nullable"]


def test_two_providers_of_a_key_are_an_error_only_when_it_is_used() -> None:
    registry = EncodingRegistry([("first", FLAT), ("second", FLAT), ("second", OTHER)])
    assert registry.find("nullable") is OTHER
    with pytest.raises(PluginConflictError, match=r"'flat' is provided by 'first' and 'second'"):
        registry.find("flat")


def test_an_unknown_name_of_the_format_is_unsupported() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"'rle' is not supported; known are flat"):
        EncodingRegistry([("a", FLAT)]).find("rle")


def test_an_empty_registry_knows_nothing() -> None:
    with pytest.raises(UnsupportedFeatureError, match="known are none"):
        EncodingRegistry([]).find("flat")
