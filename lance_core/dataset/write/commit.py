"""Committing: from a change as users state it to a new version that is open."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from lance_core.commits.handlers.lock import CommitLock, locked
from lance_core.commits.history import Version
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import CommitSettings
from lance_core.concurrency.pools import WAITING, in_order
from lance_core.dataset.maintenance.auto_cleanup import auto_cleanup
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.dataset.values.operations import LanceOperation
from lance_core.dataset.values.transaction import Transaction, properties_of
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    CommitUnknownError,
    DatasetNotFoundError,
    InvalidInputError,
    UnsupportedFeatureError,
)
from lance_core.suggestions import unknown_argument
from lance_core.table.paths import DETACHED, NamingScheme
from lance_core.table.transactions.transaction import Transaction as StoredTransaction

_NEEDS_NO_BASE = (LanceOperation.Overwrite, LanceOperation.Restore)


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """How a change is committed.

    ``v2_manifest_paths``, ``stable_row_ids``: of a new table. ``storage_version``: of a new or
    overwritten table. ``properties`` are kept with the transaction. ``timeout`` in seconds.
    ``detached``: make a version beside the history, that only its number leads to.
    ``age_of_files``: how many seconds ago the first of the change's files was begun.
    """

    v2_manifest_paths: bool = True
    stable_row_ids: bool = False
    storage_version: FileVersion | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    max_retries: int = 20
    timeout: float = 1800.0
    detached: bool = False
    age_of_files: Callable[[], float] = field(default=lambda: math.inf)

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> CommitOptions:
        """Options out of the keyword arguments of pylance's ``LanceDataset.commit``.

        ``enable_v2_manifest_paths``, ``enable_stable_row_ids``, ``detached``, ``max_retries``,
        ``commit_timeout`` (a timedelta, None for no limit), ``commit_message`` and
        ``transaction_properties``; ``data_storage_version``, which pylance has not, says what a new
        or overwritten table is if there is no file to tell it.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        version = given.pop("data_storage_version", None)
        options = cls(
            v2_manifest_paths=bool(given.pop("enable_v2_manifest_paths", True)),
            stable_row_ids=bool(given.pop("enable_stable_row_ids", False)),
            storage_version=None if version is None else FileVersion.from_selector(version),
            properties=properties_of(
                given.pop("commit_message", None), given.pop("transaction_properties", None)
            ),
            max_retries=_retries(given.pop("max_retries", 20)),
            timeout=_seconds(arguments.get("commit_timeout", timedelta(minutes=30))),
            detached=bool(given.pop("detached", False)),
        )
        given.pop("commit_timeout", None)
        for name, value in given.items():
            if name not in _UNSUPPORTED:
                raise unknown_argument(name, _UNSUPPORTED | _KNOWN)
            if value is not False:
                raise UnsupportedFeatureError(f"commits do not support {name!r} yet")
        return options


_KNOWN = frozenset(
    {
        *("enable_v2_manifest_paths", "enable_stable_row_ids", "detached", "max_retries"),
        *("commit_timeout", "commit_message", "transaction_properties", "data_storage_version"),
    }
)
_UNSUPPORTED = frozenset(
    {"namespace_client", "table_id", "namespace_client_managed_versioning", "base_store_params"}
)


def _retries(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"max_retries must be a whole number from 0 on, got {value!r}")
    return value


def _seconds(timeout: object) -> float:
    if timeout is None:
        return math.inf
    if not isinstance(timeout, timedelta) or timeout <= timedelta(0):
        raise InvalidInputError(f"commit_timeout must be a positive timedelta, got {timeout!r}")
    return timeout.total_seconds()


def with_lock(root: TableRoot, commit_lock: CommitLock | None) -> TableRoot:
    """The same place, committed to inside ``commit_lock``; None changes nothing.

    Raises ``TypeError`` if the lock cannot be called.
    """
    if commit_lock is None:
        return root
    handler = locked(commit_lock, root.store, root.handler)
    return dataclasses.replace(root, handler=handler, commit_lock=commit_lock)


def commit(
    root: TableRoot,
    base: Snapshot | None,
    transaction: StoredTransaction,
    options: CommitOptions,
    may_be_repeated: bool = False,
) -> Snapshot:
    """Make a version of ``transaction``; outcomes as of `commit_transaction`.

    ``may_be_repeated``: somebody may have sent this very transaction before.

    Older versions are cleaned up afterwards if the table's config says so.
    """
    storage_version = options.storage_version
    settings = CommitSettings(
        max_retries=options.max_retries,
        timeout=options.timeout,
        naming=NamingScheme.V2 if options.v2_manifest_paths else NamingScheme.V1,
        storage_version=None if storage_version is None else storage_version.value,
        stable_row_ids=options.stable_row_ids,
        detached=options.detached,
        may_be_repeated=may_be_repeated,
        age_of_files=options.age_of_files,
        each=partial(in_order, ahead=WAITING, is_io_bound=root.store.read_ahead > 0),
    )
    read = None if base is None else Version(base.file, base.location)
    try:
        made = commit_transaction(root.handler, root.store, transaction, read, settings)
    except CommitUnknownError as error:
        error.table = root.base_uri
        raise
    snapshot = Snapshot(root, made.file, made.location)
    if not options.detached:
        auto_cleanup(snapshot)
    return snapshot


def commit_operation(
    root: TableRoot,
    operation: LanceOperation.BaseOperation | Transaction,
    read_version: int | None,
    options: CommitOptions,
    commit_lock: CommitLock | None = None,
    opened: Snapshot | None = None,
) -> Snapshot:
    """Commit what `LanceDataset.commit` was given; ``opened`` is a version that it has open."""
    if opened is not None and opened.version & DETACHED:
        opened = None  # its number says nothing about the table's history
    root = with_lock(root, commit_lock)
    if isinstance(operation, Transaction):
        if options.properties:
            raise InvalidInputError(
                "commit_message and transaction_properties cannot be given together with a "
                "Transaction: set them in its own transaction_properties"
            )
        given = operation
    elif not isinstance(operation, LanceOperation.BaseOperation):
        raise TypeError(
            "operation must be a LanceOperation.BaseOperation or Transaction, "
            f"got {type(operation).__name__}"
        )
    elif read_version is None and not isinstance(operation, _NEEDS_NO_BASE):
        raise InvalidInputError(
            "read_version is required for all operations except Overwrite and Restore"
        )
    else:
        properties = dict(options.properties)
        given = Transaction(-1, operation, transaction_properties=properties)
    # What is committed looks for the newest version anyway; here it only has to tell its number.
    is_based = given is operation or read_version is not None
    newest = opened if is_based and commit_lock is None and opened else _newest(root)
    if newest is not None:
        root = newest.root
    if given is not operation:
        latest = 0 if newest is None else newest.version
        given.read_version = latest if read_version is None else read_version
    if newest is None and not isinstance(given.operation, LanceOperation.Overwrite):
        raise DatasetNotFoundError(
            f"Dataset at path {root.redacted_uri} was not found: commit an Overwrite"
        )
    if options.detached:
        _check_can_detach(newest)
    # Whoever brings a transaction along may have sent it before, and not heard what became of it.
    return commit(root, newest, given.to_stored(), options, may_be_repeated=given is operation)


def _check_can_detach(newest: Snapshot | None) -> None:
    if newest is None:
        raise UnsupportedFeatureError("a detached commit cannot create a table")
    if newest.location.naming is NamingScheme.V1:
        raise UnsupportedFeatureError(
            "detached commits need manifest names of the second scheme: see "
            "LanceDataset.migrate_manifest_paths_v2"
        )


def _newest(root: TableRoot) -> Snapshot | None:
    """The newest version, None if there is no table. It knows how the table is committed to."""
    try:
        return open_table.open_version(root)
    except DatasetNotFoundError:
        return None
