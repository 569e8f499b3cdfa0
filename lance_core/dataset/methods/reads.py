"""The methods of `LanceDataset` that read: scans, takes, counts, fragments."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Unpack

import pyarrow as pa

from lance_core.dataset.blobs.type import DEFAULT_BLOB_BUFFER_SIZE
from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.read.columns.projection import Columns
from lance_core.dataset.read.given_rows import take as taking
from lance_core.dataset.read.planned_scan import planned_scan, planned_table
from lance_core.dataset.read.scan_options import options_of, split_options
from lance_core.dataset.read.sources.row_positions import Indices
from lance_core.dataset.scanner import LanceScanner
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.compute as pc

    from lance_core.dataset import fragment as fragments
    from lance_core.dataset import sql_query as queries
    from lance_core.dataset.arguments import (
        HeadArguments,
        MoreScanArguments,
        PandasArguments,
        ScanArguments,
    )
    from lance_core.dataset.blobs.file import BlobFile
    from lance_core.dataset.fragment import LanceFragment
    from lance_core.dataset.read.given_rows import row_addresses
    from lance_core.dataset.read.given_rows import take_blobs as blob_take
    from lance_core.dataset.sql_query import SqlQueryBuilder
    from lance_core.dataset.values import bitmap
else:
    bitmap = lazy_module("lance_core.dataset.values.bitmap")
    row_addresses = lazy_module("lance_core.dataset.read.given_rows.row_addresses")
    fragments = lazy_module("lance_core.dataset.fragment")
    queries = lazy_module("lance_core.dataset.sql_query")
    blob_take = lazy_module("lance_core.dataset.read.given_rows.take_blobs")


@short_tracebacks
class ReadMethods(DatasetBase):
    """Reads the open version."""

    def scanner(
        self,
        columns: Columns = None,
        filter: str | pc.Expression | None = None,
        limit: int | None = None,
        offset: int | None = None,
        nearest: Any = None,
        batch_size: int | None = None,
        **options: Unpack[MoreScanArguments],
    ) -> LanceScanner:
        """A scan of the open version; the methods of `LanceScanner` run it.

        ``columns``: names (``"a"``, nested ``"s.x"``, meta columns ``_rowid``, ``_rowaddr``,
        ``_rowoffset``, ``_row_created_at_version``, ``_row_last_updated_at_version``), or a mapping
        from names to SQL expressions; all columns if None.
        ``filter``: SQL or a pyarrow expression; ``limit`` and ``offset`` count rows that match it.
        ``batch_size``: maximum rows of a batch. Further options: ``batch_size_bytes``,
        ``strict_batch_size``, ``with_row_id``, ``with_row_address``, ``order_by`` (names or
        `ColumnOrdering` objects), ``fragments``, ``row_ranges``, ``splits``,
        ``include_deleted_rows``, ``late_materialization``, ``row_addr_allowlist``,
        ``row_addr_blocklist``, ``blob_handling``, ``use_stats``, ``use_scalar_index``,
        ``fast_search``, ``scan_stats_callback``, and pylance's hints, which are ignored.

        Raises `InvalidInputError`, ``TypeError`` for an unknown option, and
        `UnsupportedFeatureError` for searches.
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
        version = self.of(self._snapshot)  # stays as it is when this object moves on
        return LanceScanner(
            self._snapshot,
            options_of(arguments, self._scan_defaults),
            lambda id_: fragments.LanceFragment(version, id_),
        )

    def to_table(
        self,
        columns: Columns = None,
        filter: str | pc.Expression | None = None,
        **options: Unpack[ScanArguments],
    ) -> pa.Table:
        """Read rows as a table.

        ``columns``: names, or a mapping from names to SQL expressions; all columns if None.
        ``filter``: SQL or a pyarrow expression; ``limit`` and ``offset`` count rows that match it.
        ``order_by``: columns to sort by. ``with_row_id`` and ``with_row_address`` add ``_rowid``
        and ``_rowaddr``. ``nearest`` and ``full_text_query``: searches. See `scanner` for all
        arguments and errors.
        """
        with self._snapshot.turn:
            # As a scanner does, without one: a scanner keeps what its other methods need.
            arguments = {"columns": columns, "filter": filter, **options}
            scan = options_of(arguments, self._scan_defaults)
            return planned_table(planned_scan(self._snapshot, scan))

    def to_batches(
        self,
        columns: Columns = None,
        filter: str | pc.Expression | None = None,
        **options: Unpack[ScanArguments],
    ) -> Iterator[pa.RecordBatch]:
        """Read rows as a stream of batches, whose memory does not grow with the table.

        ``batch_size``: maximum rows of a batch; ``batch_size_bytes``: its approximate bytes. See
        `to_table` for the most used arguments, `scanner` for all of them and for errors.
        """
        return self.scanner(columns, filter, **options).to_batches()

    def to_pandas(
        self,
        columns: Columns = None,
        filter: str | pc.Expression | None = None,
        **options: Unpack[PandasArguments],
    ) -> pd.DataFrame:
        """Read rows as a data frame, with options of `scanner` and `pyarrow.Table.to_pandas`."""
        of_scan, of_pandas = split_options(options)
        return self.scanner(columns, filter, **of_scan).to_pandas(**of_pandas)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for whatever reads Arrow's streams, such as ``pyarrow.table(dataset)``."""
        return self.scanner().to_reader().__arrow_c_stream__(requested_schema)

    def sql(self, sql: str) -> SqlQueryBuilder:
        """A query over this version, which is the table ``dataset``; DataFusion runs it.

        Call ``build()``, then ``to_batch_records()`` or ``to_stream_reader()``. Only the columns
        of the query are read, and rows that satisfy its simple conditions. Needs the extra
        ``datafusion``.
        """
        return queries.SqlQueryBuilder(self, sql)

    def head(self, num_rows: int, **options: Unpack[HeadArguments]) -> pa.Table:
        """The first ``num_rows`` rows as a table.

        With ``filter`` the first that match it, with ``order_by`` those that come first in this
        order. See `scanner` for all arguments and errors.
        """
        return self.to_table(limit=num_rows, **options)

    def slice(self, start: int, end: int, columns: Columns = None) -> pa.Table:
        """Rows from position ``start`` (inclusive) to ``end`` (exclusive)."""
        if start < 0:
            raise InvalidInputError(f"start must be non-negative, got {start}")
        if end < start:
            raise InvalidInputError(f"end ({end}) must be >= start ({start})")
        return self.to_table(columns, offset=start, limit=end - start)

    def take(self, indices: Indices, columns: Columns = None) -> pa.Table:
        """Rows by position, in the order of ``indices``.

        ``columns``: see `scanner`, but a nested name such as ``"s.x"`` returns the struct ``s``
        with only that child.
        """
        snapshot = self._snapshot
        with snapshot.turn:
            return taking.take(snapshot, indices, taking.columns_of(snapshot, columns))

    def _take_rows(
        self,
        row_ids: Indices,
        columns: Columns = None,
        *,
        ignore_deletions: bool = False,
        **kargs: Any,
    ) -> pa.Table:
        """Rows by id (``_rowid``), in the order of ``row_ids``, without deleted and unknown ids.

        Without stable row ids, an id is the row's address, and one outside of all fragments raises
        `InvalidInputError`. ``ignore_deletions``: ids are known to be live, which saves reads of
        deletion files; a deleted row may then be returned. ``columns``: see `take`. Other arguments
        have no effect.
        """
        with self._snapshot.turn:
            projection = taking.columns_of(self._snapshot, columns)
            return row_addresses.take_ids(
                self._snapshot, row_ids, projection, ignore_deletions=ignore_deletions
            )

    def take_blobs(
        self,
        blob_column: str,
        ids: Indices | None = None,
        addresses: Indices | None = None,
        indices: Indices | None = None,
        *,
        buffer_size: int = DEFAULT_BLOB_BUFFER_SIZE,
    ) -> list[BlobFile | None]:
        """A file for the blob of each row, None for null; reads descriptions but no blobs.

        ``blob_column``: the name of a blob column, or the dotted path of a blob field in structs.
        Pass exactly one of ``ids`` (``_rowid``), ``addresses`` (``_rowaddr``) and ``indices``
        (positions). ``buffer_size``: bytes that each file reads ahead. Raises `InvalidInputError`,
        and `BasePathRefusedError` for blobs in locations that the caller has not allowed (option
        ``allow_base_paths`` of `dataset`).
        """
        selection = blob_take.BlobSelection.of(ids, addresses, indices)
        return blob_take.take_blobs(self._snapshot, blob_column, selection, buffer_size)

    def read_blobs(
        self,
        blob_column: str,
        ids: Indices | None = None,
        addresses: Indices | None = None,
        indices: Indices | None = None,
        *,
        io_buffer_size: int | None = None,
        preserve_order: bool | None = None,
    ) -> list[tuple[int, bytes | None]]:
        """The row address and the blob's bytes (None for null) for each row; see `take_blobs`.

        One request reads blobs that are close together. ``preserve_order=False`` allows any order.
        """
        selection = blob_take.BlobSelection.of(ids, addresses, indices)
        ordered = preserve_order is not False
        return blob_take.read_blobs(self._snapshot, blob_column, selection, ordered)

    def read_blob_ranges(
        self,
        blob_column: str,
        requests: Sequence[tuple[int, int, int]],
        *,
        selector: Literal["ids", "addresses", "indices"],
        io_buffer_size: int | None = None,
        preserve_order: bool | None = None,
    ) -> list[tuple[int, int, bytes | None]]:
        """Read byte ranges of blobs, one for each (row, offset, length) in ``requests``.

        Returns tuples of the request's index, the row address and the bytes. ``selector``: the
        meaning of row, see `take_blobs`. Raises `InvalidInputError` for a range that is not within
        its blob.
        """
        ordered = preserve_order is not False
        return blob_take.read_blob_ranges(self._snapshot, blob_column, requests, selector, ordered)

    def join(  # noqa: PLR0913, PLR0917 (the arguments are those of pyarrow)
        self,
        right_dataset: object,
        keys: object,
        right_keys: object = None,
        join_type: str = "left outer",
        left_suffix: str | None = None,
        right_suffix: str | None = None,
        coalesce_keys: bool = True,
        use_threads: bool = True,
    ) -> NoReturn:
        """Not supported, as in pylance; join the results of scans."""
        raise UnsupportedFeatureError("datasets cannot be joined: join the results of scans")

    def join_asof(
        self,
        right_dataset: object,
        on: str,
        by: object,
        tolerance: int,
        right_on: str | None = None,
        right_by: object = None,
    ) -> NoReturn:
        """Not supported, see `join`."""
        self.join(right_dataset, by)

    def filter(self, expression: pc.Expression) -> NoReturn:
        """Not supported, as in pylance; scans have a ``filter``."""
        raise UnsupportedFeatureError("datasets cannot be filtered: use the filter of a scan")

    def sort_by(self, sorting: object, **kwargs: object) -> NoReturn:
        """Not supported, as in pylance; scans have an ``order_by``."""
        raise UnsupportedFeatureError("datasets cannot be sorted: use the order_by of a scan")

    @property
    def partition_expression(self) -> NoReturn:
        """Not supported, as in pylance: tables have no partitions."""
        raise UnsupportedFeatureError("tables have no partitions")

    def sample(
        self, num_rows: int, columns: Columns = None, randomize_order: bool = True
    ) -> pa.Table:
        """Distinct random rows, in random order or in the order of the table."""
        count = self.count_rows()
        if not 0 <= num_rows <= count:
            raise InvalidInputError(f"cannot sample {num_rows} of {count} rows")
        indices = random.sample(range(count), num_rows)
        return self.take(indices if randomize_order else sorted(indices), columns)

    def count_rows(
        self, filter: str | pc.Expression | None = None, **options: Unpack[ScanArguments]
    ) -> int:
        """The number of rows that satisfy ``filter``; without a filter, reads only the manifest.

        Other arguments are those of `scanner` that choose rows, such as ``fragments``, ``limit``
        and ``use_scalar_index``.
        """
        if filter is None and not options:
            return self._snapshot.num_rows
        arguments = {"columns": [], "filter": filter, **options}
        with self._snapshot.turn:
            return LanceScanner(self._snapshot, options_of(arguments)).count_rows()

    def get_fragments(self, filter: Any = None) -> list[LanceFragment]:
        """The fragments, in the order of a scan.

        Raises `InvalidInputError` if ``filter`` is given, which is not supported yet.
        """
        if filter is not None:
            raise InvalidInputError("get_fragments() does not support filter yet")
        return fragments.LanceFragment.all_of(self)

    def fragment_ids(self) -> bitmap.Bitmap:
        """Ids of the fragments; reads only the manifest."""
        return bitmap.Bitmap(self._snapshot.manifest.fragments.ids)

    def get_fragment(self, fragment_id: int) -> LanceFragment | None:
        """The fragment with this id, None if there is none."""
        if fragment_id not in self._snapshot.fragment_positions:
            return None
        return fragments.LanceFragment(self, fragment_id)
