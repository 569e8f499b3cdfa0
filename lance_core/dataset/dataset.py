"""`LanceDataset`: a table at one of its versions. What it does is in the module of each verb."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.dataset import opening, versions
from lance_core.dataset import take as taking
from lance_core.dataset.commit import CommitOptions, commit_operation
from lance_core.dataset.fragment import LanceFragment
from lance_core.dataset.input import ReaderLike
from lance_core.dataset.operation import LanceOperation, Transaction
from lance_core.dataset.projection import Columns
from lance_core.dataset.scanner import LanceScanner, options_of, split_options
from lance_core.dataset.snapshot import Snapshot, Target
from lance_core.dataset.statistics import LanceStats
from lance_core.dataset.validate import check_table
from lance_core.dataset.write import write
from lance_core.errors import InvalidInputError
from lance_core.schema import Schema
from lance_core.store.config import StoreConfig

if TYPE_CHECKING:
    import os

    import pandas as pd
    import pyarrow.compute as pc


class LanceDataset:
    """A table at one version; `checkout_latest` and writes through it move it to newer ones."""

    def __init__(
        self,
        uri: str | os.PathLike[str],
        version: opening.VersionLike | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
        default_scan_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Open a table. Raises `DatasetNotFoundError` and what the store raises."""
        root = opening.open_root(uri, storage_options)
        self._snapshot = opening.open_version(root, version)
        self._scan_defaults = dict(default_scan_options or {})

    @classmethod
    def of(cls, snapshot: Snapshot, scan_defaults: Mapping[str, Any] | None = None) -> LanceDataset:
        """A dataset of a version that is already open."""
        dataset = cls.__new__(cls)
        dataset._snapshot = snapshot  # noqa: SLF001  # its own class makes it
        dataset._scan_defaults = dict(scan_defaults or {})  # noqa: SLF001  # as above
        return dataset

    def __reduce__(self) -> tuple[Any, ...]:
        config, version = self._snapshot.root.config, self.version
        return _reopen, (config, version, self._scan_defaults)

    def __len__(self) -> int:
        return self.count_rows()

    def __copy__(self) -> LanceDataset:
        return LanceDataset.of(self._snapshot, self._scan_defaults)

    @property
    def snapshot(self) -> Snapshot:
        """The open version; an inner value, not part of pylance's interface."""
        return self._snapshot

    @property
    def uri(self) -> str:
        """Where the table is."""
        return self._snapshot.root.uri

    @property
    def schema(self) -> pa.Schema:
        """Schema of the stored columns, or of what the default scan options make of them."""
        if self._scan_defaults:
            return self.scanner().projected_schema
        return self._snapshot.schema.to_arrow()

    @property
    def lance_schema(self) -> Schema:
        """Schema with field ids, as the format has it."""
        return self._snapshot.schema

    @property
    def version(self) -> int:
        """Number of the open version."""
        return self._snapshot.version

    @property
    def latest_version(self) -> int:
        """Number of the newest version that there is now."""
        return opening.latest_location(self._snapshot.root).version

    @property
    def data_storage_version(self) -> str:
        """File version of the table's data files, for example ``"2.0"``."""
        return self._snapshot.storage_version.value

    @property
    def has_stable_row_ids(self) -> bool:
        """Whether ``_rowid`` survives compaction."""
        return self._snapshot.manifest.uses_stable_row_ids

    @property
    def max_field_id(self) -> int:
        """The highest field id in the schema."""
        return self._snapshot.schema.max_field_id

    @property
    def stats(self) -> LanceStats:
        """Statistics of the open version."""
        return LanceStats(self._snapshot)

    @property
    def metadata(self) -> dict[str, str]:
        """The table's own metadata (not the schema's)."""
        return dict(self._snapshot.manifest.table_metadata)

    @property
    def schema_metadata(self) -> dict[str, str]:
        """Metadata of the schema."""
        return dict(self._snapshot.schema.metadata)

    def config(self) -> dict[str, str]:
        """The table's configuration."""
        return dict(self._snapshot.manifest.config)

    def versions(self) -> list[dict[str, Any]]:
        """Every version that can be opened, oldest first: number, local time, and totals."""
        return versions.describe_all(self._snapshot.root)

    def get_version(self) -> dict[str, Any]:
        """The open version, described as `versions` does."""
        return versions.describe(self._snapshot.manifest)

    def checkout_version(self, version: opening.VersionLike) -> LanceDataset:
        """Another version of the same table, as a dataset of its own; (None, None) is the newest.

        Raises `DatasetNotFoundError`.
        """
        snapshot = opening.open_version(self._snapshot.root, version)
        return LanceDataset.of(snapshot, self._scan_defaults)

    def checkout_latest(self) -> None:
        """Move this dataset to the newest version."""
        self._snapshot = opening.open_version(self._snapshot.root, None)

    def scanner(
        self,
        columns: Columns = None,
        filter: str | pc.Expression | None = None,
        limit: int | None = None,
        offset: int | None = None,
        nearest: Any = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> LanceScanner:
        """Set up a scan.

        ``columns``: names (``"a"``, nested ``"s.x"``, meta columns ``_rowid``, ``_rowaddr``,
        ``_rowoffset``), or a mapping from names to SQL expressions; all columns if None.
        ``filter``: SQL or a pyarrow expression; ``limit`` and ``offset`` count rows that pass it.
        ``batch_size``: the most rows in a batch. Further options: ``with_row_id``,
        ``with_row_address``, ``fragments``, ``row_ranges``, ``blob_handling``, and pylance's hints,
        which change nothing here.

        Raises `InvalidInputError`, and `UnsupportedFeatureError` for searches and orderings.
        """
        arguments = {
            "columns": columns,
            "filter": filter,
            "limit": limit,
            "offset": offset,
            "nearest": nearest,
            "batch_size": batch_size,
            **options,
        }
        return LanceScanner(self._snapshot, options_of(arguments, self._scan_defaults))

    def to_table(self, columns: Columns = None, filter: Any = None, **options: Any) -> pa.Table:
        """Read rows as a table; options as of `scanner`."""
        return self.scanner(columns, filter, **options).to_table()

    def to_batches(
        self, columns: Columns = None, filter: Any = None, **options: Any
    ) -> Iterator[pa.RecordBatch]:
        """Read rows as a stream of batches; options as of `scanner`."""
        return self.scanner(columns, filter, **options).to_batches()

    def to_pandas(
        self, columns: Columns = None, filter: Any = None, **options: Any
    ) -> pd.DataFrame:
        """Read rows as a data frame; options as of `scanner` and `pyarrow.Table.to_pandas`."""
        of_scan, of_pandas = split_options(options)
        return self.scanner(columns, filter, **of_scan).to_pandas(**of_pandas)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as an Arrow C stream, for any library that reads one."""
        return self.scanner().__arrow_c_stream__(requested_schema)

    def head(self, num_rows: int, **options: Any) -> pa.Table:
        """The first rows; options as of `scanner`."""
        return self.scanner(**{**options, "limit": num_rows}).to_table()

    def slice(self, start: int, end: int, columns: Columns = None) -> pa.Table:
        """Rows from position ``start`` (inclusive) to ``end`` (exclusive)."""
        if start < 0:
            raise InvalidInputError(f"start must be non-negative, got {start}")
        if end < start:
            raise InvalidInputError(f"end ({end}) must be >= start ({start})")
        return self.scanner(columns, offset=start, limit=end - start).to_table()

    def take(self, indices: taking.Indices, columns: Columns = None) -> pa.Table:
        """Rows by position, in the order of ``indices``.

        ``columns`` as of `scanner`, but a nested name such as ``"s.x"`` returns the struct ``s``
        with only that member.
        """
        projection = taking.columns_of(self._snapshot, columns)
        return taking.take(self._snapshot, indices, projection)

    def sample(
        self, num_rows: int, columns: Columns = None, randomize_order: bool = True
    ) -> pa.Table:
        """Distinct random rows."""
        count = self.count_rows()
        if not 0 <= num_rows <= count:
            raise InvalidInputError(f"cannot sample {num_rows} of {count} rows")
        indices = random.sample(range(count), num_rows)
        return self.take(indices if randomize_order else sorted(indices), columns)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """Number of rows that pass ``filter``; without one this reads only the manifest."""
        if filter is None and not options:
            return self._snapshot.num_rows
        return self.scanner(columns=[], filter=filter, **options).count_rows()

    def get_fragments(self, filter: Any = None) -> list[LanceFragment]:
        """The fragments, in the order of a scan."""
        if filter is not None:
            raise InvalidInputError("get_fragments() does not support filter yet")
        return [LanceFragment(self, f.id) for f in self._snapshot.manifest.fragments]

    def get_fragment(self, fragment_id: int) -> LanceFragment | None:
        """The fragment with this id, None if there is none."""
        if fragment_id not in self._snapshot.fragment_positions:
            return None
        return LanceFragment(self, fragment_id)

    def insert(self, data: ReaderLike, *, mode: str = "append", **options: Any) -> None:
        """Write rows as `lance_core.write_dataset` does, and move to the new version."""
        self._snapshot = write(data, self, None, mode, options)

    def validate(self) -> None:
        """Check that every file of the version is there and agrees with the manifest."""
        check_table(self._snapshot)

    def read_transaction(self, version: int) -> Transaction | None:
        """The transaction that made a version, None if it was not recorded."""
        return versions.transaction(self._snapshot.root, version)

    def get_transactions(self, recent_transactions: int = 10) -> list[Transaction | None]:
        """The transactions of the newest versions up to the open one, newest first."""
        return versions.recent_transactions(self._snapshot, recent_transactions)

    @staticmethod
    def commit(
        base_uri: Target,
        operation: LanceOperation.BaseOperation | Transaction,
        read_version: int | None = None,
        storage_options: Mapping[str, str] | None = None,
        **options: Any,
    ) -> LanceDataset:
        """Make a version out of an operation whose files are already written.

        ``read_version``: the version that the operation is based on; needed for every operation
        but Overwrite. ``options`` as of `CommitOptions`.
        """
        root = opening.root_of(base_uri, storage_options)
        return LanceDataset.of(
            commit_operation(root, operation, read_version, CommitOptions.of(options))
        )


def _reopen(config: StoreConfig, version: int, scan_defaults: dict[str, Any]) -> LanceDataset:
    snapshot = opening.open_version(opening.open_root_of(config), version)
    return LanceDataset.of(snapshot, scan_defaults)
