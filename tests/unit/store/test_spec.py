"""Descriptors of stores."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lance_core.errors import InvalidInputError, PluginLoadError
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core.store.secret import Secret
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.uri import StoreUrl, parse_uri
from tests.each_case import each_case

URL = parse_uri("memory://spec/x")


def remember(seen: list[Mapping[str, str | Secret]]) -> ObjectStoreSpec:
    def factory(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        seen.append(options)
        return MemoryStore()

    return ObjectStoreSpec(
        "example",
        ("example",),
        factory,
        option_aliases={"aws_region": "region", "aws_key": "key"},
        secret_options=frozenset({"key", "Pin"}),
    )


def test_a_factory_gets_canonical_names_and_wrapped_secrets() -> None:
    seen: list[Mapping[str, str | Secret]] = []
    options = {"AWS_Region": "eu", "aws_key": "k", "pin": "1", "my_token": "t", "Else": "x"}
    remember(seen).open(URL, options)
    assert seen == [
        {
            "region": "eu",
            "key": Secret("k"),
            "pin": Secret("1"),
            "my_token": Secret("t"),
            "Else": "x",
        }
    ]


def test_canonical_names_are_found_in_any_case() -> None:
    seen: list[Mapping[str, str | Secret]] = []
    remember(seen).open(URL, {"REGION": "eu"})
    assert seen == [{"region": "eu"}]


def test_an_option_may_be_given_twice_if_it_says_the_same() -> None:
    seen: list[Mapping[str, str | Secret]] = []
    remember(seen).open(URL, {"region": "eu", "aws_region": "eu"})
    assert seen == [{"region": "eu"}]
    with pytest.raises(InvalidInputError, match="region") as caught:
        remember(seen).open(URL, {"region": "eu-S3CRET", "aws_region": "us-S3CRET"})
    assert "S3CRET" not in str(caught.value)


def test_a_factory_can_be_named() -> None:
    spec = ObjectStoreSpec("memory", ("memory",), "lance_core.store.memory:open_memory")
    assert isinstance(spec.open(URL, {}), ObjectStore)


@each_case(
    "name",
    [
        "no_such_module_x:f",
        "lance_core.store.memory:nothing",
        "lance_core.store.memory:CAPABILITIES",
        ":f",
        "lance_core.store.memory:",
    ],
)
def test_a_factory_that_cannot_be_loaded_is_a_plugin_error(name: str) -> None:
    with pytest.raises(PluginLoadError, match="example"):
        ObjectStoreSpec("example", ("example",), name).open(URL, {})


def test_what_is_no_store_is_a_plugin_error() -> None:
    spec = ObjectStoreSpec("example", ("example",), lambda url, options: object())  # type: ignore[arg-type, return-value]
    with pytest.raises(PluginLoadError, match="object"):
        spec.open(URL, {})
