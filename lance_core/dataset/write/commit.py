"""Commit a user's operation or transaction as a new version, and open it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from lance_core.commits.history import Version
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import DEFAULT_OPTIONS, CommitOptions
from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.dataset.maintenance.auto_cleanup import auto_cleanup
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.dataset.values.operations import LanceOperation
from lance_core.dataset.values.transaction import Transaction, properties_of
from lance_core.dataset.write.commit_context import in_context
from lance_core.encodings.version import FileVersion
from lance_core.error_texts.suggestions import unknown_argument
from lance_core.errors import (
    CommitUnknownError,
    DatasetNotFoundError,
    InvalidInputError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import replace
from lance_core.plugins.probe_records import probe_record
from lance_core.table.paths import DETACHED, NamingScheme
from lance_core.table.transactions.apply import CommitFacts
from lance_core.table.transactions.transaction import Transaction as StoredTransaction

_NEEDS_NO_BASE = (LanceOperation.Overwrite, LanceOperation.Restore)


def options_of(arguments: Mapping[str, Any]) -> tuple[CommitOptions, dict[str, str]]:
    """Commit options and transaction properties, from the arguments of pylance's ``commit``.

    Arguments: ``enable_v2_manifest_paths``, ``enable_stable_row_ids``, ``detached``,
    ``max_retries``, ``commit_timeout`` (a timedelta, None for no limit), ``commit_message`` and
    ``transaction_properties``. Two arguments are not in pylance: ``data_storage_version`` is the
    file version of a new or overwritten table without files. ``is_committed`` is called with the
    properties of each transaction that was committed after the read version; if it returns True for
    one, the commit raises `AlreadyCommittedError`, so that a change is committed only once.
    """
    options_left = {name: value for name, value in arguments.items() if value is not None}
    for name in _OF_THE_ROOT:
        options_left.pop(name, None)
    version = options_left.pop("data_storage_version", None)
    options = CommitOptions(
        naming=naming_of(options_left.pop("enable_v2_manifest_paths", True)),
        facts=CommitFacts(
            storage_version=None if version is None else FileVersion.from_selector(version).value,
            stable_row_ids=bool(options_left.pop("enable_stable_row_ids", False)),
        ),
        max_retries=_retries(options_left.pop("max_retries", DEFAULT_OPTIONS.max_retries)),
        timeout=(
            _seconds(arguments["commit_timeout"])
            if "commit_timeout" in arguments
            else DEFAULT_OPTIONS.timeout
        ),
        detached=bool(options_left.pop("detached", False)),
        is_committed=_check_function(options_left.pop("is_committed", None)),
    )
    properties = properties_of(
        options_left.pop("commit_message", None), options_left.pop("transaction_properties", None)
    )
    options_left.pop("commit_timeout", None)
    for name in options_left:
        raise unknown_argument(name, _KNOWN)
    return options, properties


_KNOWN = frozenset(
    {
        *("enable_v2_manifest_paths", "enable_stable_row_ids", "detached", "max_retries"),
        *("commit_timeout", "commit_message", "transaction_properties", "data_storage_version"),
        "is_committed",
    }
)
_OF_THE_ROOT = (
    *("namespace_client", "table_id", "base_store_params"),
    "namespace_client_managed_versioning",
)


def _check_function(value: object) -> Callable[[Mapping[str, str]], bool] | None:
    if value is not None and not callable(value):
        raise InvalidInputError(f"is_committed must be a function, got {value!r}")
    return value


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


def naming_of(v2_manifest_paths: object) -> NamingScheme:
    """The naming scheme of a new table's manifests; ``enable_v2_manifest_paths`` selects it."""
    return NamingScheme.V2 if v2_manifest_paths else NamingScheme.V1


def commit(
    root: TableRoot, base: Snapshot | None, transaction: StoredTransaction, options: CommitOptions
) -> Snapshot:
    """Commit ``transaction`` as a new version; raises the errors of `commit_transaction`.

    Checks that the transaction's files exist unless ``options`` state their age. Then cleans up
    older versions if the table's config asks for it.
    """
    transaction, options = in_context(transaction, options)
    before = {} if base is None else base.manifest.config
    options = replace(
        options,
        facts=replace(options.facts, config=probe_record(root.store, before)),
        age_of_files=options.age_of_files or (lambda: math.inf),
        each=partial(in_order, ahead=IO_THREADS, is_io_bound=root.store.read_ahead > 0),
    )
    read = None if base is None else Version(base.file, base.location)
    try:
        made = commit_transaction(root.handler, root.store, transaction, read, options)
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
    properties: Mapping[str, str],
    opened: Snapshot | None = None,
) -> Snapshot:
    """Commit the arguments of `LanceDataset.commit`.

    ``properties`` are stored with the transaction. ``opened``: an open version of ``root``.
    """
    if opened is not None and opened.version & DETACHED:
        opened = None  # a detached version is not part of the history
    if isinstance(operation, Transaction):
        if properties:
            raise InvalidInputError(
                "commit_message and transaction_properties cannot be given together with a "
                "Transaction: set them in its own transaction_properties"
            )
        transaction = operation
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
        transaction = Transaction(-1, operation, transaction_properties=dict(properties))
    # The commit finds the newest version itself; `newest` only supplies the read version, so an
    # open version is enough if the caller gave the read version.
    is_based = transaction is operation or read_version is not None
    newest = opened if is_based and opened else _newest(root)
    if newest is not None:
        root = newest.root
    if transaction is not operation:
        latest = 0 if newest is None else newest.version
        transaction.read_version = latest if read_version is None else read_version
    if newest is None and not isinstance(transaction.operation, LanceOperation.Overwrite):
        raise DatasetNotFoundError(
            f"Dataset at path {root.redacted_uri} was not found: commit an Overwrite"
        )
    if options.detached:
        _check_can_detach(newest)
    # The caller may have committed this transaction before, with an unknown outcome.
    options = replace(options, may_be_repeated=transaction is operation)
    return commit(root, newest, transaction.to_stored(), options)


def _check_can_detach(newest: Snapshot | None) -> None:
    if newest is None:
        raise UnsupportedFeatureError("a detached commit cannot create a table")
    if newest.location.naming is NamingScheme.V1:
        raise UnsupportedFeatureError(
            "detached commits need manifest names of the second scheme: see "
            "LanceDataset.migrate_manifest_paths_v2"
        )


def _newest(root: TableRoot) -> Snapshot | None:
    """The newest version, None if there is no table. Its root has the table's commit handler."""
    try:
        return open_table.open_version(root)
    except DatasetNotFoundError:
        return None
