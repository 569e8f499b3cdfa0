"""Open a table: from a URI to a table's root, and from the root to a version."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any

from lance_core.commits.base import CommitHandler, ManifestLocation
from lance_core.commits.handlers.lock import CommitLock
from lance_core.commits.history import Version, check_number, read_latest, read_version
from lance_core.commits.refs import get_tag
from lance_core.dataset.snapshot.base_paths import allowing, opened
from lance_core.dataset.snapshot.checksum_options import registry_for, with_checksums
from lance_core.dataset.snapshot.session import Session, checked_session
from lance_core.dataset.snapshot.snapshot import HasSnapshot, Snapshot, TableRoot, Target
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    InvalidInputError,
    NotFoundError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import replace
from lance_core.plugins import get_manager, select_commit_handler
from lance_core.plugins.handler_choice import MARKER
from lance_core.plugins.probe_records import learn_probes
from lance_core.store.base import ObjectStore
from lance_core.store.config import StoreConfig
from lance_core.store.memory import with_own_name
from lance_core.store.secret import hide_base_secrets, hide_secrets
from lance_core.store.uri import uri_above
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core.table.refs import TREE, branch_folder, branch_or_main, recorded_branch

VersionLike = int | str | tuple[str | None, int | None]
"""A version as users name it: a number on the open branch, a tag, or a tuple of a branch (None or
"main" for the main branch) and a number (None for the newest)."""


Reference = VersionLike | None
"""The version that a new tag or branch points to: a `VersionLike`, None for the open version."""


def open_root(
    uri: str | os.PathLike[str] | StoreConfig,
    storage_options: Mapping[str, Any] | None = None,
    allow_base_paths: str | Sequence[str] | None = None,
    session: Session | None = None,
    base_store_params: Mapping[str, Mapping[str, Any]] | None = None,
    options: Mapping[str, Any] | None = None,
) -> TableRoot:
    """The root of the table at ``uri``, which need not exist; ``memory://`` is always a new one.

    A `StoreConfig` has the ``storage_options``, which are ignored then. ``options``: those about
    checksums, among others.
    """
    if storage_options is not None:
        storage_options = hide_secrets(storage_options)
    base_store_params = hide_base_secrets(base_store_params)
    if isinstance(uri, StoreConfig):
        config = uri
    else:
        config = StoreConfig(with_own_name(os.fspath(uri)), storage_options or {})
    if allow_base_paths is not None:
        if isinstance(allow_base_paths, str):
            allow_base_paths = allow_base_paths.split(",")
        config = allowing(config, allow_base_paths)
    if base_store_params:
        config = config.with_base_options(base_store_params)
    if options:
        config = with_checksums(config, options)
    return open_root_of(config, session=session)


def root_of(target: Target, storage_options: Mapping[str, Any] | None = None) -> TableRoot:
    """The root of the table that a user named by URI or by an open dataset."""
    storage_options = hide_secrets(storage_options)
    if isinstance(target, HasSnapshot):
        return target.snapshot.root
    return open_root(target, storage_options)


def open_root_of(
    config: StoreConfig, commit_lock: CommitLock | None = None, session: Session | None = None
) -> TableRoot:
    """The root that ``config`` describes; commits run inside ``commit_lock`` if it is not None.

    ``session``: the caches to use, by default new ones.
    """
    if type(session) is not Session:
        session = checked_session(session)
    # An explicit commit handler may take the parameters of the URL.
    url = config.url if config.commit_handler is None else replace(config.url, query={})
    store = opened(config, url, config.options)
    if config.folder:
        store = PrefixStore(store, config.folder)
    registry = get_manager().encodings
    if config.options:
        registry = registry_for(registry, config)
    if registry.checks_pages:
        session = session.fresh()  # what others have read was not checked
    session.start_counting(store)
    handler = _handler(config, store)
    return TableRoot(config, store, handler, registry, commit_lock, session)


def _handler(config: StoreConfig, store: ObjectStore, marker: str | None = None) -> CommitHandler:
    """The commit handler of the table; ``marker``: the one that its config names."""
    requested = config.commit_handler
    if config.provider is not None:
        requested = config.provider.commit_handler(store, config.url, config.folder) or requested
    return select_commit_handler(store, config.place_url, config.options, requested, marker)


def with_handler_named(root: TableRoot, marker: str) -> TableRoot:
    """The same root with the commit handler that the table's config names (``marker``)."""
    return replace(root, handler=_handler(root.config, root.store, marker))


def with_newest_versions_handler(root: TableRoot, otherwise: str | None = None) -> TableRoot:
    """The same root with the commit handler that the newest version's config names.

    If that config names no handler, returns ``root`` unchanged. ``otherwise``: the name of the
    handler if there is no readable version; None returns ``root`` then too. Raises
    `PluginNotFoundError` if the handler is not installed.
    """
    marker = otherwise
    with contextlib.suppress(CorruptFileError, NotFoundError, UnsupportedFeatureError):
        newest = root.handler.latest()
        if newest is not None:
            marker = load(root, newest).manifest.config.get(MARKER)
    return root if marker is None else with_handler_named(root, marker)


def latest_location(root: TableRoot) -> ManifestLocation:
    """The location of the newest manifest; raises `DatasetNotFoundError` if there is none."""
    location = root.handler.latest()
    if location is None:
        raise _no_table(root)
    return location


def open_version(root: TableRoot, version: object = None) -> Snapshot:
    """Open a version of the table, the newest one if ``version`` is None; see `VersionLike`.

    Raises `DatasetNotFoundError`, `RefNotFoundError`, `CorruptFileError`, and
    `UnsupportedFeatureError` for tables that need features this library does not have.
    """
    root, number = resolve(root, version)
    snapshot = _open(root, number)
    config = snapshot.manifest.config
    learn_probes(root.store, config, root.config.options)
    marker = config.get(MARKER)
    if marker is None:
        return snapshot
    # The table's config names its commit handler: look the version up with that handler.
    return _open(with_handler_named(root, marker), number)


def _open(root: TableRoot, number: int | None) -> Snapshot:
    """Open a version by its number, the newest one for None."""
    if number is not None:
        return load(root, locate(root, number))
    newest = read_latest(root.handler, root.store)
    if newest is None:
        raise _no_table(root)
    return _checked(root, newest)


def resolve(root: TableRoot, version: object) -> tuple[TableRoot, int | None]:
    """The root of a `VersionLike`'s branch, and the version number (None for the newest).

    Raises `InvalidInputError` for an invalid value, and `RefNotFoundError` for an unknown tag. Does
    not check that the version exists.
    """
    if isinstance(version, str):
        table = table_of(root)
        tag = get_tag(table.store, version)
        return branch_root(table, tag.branch), tag.version
    if not isinstance(version, tuple):
        return root, None if version is None else _number(version)
    if len(version) != 2 or not isinstance(version[0], str | None):
        raise InvalidInputError(f"a version is (branch, number), got {version!r}")
    branch, number = version
    target = branch_root(table_of(root), branch_or_main(branch))
    if target.uri == root.uri:
        target = root  # keep the caches of `root`
    return target, None if number is None else _number(number)


def table_of(root: TableRoot) -> TableRoot:
    """The root of the whole table that ``root`` or its branch belongs to; it contains the refs."""
    config = root.config
    if config.folder:
        return open_root_of(config.in_folder(""), root.commit_lock, root.session)
    if f"/{TREE}/" not in config.uri:
        return root
    # Perhaps `root` was opened by a branch's URI: the manifests of a branch have its name.
    newest = root.handler.latest()
    branch = None if newest is None else recorded_branch(load(root, newest).manifest.branch)
    above = None if branch is None else uri_above(config.uri, branch_folder(branch))
    if above is None:
        return root
    return open_root_of(replace(config, uri=above), root.commit_lock, root.session)


def branch_root(table: TableRoot, branch: str | None) -> TableRoot:
    """The root of a branch (None: the main branch), which need not exist."""
    if branch is None:
        return table
    return open_root_of(
        table.config.in_folder(branch_folder(branch)), table.commit_lock, table.session
    )


def branch_of(snapshot: Snapshot) -> str | None:
    """The branch of a version, None for the main branch."""
    branch = branch_at(snapshot.root) or recorded_branch(snapshot.manifest.branch)
    if branch is None or uri_above(snapshot.root.uri, branch_folder(branch)) is None:
        return None
    return branch


def branch_at(root: TableRoot) -> str | None:
    """The branch that the caller named to open ``root``, None if the caller named none."""
    return root.config.folder.removeprefix(f"{TREE}/") or None


def locate(root: TableRoot, number: int | None) -> ManifestLocation:
    """The location of a version's manifest (None: the newest version).

    Raises `DatasetNotFoundError` if the version does not exist.
    """
    if number is None:
        return latest_location(root)
    try:
        if number >= 1:
            return root.handler.locate(number)
    except (DatasetNotFoundError, InvalidInputError) as error:
        raise _no_version(root, number) from error
    raise _no_version(root, number)


def _number(version: object) -> int:
    try:
        return operator.index(version)  # type: ignore[arg-type]  # raises TypeError for other types
    except TypeError:
        raise InvalidInputError(f"a version is a whole number, got {version!r}") from None


def _no_table(root: TableRoot) -> DatasetNotFoundError:
    return DatasetNotFoundError(f"Dataset at path {root.redacted_uri} was not found")


def _no_version(root: TableRoot, number: int) -> DatasetNotFoundError:
    return DatasetNotFoundError(f"Dataset at path {root.redacted_uri} has no version {number}")


def load(root: TableRoot, location: ManifestLocation) -> Snapshot:
    """Read the manifest at ``location``; raises `DatasetNotFoundError` if it does not exist."""
    try:
        version = read_version(root.store, location)
    except DatasetNotFoundError as error:
        raise _no_version(root, location.version) from error
    return _checked(root, version)


def _checked(root: TableRoot, version: Version) -> Snapshot:
    check_number(version.file.manifest.version, version.location)
    return Snapshot(root, version.file, version.location)
