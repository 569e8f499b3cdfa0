"""`DatasetDelta`: the changes between two versions of a table."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.dataset.read.columns.projection import (
    CREATED_AT_VERSION,
    LAST_UPDATED_AT_VERSION,
    ROW_ID,
    select,
)
from lance_core.dataset.read.fragments.meta_columns import row_ids
from lance_core.dataset.read.given_rows.row_addresses import take_ids
from lance_core.dataset.read.scan_options import ScanOptions
from lance_core.dataset.scanner import LanceScanner
from lance_core.dataset.snapshot import open_table, versions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.values.transaction import Transaction
from lance_core.errors import InvalidInputError
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.row_ids.row_id_index import RowIdIndex
from lance_core.table.row_ids.u64_segment import Offsets, Ranges, Uint64s

META = (ROW_ID, CREATED_AT_VERSION, LAST_UPDATED_AT_VERSION)

ID_BATCH = 1 << 16
ROW_BATCH = 1 << 13
"""Rows of a batch of deleted ids, and of deleted rows."""


class DatasetDelta:
    """The changes after version ``begin`` up to and including version ``end``.

    Without stable row ids, inserted and updated rows are not tracked (all rows count as inserted by
    version 1); use `list_transactions`. A row that was inserted and then updated is inserted; one
    that was inserted and then deleted has not changed. Inserted and updated rows have the content
    of the open version: rows that changed again after ``end`` are returned only by a table opened
    at ``end``.
    """

    def __init__(self, snapshot: Snapshot, begin: int, end: int) -> None:
        self._snapshot = snapshot
        self._begin = begin
        self._end = end

    @classmethod
    def of(
        cls, snapshot: Snapshot, compared_against: object, begin: object, end: object
    ) -> DatasetDelta:
        """The delta for the arguments of `LanceDataset.delta`."""
        if compared_against is not None:
            return cls(snapshot, _version(compared_against), snapshot.version)
        if begin is None or end is None:
            raise InvalidInputError(
                "delta() needs compared_against, or both begin_version and end_version"
            )
        return cls(snapshot, _version(begin), _version(end))

    def list_transactions(self) -> list[Transaction]:
        """The recorded transactions of the versions, oldest first.

        Raises `DatasetNotFoundError` if one of the versions does not exist any more.
        """
        numbers = range(self._begin + 1, self._end + 1)
        transactions = (versions.transaction(self._snapshot.root, number) for number in numbers)
        return [transaction for transaction in transactions if transaction is not None]

    def get_inserted_rows(self) -> pa.RecordBatchReader:
        """The rows that were inserted: all columns, ``_rowid``, and both versions of the row."""
        return self._rows(_between(CREATED_AT_VERSION, self._begin, self._end))

    def get_updated_rows(self) -> pa.RecordBatchReader:
        """The rows of version ``begin`` that were updated; columns as in `get_inserted_rows`."""
        return self._rows(self._is_updated())

    def _is_updated(self) -> str:
        updated = _between(LAST_UPDATED_AT_VERSION, self._begin, self._end)
        return f"{CREATED_AT_VERSION} <= {self._begin} AND {updated}"

    def get_deleted_row_ids(self) -> pa.RecordBatchReader:
        """Batches of one uint64 column ``_rowid``, ascending: the rows that ``end`` lacks.

        Only rows of version ``begin`` are considered. Raises `InvalidInputError` if one of the two
        versions has no stable row ids or ``begin`` is newer than ``end``, and
        `DatasetNotFoundError` if one does not exist any more.
        """
        schema = pa.schema([pa.field(ROW_ID, pa.uint64())])
        ids = self._deleted(ID_BATCH)
        batches = (pa.record_batch([pa.array(part)], schema=schema) for part in ids)
        return pa.RecordBatchReader.from_batches(schema, batches)

    def get_deleted_rows(self) -> pa.RecordBatchReader:
        """The deleted rows with their content in version ``begin``; not part of pylance.

        Columns are those of `get_inserted_rows` for the schema of version ``begin``. Raises the
        errors of `get_deleted_row_ids`.
        """
        before = self._open(self._begin) if self._begin else self._snapshot
        return self._rows_before(before, self._deleted(ROW_BATCH))

    def get_updated_rows_before(self) -> pa.RecordBatchReader:
        """The rows of `get_updated_rows` with their content in version ``begin``.

        Not part of pylance. Columns are those of `get_deleted_rows`. Raises `DatasetNotFoundError`
        if version ``begin`` does not exist any more.
        """
        before = self._open(self._begin) if self._begin else self._snapshot
        options = ScanOptions(columns=[ROW_ID], filter=self._is_updated(), batch_size=ROW_BATCH)
        batches = LanceScanner(self._snapshot, options).to_batches()
        return self._rows_before(before, (batch.column(0).to_numpy() for batch in batches))

    def _rows_before(self, before: Snapshot, ids: Iterator[Uint64s]) -> pa.RecordBatchReader:
        """The rows of ``before`` with the ids of each array."""
        projection = select(before.schema_with_descriptions, None, META)
        tables = (take_ids(before, part, projection) for part in ids)
        batches = (batch for table in tables for batch in table.to_batches())
        return pa.RecordBatchReader.from_batches(projection.schema, batches)

    def _rows(self, condition: str) -> pa.RecordBatchReader:
        columns = [*self._snapshot.schema.names, *META]
        options = ScanOptions(columns=columns, filter=condition)
        return LanceScanner(self._snapshot, options).to_reader()

    def _open(self, version: int) -> Snapshot:
        if version == self._snapshot.version:
            return self._snapshot
        return open_table.open_version(self._snapshot.root, version)

    def _deleted(self, batch: int) -> Iterator[Uint64s]:
        """The deleted ids, ascending, in arrays of at most ``batch``."""
        if self._begin > self._end:
            raise InvalidInputError(
                f"begin version {self._begin} is newer than end version {self._end}"
            )
        if self._begin == 0:
            return iter(())
        before, after = (self._open(version) for version in (self._begin, self._end))
        for snapshot in (before, after):
            if not snapshot.manifest.uses_stable_row_ids:
                raise InvalidInputError(
                    f"deleted rows are known with stable row ids only, version {snapshot.version} "
                    "does not use them"
                )
        unchanged = _parts(before.manifest.fragments) & _parts(after.manifest.fragments)
        old, new = _live_ids(before, unchanged), _live_ids(after, unchanged)
        return _missing(Ranges.between(old.starts, old.stops), new, batch)


def _between(column: str, begin: int, end: int) -> str:
    return f"{column} > {begin} AND {column} <= {end}"


def _version(value: object) -> int:
    version = operator.index(value)  # type: ignore[arg-type]  # raises TypeError for other types
    if version < 0:
        raise InvalidInputError(f"a version is not negative, got {version}")
    return version


_Part = tuple[int, object, object]


def _part(fragment: Fragment) -> _Part:
    """What the live ids of a fragment depend on."""
    return fragment.id, fragment.row_ids, fragment.deletion_file


def _parts(fragments: Sequence[Fragment]) -> set[_Part]:
    return {_part(fragment) for fragment in fragments}


def _live_ids(snapshot: Snapshot, unchanged: set[_Part]) -> RowIdIndex:
    """The index of the rows that are not deleted in fragments that are not ``unchanged``."""
    fragments = [
        fragment for fragment in snapshot.manifest.fragments if _part(fragment) not in unchanged
    ]
    sequences = {at: row_ids(snapshot, fragment) for at, fragment in enumerate(fragments)}
    return RowIdIndex.of(sequences, _deleted_rows(snapshot, fragments))


def _deleted_rows(snapshot: Snapshot, fragments: Sequence[Fragment]) -> dict[int, Offsets]:
    """The sorted offsets of deleted rows, by position in ``fragments``."""

    def read(at: int) -> tuple[int, Offsets]:
        offsets = snapshot.deleted_offsets(fragments[at])
        assert offsets is not None
        return at, offsets.astype(np.int64)

    positions = [at for at, fragment in enumerate(fragments) if fragment.deletion_file is not None]
    return dict(in_order(read, positions, IO_THREADS, is_io_bound=snapshot.is_io_bound))


def _missing(ids: Ranges, index: RowIdIndex, batch: int) -> Iterator[Uint64s]:
    """The ``ids`` that ``index`` does not have."""
    for start in range(0, ids.count, batch):
        part = ids.take(np.arange(start, min(start + batch, ids.count)))
        missing = part[index.find(part) < 0]
        if len(missing):
            yield missing
