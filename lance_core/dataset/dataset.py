"""`LanceDataset`: a table at one version. The base classes contain its verbs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.commits.handlers.lock import CommitLock
from lance_core.dataset.arrow_class import ArrowInstance
from lance_core.dataset.methods.changes import ChangeMethods
from lance_core.dataset.methods.history import HistoryMethods
from lance_core.dataset.methods.indices import IndexMethods
from lance_core.dataset.methods.maintenance import MaintenanceMethods
from lance_core.dataset.methods.reads import ReadMethods
from lance_core.dataset.methods.schemas import SchemaMethods
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.open_dataset import open_dataset
from lance_core.dataset.snapshot.session import Session
from lance_core.dataset.spelled_out import SpelledOut
from lance_core.dataset.statistics import LanceStats
from lance_core.dataset.write.write import write_fragments
from lance_core.errors import printable
from lance_core.imports.on_demand import import_module, lazy_module
from lance_core.schema import LanceSchema
from lance_core.store.config import StoreConfig
from lance_core.store.secret import hide_base_secrets, hide_secrets
from lance_core.table.manifest.manifest_draft import max_fragment_id

if TYPE_CHECKING:
    import os

    from lance_core.dataset import describe, inner, storage_access
    from lance_core.dataset.maintenance import io_stats
    from lance_core.dataset.maintenance.io_stats import IOStats
else:
    io_stats = lazy_module("lance_core.dataset.maintenance.io_stats")
    inner = lazy_module("lance_core.dataset.inner")
    storage_access = lazy_module("lance_core.dataset.storage_access")
    describe = lazy_module("lance_core.dataset.describe")


class LanceDataset(
    ArrowInstance,
    ReadMethods,
    HistoryMethods,
    ChangeMethods,
    SchemaMethods,
    IndexMethods,
    MaintenanceMethods,
):
    """A table at one version; `checkout_latest` and writes through it move it to newer ones.

    An instance of `pyarrow.dataset.Dataset`, which query engines scan with projections and filters.
    """

    arrow_name = "Dataset"

    def __init__(  # noqa: PLR0913, PLR0917 (the arguments are those of pylance)
        self,
        uri: str | os.PathLike[str],
        version: open_table.VersionLike | None = None,
        block_size: object = None,
        index_cache_size: object = None,
        metadata_cache_size: object = None,
        commit_lock: CommitLock | None = None,
        storage_options: Mapping[str, str] | None = None,
        serialized_manifest: bytes | None = None,
        default_scan_options: Mapping[str, Any] | None = None,
        metadata_cache_size_bytes: int | None = None,
        index_cache_size_bytes: int | None = None,
        read_params: object = None,
        session: Session | None = None,
        namespace_client: object = None,
        table_id: list[str] | None = None,
        namespace_client_managed_versioning: bool = False,
        base_store_params: Mapping[str, Any] | None = None,
    ) -> None:
        """Open a table; see `lance_core.dataset` for the arguments and errors.

        ``serialized_manifest``: without ``version``, that of this manifest is opened.
        """
        options = {
            "index_cache_size": index_cache_size,
            "commit_lock": commit_lock,
            "serialized_manifest": serialized_manifest,
            "metadata_cache_size_bytes": metadata_cache_size_bytes,
            "index_cache_size_bytes": index_cache_size_bytes,
            "session": session,
            "namespace_client": namespace_client,
            "table_id": table_id,
            "namespace_client_managed_versioning": namespace_client_managed_versioning,
            "base_store_params": hide_base_secrets(base_store_params),
        }
        base_store_params = None  # the frame of an error would show secrets
        storage_options = hide_secrets(storage_options)
        self._snapshot = open_dataset(uri, version, None, storage_options, options)
        self._scan_defaults = dict(default_scan_options or {})

    def __reduce__(self) -> tuple[Any, ...]:
        config, version = self._snapshot.root.config, self.version
        lock = self._snapshot.root.commit_lock
        return _reopen, (config, version, self._scan_defaults, lock)

    def __len__(self) -> int:
        return self.count_rows()

    def __repr__(self) -> str:
        try:
            return printable(describe.text(self._snapshot, "LanceDataset"))
        except Exception:  # a traceback shows it, possibly half made or without descriptors left
            return "LanceDataset"

    def _repr_html_(self) -> str | None:
        """What notebooks show, None without the extra ``cli``: they show `repr` then."""
        return describe.html(self)

    def __copy__(self) -> LanceDataset:
        return LanceDataset.of(self._snapshot, self._scan_defaults)

    @property
    def uri(self) -> str:
        """The URI of the table."""
        return self._snapshot.root.uri

    def session(self) -> Session:
        """The caches of this dataset; `lance_core.dataset` opens other datasets with them."""
        return self._snapshot.root.session

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of a scan with the default scan options."""
        if self._scan_defaults:
            return self.scanner().projected_schema
        return self._snapshot.schema.to_arrow()

    @property
    def _ds(self) -> inner.InnerDataset:
        """Methods that libraries call on the dataset of pylance's compiled module."""
        return inner.InnerDataset(self)

    @property
    def initial_storage_options(self) -> dict[str, str] | None:
        """The storage options with which the dataset was opened, in plain text; None without."""
        return storage_access.options_of(self._snapshot.root.config)

    def latest_storage_options(self) -> dict[str, str] | None:
        """The options that are valid now: those that a namespace vends may be newer."""
        return storage_access.latest_options(self._snapshot.root.config)

    @property
    def storage_options_accessor(self) -> storage_access.StorageOptionsAccessor | None:
        """An object that returns the storage options; None without options."""
        return storage_access.accessor_of(self._snapshot.root.config)

    def new_file_session(self) -> Any:
        """A `lance_core.file.LanceFileSession` for the table's folder, with its options."""
        return storage_access.file_session(self._snapshot.root.config)

    @property
    def lance_schema(self) -> LanceSchema:
        """The schema with field ids, as the manifest stores it."""
        return LanceSchema(self._snapshot.schema)

    @property
    def version(self) -> int:
        """The number of the open version."""
        return self._snapshot.version

    @property
    def data_storage_version(self) -> str:
        """The file version of the table, for example ``"2.0"``; appended files may have another."""
        return self._snapshot.storage_version.value

    @property
    def has_stable_row_ids(self) -> bool:
        """True if ``_rowid`` of a row stays the same after a compaction."""
        return self._snapshot.manifest.uses_stable_row_ids

    @property
    def max_field_id(self) -> int:
        """The highest field id in the schema."""
        return self._snapshot.schema.max_field_id

    @property
    def max_fragment_id(self) -> int | None:
        """The highest fragment id that was ever used in the table, None if there was none."""
        return max_fragment_id(self._snapshot.manifest)

    @property
    def durability(self) -> str | None:
        """The guarantee of this dataset's commits against a power failure.

        On a local file system, the value of the storage option ``durability``: ``"durable"`` (a
        commit is on disk when it returns) or ``"fast"`` (the latest commits may be lost). None for
        other stores, which decide themselves.
        """
        durability = self._snapshot.root.store.durability
        return None if durability is None else durability.value

    @property
    def stats(self) -> LanceStats:
        """Statistics of the open version."""
        return LanceStats(self._snapshot)

    def io_stats_snapshot(self) -> IOStats:
        """What this process has read and written in the table's folder.

        Counted since the dataset was opened, or since the last call of `io_stats_incremental`; a
        dataset of the same table with the same session counts here, too. Reads of files mapped into
        memory count as well. Raises `UnsupportedFeatureError` for a store that does not count.
        """
        return io_stats.io_stats(self._snapshot.root, is_reset=False)

    def io_stats_incremental(self) -> IOStats:
        """As `io_stats_snapshot`, and count from zero again."""
        return io_stats.io_stats(self._snapshot.root, is_reset=True)

    @property
    def metadata(self) -> dict[str, str]:
        """The table's metadata (not the schema's)."""
        return dict(self._snapshot.manifest.table_metadata)

    @property
    def schema_metadata(self) -> dict[str, str]:
        """Metadata of the schema."""
        return dict(self._snapshot.schema.metadata)

    def config(self) -> dict[str, str]:
        """The table's configuration."""
        return dict(self._snapshot.manifest.config)


_API = import_module("lance_core.dataset.api")  # which imports this module
for _function in (_API.dataset, _API.write_dataset, write_fragments):
    setattr(_function, "__wrapped__", SpelledOut(_function))  # noqa: B010 (no type has it)


def _reopen(
    config: StoreConfig,
    version: int,
    scan_defaults: dict[str, Any],
    commit_lock: CommitLock | None = None,
) -> LanceDataset:
    snapshot = open_table.open_version(open_table.open_root_of(config, commit_lock), version)
    return LanceDataset.of(snapshot, scan_defaults)
