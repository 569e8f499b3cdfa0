"""A misspelt name is an error that suggests the right one, wherever it would change nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.base import CommitHandlerSpec
from lance_core.errors import (
    InvalidInputError,
    LanceError,
    PluginLoadError,
    PluginNotFoundError,
    StoreError,
)
from lance_core.plugins import get_manager, open_store, select_commit_handler
from lance_core.plugins.manager import PluginManager
from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.memory import MemoryStore
from lance_core.store.secret import Secret
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.uri import StoreUrl, parse_uri
from tests.each_case import each_case

Register = Callable[[object, str], None]
MakePlugin = Callable[..., SimpleNamespace]
Install = Callable[..., None]

CANARY = "c4n4ry-value"
ROWS = pa.table({"x": [1]})

GOOD = """
from lance_core.hookspecs import ObjectStoreSpec, hookimpl

@hookimpl
def lance_object_stores():
    return [ObjectStoreSpec({name!r}, ({name!r},), "nowhere:at_all")]
"""


# --- storage options ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "options", "name", "suggested"),
    [
        ("{folder}/t", {}, "durabilty", "durability"),
        ("{folder}/t", {}, "commit_handlr", "commit_handler"),
        ("{folder}/t", {}, "put_if_absnt", "put_if_absent"),
        ("{folder}/t", {}, "alow_base_paths", "allow_base_paths"),
        ("file+lease://{folder}/t", {}, "lease_durtion", "lease_duration"),
        ("memory://misspelt/t", {}, "commit_handlr", "commit_handler"),
    ],
)
def test_a_misspelt_storage_option_is_refused(
    tmp_path: Path, uri: str, options: dict[str, str], name: str, suggested: str
) -> None:
    place = uri.format(folder=tmp_path)
    with pytest.raises(InvalidInputError) as caught:
        lance.dataset(place, storage_options={**options, name: CANARY})
    assert f"did you mean {suggested!r}?" in str(caught.value)
    assert repr(name) in str(caught.value)
    assert CANARY not in str(caught.value)


def test_an_option_that_nobody_knows_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="'zzz'; known: durability"):
        lance.write_dataset(ROWS, tmp_path / "t", storage_options={"zzz": "1"})
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    "uri",
    [
        "file+lease://{folder}/t?lease_durtion=5",
    ],
)
def test_a_misspelt_parameter_of_a_url_is_refused(tmp_path: Path, uri: str) -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'lease_duration'"):
        lance.dataset(uri.format(folder=tmp_path))


# --- descriptors --------------------------------------------------------------------------------


@each_case("given", [True, "yes", 1, None])
def test_a_capability_is_a_guarantee(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"'put_if_absent' is .*write Guarantee.YES"):
        StoreCapabilities(put_if_absent=given)


def test_a_handler_requires_capabilities_that_there_are() -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'put_if_absent'"):
        CommitHandlerSpec("mine", "a:b", requires={"put_if_absnt"})  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="not a set of capability names"):
        CommitHandlerSpec("mine", "a:b", requires="put_if_absent")  # type: ignore[arg-type]
    assert CommitHandlerSpec("mine", "a:b", requires={"put_if_absent"}).requires == frozenset(  # type: ignore[arg-type]
        {"put_if_absent"}
    )


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"schemes": "vault"}, "schemes of ObjectStoreSpec 'x' is str"),
        ({"options": frozenset({"pin"}), "secret_options": frozenset({"pn"})}, "'pin'"),
        ({"options": frozenset({"region"}), "option_aliases": {"r": "regoin"}}, "'region'"),
    ],
)
def test_a_store_declares_what_it_means(
    make_plugin: MakePlugin, declared: Mapping[str, Any], text: str
) -> None:
    spec = ObjectStoreSpec(**{"name": "x", "schemes": ("x",), "factory": "a:b", **declared})
    manager = PluginManager(entry_points=False)
    manager.register(make_plugin(lance_object_stores=[spec]), "malformed")
    (failure,) = manager.failures
    assert text in str(failure)


# --- names of plugins and what they provide -----------------------------------------------------


@pytest.mark.parametrize("variable", ["LANCE_CORE_PLUGINS", "LANCE_CORE_DISABLE_PLUGINS"])
def test_a_misspelt_plugin_in_the_environment_is_an_error(install: Install, variable: str) -> None:
    install("ghoul-dist", "[lance_core]\nghoul = ghoul_plugin\n", ghoul_plugin="")
    manager = PluginManager(environ={variable: "s3, ghuol"})
    for _ in range(2):
        with pytest.raises(InvalidInputError, match=f"{variable} names 'ghuol'.*'ghoul'"):
            manager.object_store("file")


def test_a_scheme_that_is_near_is_suggested() -> None:
    with pytest.raises(PluginNotFoundError, match="nearest name is 'file'"):
        open_store("fil://bucket/t")


def test_a_scheme_that_is_near_is_suggested_with_the_extra_that_brings_it() -> None:
    manager = PluginManager(entry_points=False)
    with pytest.raises(PluginNotFoundError, match=r"'s3'\. pip install \"lance-core\[s3\]\""):
        manager.object_store("s3e")
    with pytest.raises(PluginNotFoundError, match="nearest name is 'lease'"):
        manager.url_suffix("leese")


def test_a_disabled_plugin_is_named_as_disabled(install: Install) -> None:
    install("a-dist", "[lance_core]\nay = ay_plugin\n", ay_plugin=GOOD.format(name="ay"))
    install("lance-core-s3x", "[lance_core]\nb = b_plugin\n", b_plugin=GOOD.format(name="b"))
    manager = PluginManager(environ={"LANCE_CORE_DISABLE_PLUGINS": "ay"})
    assert [source.name for source in manager.disabled] == ["ay"]
    with pytest.raises(PluginNotFoundError, match=r"disabled by .*: 'ay' of a-dist 1.0"):
        manager.object_store("ay")
    assert any("'ay' of a-dist 1.0: disabled" in text for text in manager.encodings.failed)
    only = PluginManager(environ={"LANCE_CORE_PLUGINS": "b"})
    with pytest.raises(PluginNotFoundError, match=r"disabled by .*: 'ay' of a-dist 1.0"):
        only.object_store("ay")


class Broken:
    """Factories that fail in the way that is asked for, with a secret in the text."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def store(self, url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        raise self.error

    def handler(self, *given: object) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (InvalidInputError("no such region"), InvalidInputError),
        (KeyError(f"no key {CANARY}"), PluginLoadError),
        (ImportError("No module named 'sdk'"), PluginLoadError),
        (ConnectionError(f"refused for {CANARY} at user:{CANARY}@b"), StoreError),
    ],
)
def test_an_error_of_a_factory_names_its_plugin_and_the_url(
    registered: Register, make_plugin: MakePlugin, error: Exception, kind: type[LanceError]
) -> None:
    broken = Broken(error)
    store = ObjectStoreSpec("broken", ("broken",), broken.store)
    handler = CommitHandlerSpec("broken", broken.handler, url_suffix="broken")
    plugin = make_plugin(lance_object_stores=[store], lance_commit_handlers=[handler])
    registered(plugin, "fragile")
    url, options = f"broken://user:{CANARY}@b/t?sig={CANARY}", {"api_token": CANARY}
    with pytest.raises(kind) as caught:
        open_store(url, options)
    text = str(caught.value)
    assert "store 'broken' of plugin 'fragile' of a call of register" in text
    assert "broken://***@b/t" in text or "@b/t" in text
    assert CANARY not in text
    assert caught.value.__context__ is None
    with pytest.raises(kind) as caught:
        select_commit_handler(MemoryStore(), parse_uri("memory+broken://b/t"), options)
    text = str(caught.value)
    assert "commit handler 'broken' of plugin 'fragile'" in text
    assert "memory+broken://b/t" in text
    assert CANARY not in text


def test_a_factory_of_handlers_that_makes_something_else_is_named(
    registered: Register, make_plugin: MakePlugin
) -> None:
    spec = CommitHandlerSpec("odd", lambda *_: 5)  # type: ignore[arg-type, return-value]
    registered(make_plugin(lance_commit_handlers=[spec]), "odd")
    with pytest.raises(PluginLoadError, match=r"'odd'.* returned int"):
        select_commit_handler(MemoryStore(), parse_uri("memory://b/t"), {}, "odd")


# --- keyword arguments --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name", "suggested"),
    [
        (lance.dataset, "storage_option", "storage_options"),
        (lance.dataset, "alow_base_paths", "allow_base_paths"),
        (lambda u, **g: lance.write_dataset(ROWS, u, **g), "max_row_per_file", "max_rows_per_file"),
        (lambda u, **g: lance.dataset(u).cleanup_old_versions(**g), "delete_rate", "delete_rate_"),
    ],
)
@pytest.mark.parametrize("value", [None, 1])
def test_a_misspelt_argument_is_an_error(
    tmp_path: Path, call: Callable[..., object], name: str, suggested: str, value: object
) -> None:
    lance.write_dataset(ROWS, tmp_path / "t")
    with pytest.raises(TypeError, match=f"'{name}': did you mean '{suggested}"):
        call(str(tmp_path / "t"), **{name: value})


def test_options_of_the_automatic_cleanup_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'interval'"):
        lance.write_dataset(ROWS, tmp_path / "t", auto_cleanup_options={"intervall": 1})  # type: ignore[typeddict-unknown-key]


def test_the_manager_of_the_process_knows_who_provides_what() -> None:
    spec = get_manager().object_store("file")
    assert get_manager().provider_of(spec).startswith("plugin 'builtin' of lance-core ")
    assert get_manager().provider_of(CommitHandlerSpec("mine", "a:b")) == "no plugin"
