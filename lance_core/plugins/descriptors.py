"""Check the descriptors that hooks return: the types and values of their fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from lance_core.command_spec import CommandSpec
from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
from lance_core.encodings.kernels import ALL_LOOPS, KernelSpec
from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
from lance_core.encodings.registry import EncodingFamily, EncodingSpec
from lance_core.encodings.version import FileVersionSpec
from lance_core.error_texts.plugin_calls import type_of
from lance_core.error_texts.suggestions import hint
from lance_core.errors import InvalidInputError, PluginLoadError
from lance_core.file_version import FileVersion, StorableTypes, VersionFacts
from lance_core.function_spec import PARAMETER_TYPES, SqlFunctionSpec, malformed_parameter
from lance_core.imports.provided_names import ToolSpec
from lance_core.index.spec import AnalyzerSpec, IndexTypeSpec, SearchSpec
from lance_core.store.base import StoreCapabilities
from lance_core.store.namespaces import NamespaceSpec
from lance_core.store.spec import ObjectStoreSpec
from lance_core.table.indices.index_metadata import details_key

_Kind = tuple[str, Callable[[Any], bool]]
"""What a field must be, in words, and the test."""


def _is(*types: type) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        return isinstance(value, types) and (bool in types or not isinstance(value, bool))

    return test


def _are_texts(value: Any) -> bool:
    is_plain = isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    return is_plain and all(isinstance(member, str) for member in value)


def _maps_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and _are_texts([*value, *value.values()])


def _can_be_called(value: Any) -> bool:
    return value is None or callable(value)


_BOOL: _Kind = ("True or False", _is(bool))
_NUMBER: _Kind = ("an int", _is(int))
_TEXT: _Kind = ("a text", _is(str))
_OPTIONAL_TEXT: _Kind = ("a text or None", _is(str, type(None)))
_TEXTS: _Kind = ("a frozenset of texts", _are_texts)
_VERSION: _Kind = ("an int from 0 on", lambda value: _is(int)(value) and value >= 0)
_FUNCTION: _Kind = ("callable or None", _can_be_called)

_FIELDS: dict[type, dict[str, _Kind]] = {
    ObjectStoreSpec: {
        "schemes": ("a tuple of texts", _are_texts),
        "capabilities": ("StoreCapabilities", _is(StoreCapabilities)),
        "option_aliases": ("a dict of texts", _maps_texts),
        "secret_options": _TEXTS,
        "extra": _OPTIONAL_TEXT,
        "has_containers": _BOOL,
        "ignores_options_of_others": _BOOL,
    },
    CommitHandlerSpec: {
        "rank": _NUMBER,
        "multi_writer": _BOOL,
        "place_option": _OPTIONAL_TEXT,
    },
    ManifestStoreSpec: {},
    EncodingSpec: {
        "key": _TEXT,
        "min_file_version": ("a FileVersion", _is(FileVersion)),
        "family": ("an EncodingFamily", _is(EncodingFamily)),
        "encoder": _FUNCTION,
        "take": _FUNCTION,
        "scalar_at": _FUNCTION,
    },
    FileVersionSpec: {"version": ("a FileVersion or VersionFacts", _is(VersionFacts))},
    KernelSpec: {
        "loops": ("a dict of functions by name", _is(Mapping)),
        "rank": _NUMBER,
        "note": _TEXT,
    },
    IndexTypeSpec: {
        "label": _TEXT,
        "details_url": _TEXT,
        "version": _VERSION,
        "kinds": ("a tuple of texts", _are_texts),
        "readable_version": _VERSION,
        "stable_row_id_version": (
            "an int from 0 on, or None",
            lambda value: value is None or (_is(int)(value) and value >= 0),
        ),
    },
    SqlFunctionSpec: {
        "parameters": _TEXT,
        "summary": _TEXT,
        "aliases": ("a tuple of texts", _are_texts),
        "group": _TEXT,
        "infers_nullable": _BOOL,
    },
    SearchSpec: {},
    AnalyzerSpec: {},
    ToolSpec: {},
    CommandSpec: {"summary": _TEXT},
    NamespaceSpec: {},
}


def check_descriptor(spec: object) -> None:
    """Raise `PluginLoadError` if a field of the descriptor ``spec`` cannot be used."""
    for kind, check in _CHECKS.items():
        if isinstance(spec, kind):
            for name, (expected, test) in _FIELDS[kind].items():
                value = getattr(spec, name)
                if not test(value):
                    raise PluginLoadError(
                        f"{name} of {type(spec).__name__} {_name_of(spec)!r} is {type_of(value)}; "
                        f"it must be {expected}"
                    )
            check(spec)


def _name_of(spec: object) -> object:
    return getattr(spec, "name", None) or getattr(spec, "key", None)


def _check_object_store(spec: ObjectStoreSpec) -> None:
    _check_name(spec.name, "name of a store")
    if not spec.schemes:
        raise PluginLoadError(f"store {spec.name!r} has no URL scheme")
    for scheme in spec.schemes:
        _check_name(scheme, "scheme")
    _check_factory(spec.factory, spec.name)
    if spec.options is None:
        return
    _check_options(spec.options, spec.name)
    meant = {*spec.secret_options, *spec.option_aliases.values()}
    for name in sorted(meant - spec.options):
        raise PluginLoadError(
            f"store {spec.name!r} has no option {name!r}, which a secret or an alias names"
            f"{hint(name, spec.options)}"
        )


def _check_handler(spec: CommitHandlerSpec) -> None:
    _check_name(spec.name, "name of a commit handler")
    if spec.url_suffix is not None:
        _check_name(spec.url_suffix, "URL suffix")
    _check_factory(spec.factory, spec.name)
    _check_options(spec.options, spec.name)
    _check_options(spec.shared_options, spec.name)
    if spec.place_option is not None and spec.place_option not in spec.options:
        raise PluginLoadError(
            f"options of {spec.name!r} lack its place_option {spec.place_option!r}"
        )


def _check_manifest_store(spec: ManifestStoreSpec) -> None:
    _check_name(spec.name, "name of a manifest store")
    _check_name(spec.url_suffix, "URL suffix")
    _check_factory(spec.factory, spec.name)
    _check_options(spec.options, spec.name)
    _check_options(spec.shared_options, spec.name)


def _check_encoding(spec: EncodingSpec) -> None:
    key = spec.key
    if not key:
        raise PluginLoadError(f"key of an encoding is {key!r}")
    if spec.family is EncodingFamily.VALUES and not isinstance(spec, ValueEncodingSpec):
        raise PluginLoadError(f"encoding {key!r} of values is not a ValueEncodingSpec")
    decoder: object = spec.decoder
    if not callable(decoder):
        raise PluginLoadError(f"decoder of {key!r} is not callable")


def _check_file_version(spec: FileVersionSpec) -> None:
    facts = spec.version
    for name, (expected, test) in _FACTS.items():
        value = getattr(facts, name)
        if not test(value):
            raise PluginLoadError(f"{name} of file version {facts.value!r} is not {expected}")
    for name in _CODE_OF_VERSION:
        code = getattr(spec, name)
        if code is not None:
            _check_factory(code, f"{facts.value}, {name}")
    for first, second in (("group_key", "decode_columns"), ("small_columns", "flush_together")):
        if (getattr(spec, first) is None) != (getattr(spec, second) is None):
            raise PluginLoadError(f"file version {facts.value!r} needs both {first} and {second}")
    try:
        FileVersion.add(facts)
    except InvalidInputError as error:
        raise PluginLoadError(str(error)) from error


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(_is(int)(number) and 0 <= number < 1 << 16 for number in value)
    )


_PAIR: _Kind = ("a pair of 16-bit numbers", _is_pair)
_FACTS: dict[str, _Kind] = {
    "value": ("a text such as '2.1'", lambda value: isinstance(value, str) and bool(value)),
    "footer": _PAIR,
    "data_file": _PAIR,
    "other_pairs": (
        "a tuple of pairs of 16-bit numbers",
        lambda value: isinstance(value, tuple) and all(map(_is_pair, value)),
    ),
    "aliases": ("a tuple of texts", _are_texts),
    "stores": ("StorableTypes", _is(StorableTypes)),
    "index_files": (
        "None or the name of a file version of the format",
        lambda value: value is None or value in [known.value for known in FileVersion],
    ),
}
_CODE_OF_VERSION = (
    *("read_content", "writer", "decode_field", "group_key", "decode_columns", "find_integers"),
    *("field_encoder", "small_columns", "flush_together"),
)


def _check_kernels(spec: KernelSpec) -> None:
    _check_name(spec.name, "name of kernels")
    for name, loop in spec.loops.items():
        if not isinstance(name, str):
            raise PluginLoadError(f"loops of {spec.name!r} are not named by texts: {name!r}")
        if name not in ALL_LOOPS:
            raise PluginLoadError(f"kernel {name!r} does not exist{hint(name, ALL_LOOPS)}")
        if not callable(loop):
            raise PluginLoadError(f"kernel {name!r} of {spec.name!r} is not callable")


def _check_index_type(spec: IndexTypeSpec) -> None:
    _check_name(spec.name, "name of an index type")
    if details_key(spec.details_url) is None:
        raise PluginLoadError(f"{spec.details_url!r} cannot be the type URL of an index type")
    _check_factory(spec.factory, spec.name)


def _check_function(spec: SqlFunctionSpec) -> None:
    for name in spec.names:
        if not isinstance(name, str) or not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
            raise PluginLoadError(
                f"{name!r} cannot be the name or one of the aliases of an SQL function: lower-case "
                "letters, digits and '_'"
            )
    wrong = malformed_parameter(spec.parameters)
    if wrong is not None:
        raise PluginLoadError(
            f"parameters of {spec.name!r} have {wrong!r}, which is none of the types "
            f"{', '.join(PARAMETER_TYPES)}"
        )
    _check_factory(spec.plan, spec.name, "plan")


def _check_search(spec: SearchSpec) -> None:
    if not isinstance(spec.name, str) or not spec.name.isidentifier():
        raise PluginLoadError(f"name of a search is {spec.name!r}: an argument of scans")
    _check_factory(spec.factory, spec.name)


def _check_analyzer(spec: AnalyzerSpec) -> None:
    if not isinstance(spec.name, str) or not re.fullmatch(r"[a-z][a-z0-9_/-]*", spec.name):
        raise PluginLoadError(
            f"name of an analyzer is {spec.name!r}: lower-case letters, digits, '_', '-' and '/'"
        )
    _check_factory(spec.factory, spec.name)


def _check_tool(spec: ToolSpec) -> None:
    if not isinstance(spec.path, str) or not re.fullmatch(r"[\w.]+:[^\W\d]\w*", spec.path):
        raise PluginLoadError(f"path of a tool is {spec.path!r}: 'module:attribute'")


def _check_command(spec: CommandSpec) -> None:
    _check_name(spec.name, "name of a command")
    if "\n" in spec.summary:
        raise PluginLoadError(f"summary of {spec.name!r} is {spec.summary!r}, not one line")
    _check_factory(spec.factory, spec.name)


def _check_namespace(spec: NamespaceSpec) -> None:
    _check_name(spec.name, "name of a namespace")
    _check_factory(spec.factory, spec.name)


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9._-]*", name):
        raise PluginLoadError(f"{what} is {name!r}: lower-case letters, digits, '.', '_' and '-'")


def _check_options(options: object, owner: str) -> None:
    if not isinstance(options, frozenset) or not all(isinstance(name, str) for name in options):
        raise PluginLoadError(f"options of {owner!r} are not a frozenset of names")


def _check_factory(factory: object, owner: str, what: str = "factory") -> None:
    if not callable(factory) and not (isinstance(factory, str) and ":" in factory):
        raise PluginLoadError(f"{what} of {owner!r} is neither callable nor 'module:attribute'")


_CHECKS: dict[type, Callable[[Any], None]] = {
    ObjectStoreSpec: _check_object_store,
    CommitHandlerSpec: _check_handler,
    ManifestStoreSpec: _check_manifest_store,
    EncodingSpec: _check_encoding,
    FileVersionSpec: _check_file_version,
    KernelSpec: _check_kernels,
    IndexTypeSpec: _check_index_type,
    SqlFunctionSpec: _check_function,
    SearchSpec: _check_search,
    AnalyzerSpec: _check_analyzer,
    ToolSpec: _check_tool,
    CommandSpec: _check_command,
    NamespaceSpec: _check_namespace,
}
