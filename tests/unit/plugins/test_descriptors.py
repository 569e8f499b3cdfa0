"""What a hook must not return: the error names the hook, the field and the type."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from lance_core.encodings.version import FileVersion, FileVersionSpec, VersionFacts
from lance_core.hookspecs import (
    CommandSpec,
    CommitHandlerSpec,
    EncodingSpec,
    IndexTypeSpec,
    KernelSpec,
    ManifestStoreSpec,
    NamespaceSpec,
    ObjectStoreSpec,
    SqlFunctionSpec,
    ToolSpec,
    hookimpl,
)
from lance_core.hookspecs.analyzers import AnalyzerSpec
from lance_core.hookspecs.searches import SearchSpec
from lance_core.plugins.loading import Contribution, PluginLoadFailure, PluginSource, load
from tests.each_case import each_case


def nothing(*_: Any) -> None:
    """A factory that is never called."""


def offers_nothing() -> list[Any]:
    """A hook."""
    return []


async def _later() -> list[ObjectStoreSpec]:
    return []


MAKERS: dict[str, tuple[type, dict[str, Any]]] = {
    "lance_object_stores": (ObjectStoreSpec, {"name": "v", "schemes": ("v",), "factory": nothing}),
    "lance_commit_handlers": (CommitHandlerSpec, {"name": "v", "factory": nothing}),
    "lance_manifest_stores": (
        ManifestStoreSpec,
        {"name": "v", "url_suffix": "v", "factory": nothing},
    ),
    "lance_encodings": (
        EncodingSpec,
        {"key": "v", "min_file_version": FileVersion.V2_1, "decoder": nothing},
    ),
    "lance_file_versions": (FileVersionSpec, {"version": FileVersion.V2_1}),
    "lance_kernels": (KernelSpec, {"name": "v", "loops": {}}),
    "lance_index_types": (
        IndexTypeSpec,
        {"name": "v", "label": "V", "details_url": "/example.V", "factory": nothing},
    ),
    "lance_analyzers": (AnalyzerSpec, {"name": "by_length", "factory": nothing}),
    "lance_tools": (ToolSpec, {"path": "module:Tool"}),
    "lance_namespaces": (NamespaceSpec, {"name": "v", "factory": nothing}),
    "lance_commands": (CommandSpec, {"name": "look", "summary": "Look.", "factory": nothing}),
    "lance_searches": (SearchSpec, {"name": "by_size", "factory": nothing}),
    "lance_sql_functions": (
        SqlFunctionSpec,
        {"name": "v", "plan": nothing, "parameters": "any, [text*], ...", "summary": "V."},
    ),
}

FACTS: dict[str, Any] = {"value": "9.7", "footer": (9, 7), "data_file": (9, 7)}
WRONG_FACTS = [
    VersionFacts(**{**FACTS, **wrong})
    for wrong in (
        {"value": ""},
        {"value": "2.1"},
        {"footer": (9,)},
        {"footer": (2, 1)},
        {"data_file": (9, 1 << 16)},
        {"other_pairs": ((0, 3),)},
        {"other_pairs": (0, 3)},
        {"aliases": "old"},
        {"aliases": ("legacy",)},
        {"stores": {}},
        {"index_files": "9.7"},
    )
]
"""Facts of a file version that are malformed, or those of a version of the format."""

WRONG_FIELDS: dict[str, dict[str, list[Any]]] = {
    "lance_object_stores": {
        "name": [None, 3, "", "Upper"],
        "schemes": [None, "v", 3, [1], {"v": 1}, ()],
        "factory": [None, "module", 3],
        "capabilities": [None, {}, frozenset()],
        "option_aliases": [None, ["a"], {"a": 1}],
        "secret_options": [None, "token", [1]],
        "options": [["a"], "a", frozenset({1})],
        "extra": [3],
        "has_containers": [None, 1],
    },
    "lance_commit_handlers": {
        "name": [None, 3],
        "factory": [None, "module"],
        "url_suffix": [3, ""],
        "rank": [None, "high", True],
        "multi_writer": [None, 1],
        "options": [None, ["a"]],
        "shared_options": [None, ["a"]],
        "place_option": [3, "missing"],
    },
    "lance_manifest_stores": {"name": [None], "url_suffix": [None], "factory": [None]},
    "lance_encodings": {
        "key": [None, "", 3],
        "min_file_version": [None, "2.1"],
        "decoder": [None, "text"],
        "encoder": [3],
        "family": [None, "x"],
        "take": [3],
        "scalar_at": ["text"],
    },
    "lance_file_versions": {
        "version": [None, "2.1", 3, *WRONG_FACTS],
        "read_content": ["module", 3],
        "writer": ["module", 3],
        "decode_field": ["module", 3],
        "group_key": ["module", nothing],
        "small_columns": ["module", nothing],
    },
    "lance_kernels": {
        "name": [None],
        "loops": [None, [], {1: nothing}, {"unknown": nothing}],
        "rank": ["high", None],
    },
    "lance_index_types": {
        "name": [None, "With Space"],
        "label": [None],
        "details_url": [None, 3],
        "factory": [None],
        "version": [None, "1", -1, True],
        "stable_row_id_version": ["1", -1],
    },
    "lance_analyzers": {"name": [None, 3, "By Size"], "factory": [None, "module"]},
    "lance_namespaces": {"name": [None, 3, "With Space"], "factory": [None, "module"]},
    "lance_tools": {"path": [None, "module", 3, "module:By Bytes", "module:"]},
    "lance_commands": {
        "name": [None, 3, "Look At"],
        "summary": [None, "two\nlines"],
        "factory": [None, "module"],
    },
    "lance_searches": {"name": [None, 3, "by size"], "factory": [None, "module"]},
    "lance_sql_functions": {
        "name": [None, 3, "", "Upper", "with space", "a.b", "||"],
        "plan": [None, "module", 3],
        "parameters": [None, 3, "string", "text,", "...", "[text", "text**", "any, ..., text"],
        "summary": [None, 3],
        "aliases": [None, "v", ("Upper",), (3,)],
        "group": [None, 3],
        "infers_nullable": [None, 1],
    },
}


def loaded(hook: str, result: Callable[[], Any]) -> Contribution | PluginLoadFailure:
    plugin = SimpleNamespace(**{hook: hookimpl(result)})
    return load(PluginSource("p", "example 1.0", lambda: plugin))


def message(hook: str, result: Callable[[], Any]) -> str:
    failure = loaded(hook, result)
    assert isinstance(failure, PluginLoadFailure)
    assert type(failure.error).__name__ == "PluginLoadError"
    assert str(failure).startswith("'p' of example 1.0 (PluginLoadError: ")
    return str(failure.error)


@each_case("hook", MAKERS)
def test_a_hook_returns_a_list_of_its_descriptors_and_nothing_else(hook: str) -> None:
    kind, fields = MAKERS[hook]
    right = kind(**fields)
    assert isinstance(loaded(hook, lambda: [right]), Contribution)
    assert isinstance(loaded(hook, lambda: iter((right,))), Contribution)
    for wrong, shown in (
        (None, "NoneType"),
        (True, "bool"),
        ("text", "str"),
        (b"bytes", "bytes"),
        ({}, "dict"),
        (right, kind.__name__),
        (kind, "type"),
        (object(), "object"),
    ):
        assert message(hook, lambda wrong=wrong: wrong) == (
            f"{hook} returned {shown}, not a list of {kind.__name__}"
        )
    for wrong, shown in ((None, "NoneType"), ("v", "str"), (kind, "type")):
        assert message(hook, lambda wrong=wrong: [right, wrong]) == (
            f"{hook} returned a list with {shown}, not a list of {kind.__name__}"
        )
    assert "not async" in message(hook, _later)


@each_case(
    "hook, field, value",
    [
        (hook, field, value)
        for hook, fields in WRONG_FIELDS.items()
        for field, values in fields.items()
        for value in values
    ],
)
def test_a_field_of_a_wrong_type_is_named_with_its_hook(
    hook: str, field: str, value: object
) -> None:
    kind, fields = MAKERS[hook]
    text = message(hook, lambda: [kind(**{**fields, field: value})])
    assert text.startswith(f"{hook}: ")
    words = {"url_suffix": "URL suffix", "loops": "kernel", "factory": "factory"}
    names = (
        field,
        "file version",
        words.get(field, field),
        field.removesuffix("s"),
        "options",
        "encoding",
        "type",
    )
    assert any(name in text for name in names)


@pytest.mark.parametrize("name", ["lance_object_store", "lance_objectstores", "lance_index_type"])
def test_a_misspelt_hook_is_answered_with_the_nearest_name(name: str) -> None:
    near = "lance_index_types" if "index" in name else "lance_object_stores"
    assert message(name, offers_nothing).endswith(f"did you mean {near!r}?")
    assert f"there is no hook {name!r}" in message(name, offers_nothing)


def test_a_function_with_the_name_of_a_hook_must_be_marked() -> None:
    """Otherwise one of two hooks of a plugin would be ignored without a word."""
    plugin = SimpleNamespace(lance_encodings=hookimpl(offers_nothing), lance_object_stores=list)
    failure = load(PluginSource("p", "example 1.0", lambda: plugin))
    assert isinstance(failure, PluginLoadFailure)
    assert "lance_object_stores of SimpleNamespace is not marked as a hook" in str(failure.error)
