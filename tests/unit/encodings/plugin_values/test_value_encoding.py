"""Encodings of values: what a descriptor may say, and how a field finds the one it asks for."""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa
import pytest

from lance_core.encodings.plugin_values.value_encoding import (
    MAX_BLOCK_VALUES,
    ValueEncodingSpec,
    check_value_encodings,
    find_value_encoding,
    value_encoding,
)
from lance_core.encodings.registry import EncodingRegistry
from lance_core.errors import (
    InvalidInputError,
    PluginConflictError,
    PluginLoadError,
    PluginNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.schema import Field, Schema
from tests.each_case import each_case

SPEC = ValueEncodingSpec(
    key="/example.org/plain",
    name="plain",
    distribution="lance-core-plain",
    encoder=lambda array: array.to_numpy().tobytes(),
    decoder=lambda data, type_, count: pa.Array.from_buffers(type_, count, [None, data]),
    accepts=pa.types.is_int64,
)
REGISTRY = EncodingRegistry([("one", SPEC)])
ASKED = {"lance-encoding:encoding": "plain"}


def field(type_: pa.DataType, metadata: dict[str, str] | None = ASKED) -> Field:
    return Schema.from_arrow(pa.schema([pa.field("x", type_, metadata=metadata)])).fields[0]


@each_case(
    "wrong",
    [
        {"key": "plain"},
        {"key": "/lance.encodings21.PageLayout"},
        {"name": ""},
        {"name": "Plain"},
        {"name": "/plain"},
        {"distribution": ""},
        {"block_values": 0},
        {"block_values": MAX_BLOCK_VALUES + 1},
    ],
    ids=str,
)
def test_a_descriptor_that_nobody_could_find_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PluginLoadError):
        dataclasses.replace(SPEC, **wrong)


@pytest.mark.parametrize("wanted", ["plain", "/example.org/plain"])
def test_an_encoding_is_found_by_its_name_and_by_its_type_url(wanted: str) -> None:
    asked = field(pa.int64(), {"lance-encoding:encoding": wanted})
    assert value_encoding(asked, "x", REGISTRY) is SPEC


def test_a_field_that_asks_for_nothing_has_none() -> None:
    assert value_encoding(field(pa.int64(), None), "x", REGISTRY) is None


def test_an_unknown_encoding_names_the_known_ones_and_what_failed_to_load() -> None:
    registry = EncodingRegistry([("one", SPEC)], ["'other' of other 1.0 (ImportError: no such)"])
    text = (
        r"a test needs encoding 'other', which no plugin provides\. pip install lance-core-other\. "
        r"known: plain \(/example\.org/plain\)\. failed to load: 'other' of other 1\.0"
    )
    with pytest.raises(PluginNotFoundError, match=text):
        find_value_encoding("other", registry, "a test", "lance-core-other")


def test_two_providers_of_a_name_are_an_error_that_names_both() -> None:
    other = dataclasses.replace(SPEC, key="/example.org/other")
    registry = EncodingRegistry([("one", SPEC), ("two", other)])
    with pytest.raises(PluginConflictError, match="'plain' is provided by 'one' and 'two'"):
        find_value_encoding("plain", registry, "a test")
    assert find_value_encoding(other.key, registry, "a test") is other


def test_a_type_that_is_not_accepted_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"'x'.*not for values of type double"):
        value_encoding(field(pa.float64()), "x", REGISTRY)


ITEM = pa.field("y", pa.int64(), metadata=ASKED)


@each_case(
    "type_",
    [pa.list_(pa.int64()), pa.struct([("y", pa.int64())]), pa.map_(pa.int64(), pa.int64())],
    ids=str,
)
def test_only_fields_that_hold_values_can_ask_for_an_encoding(type_: pa.DataType) -> None:
    with pytest.raises(InvalidInputError, match="field 'x'"):
        check_value_encodings(field(type_), REGISTRY)


def test_members_of_a_packed_struct_cannot_ask_for_an_encoding() -> None:
    packed = field(pa.struct([ITEM]), {"packed": "true"})
    with pytest.raises(InvalidInputError, match=r"field 'x\.y'"):
        check_value_encodings(packed, REGISTRY)


@each_case("type_", [pa.list_(ITEM), pa.struct([ITEM]), pa.int64()], ids=str)
def test_fields_at_any_depth_can_ask_for_an_encoding(type_: pa.DataType) -> None:
    found = field(type_, None if pa.types.is_nested(type_) else ASKED)
    check_value_encodings(found, REGISTRY)
    with pytest.raises(PluginNotFoundError, match="field 'x"):
        check_value_encodings(found, EncodingRegistry([]))
