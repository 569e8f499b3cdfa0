"""Random access: rows by position, in the requested order."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.concurrency.turns import MAX_ROWS, leave_turn
from lance_core.dataset.read.columns.projection import Columns, Projection, select, select_pruned
from lance_core.dataset.read.fragments import run_reader
from lance_core.dataset.read.fragments.fragment_reader import read_rows
from lance_core.dataset.read.fragments.live_rows import offsets_of
from lance_core.dataset.read.fragments.span import FragmentOrRun
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.row_positions import (
    FragmentPositions,
    Indices,
    Int64Array,
    as_indices,
    by_position,
    check_below,
    distinct,
    runs,
)
from lance_core.dataset.read.windows.join_fragments import rows_in_runs
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.arrow.zero_column_tables import zero_column_table
from lance_core.encodings.decoding import RowIndices, packed_rows
from lance_core.schema.empty_arrays import empty_table
from lance_core.table.fragments.fragment import Fragment


def columns_of(snapshot: Snapshot, columns: Columns) -> Projection:
    """The projection of a take of ``columns``; see `select_pruned`."""
    if columns is None:
        return select(snapshot.schema_with_descriptions, None)  # kept with the schema
    return select_pruned(snapshot.schema_with_descriptions, columns)


def take(snapshot: Snapshot, indices: Indices, projection: Projection) -> pa.Table:
    """Live rows by their position in the table (from 0); a repeated index repeats the row."""
    rows, order = distinct(as_indices(indices))
    check_below(snapshot.num_rows, rows, "the table")
    return gather(snapshot, list(by_position(snapshot, rows)), order, projection)


def take_in_fragment(
    snapshot: Snapshot, fragment: Fragment, indices: Indices, projection: Projection
) -> pa.Table:
    """Live rows by their position in one fragment (from 0)."""
    rows, order = distinct(as_indices(indices))
    check_below(snapshot.live_rows(fragment), rows, f"fragment {fragment.id}")
    picks = [FragmentPositions(fragment, offsets_of(snapshot, fragment, rows))] if len(rows) else []
    return gather(snapshot, picks, order, projection)


def take_addresses(snapshot: Snapshot, addresses: Int64Array, projection: Projection) -> pa.Table:
    """Rows by row address; the caller guarantees that they exist."""
    rows, order = distinct(addresses)
    picks = [
        FragmentPositions(snapshot.fragment(fragment_id), part & 0xFFFFFFFF)
        for fragment_id, part in runs(rows >> 32, rows)
    ]
    return gather(snapshot, picks, order, projection)


def gather(
    snapshot: Snapshot,
    picks: Sequence[FragmentPositions],
    order: Int64Array | None,
    projection: Projection,
) -> pa.Table:
    """The rows of ``picks``, one after another; ``order`` has the index of each returned row."""
    sequence = order if len(picks) == 1 else None
    fields, meta = projection.fields, projection.meta

    def read(part: tuple[FragmentOrRun, Int64Array]) -> pa.Table:
        source, offsets = part
        if sequence is None or not isinstance(source, Fragment):
            return run_reader.read_rows(snapshot, source, fields, meta, packed_rows(offsets))
        rows = OrderedRows(RowIndices(offsets), sequence)
        return read_rows(snapshot, source, fields, meta, rows)

    num_rows = 0
    for pick in picks:
        num_rows += len(pick.offsets)
    if not projection.outputs:
        return zero_column_table(num_rows if order is None else len(order), projection.schema)
    if num_rows > MAX_ROWS:
        leave_turn()
    parts = rows_in_runs(snapshot, picks, fields) if len(picks) > 1 else picks
    if len(picks) > 1 and _waits(snapshot, picks):
        is_io_bound = snapshot.is_io_bound
        tables = list(
            in_order(
                read,
                parts,
                IO_THREADS if is_io_bound else tuning().ahead.local_fragments,
                is_io_bound=is_io_bound,
            )
        )
    else:
        tables = list(map(read, parts))
    if not tables:
        return empty_table(projection.schema)
    table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    if order is not None and sequence is None:
        has_columns = table.num_columns > 0
        table = (
            take_rows(table, from_numpy(order)) if has_columns else zero_column_table(len(order))
        )
    return projection.apply(table, snapshot.root.registry.kernels)


def _waits(snapshot: Snapshot, picks: Sequence[FragmentPositions]) -> bool:
    """True if reading several fragments in threads is faster than one after another.

    A read of few rows from memory mostly consists of planning in Python, which does not scale with
    threads.
    """
    if sum(len(pick.offsets) for pick in picks) >= tuning().rows.threads_from:
        return True
    bases = {file.base_id for pick in picks for file in pick.fragment.files}
    return not all(snapshot.store_of(snapshot.base(base)).has_views for base in bases)
