"""Objects of SDKs have names in this process, and only the names are ever given away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lance_core.errors import InvalidInputError
from lance_core_remote.sdk_objects import SdkObjects


@pytest.fixture
def objects() -> SdkObjects[object]:
    return SdkObjects("client", "plugin.register_client")


def test_an_object_is_found_by_its_name(objects: SdkObjects[object]) -> None:
    value = object()
    assert objects.register("mine", value) == "mine"
    assert objects.register("mine", value) == "mine"
    assert objects.get("mine") is value


def test_a_name_has_one_meaning(objects: SdkObjects[object]) -> None:
    objects.register("mine", object())
    with pytest.raises(InvalidInputError, match="another client is registered as 'mine'"):
        objects.register("mine", object())
    objects.unregister("mine")
    objects.unregister("mine")
    objects.register("mine", object())


def test_what_is_not_registered_is_named(objects: SdkObjects[object]) -> None:
    with pytest.raises(InvalidInputError, match=re.escape("plugin.register_client('yours', …)")):
        objects.get("yours")


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "a" * 64, None, 5])
def test_not_everything_is_a_name(objects: SdkObjects[object], name: object) -> None:
    with pytest.raises(InvalidInputError, match="cannot be the name of a client"):
        objects.register(name, object())  # type: ignore[arg-type]  # that is the test


def test_an_object_of_another_class_is_refused() -> None:
    objects = SdkObjects[object]("path", "plugin.register_path", sdk_class="pathlib.PurePath")
    with pytest.raises(InvalidInputError, match=r"the path must be a pathlib\.PurePath, got str"):
        objects.register("mine", "text")
    assert objects.register("mine", Path()) == "mine"
