from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_core.commits.base import ManifestStoreSpec
from lance_core.commits.handlers.checked_manifest_store import CheckedManifestStore
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.errors import NoSafeCommitHandlerError, PluginLoadError
from lance_core.plugins.handler_choice import UnprovenCommitHandler, select_commit_handler
from lance_core.plugins.manifest_stores import as_commit_handler
from lance_core.store.base import Guarantee, StoreCapabilities
from lance_core.store.memory import MemoryStore
from lance_core.store.uri import StoreUrl, parse_uri
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.sample_transactions import first_candidate
from tests.each_case import each_case

ROWS = MemoryManifestStore()
URL = parse_uri("memory+kv://bucket/some/table.lance?kvTable=T")


@pytest.fixture
def asked(
    registered: Callable[[object, str], None], make_plugin: Callable[..., object]
) -> list[tuple[StoreUrl, object]]:
    """What the factory of a manifest store was called with."""
    calls: list[tuple[StoreUrl, object]] = []

    def factory(url: StoreUrl, options: object) -> MemoryManifestStore:
        calls.append((url, options))
        return ROWS

    spec = ManifestStoreSpec("rows", "kv", factory)
    registered(make_plugin(lance_manifest_stores=[spec]), "kv-plugin")
    return calls


@pytest.mark.parametrize("way", ["suffix", "option", "argument", "marker"])
def test_a_manifest_store_is_asked_for_as_a_handler_is(
    asked: list[tuple[StoreUrl, object]], way: str
) -> None:
    plain = parse_uri("memory://bucket/some/table.lance")
    handler = select_commit_handler(
        MemoryStore(),
        URL if way == "suffix" else plain,
        {"commit_handler": "rows"} if way == "option" else {"a": "b"},
        "rows" if way == "argument" else None,
        "rows" if way == "marker" else None,
    )
    assert isinstance(handler, ExternalManifestCommitHandler)
    assert isinstance(handler.rows, CheckedManifestStore)
    assert handler.rows.inner is ROWS
    assert handler.base_uri == "some/table.lance"
    ((url, options),) = asked
    assert url.query == ({"kvTable": "T"} if way == "suffix" else {})
    assert options == ({"commit_handler": "rows"} if way == "option" else {"a": "b"})


@pytest.mark.usefixtures("asked")
def test_a_manifest_store_is_never_chosen_without_being_asked_for() -> None:
    handler = select_commit_handler(MemoryStore(), parse_uri("memory://x/y"), {})
    assert not isinstance(handler, ExternalManifestCommitHandler)


@pytest.mark.parametrize(
    ("uri", "base_uri"),
    [
        ("file+kv:///data/t.lance", "data/t.lance"),
        ("memory+kv://bucket/a/b.lance", "a/b.lance"),
        ("memory+kv://bucket", ""),
        ("memory+kv://bucket/with%20space%23", "with space#"),
    ],
)
@pytest.mark.usefixtures("asked")
def test_rows_name_a_table_by_its_path_inside_the_store(uri: str, base_uri: str) -> None:
    handler = select_commit_handler(MemoryStore(), parse_uri(uri), {})
    assert isinstance(handler, ExternalManifestCommitHandler)
    assert handler.base_uri == base_uri


class WeakStore(MemoryStore):
    """Declares no guarantees."""

    @property
    def capabilities(self) -> StoreCapabilities:
        return StoreCapabilities(strong_reads=Guarantee.NO)


@pytest.mark.usefixtures("asked")
def test_a_store_with_stale_reads_is_read_but_not_committed_to() -> None:
    handler = select_commit_handler(WeakStore(), URL, {})
    assert isinstance(handler, UnprovenCommitHandler)
    assert handler.latest() is None
    with pytest.raises(NoSafeCommitHandlerError, match="strong_reads"):
        handler.commit(first_candidate())


@pytest.mark.usefixtures("asked")
def test_forgetting_reaches_the_rows_of_a_store_that_is_only_read() -> None:
    vouched = select_commit_handler(WeakStore(), URL, {"strong_reads": "yes"})
    vouched.commit(first_candidate())
    assert ROWS.get("some/table.lance", 1) is not None
    select_commit_handler(WeakStore(), URL, {}).forget()
    assert ROWS.get("some/table.lance", 1) is None


@each_case("factory", ["not_there:at_all", "os:not_there", "os:path", lambda url, options: {}])
def test_a_manifest_store_that_cannot_be_made_is_named(factory: object) -> None:
    spec = as_commit_handler(ManifestStoreSpec("odd", "odd", factory))  # type: ignore[arg-type]
    with pytest.raises(PluginLoadError, match="'odd'"):
        select_commit_handler(MemoryStore(), URL, {}, spec)
