"""Opening stores: options, secrets, and which stores stay open."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from lance_core.errors import InvalidInputError, PluginLoadError, PluginNotFoundError
from lance_core.plugins import open_store
from lance_core.plugins.store_cache import MAX_LIVE_STORES, live_stores
from lance_core.store.base import ObjectStore
from lance_core.store.local import LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.secret import Secret
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.uri import StoreUrl, parse_uri

CANARY = "c4n4ry-value"

Register = Callable[[object, str], None]
MakePlugin = Callable[..., SimpleNamespace]


@dataclass
class Opened:
    """What a factory was called with."""

    calls: list[tuple[StoreUrl, dict[str, object]]] = field(default_factory=list)

    def factory(self, url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        self.calls.append((url, dict(options)))
        return MemoryStore()


@pytest.fixture
def opened(registered: Register, make_plugin: MakePlugin) -> Opened:
    """A store ``probe://`` with aliases and a secret option."""
    opened = Opened()
    spec = ObjectStoreSpec(
        name="probe",
        schemes=("probe",),
        factory=opened.factory,
        option_aliases={"aws_region": "region", "pin": "code"},
        secret_options=frozenset({"code"}),
    )
    registered(make_plugin(lance_object_stores=[spec]), "probe")
    live_stores.reset()
    return opened


def test_a_local_path_opens_a_local_store(tmp_path: Path) -> None:
    for uri in (str(tmp_path / "t"), tmp_path / "t", f"file://{tmp_path}/t"):
        store = open_store(uri)
        assert isinstance(store, LocalStore)
        assert store.root == str(tmp_path / "t")


def test_options_reach_the_store(tmp_path: Path) -> None:
    store = open_store(tmp_path, {"durability": "fast"})
    assert isinstance(store, LocalStore)
    assert store.durability.value == "fast"


def test_a_factory_gets_canonical_names_and_wrapped_secrets(opened: Opened) -> None:
    open_store("probe://bucket/table", {"AWS_Region": "north", "pin": CANARY, "other": "1"})
    ((url, options),) = opened.calls
    assert (url.scheme, url.netloc, url.path) == ("probe", "bucket", "table")
    assert options == {"region": "north", "code": Secret(CANARY), "other": "1"}


def test_options_about_commits_do_not_reach_the_store(opened: Opened) -> None:
    open_store("probe://b/t", {"commit_handler": "unsafe", "put_if_absent": "yes", "x": "1"})
    assert opened.calls[0][1] == {"x": "1"}


def test_the_same_url_and_options_open_one_store(opened: Opened) -> None:
    one = open_store("probe://b/t", {"region": "north", "code": CANARY})
    assert open_store("probe://b/t", {"aws_region": "north", "pin": CANARY}) is one
    assert open_store(parse_uri("probe://b/t"), {"pin": CANARY, "region": "north"}) is one
    assert len(opened.calls) == 1


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("probe://b/u", {"code": CANARY}),
        ("probe://c/t", {"code": CANARY}),
        ("probe://b/t?x=1", {"code": CANARY}),
        ("probe://b/t", {"code": CANARY + "2"}),
        ("probe://b/t", {}),
        ("probe://b/t", {"code": CANARY, "region": "south"}),
    ],
)
def test_other_urls_and_options_open_other_stores(
    opened: Opened, uri: str, options: dict[str, str]
) -> None:
    one = open_store("probe://b/t", {"code": CANARY})
    assert open_store(uri, options) is not one


def test_no_secret_is_shown_by_what_stays_open(opened: Opened) -> None:
    open_store(f"probe://user:{CANARY}@b/t?sig={CANARY}", {"code": CANARY, "token": CANARY})
    shown = "".join(f"{key!r}{store!r}" for key, store in live_stores._items.items())
    assert shown
    assert CANARY not in shown
    assert CANARY not in repr(live_stores)


def test_no_secret_is_in_an_error(registered: Register, make_plugin: MakePlugin) -> None:
    url = f"nobody://user:{CANARY}@b/t?sig={CANARY}"
    with pytest.raises(PluginNotFoundError) as missing:
        open_store(url, {"secret_key": CANARY})
    assert CANARY not in str(missing.value)
    with pytest.raises(InvalidInputError) as twice:
        open_store("file:///t", {"api_key": CANARY, "": 5})  # type: ignore[dict-item]
    assert CANARY not in str(twice.value)


def test_options_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="'allow_http' is of type bytes: give a text"):
        open_store(tmp_path, {"allow_http": b"true"})  # type: ignore[dict-item]


@pytest.mark.parametrize("factory", ["not_there:at_all", "os:not_there", lambda url, options: 5])
def test_a_factory_that_does_not_work_is_named(
    registered: Register, make_plugin: MakePlugin, factory: object
) -> None:
    spec = ObjectStoreSpec("odd", ("odd",), factory)  # type: ignore[arg-type]
    registered(make_plugin(lance_object_stores=[spec]), "odd")
    with pytest.raises(PluginLoadError, match="'odd'"):
        open_store("odd://x/y")


def test_a_process_keeps_a_bounded_number_of_stores_open(tmp_path: Path) -> None:
    for number in range(MAX_LIVE_STORES + 5):
        open_store(tmp_path / str(number))
    assert len(live_stores) == MAX_LIVE_STORES


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_its_own_stores(tmp_path: Path) -> None:
    parents = open_store(tmp_path)
    with live_stores._lock:  # some other thread of the parent is just looking
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if open_store(tmp_path) is not parents else 1)
            finally:
                os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert open_store(tmp_path) is parents
