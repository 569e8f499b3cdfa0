"""Which storage options a store is given, and which are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
from lance_core.errors import InvalidInputError, PluginNotFoundError
from lance_core.plugins import get_manager, open_store
from lance_core.plugins.store_cache import live_stores
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core.store.secret import Secret
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.uri import StoreUrl

CANARY = "c4n4ry-value"

Given = dict[str, dict[str, str | Secret]]


@pytest.fixture
def given(
    registered: Callable[[object, str], None], make_plugin: Callable[..., SimpleNamespace]
) -> Given:
    """The options that each store was given, by scheme: two strict stores and one that is not."""
    given: Given = {}

    def factory(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        given[url.scheme] = dict(options)
        return MemoryStore()

    specs = [
        ObjectStoreSpec(
            "strict",
            ("strict",),
            factory,
            option_aliases={"strict_region": "region"},
            options=frozenset({"region", "allow_http"}),
        ),
        ObjectStoreSpec("second", ("second",), factory, options=frozenset({"account"})),
        ObjectStoreSpec("loose", ("loose",), factory, option_aliases={"place": "region"}),
    ]
    rows = ManifestStoreSpec(
        "rows", "rows", "nowhere:open", frozenset({"rowsUrl"}), frozenset({"rows_key", "region"})
    )
    lock = CommitHandlerSpec(
        "lockish", "nowhere:open", options=frozenset({"lock_seconds", "region"})
    )
    plugin = make_plugin(
        lance_object_stores=specs, lance_manifest_stores=[rows], lance_commit_handlers=[lock]
    )
    registered(plugin, "options")
    live_stores.reset()
    return given


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("strict_regoin", "did you mean 'strict_region'?"),
        ("ALLOW_HTPP", "did you mean 'allow_http'?"),
        ("zzz", "known: allow_http, region"),
        ("account", "known: "),
    ],
)
def test_an_option_that_a_store_does_not_know_is_refused(
    given: Given, name: str, hint: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_store("strict://b/t", {name: CANARY, "region": "north"})
    assert f"store 'strict' has no option {name!r}" in str(caught.value)
    assert hint in str(caught.value)
    assert CANARY not in str(caught.value)
    assert given == {}


def test_a_store_that_declares_no_options_gets_all_of_them(given: Given) -> None:
    open_store("loose://b/t", {"Whatever": "1", "place": "north"})
    assert given["loose"] == {"Whatever": "1", "region": "north"}


@pytest.mark.parametrize("name", ["rowsUrl", "rows_url", "ROWSURL", "lock_seconds", "LockSeconds"])
@pytest.mark.parametrize("scheme", ["strict", "loose"])
def test_options_of_commit_handlers_do_not_reach_a_store(
    given: Given, scheme: str, name: str
) -> None:
    open_store(f"{scheme}://b/t", {name: "x", "region": "north"})
    assert given[scheme] == {"region": "north"}


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("strict+rows://b/t", {}),
        ("strict://b/t", {"commit_handler": "rows"}),
    ],
)
def test_options_that_a_handler_shares_are_passed_over_where_it_is_asked_for(
    given: Given, uri: str, options: dict[str, str]
) -> None:
    open_store(uri, {"Rows_Key": "x", "region": "north", **options})
    assert given["strict"] == {"region": "north"}
    with pytest.raises(InvalidInputError, match="'rows_kye'"):
        open_store(uri, {"rows_kye": "x", **options})


def test_options_that_a_handler_shares_are_refused_where_it_is_not_asked_for(
    given: Given, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match="'rows_key'"):
        open_store("strict://b/t", {"rows_key": "x"})
    open_store(tmp_path, {"rows_key": "x"})  # a table's own config may ask for the handler


def test_options_of_a_handler_that_is_missing_tell_of_it(given: Given) -> None:
    with pytest.raises(PluginNotFoundError, match="'ghost'"):
        open_store("strict+ghost://b/t", {"ghostUrl": "x"})
    with pytest.raises(InvalidInputError, match="'ghostUrl'"):
        open_store("strict+rows://b/t", {"ghostUrl": "x"})


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("strict://b/t", {"lease_uri": "second://x/y"}),
        ("strict+lease://b/t?lease_uri=second://x/y", {}),
    ],
)
def test_options_of_the_store_of_leases_are_passed_over(
    given: Given, uri: str, options: dict[str, str]
) -> None:
    open_store(uri, {"region": "north", "account": "me", **options})
    assert given["strict"] == {"region": "north"}
    with pytest.raises(InvalidInputError, match="'regoin'"):
        open_store(uri, {"regoin": "north", "account": "me", **options})


@pytest.mark.parametrize(
    "offer",
    [
        {"lance_object_stores": [ObjectStoreSpec("x", ("x",), "a:b", options={"a"})]},  # type: ignore[arg-type]
        {"lance_object_stores": [ObjectStoreSpec("x", ("x",), "a:b", options=frozenset({1}))]},  # type: ignore[arg-type]
        {"lance_commit_handlers": [CommitHandlerSpec("x", "a:b", options=["a"])]},  # type: ignore[arg-type]
        {"lance_commit_handlers": [CommitHandlerSpec("x", "a:b", place_option="a")]},
        {"lance_manifest_stores": [ManifestStoreSpec("x", "x", "a:b", ["a"])]},  # type: ignore[arg-type]
    ],
)
def test_malformed_declarations_leave_a_plugin_out(
    registered: Callable[[object, str], None],
    make_plugin: Callable[..., SimpleNamespace],
    offer: dict[str, list[object]],
) -> None:
    registered(make_plugin(**offer), "malformed")
    assert any("options of 'x'" in str(failure) for failure in get_manager().failures)
