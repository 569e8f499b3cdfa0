"""Random access: rows by position, in the requested order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.dataset.expressions.zero_column_tables import zero_column_table
from lance_core.dataset.read import fragment_run
from lance_core.dataset.read.fragment_reader import read_rows
from lance_core.dataset.read.live_rows import offsets_of
from lance_core.dataset.read.plan import RowSource
from lance_core.dataset.read.projection import Columns, Projection, select, select_pruned
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowIndices
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.empty_arrays import empty_table
from lance_core.table.fragments.fragment import Fragment

Indices: TypeAlias = Sequence[int] | pa.Array | npt.NDArray[np.integer[Any]]
Int64Array = npt.NDArray[np.int64]

READ_AHEAD = 8
"""Fragments that are read concurrently from a local store."""

MANY_ROWS = 1 << 15
"""Minimum number of rows for which decoding in threads is faster than in one thread."""


@dataclass(frozen=True, slots=True, eq=False)
class FragmentPositions:
    """Physical rows of one fragment, strictly ascending."""

    fragment: Fragment
    offsets: Int64Array


def as_indices(indices: Indices) -> Int64Array:
    """The row numbers as an array; raises `InvalidInputError` unless all are integers from 0 on."""
    if isinstance(indices, pa.Array | pa.ChunkedArray):
        indices = indices.to_numpy(zero_copy_only=False)
    values: npt.NDArray[Any] = np.asarray(indices)
    if values.size == 0:
        return np.empty(0, np.int64)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise InvalidInputError("indices must be a flat list of whole numbers")
    rows = values.astype(np.int64, copy=False)
    if rows.min() < 0:
        wrong = values[rows < 0][0]
        raise InvalidInputError(f"index {wrong} is {'negative' if wrong < 0 else 'too large'}")
    return rows


_all_columns: WeakKeyDictionary[Snapshot, Projection] = WeakKeyDictionary()
"""A cache: the projection of all columns, by snapshot."""


def columns_of(snapshot: Snapshot, columns: Columns) -> Projection:
    """The projection of a take of ``columns``; see `select_pruned`."""
    if columns is None:
        found = _all_columns.get(snapshot)
        if found is None:
            found = _all_columns[snapshot] = select(snapshot.schema_with_descriptions, None)
        return found
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


def check_below(count: int, rows: Int64Array, owner: str) -> None:
    """Raise `InvalidInputError` if the last of ascending ``rows`` is not below ``count``.

    ``owner`` names the table or fragment in the message.
    """
    if len(rows) and rows[-1] >= count:
        raise InvalidInputError(f"row {rows[-1]} is out of range: {owner} has {count} rows")


def distinct(wanted: Int64Array) -> tuple[Int64Array, Int64Array | None]:
    """The ascending distinct rows, and the index of each wanted row in them.

    The index is None if ``wanted`` is ascending and distinct itself.
    """
    if len(wanted) < 2 or bool((wanted[1:] > wanted[:-1]).all()):
        return wanted, None
    order = wanted.argsort()
    rows = wanted[order]
    is_new = rows[1:] > rows[:-1]
    places = np.empty(len(rows), np.int64)
    if is_new.all():
        places[order] = np.arange(len(rows))
        return rows, places
    places[order] = np.concatenate([[0], np.cumsum(is_new)])
    return rows[np.concatenate([[True], is_new])], places


def by_position(snapshot: Snapshot, rows: Int64Array) -> Iterator[FragmentPositions]:
    """The fragments and offsets of the live rows at ascending positions in the table."""
    starts = snapshot.row_starts
    owners = starts.searchsorted(rows, "right") - 1
    for place, part in runs(owners, rows):
        fragment = snapshot.manifest.fragments[place]
        yield FragmentPositions(fragment, offsets_of(snapshot, fragment, part - starts[place]))


def runs(owners: Int64Array, rows: Int64Array) -> Iterator[tuple[int, Int64Array]]:
    """``rows`` split by owner: pairs of an owner and its rows; ``owners`` ascend."""
    if len(rows) == 0:
        return
    if owners[0] == owners[-1]:
        yield int(owners[0]), rows
        return
    cuts = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    for part, first in zip(np.split(rows, cuts), [0, *cuts.tolist()], strict=True):
        yield int(owners[first]), part


def gather(
    snapshot: Snapshot,
    picks: Sequence[FragmentPositions],
    order: Int64Array | None,
    projection: Projection,
) -> pa.Table:
    """The rows of ``picks``, one after another; ``order`` has the index of each returned row."""
    sequence = order if len(picks) == 1 else None
    fields, meta = projection.fields, projection.meta

    def read(some: tuple[RowSource, Int64Array]) -> pa.Table:
        source, rows = some[0], RowIndices(some[1])
        if sequence is None or not isinstance(source, Fragment):
            return fragment_run.read_rows(snapshot, source, fields, meta, rows)
        return read_rows(snapshot, source, fields, meta, OrderedRows(rows, sequence))

    if not projection.outputs:
        found = sum(len(pick.offsets) for pick in picks)
        return zero_column_table(found if order is None else len(order), projection.schema)
    rows = [(pick.fragment, pick.offsets) for pick in picks]
    parts = fragment_run.rows_in_runs(snapshot, rows, fields)
    if _waits(snapshot, picks):
        is_io_bound = snapshot.is_io_bound
        tables = list(
            in_order(
                read, parts, IO_THREADS if is_io_bound else READ_AHEAD, is_io_bound=is_io_bound
            )
        )
    else:
        tables = list(map(read, parts))
    if not tables:
        return empty_table(projection.schema)
    table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    if order is not None and sequence is None:
        some = table.num_columns > 0
        table = take_rows(table, from_numpy(order)) if some else zero_column_table(len(order))
    return projection.apply(table)


def _waits(snapshot: Snapshot, picks: Sequence[FragmentPositions]) -> bool:
    """True if reading fragments in threads is faster than one after another.

    A read of few rows from memory mostly consists of planning in Python, which does not scale with
    threads.
    """
    if len(picks) < 2:
        return False
    if sum(len(pick.offsets) for pick in picks) >= MANY_ROWS:
        return True
    bases = {file.base_id for pick in picks for file in pick.fragment.files}
    return not all(snapshot.store_of(snapshot.base(base)).has_views for base in bases)
