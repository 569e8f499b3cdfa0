"""Seeded defects that no schedule shows: what a store promises, a disk keeps, a table is opened by.

Each check is one that holds of the shipped code and not of the code with the defect.
"""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from pathlib import Path
from unittest import mock

from lance_core.commits.base import Candidate
from lance_core.commits.cleanup.execution import clean
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.environment import SYSTEM
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.latest import newest_manifest
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CorruptFileError,
    NoSafeCommitHandlerError,
    UnsupportedFeatureError,
)
from lance_core.plugins import handler_choice
from lance_core.plugins.manager import PluginManager, get_manager
from lance_core.store import probe
from lance_core.store.base import Buffers, Guarantee, PutMode, StoreCapabilities
from lance_core.store.local import Durability, LocalStore
from lance_core.store.local.publish import Publisher
from lance_core.store.memory import MemoryStore
from lance_core.store.uri import parse_uri
from lance_core.table.paths import NamingScheme, manifest_path
from lance_core_testing.sample_transactions import append, creation
from tests.disks import RecordingDisk

NAMING = frozenset({"link", "rename", "rename_exclusive"})


def mixed_names_are_refused() -> None:
    """A folder with manifests of two naming schemes has no newest version."""
    store = MemoryStore()
    store.put(manifest_path(1, NamingScheme.V1), b"")
    store.put(manifest_path(2, NamingScheme.V2), b"")
    with contextlib.suppress(CorruptFileError):
        raise AssertionError(f"{newest_manifest(store)} is taken for the newest version")


def unknown_names_stop_a_cleanup() -> None:
    """Where versions are named in a way that is not known, nothing is removed."""
    store = MemoryStore()
    handler = PutIfAbsentCommitHandler(store)
    made = commit_transaction(handler, store, creation())
    commit_transaction(handler, store, append(1), made)
    store.put("_refs/views/of-some-release-to-come.json", b"{}")
    policy = CleanupPolicy(retain_versions=1, delete_unverified=True)
    with contextlib.suppress(UnsupportedFeatureError):
        raise AssertionError(f"removed {clean(store, handler, policy, SYSTEM).versions}")


class Dumb(MemoryStore):
    """Guarantees nothing, and says so."""

    @property
    def capabilities(self) -> StoreCapabilities:
        no = Guarantee.NO
        return StoreCapabilities(no, no, no, no, no, no, Guarantee.YES)


class Careless(MemoryStore):
    """Accepts every condition and heeds none."""

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data)


def nothing_unsafe_is_chosen() -> None:
    """On a store that guarantees nothing, nobody commits without having asked for it."""
    chosen = handler_choice.select_commit_handler(Dumb(), parse_uri("memory://t/t"), {})
    candidate = Candidate(1, NamingScheme.V2, b"", "u", b"")
    with contextlib.suppress(NoSafeCommitHandlerError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raise AssertionError(f"{chosen.commit(candidate)} is written without any guarantee")


def unsafe_by_default() -> contextlib.AbstractContextManager[object]:
    """Handlers that need to be asked for may be chosen."""
    specs = [spec for spec in get_manager().commit_handlers if spec.url_suffix is None]
    return mock.patch.object(PluginManager, "automatic_handlers", specs)


def careless_stores_are_found_out() -> None:
    """A store that accepts two winners does not pass for one that guarantees put-if-absent."""
    found = probe.probe(Careless()).put_if_absent
    assert found is not Guarantee.YES, "the store is believed"


def probe_believes() -> contextlib.AbstractContextManager[object]:
    """The second attempt, which has to fail, is not made."""
    return mock.patch.object(probe, "_attempted", return_value=Guarantee.YES)


def names_follow_content() -> None:
    """What is durable is on the disk before it has its name, and its name before what needs it."""
    with tempfile.TemporaryDirectory() as folder:
        disk = RecordingDisk()
        store = LocalStore(Path(folder) / "t", Durability.durable, disk)
        handler = PutIfAbsentCommitHandler(store)
        made = commit_transaction(handler, store, creation())
        commit_transaction(handler, store, append(1), made)
    synced: set[str] = set()
    pending: set[str] = set()
    for name, *paths in disk.calls:
        if name == "sync_file":
            synced.add(paths[0])
        elif name == "sync_folder":
            pending = {path for path in pending if path.split("/")[0] != Path(paths[0]).name}
        elif name in NAMING and "/.tmp" not in paths[1]:
            assert paths[0] in synced, f"{paths[1]} is named before its content is on the disk"
            assert not pending, f"{paths[1]} is named before the name of {min(pending)} is kept"
            pending.add(paths[1])
    assert not pending, f"{min(pending)} is reported before its name is kept"


def never_synced() -> contextlib.AbstractContextManager[object]:
    """Files are closed, and their content is left to the system."""
    return mock.patch.object(RecordingDisk, "sync_file", return_value=None)


def names_never_synced() -> contextlib.AbstractContextManager[object]:
    """Names are left to the system."""
    return mock.patch.object(Publisher, "_sync_folders", return_value=None)
