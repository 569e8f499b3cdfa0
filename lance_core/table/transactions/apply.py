"""Apply a transaction to a version; the result is the next version."""

from __future__ import annotations

from collections.abc import Mapping

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass, replace
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
    DEFAULT,
    OLDEST,
    check_requested,
    check_supported,
    common_version,
    facts_of,
)
from lance_core.table.transactions.operations.overwrite import Overwrite
from lance_core.table.transactions.transaction import Transaction


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """Properties of a commit that are not part of the transaction.

    ``timestamp_ns``: nanoseconds since the epoch, UTC. ``storage_version``: file version of a new
    or overwritten table; None takes the version of the table or of the files. ``stable_row_ids``:
    True if a new table has stable row ids; ignored for an existing table. ``source``: the version
    that a Restore restores or a Clone copies, None for other operations. ``config``: entries that
    the version's config gets in addition.
    """

    timestamp_ns: int = 0
    storage_version: str | None = None
    stable_row_ids: bool = False
    writer_version: WriterVersion = THIS_LIBRARY
    source: ManifestFile | None = None
    config: Mapping[str, str] | None = None


def writes_transaction_file(base: ManifestFile | None) -> bool:
    """True if a commit on ``base`` (None for a new table) also writes a transaction file."""
    return base is None or not base.manifest.flags.writer & TRANSACTION_FILE_DISABLED


def apply(base: ManifestFile | None, transaction: Transaction, facts: CommitFacts) -> ManifestFile:
    """The version that results from ``transaction`` on ``base``; None creates a table.

    The caller guarantees that the transaction is compatible with all versions after its
    ``read_version`` up to ``base``. Raises `UnsupportedFeatureError` if this library must not
    commit to the table, and `InvalidInputError` if the transaction does not fit the table.
    """
    if transaction.has_blob_operation:
        raise UnsupportedFeatureError("a transaction with a second table of blobs is not supported")
    if facts.source is not None:
        check_writable(facts.source.manifest.flags)  # the new version gets these flags
    draft = transaction.operation.apply(_draft(base, transaction, facts))
    if facts.config:
        draft = replace(draft, config={**draft.config, **facts.config})
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
    """The schema of the new version; dictionary columns of a 0.1 table keep their stored values."""
    version = draft.storage_version
    if base is None or version is None or not facts_of(version).has_table_dictionaries:
        return draft.schema
    if isinstance(transaction.operation, Overwrite):
        return draft.schema  # a new field may have the id of an old field
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
    if base.manifest.version + 1 == DETACHED:
        raise InvalidInputError(
            f"version {base.manifest.version} has the highest possible number; no version can "
            "follow"
        )
    draft = replace(
        Draft.following(base.manifest, base.index_section),
        read_version=transaction.read_version,
        source=facts.source,
    )
    if overwrites and requested is not None:
        return replace(draft, storage_version=requested)
    doubtful = base.manifest.data_format is None or draft.storage_version == OLDEST
    if doubtful and not overwrites:
        return replace(draft, storage_version=_real_version(base.manifest))
    return draft


def _real_version(manifest: Manifest) -> str:
    """The file version of a table marked as 0.1; release 0.16 marked 2.0 tables as 0.1 too."""
    files = (file for fragment in manifest.fragments for file in fragment.files)
    return common_version(file.file_version for file in files) or manifest.storage_version


def _data_format(base: ManifestFile | None, draft: Draft) -> DataFormat:
    version = check_supported(draft.storage_version or DEFAULT)
    if draft.mixed_file_versions and not facts_of(version).may_mix:
        raise InvalidInputError(
            f"a table that may hold files of several versions cannot be one of version {version}"
        )
    for file in (draft.source, base):
        known = None if file is None else file.manifest.data_format
        if known is not None and known.version == version:
            return known
    return DataFormat(version)


def _flags(base: ManifestFile | None, draft: Draft) -> FeatureFlags:
    """Flags of the new version: the bit for transaction files is from ``base``.

    The other bits depend on the content of ``draft``.
    """
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
