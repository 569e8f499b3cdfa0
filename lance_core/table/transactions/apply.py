"""From a version and a transaction to the next version."""

from __future__ import annotations

import dataclasses

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.dictionary_values import values_of, with_values
from lance_core.schema.tree import Schema
from lance_core.table.manifest.feature_flags import (
    TRANSACTION_FILE_DISABLED,
    FeatureFlags,
    FlagFacts,
    check_writable,
    recompute,
)
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest.manifest import Manifest
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.manifest_parts import THIS_LIBRARY, DataFormat, WriterVersion
from lance_core.table.paths import DETACHED
from lance_core.table.storage_version import (
    LEGACY,
    check_requested,
    check_supported,
    common_version,
)
from lance_core.table.transactions.operations.overwrite import Overwrite
from lance_core.table.transactions.transaction import Transaction

DEFAULT_STORAGE_VERSION = "2.2"
"""Of a new table without any file, if none is asked for."""


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """What the committer adds to a transaction.

    ``timestamp_ns``: nanoseconds since the epoch, UTC. ``storage_version``: file version that a
    new or overwritten table shall have, None to take it from the table or the files.
    ``stable_row_ids``: whether a new table has them; an existing table stays as it is.
    ``source``: the version that a Restore brings back or a Clone copies, None for other operations.
    """

    timestamp_ns: int = 0
    storage_version: str | None = None
    stable_row_ids: bool = False
    writer_version: WriterVersion = THIS_LIBRARY
    source: ManifestFile | None = None


def writes_transaction_file(base: ManifestFile | None) -> bool:
    """True if a commit on ``base`` (None: of a new table) writes a transaction file as well."""
    return base is None or not base.manifest.flags.writer & TRANSACTION_FILE_DISABLED


def apply(base: ManifestFile | None, transaction: Transaction, facts: CommitFacts) -> ManifestFile:
    """The version that ``transaction`` makes of ``base``, or of nothing if ``base`` is None.

    The caller has made sure that the transaction is compatible with everything between its
    ``read_version`` and ``base``. Raises `UnsupportedFeatureError` if this library must not commit
    to the table, and `InvalidInputError` if the transaction does not fit it.
    """
    if transaction.has_blob_operation:
        raise UnsupportedFeatureError("a transaction with a second table of blobs is not supported")
    if facts.source is not None:
        check_writable(facts.source.manifest.flags)  # they become those of the new version
    draft = transaction.operation.apply(_draft(base, transaction, facts))
    name = transaction.file_name if writes_transaction_file(base) else ""
    manifest = Manifest(
        version=draft.version,
        schema=_schema(base, transaction, draft),
        fragments=draft.fragments,
        timestamp_ns=facts.timestamp_ns,
        flags=_flags(base, draft),
        max_fragment_id=draft.max_fragment_id,
        transaction_file=name,
        writer_version=facts.writer_version,
        data_format=_data_format(base, draft),
        next_row_id=draft.next_row_id,
        config=draft.config,
        table_metadata=draft.table_metadata,
        base_paths=draft.base_paths,
        branch=draft.branch,
        tag=transaction.tag,
        carried=draft.carried,
    )
    return ManifestFile(manifest, draft.index_section, transaction.to_bytes())


def _schema(base: ManifestFile | None, transaction: Transaction, draft: Draft) -> Schema:
    """The schema; the dictionary columns of a 0.1 table keep their values, whoever names them."""
    if draft.storage_version != LEGACY or base is None:
        return draft.schema
    if isinstance(transaction.operation, Overwrite):
        return draft.schema  # what has an old id may be new
    return with_values(draft.schema, values_of(base.manifest.schema))


def _draft(base: ManifestFile | None, transaction: Transaction, facts: CommitFacts) -> Draft:
    overwrites = isinstance(transaction.operation, Overwrite)
    requested = facts.storage_version
    if requested is not None:
        requested = check_requested(requested)
    if base is None:
        return Draft(
            version=1,
            schema=Schema(),
            storage_version=requested,
            stable_row_ids=facts.stable_row_ids,
            is_new_table=True,
            read_version=transaction.read_version,
            source=facts.source,
        )
    check_writable(base.manifest.flags)
    if base.manifest.version + 1 >= DETACHED:
        raise InvalidInputError(
            f"version {base.manifest.version} is detached: nothing can follow it"
        )
    draft = dataclasses.replace(
        Draft.following(base.manifest, base.index_section),
        read_version=transaction.read_version,
        source=facts.source,
    )
    if overwrites and requested is not None:
        return dataclasses.replace(draft, storage_version=requested)
    doubtful = base.manifest.data_format is None or draft.storage_version == LEGACY
    if doubtful and not overwrites:
        return dataclasses.replace(draft, storage_version=_real_version(base.manifest))
    return draft


def _real_version(manifest: Manifest) -> str:
    """The version of a table that calls itself 0.1: release 0.16 said so of 2.0 tables, too."""
    files = (file for fragment in manifest.fragments for file in fragment.files)
    return common_version(file.file_version for file in files) or manifest.storage_version


def _data_format(base: ManifestFile | None, draft: Draft) -> DataFormat:
    version = check_supported(draft.storage_version or DEFAULT_STORAGE_VERSION)
    if draft.mixed_file_versions and version == LEGACY:
        raise InvalidInputError(
            "a table that may hold files of several versions cannot be one of version 0.1"
        )
    for file in (draft.source, base):
        known = None if file is None else file.manifest.data_format
        if known is not None and known.version == version:
            return known
    return DataFormat(version)


def _flags(base: ManifestFile | None, draft: Draft) -> FeatureFlags:
    """True if transaction files are written is the table's business, the rest the content's."""
    writer = draft.flags.writer & ~TRANSACTION_FILE_DISABLED
    if not writes_transaction_file(base):
        writer |= TRANSACTION_FILE_DISABLED
    has_deletion_files = draft.has_deletion_files
    if has_deletion_files is None:
        has_deletion_files = draft.fragments.counts.has_deletion_files
    return recompute(
        FeatureFlags(draft.flags.reader, writer),
        FlagFacts(
            deletion_files=has_deletion_files,
            stable_row_ids=draft.stable_row_ids,
            config=bool(draft.config),
            base_paths=bool(draft.base_paths),
            indices=draft.index_section is not None,
            mixed_file_versions=draft.mixed_file_versions,
        ),
    )
