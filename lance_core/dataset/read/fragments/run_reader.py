"""Read consecutive small fragments as if they were one fragment.

A window of a scan has a fixed cost for each column. For fragments of a thousand rows this cost
exceeds that of the rows, so a window has the rows of many such fragments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.columns.projection import ROW_ADDRESS, ROW_ID
from lance_core.dataset.read.fragments import fragment_reader
from lance_core.dataset.read.fragments.live_rows import without_deleted
from lance_core.dataset.read.fragments.meta_columns import meta_column
from lance_core.dataset.read.fragments.span import FragmentRun
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.zero_column_tables import concatenated
from lance_core.encodings.decoding import RowRange, Rows
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.imports.on_demand import lazy_module
from lance_core.schema import wrap_chunks
from lance_core.table.fragments.fragment import Fragment, check_fragment_id

if TYPE_CHECKING:
    from lance_core.datafile.fast import joined_files as joining
    from lance_core.dataset.read.fragments.meta_columns import Uint64s
    from lance_core.dataset.read.fragments.span import FragmentOrRun
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.schema import Field
    from lance_core.table.fragments.deletion import RowOffsets
else:
    joining = lazy_module("lance_core.datafile.fast.joined_files")


def live(snapshot: Snapshot, source: FragmentOrRun, rows: RowRange) -> Rows:
    """The live offsets in ``rows``; see `live_rows.live`."""
    return without_deleted(deleted_offsets(snapshot, source), rows)


def deleted_offsets(snapshot: Snapshot, source: FragmentOrRun) -> RowOffsets | None:
    """The sorted physical offsets of the deleted rows of ``source``, None if there are none."""
    if isinstance(source, Fragment):
        return snapshot.deleted_offsets(source)
    offsets = []
    for fragment, start in zip(source.fragments, source.starts.tolist(), strict=False):
        deleted = snapshot.deleted_offsets(fragment)
        if deleted is not None:
            offsets.append(deleted + np.uint32(start))
    return np.concatenate(offsets) if offsets else None


def meta_values(snapshot: Snapshot, source: FragmentOrRun, name: str, rows: Rows) -> Uint64s:
    """The values of a meta column; see `meta_columns.meta_column`."""
    if isinstance(source, Fragment):
        return meta_column(snapshot, source, name, rows)
    if name == ROW_ADDRESS or (name == ROW_ID and not snapshot.manifest.uses_stable_row_ids):
        ids = [fragment.id for fragment in source.fragments]
        check_fragment_id(max(ids))
        offsets = rows.numbers
        owners = source.owners(offsets)
        local = (offsets - source.starts[owners]).astype(np.uint64)
        addresses: Uint64s = (np.array(ids, np.uint64) << np.uint64(32))[owners] + local
        return addresses
    parts = [
        meta_column(snapshot, fragment, name, rows_of_fragment)
        for fragment, rows_of_fragment in source.parts(rows)
    ]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def read_rows(
    snapshot: Snapshot,
    source: FragmentOrRun,
    fields: Sequence[Field],
    meta: Sequence[str],
    rows: Rows,
) -> pa.Table:
    """Physical ``rows`` of ``source``; see `fragment_reader.read_rows`."""
    if isinstance(source, Fragment):
        return fragment_reader.read_rows(snapshot, source, fields, meta, rows)
    one_by_one = partial(_one_by_one, snapshot, source, fields, meta, rows)
    few = np.count_nonzero(source.counts(rows)) * tuning().runs.alone <= len(source.fragments)
    if not fields or not len(rows) or few:
        return one_by_one()
    columns = None
    # Fragments that cannot be joined can be read alone; if not, the error names the file.
    with contextlib.suppress(CorruptFileError, UnsupportedFeatureError, MemoryError):
        columns = _read_fields(snapshot, source, fields, rows)
    if columns is None:
        return one_by_one()
    arrow = [field.to_arrow() for field in fields]
    for name in meta:
        columns.append(pa.chunked_array([from_numpy(meta_values(snapshot, source, name, rows))]))
        arrow.append(pa.field(name, pa.uint64()))
    return pa.Table.from_arrays(columns, schema=pa.schema(arrow))


def _one_by_one(
    snapshot: Snapshot,
    run: FragmentRun,
    fields: Sequence[Field],
    meta: Sequence[str],
    rows: Rows,
) -> pa.Table:
    parts = list(run.parts(rows)) or [(run.fragments[0], rows)]
    read = [
        fragment_reader.read_rows(snapshot, fragment, fields, meta, rows_of_fragment)
        for fragment, rows_of_fragment in parts
    ]
    return concatenated(read, read[0].schema)


def _read_fields(
    snapshot: Snapshot, run: FragmentRun, fields: Sequence[Field], rows: Rows
) -> list[pa.ChunkedArray]:
    """The values of each field for physical ``rows``, in the field's Arrow type."""
    first = run.fragments[0]
    columns: dict[int, pa.ChunkedArray] = {}
    for number, positions in fragment_reader.places_of(snapshot, first, fields).by_file.items():
        if number == fragment_reader.NOWHERE:
            for i in positions:
                columns[i] = pa.chunked_array([pa.nulls(len(rows), fields[i].arrow_type)])
            continue
        joins: list[int] = []
        joined = None
        if number != fragment_reader.SPLIT:
            joined = joined_files(snapshot, run, number)
            joins = [i for i in positions if joined.joins(fields[i])]
        alone = [i for i in positions if i not in joins]
        if joined is not None and joins:
            store = snapshot.store_of(snapshot.base(first.files[number].base_id))
            joined_fields = [fields[i] for i in joins]
            read = joined.read(joined_fields, first.files[number].columns(), rows, store)
            for i, column in zip(joins, read, strict=True):
                columns[i] = wrap_chunks(column, fields[i], snapshot.root.registry.kernels)
        if alone:
            other_fields = [fields[i] for i in alone]
            table = _one_by_one(snapshot, run, other_fields, (), rows)
            columns.update(zip(alone, table.columns, strict=True))
    return [columns[i] for i in range(len(fields))]


def joined_files(snapshot: Snapshot, run: FragmentRun, number: int) -> joining.JoinedFiles:
    """File ``number`` of each fragment of ``run``, joined to one.

    Raises `CorruptFileError` if their versions or columns differ.
    """
    files = [fragment.files[number] for fragment in run.fragments]
    base = snapshot.base(files[0].base_id)
    paths = [file.store_path(base) for file in files]

    def join() -> joining.JoinedFiles:
        parts = [
            joining.FilePart(path, file.file_size_bytes or 0, snapshot.physical_rows(fragment))
            for path, file, fragment in zip(paths, files, run.fragments, strict=True)
        ]
        return joining.JoinedFiles(snapshot.store_of(base), parts, snapshot.root.registry)

    key = snapshot.root.store, None if base is None else base.path, tuple(paths)
    return snapshot.root.session.joined.get(key, join)
