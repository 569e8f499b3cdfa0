"""Which commit handler a table gets."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lance_core.commits.base import CommitHandler, CommitHandlerSpec, ManifestStoreSpec
from lance_core.commits.checked_handler import unchecked
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.handlers.rename import RenameCommitHandler
from lance_core.commits.handlers.unsafe import UnsafeCommitHandler
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CommitUnknownError,
    InvalidInputError,
    NoSafeCommitHandlerError,
    ObjectExistsError,
    PluginLoadError,
    PluginNotFoundError,
    StoreError,
)
from lance_core.plugins import select_commit_handler
from lance_core.plugins.capability_evidence import probes
from lance_core.plugins.handler_choice import UnprovenCommitHandler
from lance_core.store.base import Buffers, Guarantee, ObjectStore, PutMode, StoreCapabilities
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.store.probe import RACES, WRITERS
from lance_core.store.uri import StoreUrl, parse_uri
from lance_core.store.wrappers.base import StoreWrapper
from lance_core_testing.sample_transactions import IMPATIENT, creation, first_candidate
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, RequestLost
from lance_core_testing.stores.tracing import TracingStore

YES, NO, UNKNOWN = Guarantee.YES, Guarantee.NO, Guarantee.UNKNOWN

Register = Callable[[object, str], None]
MakePlugin = Callable[..., SimpleNamespace]

URL = parse_uri("memory://somewhere/table")

PROBE = 6 + WRITERS * RACES
"""Writes of a probe."""


class Declares(StoreWrapper):
    """A store that declares something, which need not be true."""

    def __init__(self, inner: ObjectStore, **declared: Guarantee) -> None:
        super().__init__(inner)
        unknown = {"put_if_absent": NO, "strong_reads": YES}
        self._declared = StoreCapabilities(**{**unknown, **declared})

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._declared

    def around(self, call: object, run: Callable[[], object]) -> object:  # type: ignore[override]
        return run()


class IgnoresConditions(Declares):
    """A server that accepts create-only writes and replaces objects all the same."""

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data)


class Named(PutIfAbsentCommitHandler):
    """Remembers what it was made of."""

    made_of: tuple[object, ...] = ()


def spec(name: str, **given: object) -> CommitHandlerSpec:
    def make(store: ObjectStore, *rest: object) -> CommitHandler:
        handler = Named(store)
        handler.made_of = (name, *rest)
        return handler

    return CommitHandlerSpec(name, make, **given)  # type: ignore[arg-type]


def chosen(handler: CommitHandler) -> str:
    handler = unchecked(handler)
    assert isinstance(handler, Named)
    return str(handler.made_of[0])


@pytest.fixture(autouse=True)
def forget_probes() -> None:
    probes.reset()


@pytest.fixture
def plugin(registered: Register, make_plugin: MakePlugin) -> None:
    """Handlers by name and by suffix."""
    handlers = [
        spec("by-name", rank=-5, requires=frozenset({"copy_if_absent"})),
        spec("by-suffix", url_suffix="suffix", rank=1000),
        spec("lonely", multi_writer=False, rank=2000),
    ]
    kv = ManifestStoreSpec("kv", "kv", "nowhere:at_all")
    registered(make_plugin(lance_commit_handlers=handlers, lance_manifest_stores=[kv]), "handlers")


# --- the order of choice ------------------------------------------------------------------------


def test_the_best_handler_that_the_store_allows_is_chosen() -> None:
    for declared, expected in (
        ({"put_if_absent": YES, "rename_if_absent": YES}, PutIfAbsentCommitHandler),
        ({"put_if_absent": YES}, PutIfAbsentCommitHandler),
        ({"rename_if_absent": YES}, RenameCommitHandler),
    ):
        store = Declares(MemoryStore(), **declared)
        assert type(select_commit_handler(store, URL, {})) is expected


def test_local_files_and_memory_are_committed_to_by_put_if_absent(tmp_path: Path) -> None:
    from lance_core.plugins import open_store

    for uri in (str(tmp_path), "memory://x/y"):
        handler = select_commit_handler(open_store(uri), parse_uri(uri), {})
        assert type(handler) is PutIfAbsentCommitHandler


@pytest.mark.usefixtures("plugin")
def test_what_is_asked_for_comes_in_order() -> None:
    store = MemoryStore()
    suffixed = parse_uri("memory+suffix://somewhere/table")
    option = {"commit_handler": "by-name"}
    explicit = Named(store)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        select = select_commit_handler
        assert unchecked(select(store, suffixed, option, explicit, "rename")) is explicit
        assert chosen(select(store, suffixed, option, "lonely", "rename")) == "lonely"
        assert chosen(select(store, suffixed, option, spec("given"), "rename")) == "given"
        assert chosen(select(store, suffixed, option, None, "rename")) == "by-suffix"
        assert chosen(select(store, URL, option, None, "rename")) == "by-name"
        assert type(select(store, URL, {}, None, "rename")) is RenameCommitHandler
        assert type(select(store, URL, {})) is PutIfAbsentCommitHandler


@pytest.mark.usefixtures("plugin")
def test_a_handler_gets_the_url_the_options_and_the_surroundings() -> None:
    url = parse_uri("memory+suffix://somewhere/table?x=1")
    handler = select_commit_handler(MemoryStore(), url, {"a": "b"}, environment=IMPATIENT)
    handler = unchecked(handler)
    assert isinstance(handler, Named)
    assert handler.made_of == ("by-suffix", url, {"a": "b"}, IMPATIENT)


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("explicit", [None, "by-name"])
def test_a_handler_other_than_the_tables_own_is_warned_about(explicit: str | None) -> None:
    with pytest.warns(UserWarning, match="'rename' and not for 'by-name'"):
        select_commit_handler(
            MemoryStore(), URL, {"commit_handler": "by-name"}, explicit, table_marker="rename"
        )


@pytest.mark.usefixtures("plugin")
def test_the_tables_own_handler_is_not_warned_about() -> None:
    handler = select_commit_handler(MemoryStore(), URL, {}, "by-name", table_marker="by-name")
    assert chosen(handler) == "by-name"


def test_a_table_cannot_ask_for_a_handler_that_may_lose_commits() -> None:
    handler = select_commit_handler(MemoryStore(), URL, {}, table_marker="unsafe")
    assert type(handler) is PutIfAbsentCommitHandler


def test_what_is_not_installed_is_reported() -> None:
    with pytest.raises(PluginNotFoundError, match="'wat'"):
        select_commit_handler(MemoryStore(), URL, {}, "wat")
    with pytest.raises(PluginNotFoundError, match=r"lance-core\[dynamodb\]"):
        select_commit_handler(MemoryStore(), parse_uri("memory+dynamodb://x/y"), {})
    with pytest.raises(PluginNotFoundError, match="'marked'"):
        select_commit_handler(MemoryStore(), URL, {}, table_marker="marked")


def test_a_factory_that_cannot_be_imported_is_named() -> None:
    for factory in ("not_there:at_all", "os:not_there"):
        with pytest.raises(PluginLoadError, match="'odd'"):
            select_commit_handler(MemoryStore(), URL, {}, CommitHandlerSpec("odd", factory))


def test_a_factory_is_imported_when_it_is_used(install: Callable[..., None]) -> None:
    source = (
        "from lance_core.commits.handlers.rename import RenameCommitHandler\n"
        "def make(store, url, options, environment):\n"
        "    return RenameCommitHandler(store)\n"
    )
    install("lazy-dist", "", lazy_factory=source)
    lazy = CommitHandlerSpec("lazy", "lazy_factory:make")
    assert "lazy_factory" not in sys.modules
    assert type(select_commit_handler(MemoryStore(), URL, {}, lazy)) is RenameCommitHandler


# --- guarantees ---------------------------------------------------------------------------------


def commit(handler: CommitHandler, store: ObjectStore) -> None:
    commit_transaction(handler, store, creation(), environment=IMPATIENT)


@pytest.mark.parametrize(
    "declared",
    [
        {"put_if_absent": NO},
        {"put_if_absent": YES, "strong_reads": NO},
        {"put_if_absent": YES, "strong_reads": UNKNOWN},
        {"copy_if_absent": YES},
    ],
)
def test_where_nothing_is_safe_reading_works_and_committing_does_not(
    declared: dict[str, Guarantee],
) -> None:
    inner = MemoryStore()
    PutIfAbsentCommitHandler(inner).commit(first_candidate())
    store = TracingStore(Declares(inner, **declared))
    handler = select_commit_handler(store, URL, {})
    latest = handler.latest()
    assert latest is not None
    assert handler.locate(1).path == latest.path
    assert [found.version for found in handler.list_versions()] == [1]
    before = store.trace.counts["put"]
    with pytest.raises(NoSafeCommitHandlerError) as refused:
        handler.commit(first_candidate(version=2))
    text = str(refused.value)
    assert "'put-if-absent' needs" in text
    assert "strong_reads" in text or "put_if_absent (no)" in text
    assert "commit_handler='unsafe'" in text
    assert store.trace.counts["put"] == before
    assert len(list_paths(inner)) == 1


def test_unsafe_is_used_if_asked_for_by_name() -> None:
    store = Declares(MemoryStore(), strong_reads=NO)
    for handler in (
        select_commit_handler(store, URL, {}, "unsafe"),
        select_commit_handler(store, URL, {"commit_handler": "unsafe"}),
    ):
        assert type(handler) is UnsafeCommitHandler


@pytest.mark.usefixtures("plugin")
def test_a_named_handler_is_refused_without_its_requirements_too() -> None:
    store = Declares(MemoryStore(), put_if_absent=YES)
    handler = select_commit_handler(store, URL, {}, "by-name")
    assert handler.latest() is None
    with pytest.raises(NoSafeCommitHandlerError, match=r"'by-name' needs copy_if_absent \(no\)"):
        commit(handler, store)
    assert list_paths(store) == []


@pytest.mark.parametrize("word", ["yes", "YES", " true ", "on"])
def test_the_users_word_counts_most(word: str) -> None:
    store = TracingStore(Declares(MemoryStore(), put_if_absent=NO))
    handler = select_commit_handler(store, URL, {"put_if_absent": word})
    assert type(handler) is PutIfAbsentCommitHandler
    declared = Declares(MemoryStore(), put_if_absent=YES, rename_if_absent=YES)
    refused = select_commit_handler(declared, URL, {"put_if_absent": "off"})
    assert type(refused) is RenameCommitHandler


def test_the_users_word_is_yes_no_or_probe() -> None:
    with pytest.raises(InvalidInputError, match="'put_if_absent' can be"):
        select_commit_handler(MemoryStore(), URL, {"put_if_absent": "perhaps"})


# --- probes -------------------------------------------------------------------------------------


def test_what_is_unknown_is_probed_by_the_first_commit_and_no_sooner() -> None:
    store = TracingStore(Declares(MemoryStore(), put_if_absent=UNKNOWN))
    handler = select_commit_handler(store, URL, {})
    assert handler.latest() is None
    assert store.trace.counts["put"] == 0
    commit(handler, store)
    assert store.trace.counts["put"] == PROBE + 2  # a transaction and a manifest
    assert not [path for path in list_paths(store) if path.startswith("_probe")]


def test_a_probe_is_made_once_for_a_place() -> None:
    for number in range(3):
        store = TracingStore(Declares(MemoryStore(), put_if_absent=UNKNOWN))
        url = parse_uri(f"memory://somewhere/table-{number}")
        commit(select_commit_handler(store, url, {}), store)
        assert store.trace.counts["put"] == (2 if number else PROBE + 2)
    store = TracingStore(Declares(MemoryStore(), put_if_absent=UNKNOWN))
    elsewhere = parse_uri("memory://elsewhere/table")
    commit(select_commit_handler(store, elsewhere, {}), store)
    assert store.trace.counts["put"] == PROBE + 2


def test_a_store_that_ignores_conditions_is_found_out() -> None:
    store = IgnoresConditions(MemoryStore(), put_if_absent=UNKNOWN)
    handler = select_commit_handler(store, URL, {})
    with pytest.raises(NoSafeCommitHandlerError, match=r"put_if_absent \(no\)"):
        handler.commit(first_candidate())
    assert list_paths(store) == []


def test_a_probe_finds_the_next_best_handler() -> None:
    store = IgnoresConditions(MemoryStore(), put_if_absent=UNKNOWN, rename_if_absent=UNKNOWN)
    handler = select_commit_handler(store, URL, {})
    commit(handler, store)
    assert handler.latest() is not None
    assert not [path for path in list_paths(store) if ".tmp" in path]


def test_the_user_can_ask_for_a_probe_of_what_a_store_declares() -> None:
    store = IgnoresConditions(MemoryStore(), put_if_absent=YES)
    handler = select_commit_handler(store, URL, {"put_if_absent": "probe"})
    with pytest.raises(NoSafeCommitHandlerError):
        handler.commit(first_candidate())


def test_a_probe_that_fails_leaves_nothing_in_doubt() -> None:
    rules = [FaultRule(RequestLost(), "put", "_probe/*")]
    store = FaultyStore(Declares(MemoryStore(), put_if_absent=UNKNOWN), rules)
    handler = select_commit_handler(store, URL, {})
    with pytest.raises(StoreError, match="could not be probed") as failed:
        commit(handler, store)
    assert not isinstance(failed.value, CommitUnknownError)
    store.set_rules([])
    commit(handler, store)


def losing(handler: CommitHandler) -> None:
    with contextlib.suppress(ObjectExistsError):
        handler.commit(first_candidate())


def test_a_commit_does_not_wait_for_what_another_thread_finds_out() -> None:
    store = MemoryStore()
    handler = PutIfAbsentCommitHandler(store)
    is_waiting, may_go_on = threading.Event(), threading.Event()

    def prove() -> CommitHandler:
        if threading.current_thread() is slow:
            is_waiting.set()
            may_go_on.wait(60)
        return handler

    unproven = UnprovenCommitHandler(handler, prove)
    slow = threading.Thread(target=lambda: losing(unproven), daemon=True)
    slow.start()
    assert is_waiting.wait(60)
    commit(unproven, store)
    may_go_on.set()
    slow.join(60)


def test_no_secret_is_in_the_error_about_guarantees() -> None:
    url = StoreUrl("s3", "table", "user:c4n4ry@bucket", query={"sig": "c4n4ry"}, text="c4n4ry")
    store = Declares(MemoryStore())
    handler = select_commit_handler(store, url, {"secret_key": "c4n4ry"})
    with pytest.raises(NoSafeCommitHandlerError) as refused:
        handler.commit(first_candidate())
    assert "c4n4ry" not in str(refused.value)
