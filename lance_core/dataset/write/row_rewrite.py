"""Move rows: write new values of rows as new fragments, and mark the old rows as deleted.

`write_rows` writes the new fragments, `move_rows` writes the deletion files and returns the
operation to commit. Rows are moved first and inserted last: in a table with stable row ids, the
first rows of the new fragments keep the ids of the old rows, and the others get new ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.datafile.file_output import FileOptions
from lance_core.dataset.read.columns.projection import ROW_ID
from lance_core.dataset.read.fragments.meta_columns import meta_column
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.deletions import write_deletions
from lance_core.dataset.write.discard_on_failure import NewFiles
from lance_core.dataset.write.fragment_writer import BlobOptions, WriteOptions, write_fragments
from lance_core.dataset.write.legacy_dictionaries import in_dictionaries, with_dictionaries
from lance_core.dataset.write.target_bases import TargetBase
from lance_core.encodings.decoding import RowIndices
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import replace
from lance_core.schema import Schema
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.transactions.operations import Update

RowIds = npt.NDArray[np.uint64]


def write_rows(
    snapshot: Snapshot,
    files: NewFiles,
    batches: Iterable[pa.RecordBatch],
    *,
    schema: Schema | None = None,
    version: FileVersion | None = None,
    targets: tuple[TargetBase, ...] = (),
) -> list[Fragment]:
    """Write ``batches`` as new fragments, add them to ``files`` and return them.

    Columns are matched by name to ``schema``, by default the table's. Blobs are bytes or, in
    version 2, structs as users write them. ``version``: the file version, by default the table's.
    ``targets``: see `WriteOptions`. Raises `SchemaMismatchError` and `InvalidInputError` for values
    that the schema does not allow.
    """
    schema = schema or snapshot.schema
    version = version or snapshot.storage_version
    if version.has_table_dictionaries:
        known = (in_dictionaries(batch, snapshot.schema) for batch in batches)
        reader = pa.RecordBatchReader.from_batches(schema.to_arrow(), known)
        batches, schema = with_dictionaries(reader, schema)
    blobs = BlobOptions.of_moved_rows(snapshot.manifest.base_paths)
    options = WriteOptions(FileOptions(version), blobs=blobs, targets=targets)
    files.targets = targets
    written = write_fragments(snapshot.root, batches, schema, options)
    files.data += written
    return written


def move_rows(
    snapshot: Snapshot,
    files: NewFiles,
    rows: Mapping[int, RowOffsets],
    new: Sequence[Fragment],
    *,
    row_ids: RowIds | None = None,
    environment: Environment = SYSTEM,
) -> Update:
    """The operation that removes ``rows`` (live physical offsets by fragment id) and adds ``new``.

    Writes the deletion files of ``rows`` and adds them to ``files``. ``row_ids``: for a table with
    stable row ids, the ids of the first rows of ``new``, in the order of writing; by default those
    of ``rows`` in their order. Rows after them are new. If the commit follows other changes of the
    same fragments, it merges the deletions.
    """
    if snapshot.manifest.uses_stable_row_ids:
        new = list(_with_ids(new, row_ids_of(snapshot, rows) if row_ids is None else row_ids))
    deletions = write_deletions(snapshot, rows, environment)
    files.deletions += deletions.updated
    return Update(deletions.removed, deletions.updated, tuple(new), affected_rows=rows)


def row_ids_of(snapshot: Snapshot, rows: Mapping[int, RowOffsets]) -> RowIds:
    """The row ids of ``rows`` (physical offsets by fragment id), in their order."""
    parts = [
        meta_column(snapshot, snapshot.fragment(id_), ROW_ID, RowIndices(offsets.astype(np.int64)))
        for id_, offsets in rows.items()
    ]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _with_ids(new: Sequence[Fragment], row_ids: RowIds) -> Iterator[Fragment]:
    """The fragments with ``row_ids`` for their first rows."""
    start = 0
    for fragment in new:
        ids = row_ids[start : start + (fragment.physical_rows or 0)]
        start += len(ids)
        if len(ids):
            encoded = RowIdSequence.from_ids(ids).to_bytes()
            yield replace(fragment, row_ids=encoded)
        else:
            yield fragment
    if start < len(row_ids):
        raise InvalidInputError(f"{len(row_ids)} rows are moved, but only {start} are written")
