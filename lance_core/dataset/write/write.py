"""`write_dataset`, `write_fragments`: create, append to or overwrite a table."""

from __future__ import annotations

import itertools
import uuid as uuids
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import pyarrow as pa

from lance_core.commits.environment import SYSTEM
from lance_core.commits.handlers.lock import CommitLock
from lance_core.commits.options import CommitOptions
from lance_core.datafile.file_output import DEFAULT_VERSION, FileOptions
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.session import Session
from lance_core.dataset.snapshot.snapshot import HasSnapshot, Snapshot, TableRoot, Target
from lance_core.dataset.values.auto_cleanup_options import AutoCleanupConfig, auto_cleanup_keys
from lance_core.dataset.values.base_path import DatasetBasePath
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.dataset.values.progress import FragmentWriteProgress
from lance_core.dataset.values.to_stored import to_bases
from lance_core.dataset.values.transaction import Transaction, properties_of
from lance_core.dataset.write import fragment_writer
from lance_core.dataset.write.blob_options import blob_options, stored_schema
from lance_core.dataset.write.commit import naming_of
from lance_core.dataset.write.discard_on_failure import (
    NewFiles,
    discard_data_files,
    discard_on_failure,
)
from lance_core.dataset.write.input import ReaderLike, stays_in_memory, to_reader
from lance_core.dataset.write.legacy_dictionaries import with_dictionaries
from lance_core.dataset.write.target_bases import BaseChoice, TargetBase, targets_by_id
from lance_core.encodings.version import FileVersion
from lance_core.error_texts.suggestions import unknown_argument
from lance_core.errors import (
    DatasetExistsError,
    DatasetNotFoundError,
    InvalidInputError,
    RetryableCommitConflictError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.imports.on_demand import lazy_module
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema import (
    Schema,
    append_schema,
    check_storable,
    has_blobs_v2,
    missing_fields,
)
from lance_core.store.secret import hide_secrets, hide_secrets_in
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.manifest.manifest_draft import max_fragment_id
from lance_core.table.manifest_parts import BasePath
from lance_core.table.storage_version import may_mix
from lance_core.table.transactions.apply import CommitFacts
from lance_core.table.transactions.operations import Append, Merge, Operation, Overwrite
from lance_core.table.transactions.transaction import Transaction as StoredTransaction

if TYPE_CHECKING:
    from lance_core.dataset.snapshot import namespace_tables
    from lance_core.schema import evolution
else:
    namespace_tables = lazy_module("lance_core.dataset.snapshot.namespace_tables")
    evolution = lazy_module("lance_core.schema.evolution")

CREATE, APPEND, OVERWRITE = "create", "append", "overwrite"


class WriteArguments(TypedDict, total=False):
    """Keyword arguments of `write_dataset`.

    ``max_rows_per_file`` (1 Mi) and ``max_bytes_per_file`` (90 GiB) limit data files.
    ``data_cache_bytes`` and ``max_page_bytes`` limit pages; ``max_rows_per_group`` (1024) limits
    the batches of files of version 0.1.
    ``storage_options``: options of the store; the page of each store lists them.
    ``data_storage_version``: the file version; by default ``"2.2"`` in a new table, else the
    table's. An append to a table with files of version 2.0 or newer may use another one from 2.0.
    ``enable_v2_manifest_paths`` (True) and ``enable_stable_row_ids`` (False): for a new table.
    ``merge_schema`` (False): an append adds nullable columns and members of structs that the table
    lacks, in the same commit. It conflicts with all other changes of rows and of the schema.
    ``commit_message`` and ``transaction_properties`` are stored with the transaction.
    ``progress``: callbacks at the begin and completion of each fragment.
    ``commit_lock``: a function that gets the version number and returns a context manager; the
    commit runs inside it.
    ``auto_cleanup_options``: when commits clean up older versions; for a new table.
    ``initial_bases``: base paths of a new table. ``target_bases``: the names or paths of the base
    paths to which new files go in turn; the table's own URI stands for its root.
    ``target_all_bases``: True for the root and all base paths in turn, False for all base paths.
    ``base_store_params``: storage options by the URI of a base path, which are not stored.
    ``allow_external_blob_outside_bases`` (False): allow URIs of blobs outside of all base paths.
    ``external_blob_mode``: ``"reference"`` stores the URIs of blobs, ``"ingest"`` stores the bytes
    of the objects.
    ``blob_pack_file_size_threshold``: maximum bytes of a file with several blobs; by default the
    limit in the metadata of each field (1 GiB).
    ``checksums``: "pages" stores checksums of all pages, unless the target is an open dataset.
    ``session``: the caches of the returned dataset, unless the target is an open dataset.
    ``namespace_client`` and ``table_id``: a catalog, and the name of the table in it.
    """

    max_rows_per_file: int
    max_bytes_per_file: int
    max_rows_per_group: int
    data_cache_bytes: int | None
    max_page_bytes: int | None
    progress: FragmentWriteProgress | None
    storage_options: Mapping[str, Any] | None
    data_storage_version: str | None
    enable_v2_manifest_paths: bool
    enable_stable_row_ids: bool
    merge_schema: bool
    commit_message: str | None
    transaction_properties: Mapping[str, str] | None
    commit_lock: CommitLock | None
    auto_cleanup_options: AutoCleanupConfig | None
    initial_bases: list[DatasetBasePath] | None
    target_bases: Sequence[str] | None
    target_all_bases: bool | None
    base_store_params: Mapping[str, Mapping[str, str]] | None
    allow_external_blob_outside_bases: bool
    external_blob_mode: str
    blob_pack_file_size_threshold: int | None
    checksums: str | None
    session: Session | None
    namespace_client: object
    table_id: Sequence[str] | None


class AllWriteArguments(WriteArguments, total=False):
    """Also pylance's former name of ``data_storage_version``."""

    use_legacy_format: bool | None


def write(
    data: ReaderLike,
    target: Target | None,
    schema: pa.Schema | None,
    mode: str | None,
    arguments: Mapping[str, Any],
) -> Snapshot:
    """Write rows and commit them: see `lance_core.dataset.api.write_dataset`."""
    job = _Job.prepare(data, target, schema, mode, dict(arguments))
    job.root.check_can_commit()
    fragments = job.write()
    try:
        with discard_on_failure(job.root, job.options.targets) as files:
            files.data += fragments
            return _committed(job, files)
    except DatasetNotFoundError:  # the table was removed while it was open
        job.root.store.remove_empty_folders()
        raise


def _committed(job: _Job, files: NewFiles) -> Snapshot:
    try:
        return files.commit(job.base, job.transaction(files.data), job.commit_options)
    except DatasetExistsError as error:
        if job.mode == CREATE:
            raise
        if job.mode == OVERWRITE:
            raise RetryableCommitConflictError(
                "commit conflict: another writer made the table in the meantime; write again"
            ) from error
    # Another writer has created the table in the meantime: append the rows to that table.
    try:
        late = job.on(open_table.open_version(job.root))
    except SchemaMismatchError as error:
        if not job.adds_columns:
            raise
        raise RetryableCommitConflictError(
            "commit conflict: another writer made the table with other columns in the meantime; "
            "write again"
        ) from error
    return files.commit(late.base, late.transaction(files.data), late.commit_options)


def write_fragments(
    data: ReaderLike,
    dataset_uri: Target,
    schema: pa.Schema | None = None,
    *,
    return_transaction: bool = False,
    mode: str = APPEND,
    **arguments: Unpack[AllWriteArguments],
) -> list[FragmentMetadata] | Transaction:
    """Write rows as fragments without committing, so that one commit can add several writers' rows.

    Pass the result to `LanceDataset.commit`: the list as part of an operation or, with
    ``return_transaction``, the transaction, which contains the version it is based on.
    """
    hide_secrets_in(arguments)  # type: ignore[arg-type]  # a TypedDict is a dictionary, too
    job = _Job.prepare(data, dataset_uri, schema, mode, dict(arguments))
    fragments = job.write()
    if return_transaction:
        return Transaction.of(job.transaction(fragments))
    return [FragmentMetadata.of(fragment, fragment.physical_rows or 0) for fragment in fragments]


def discard_fragments(
    fragments: Sequence[FragmentMetadata],
    dataset_uri: Target,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Remove the data files of fragments that were written but not committed.

    The caller must ensure that no version references them, now or later. A file that cannot be
    removed stays unreferenced until a cleanup removes it. Files in base paths are removed if the
    table exists and has these base paths.
    """
    storage_options = hide_secrets(storage_options)
    root = open_table.root_of(dataset_uri, storage_options)
    stored = [fragment.to_fragment() for fragment in fragments]
    ids = {file.base_id for fragment in stored for file in fragment.files}
    targets: tuple[TargetBase, ...] = ()
    if ids - {None}:
        if isinstance(dataset_uri, HasSnapshot):
            snapshot = dataset_uri.snapshot
        else:
            snapshot = open_table.open_version(root)
        targets = targets_by_id(snapshot, ids)
    discard_data_files(root, stored, targets)


@dataclass(frozen=True, slots=True)
class _Job:
    """A write with checked arguments. ``base`` is None if the table does not exist."""

    root: TableRoot
    base: Snapshot | None
    reader: pa.RecordBatchReader
    schema: Schema
    mode: str
    options: fragment_writer.WriteOptions
    commit_options: CommitOptions
    properties: Mapping[str, str]
    config: Mapping[str, str] = field(default_factory=dict)
    initial_bases: tuple[BasePath, ...] = ()
    merged: Schema | None = None
    """The new schema of the table, if the rows have columns that it lacks."""
    adds_columns: bool = False
    """True if the rows may have columns that the table lacks."""

    @classmethod
    def prepare(
        cls,
        data: ReaderLike,
        target: Target | None,
        schema: pa.Schema | None,
        mode: str | None,
        arguments: dict[str, Any],
    ) -> _Job:
        mode = CREATE if mode is None else mode
        _check_arguments(mode, arguments)
        options = arguments.get("storage_options")
        where: Target
        if target is None or arguments.get("namespace_client") or arguments.get("table_id"):
            is_new = mode == CREATE
            where, options = namespace_tables.located(target, options, arguments, is_new=is_new)
        else:
            where = target
        root, base = _target(where, mode, options, arguments)
        named = {name: value for name, value in arguments.items() if value is not None}
        new_bases = _initial_bases(named.get("initial_bases"), base)
        choice = BaseChoice.from_arguments(named)
        bases = new_bases if base is None else base.manifest.base_paths
        allowed = [*(added.path for added in new_bases), *choice.named_paths(bases)]
        root = root.allowing(allowed, named.get("base_store_params"))
        root = root.with_lock(arguments.get("commit_lock"))
        if base is not None and root is not base.root:
            base = replace(base, root=root)
        reader = to_reader(data, schema)
        version = file_version(base, mode, arguments.get("data_storage_version"))
        root.registry.file_version(version)  # before anything is written
        table = base.schema if base is not None and mode == APPEND else None
        arrow = stored_schema(reader.schema, version, table)
        merged = None
        if arguments.get("merge_schema"):
            merged = _merged_schema(base, mode, arrow)
            table = merged or table
        if table is not None:
            partial = version.has_partial_files
            stored = append_schema(table, arrow, allow_subschema=partial)
        else:
            stored = Schema.from_arrow(arrow)
        check_storable(stored, version.value)
        if version.has_table_dictionaries:
            reader, stored = with_dictionaries(reader, stored)
        blobs = blob_options(bases, named)
        targets = choice.targets(root, bases, None if base is None else base.manifest.branch)
        return cls(
            root,
            base,
            reader,
            stored,
            mode,
            _write_options(version, named, blobs, targets, stays_in_memory(data)),
            CommitOptions(
                naming=naming_of(named.get("enable_v2_manifest_paths", True)),
                facts=CommitFacts(
                    storage_version=version.value,
                    stable_row_ids=named.get("enable_stable_row_ids", False),
                ),
                age_of_files=SYSTEM.stopwatch(),
            ),
            properties_of(named.get("commit_message"), named.get("transaction_properties")),
            auto_cleanup_keys(named.get("auto_cleanup_options")) if base is None else {},
            new_bases,
            merged,
            bool(named.get("merge_schema")),
        )

    def on(self, base: Snapshot) -> _Job:
        """This write, whose files were written for a new table, as an append to ``base``.

        Raises `SchemaMismatchError` if the files do not fit that table unchanged.
        """
        same_fields = (
            append_schema(base.schema, self.schema.to_arrow()).fields == self.schema.fields
        )
        # Files and blobs may reference base paths that the other table does not have.
        has_own_bases = bool(self.initial_bases) and (
            bool(self.options.targets) or has_blobs_v2(self.schema.fields)
        )
        mixes = base.storage_version is not self.options.files.version
        if not same_fields or has_own_bases or mixes:
            raise SchemaMismatchError(
                f"another writer made the table {self.root.redacted_uri} with a different schema"
            )
        return replace(self, base=base)

    def write(self) -> list[Fragment]:
        """Write all rows as fragments."""
        return fragment_writer.write_fragments(self.root, self.reader, self.schema, self.options)

    def transaction(self, fragments: list[Fragment]) -> StoredTransaction:
        """The transaction that commits ``fragments``."""
        operation: Operation
        if self.base is not None and self.merged is not None:
            manifest = self.base.manifest
            highest = max_fragment_id(manifest)
            first_id = 0 if highest is None else highest + 1
            new = [replace(fragment, id=id_) for id_, fragment in enumerate(fragments, first_id)]
            everything = manifest.fragments + FragmentList.of(new)
            operation = Merge(everything, self.merged, preserves_nullability=True)
        elif self.base is not None and self.mode == APPEND:
            operation = Append(tuple(fragments))
        else:
            operation = Overwrite(tuple(fragments), self.schema, self.config, self.initial_bases)
        read_version = 0 if self.base is None else self.base.version
        return StoredTransaction(read_version, str(uuids.uuid4()), operation, dict(self.properties))


def _check_arguments(mode: str, arguments: dict[str, Any]) -> None:
    if mode not in (CREATE, APPEND, OVERWRITE):
        raise InvalidInputError(f"Invalid mode {mode}")
    for name in [name for name in arguments if name not in WriteArguments.__annotations__]:
        value = arguments.pop(name)
        if name == "use_legacy_format":  # pylance's former name of this option
            arguments.update({"data_storage_version": "legacy"} if value else {})
        elif name in AllWriteArguments.__annotations__:
            if value is not None and value is not False:
                raise UnsupportedFeatureError(f"writing with {name!r} is not supported yet")
        else:
            raise unknown_argument(name, {*WriteArguments.__annotations__, "mode", "schema"})


def _target(
    target: Target,
    mode: str,
    storage_options: Mapping[str, Any] | None,
    arguments: Mapping[str, Any],
) -> tuple[TableRoot, Snapshot | None]:
    """The table's root, and the version that the write is based on (None if there is no table)."""
    if not isinstance(target, str) and isinstance(target, HasSnapshot):
        base = target.snapshot
    else:
        session = arguments.get("session")
        root = open_table.open_root(target, storage_options, session=session, options=arguments)
        try:
            base = open_table.open_version(root)
        except DatasetNotFoundError:
            return root, None
    if mode == CREATE:
        raise DatasetExistsError(f"Dataset already exists: {base.root.redacted_uri}")
    check_writable(base.manifest.flags)
    return base.root, base


def _merged_schema(base: Snapshot | None, mode: str, data: pa.Schema) -> Schema | None:
    """The table's schema with the columns that only ``data`` has; None if there are none.

    Raises `InvalidInputError` for an overwrite, whose schema is that of the data, and
    `UnsupportedFeatureError` for a table of file version 0.1, whose fragments have all columns.
    """
    if mode == OVERWRITE:
        raise InvalidInputError("'merge_schema' is for an append: an overwrite replaces the schema")
    new = None if base is None else missing_fields(base.schema, data)
    if base is None or not new:
        return None
    if not base.storage_version.has_partial_files:
        raise UnsupportedFeatureError(
            f"column {new[0].name!r} cannot be added to a table of file version "
            f"{base.storage_version} by an append"
        )
    first_id, structs = base.next_field_id, base.splits_structs
    return evolution.add_fields(base.schema, new, first_id, into_structs=structs).schema


def _initial_bases(
    bases: Sequence[DatasetBasePath] | None, base: Snapshot | None
) -> tuple[BasePath, ...]:
    """The base paths of a new table; those without an id get the free ids from 1 on."""
    if bases is None:
        return ()
    if base is not None:
        raise InvalidInputError("initial_bases can be given to a new table only")
    stored = to_bases(bases)
    free = itertools.filterfalse({path.id for path in stored}.__contains__, itertools.count(1))
    return tuple(path if path.id else replace(path, id=next(free)) for path in stored)


def file_version(base: Snapshot | None, mode: str, selector: str | None) -> FileVersion:
    """The version of the new files; an append does not change the table's version."""
    if selector is not None and not isinstance(selector, str):
        raise InvalidInputError(f"data_storage_version must be text, got {selector!r}")
    if base is None or mode == OVERWRITE:
        if selector is not None:
            return FileVersion.from_selector(selector)
        return DEFAULT_VERSION if base is None else base.storage_version
    if selector is None:
        return base.storage_version
    version = FileVersion.from_selector(selector)
    if not may_mix(version.value, base.storage_version.value):
        raise InvalidInputError(
            f"the table holds files of version {base.storage_version.value}, "
            f"data of version {selector} cannot be appended"
        )
    return version


def _write_options(
    version: FileVersion,
    arguments: Mapping[str, Any],
    blobs: fragment_writer.BlobOptions,
    targets: tuple[TargetBase, ...],
    batches_stay: bool,
) -> fragment_writer.WriteOptions:
    of_files = ("data_cache_bytes", "max_page_bytes", "max_rows_per_group")
    of_fragments = ("max_rows_per_file", "max_bytes_per_file", "progress")
    return fragment_writer.WriteOptions(
        FileOptions(
            version,
            **{name: arguments[name] for name in of_files if name in arguments},
            batches_stay=batches_stay,
        ),
        **{name: arguments[name] for name in of_fragments if name in arguments},
        blobs=blobs,
        targets=targets,
    )
