"""Collecting plugins: each is asked for itself, and what one does wrong reaches no other."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
from lance_core.encodings.registry import EncodingFamily, EncodingSpec
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    InvalidInputError,
    PluginConflictError,
    PluginLoadError,
    PluginNotFoundError,
)
from lance_core.hookspecs import KernelSpec, hookimpl
from lance_core.plugins.manager import PluginManager, get_manager
from lance_core.store.memory import MemoryStore
from lance_core.store.spec import ObjectStoreSpec

MakePlugin = Callable[..., SimpleNamespace]
Install = Callable[..., None]

GOOD = """
from lance_core.hookspecs import ObjectStoreSpec, hookimpl

@hookimpl
def lance_object_stores():
    return [ObjectStoreSpec({name!r}, ({name!r},), "nowhere:at_all")]
"""


def a_store(scheme: str = "vaulted", name: str = "a-store") -> ObjectStoreSpec:
    return ObjectStoreSpec(name, (scheme,), lambda url, options: MemoryStore())


def a_handler(name: str = "a-handler", **given: object) -> CommitHandlerSpec:
    return CommitHandlerSpec(name, "nowhere:at_all", **given)


@pytest.fixture
def manager() -> PluginManager:
    return PluginManager(entry_points=False)


# --- looking up ---------------------------------------------------------------------------------


def test_the_built_in_plugin_is_always_there(manager: PluginManager) -> None:
    assert manager.object_store("file").name == "file"
    assert manager.object_store("memory").name == "memory"
    assert [spec.name for spec in manager.commit_handlers] == [
        "put-if-absent",
        "rename",
        "unsafe",
    ]
    assert "flat" in manager.encodings.keys()  # noqa: SIM118  # a method of its own
    assert manager.failures == ()


def test_what_a_plugin_offers_is_found(manager: PluginManager, make_plugin: MakePlugin) -> None:
    store, handler = a_store(), a_handler(url_suffix="suffix")
    kv = ManifestStoreSpec("kv", "kv", "nowhere:at_all")
    encoding = EncodingSpec("example.com/zip", FileVersion.V2_0, lambda: None)
    plugin = make_plugin(
        lance_object_stores=[store],
        lance_commit_handlers=(handler,),
        lance_manifest_stores=iter([kv]),
        lance_encodings={encoding.key: encoding}.values(),
    )
    manager.register(plugin, "mine")
    assert manager.object_store("vaulted") is store
    assert manager.commit_handler("a-handler") is handler
    assert manager.url_suffix("suffix") is handler
    assert manager.url_suffix("kv") is manager.commit_handler("kv")
    assert manager.encodings.find("example.com/zip").key == encoding.key  # its calls are checked
    assert manager.plugins[1].encodings == (encoding,)
    assert [plugin.source.name for plugin in manager.plugins] == ["builtin", "mine"]


def test_handlers_come_by_descending_rank(manager: PluginManager, make_plugin: MakePlugin) -> None:
    specs = [a_handler("b", rank=70), a_handler("c", rank=700), a_handler("a", rank=70)]
    manager.register(make_plugin(lance_commit_handlers=specs))
    names = [spec.name for spec in manager.commit_handlers]
    assert names == ["c", "put-if-absent", "a", "b", "rename", "unsafe"]


def test_a_registered_plugin_can_be_taken_back(
    manager: PluginManager, make_plugin: MakePlugin
) -> None:
    plugin = make_plugin(lance_object_stores=[a_store()])
    name = manager.register(plugin)
    manager.object_store("vaulted")
    with pytest.raises(InvalidInputError, match="already registered"):
        manager.register(plugin)
    manager.unregister(name)
    with pytest.raises(PluginNotFoundError):
        manager.object_store("vaulted")
    with pytest.raises(InvalidInputError, match="no plugin is registered"):
        manager.unregister(name)


# --- what is not there --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "extra"),
    [("s3", "s3"), ("s3a", "s3"), ("gs", "gcs"), ("abfss", "azure"), ("hdfs", "fsspec")],
)
def test_a_missing_store_is_reported_with_the_remedy(
    manager: PluginManager, scheme: str, extra: str
) -> None:
    with pytest.raises(PluginNotFoundError) as missing:
        manager.object_store(scheme)
    text = str(missing.value)
    assert f"scheme {scheme!r}" in text
    assert f'pip install "lance-core[{extra}]"' in text
    assert "known: file, memory" in text
    assert sys.executable in text


def test_a_scheme_that_nobody_knows_is_reported_without_a_remedy(manager: PluginManager) -> None:
    with pytest.raises(PluginNotFoundError) as missing:
        manager.object_store("wat")
    assert "pip install" not in str(missing.value)


def test_a_missing_handler_is_reported_with_the_remedy(manager: PluginManager) -> None:
    for suffix, extra in (("ddb", "dynamodb"), ("lease", "lease")):
        with pytest.raises(PluginNotFoundError, match=rf"'{suffix}'.*lance-core\[{extra}\]"):
            manager.url_suffix(suffix)
    with pytest.raises(PluginNotFoundError, match="known: put-if-absent, rename, unsafe"):
        manager.commit_handler("wat")


def test_failed_plugins_are_named_where_something_is_missing(
    manager: PluginManager, make_plugin: MakePlugin
) -> None:
    manager.register(make_plugin(lance_object_stores=ImportError("no module named 'boto3'")), "s3")
    with pytest.raises(PluginNotFoundError, match=r"'s3'.*ImportError: no module named 'boto3'"):
        manager.object_store("s3")


# --- conflicts ----------------------------------------------------------------------------------


def test_two_providers_of_a_key_are_an_error_only_when_it_is_used(
    manager: PluginManager, make_plugin: MakePlugin
) -> None:
    for name in ("one", "other"):
        manager.register(
            make_plugin(
                lance_object_stores=[a_store(), a_store(f"{name}-scheme")],
                lance_commit_handlers=[a_handler(url_suffix="suffix")],
            ),
            name,
        )
    assert manager.object_store("one-scheme")
    assert manager.object_store("other-scheme")
    for look_up, key in (
        (manager.object_store, "vaulted"),
        (manager.commit_handler, "a-handler"),
        (manager.url_suffix, "suffix"),
    ):
        with pytest.raises(PluginConflictError) as conflict:
            look_up(key)
        assert "'one'" in str(conflict.value)
        assert "'other'" in str(conflict.value)
    assert "a-handler" not in [spec.name for spec in manager.commit_handlers]
    assert manager.failures == ()


def test_a_built_in_key_cannot_be_taken_over_in_silence(
    manager: PluginManager, make_plugin: MakePlugin
) -> None:
    manager.register(make_plugin(lance_object_stores=[a_store("file")]), "thief")
    with pytest.raises(PluginConflictError, match=r"'builtin'.*'thief'"):
        manager.object_store("file")


def test_a_suffix_of_a_handler_and_of_a_manifest_store_is_a_conflict(
    manager: PluginManager, make_plugin: MakePlugin
) -> None:
    manager.register(make_plugin(lance_commit_handlers=[a_handler(url_suffix="kv")]), "one")
    kv = ManifestStoreSpec("kv", "kv", "nowhere:at_all")
    manager.register(make_plugin(lance_manifest_stores=[kv]), "other")
    with pytest.raises(PluginConflictError):
        manager.url_suffix("kv")


# --- broken plugins -----------------------------------------------------------------------------

BROKEN: dict[str, dict[str, object]] = {
    "raises": {"lance_object_stores": RuntimeError("broken")},
    "exits": {"lance_object_stores": SystemExit(3)},
    "misspelt": {"lance_object_storez": []},
    "no descriptor": {"lance_object_stores": ["s3"]},
    "not iterable": {"lance_object_stores": 5},
    "wrong kind": {"lance_object_stores": [a_handler()]},
    "no scheme": {"lance_object_stores": [ObjectStoreSpec("x", (), "a:b")]},
    "upper case": {"lance_object_stores": [a_store("S3")]},
    "scheme with a plus": {"lance_object_stores": [a_store("s3+ddb")]},
    "no name": {"lance_object_stores": [a_store(name="")]},
    "no factory": {"lance_object_stores": [ObjectStoreSpec("x", ("x",), None)]},
    "odd factory": {"lance_object_stores": [ObjectStoreSpec("x", ("x",), "nowhere")]},
    "odd handler": {"lance_commit_handlers": [a_handler("a handler")]},
    "odd suffix": {"lance_commit_handlers": [a_handler(url_suffix="")]},
    "odd manifest store": {"lance_manifest_stores": [ManifestStoreSpec("x", "", "a:b")]},
    "odd encoding": {"lance_encodings": [EncodingSpec("", FileVersion.V2_0, lambda: None)]},
    "no encoding of values": {
        "lance_encodings": [
            EncodingSpec("/x", FileVersion.V2_0, lambda: None, family=EncodingFamily.VALUES)
        ]
    },
    "unknown kernel": {"lance_kernels": [KernelSpec("mine", {"fsst_decod": len})]},
    "kernel that is no function": {"lance_kernels": [KernelSpec("mine", {"fsst_decode": 1})]},
    "kernels without a name": {"lance_kernels": [KernelSpec("", {})]},
    "odd short way": {
        "lance_encodings": [EncodingSpec("x", FileVersion.V2_1, lambda: None, take=1)]
    },
    "no decoder": {"lance_encodings": [EncodingSpec("x", FileVersion.V2_0, None)]},
}


@pytest.mark.parametrize("kind", list(BROKEN))
def test_a_broken_plugin_is_left_out_and_remembered(
    manager: PluginManager, make_plugin: MakePlugin, kind: str
) -> None:
    broken = make_plugin(**{"lance_object_stores": [a_store("half")], **BROKEN[kind]})
    manager.register(make_plugin(lance_object_stores=[a_store("before", "one")]), "before")
    manager.register(broken, "broken")
    manager.register(make_plugin(lance_object_stores=[a_store("after", "two")]), "after")
    assert manager.object_store("before")
    assert manager.object_store("after")
    with pytest.raises(PluginNotFoundError, match="'broken'"):
        manager.object_store("half")
    assert [failure.name for failure in manager.failures] == ["broken"]


def test_an_object_without_hooks_is_no_plugin(manager: PluginManager) -> None:
    def lance_object_stores() -> list[ObjectStoreSpec]:
        return [a_store()]

    manager.register(SimpleNamespace(lance_object_stores=lance_object_stores), "unmarked")
    (failure,) = manager.failures
    assert isinstance(failure.error, PluginLoadError)
    assert "marked" in str(failure)


def test_a_hook_with_arguments_that_it_does_not_get_is_broken(manager: PluginManager) -> None:
    @hookimpl
    def lance_object_stores(bucket: str) -> list[ObjectStoreSpec]:
        return [a_store(bucket)]

    manager.register(SimpleNamespace(lance_object_stores=lance_object_stores), "greedy")
    assert [failure.name for failure in manager.failures] == ["greedy"]


@settings(max_examples=25)
@given(order=st.permutations(["good", *BROKEN]), count=st.integers(1, len(BROKEN)))
def test_broken_plugins_never_take_a_good_one_down(order: list[str], count: int) -> None:
    manager = PluginManager(entry_points=False)
    broken = [kind for kind in order if kind != "good"][:count]
    chosen = [kind for kind in order if kind == "good" or kind in broken]
    for kind in chosen:
        offers = {"lance_object_stores": [a_store()]} if kind == "good" else BROKEN[kind]
        hooks = {name: hookimpl(_returning(offered)) for name, offered in offers.items()}
        manager.register(SimpleNamespace(**hooks), kind)
    assert manager.object_store("vaulted")
    assert manager.object_store("file")
    assert {failure.name for failure in manager.failures} == set(broken)


def _returning(offered: object) -> Callable[[], object]:
    def hook() -> object:
        if isinstance(offered, BaseException):
            raise offered
        return offered

    return hook


# --- installed distributions --------------------------------------------------------------------


def test_plugins_are_found_by_entry_point(install: Install) -> None:
    install("b-dist", "[lance_core]\nbee = bee_plugin\n", bee_plugin=GOOD.format(name="bee"))
    install("a-dist", "[lance_core]\nay = ay_plugin\n", ay_plugin=GOOD.format(name="ay"))
    manager = PluginManager(environ={})
    assert manager.object_store("bee").name == "bee"
    found = [plugin.source.name for plugin in manager.plugins]
    assert [name for name in found if name in {"ay", "bee"}] == ["ay", "bee"]
    source = next(p.source for p in manager.plugins if p.source.name == "bee")
    assert source.distribution == "b-dist 1.0"


@pytest.mark.parametrize(
    ("entry", "source"),
    [
        ("bad = bad_plugin", "import a_module_that_is_not_there"),
        ("bad = bad_plugin", "raise RuntimeError('at import')"),
        ("bad = bad_plugin", "raise SystemExit('at import')"),
        ("bad = bad_plugin", "def syntax("),
        ("bad = bad_plugin:missing", ""),
        ("bad = bad plugin", ""),
        ("bad = ", ""),
        ("bad = not_there_at_all", ""),
    ],
)
def test_an_entry_point_that_does_not_load_takes_nobody_down(
    install: Install, entry: str, source: str
) -> None:
    install("bad-dist", f"[lance_core]\n{entry}\n", bad_plugin=source)
    install("good-dist", "[lance_core]\ngood = good_plugin\n", good_plugin=GOOD.format(name="good"))
    manager = PluginManager(environ={})
    assert manager.object_store("good")
    assert manager.object_store("file")
    assert "bad-dist 1.0" in [failure.distribution for failure in manager.failures]


def test_a_malformed_entry_points_file_takes_nobody_down(install: Install) -> None:
    install("bad-dist", "[lance_core]\nthis line has no equals sign\n")
    install("good-dist", "[lance_core]\ngood = good_plugin\n", good_plugin=GOOD.format(name="good"))
    manager = PluginManager(environ={})
    assert manager.object_store("good")
    with pytest.raises(PluginNotFoundError, match="bad_dist"):
        manager.object_store("wat")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {"ay", "bee"}),
        ({"LANCE_CORE_PLUGINS": "ay"}, {"ay"}),
        ({"LANCE_CORE_PLUGINS": "A_Dist, s3"}, {"ay"}),
        ({"LANCE_CORE_PLUGINS": ""}, set()),
        ({"LANCE_CORE_DISABLE_PLUGINS": "ay"}, {"bee"}),
        ({"LANCE_CORE_DISABLE_PLUGINS": "a-dist,B.dist"}, set()),
        ({"LANCE_CORE_DISABLE_PLUGINS": "all"}, set()),
        ({"LANCE_CORE_DISABLE_PLUGINS": ""}, {"ay", "bee"}),
        ({"LANCE_CORE_PLUGINS": "ay,bee", "LANCE_CORE_DISABLE_PLUGINS": "bee"}, {"ay"}),
    ],
)
def test_the_environment_says_which_plugins_are_loaded(
    install: Install, environ: dict[str, str], expected: set[str]
) -> None:
    install("a-dist", "[lance_core]\nay = ay_plugin\n", ay_plugin=GOOD.format(name="ay"))
    install("b-dist", "[lance_core]\nbee = bee_plugin\n", bee_plugin=GOOD.format(name="bee"))
    manager = PluginManager(environ=environ)
    found = {plugin.source.name for plugin in manager.plugins}
    assert found & {"ay", "bee"} == expected
    assert "builtin" in found


def test_a_plugin_that_is_not_loaded_is_not_imported(install: Install) -> None:
    install("a-dist", "[lance_core]\nay = ay_plugin\n", ay_plugin="raise RuntimeError('imported')")
    manager = PluginManager(environ={"LANCE_CORE_DISABLE_PLUGINS": "ay"})
    assert manager.failures == ()
    assert "ay_plugin" not in sys.modules


# --- the manager of the process -----------------------------------------------------------------


def test_there_is_one_manager_in_a_process() -> None:
    assert get_manager() is get_manager()


def test_plugins_are_asked_once_by_however_many_threads(manager: PluginManager) -> None:
    calls = []

    @hookimpl
    def lance_object_stores() -> list[ObjectStoreSpec]:
        calls.append(threading.get_ident())
        return [a_store()]

    manager.register(SimpleNamespace(lance_object_stores=lance_object_stores), "counting")
    threads = [threading.Thread(target=manager.object_store, args=("vaulted",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
