"""Random access: rows by position, in the order asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.dataset.expressions.zero_column_tables import zero_column_table
from lance_core.dataset.read.fragment_reader import read_rows
from lance_core.dataset.read.live_rows import offsets_of
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
MANY_ROWS = 1 << 15
"""From so many rows on, the kernels that read them are worth threads."""


@dataclass(frozen=True, slots=True, eq=False)
class FragmentPositions:
    """Physical rows of one fragment, strictly ascending."""

    fragment: Fragment
    offsets: Int64Array


def as_indices(indices: Indices) -> Int64Array:
    """Row numbers as an array. Raises `InvalidInputError` for what is not a list of numbers ≥ 0."""
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
"""The projection of a read that names no columns, by version."""


def columns_of(snapshot: Snapshot, columns: Columns) -> Projection:
    """What a take of ``columns`` returns; see `select_pruned`."""
    if columns is None:
        found = _all_columns.get(snapshot)
        if found is None:
            found = _all_columns[snapshot] = select(snapshot.schema_with_descriptions, None)
        return found
    return select_pruned(snapshot.schema_with_descriptions, columns)


def take(snapshot: Snapshot, indices: Indices, projection: Projection) -> pa.Table:
    """Live rows by their position in the table (0 is the first), repeated if asked for twice."""
    rows, order = distinct(as_indices(indices))
    check_below(snapshot.num_rows, rows, "the table")
    return _gather(snapshot, list(by_position(snapshot, rows)), order, projection)


def take_in_fragment(
    snapshot: Snapshot, fragment: Fragment, indices: Indices, projection: Projection
) -> pa.Table:
    """Live rows of one fragment by their position in it."""
    rows, order = distinct(as_indices(indices))
    check_below(snapshot.live_rows(fragment), rows, f"fragment {fragment.id}")
    picks = [FragmentPositions(fragment, offsets_of(snapshot, fragment, rows))] if len(rows) else []
    return _gather(snapshot, picks, order, projection)


def check_below(count: int, rows: Int64Array, owner: str) -> None:
    """Raise `InvalidInputError` unless the last of ascending ``rows`` is one of ``owner``."""
    if len(rows) and rows[-1] >= count:
        raise InvalidInputError(f"row {rows[-1]} is out of range: {owner} has {count} rows")


def distinct(wanted: Int64Array) -> tuple[Int64Array, Int64Array | None]:
    """Ascending distinct rows, and which of them each wanted row is (None: just these rows)."""
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
    """Where the live rows at ascending positions in the table are."""
    starts = snapshot.row_starts
    owners = starts.searchsorted(rows, "right") - 1
    for place, part in runs(owners, rows):
        fragment = snapshot.manifest.fragments[place]
        yield FragmentPositions(fragment, offsets_of(snapshot, fragment, part - starts[place]))


def runs(owners: Int64Array, rows: Int64Array) -> Iterator[tuple[int, Int64Array]]:
    """Neighbouring rows with the same owner; owners ascend."""
    if len(rows) == 0:
        return
    if owners[0] == owners[-1]:
        yield int(owners[0]), rows
        return
    cuts = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    for part, first in zip(np.split(rows, cuts), [0, *cuts.tolist()], strict=True):
        yield int(owners[first]), part


def _gather(
    snapshot: Snapshot,
    picks: Sequence[FragmentPositions],
    order: Int64Array | None,
    projection: Projection,
) -> pa.Table:
    sequence = order if len(picks) == 1 else None

    def read(pick: FragmentPositions) -> pa.Table:
        rows = RowIndices(pick.offsets)
        wanted = rows if sequence is None else OrderedRows(rows, sequence)
        return read_rows(snapshot, pick.fragment, projection.fields, projection.meta, wanted)

    if not projection.outputs:
        found = sum(len(pick.offsets) for pick in picks)
        return zero_column_table(found if order is None else len(order), projection.schema)
    if _waits(snapshot, picks):
        is_io_bound = snapshot.is_io_bound
        tables = list(
            in_order(
                read, picks, IO_THREADS if is_io_bound else READ_AHEAD, is_io_bound=is_io_bound
            )
        )
    else:
        tables = [read(pick) for pick in picks]
    if not tables:
        return empty_table(projection.schema)
    table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    if order is not None and sequence is None:
        some = table.num_columns > 0
        table = take_rows(table, from_numpy(order)) if some else zero_column_table(len(order))
    return projection.apply(table)


def _waits(snapshot: Snapshot, picks: Sequence[FragmentPositions]) -> bool:
    """Whether reading fragments one after the other leaves processors idle.

    Few rows of memory are mostly planned, in Python, by which threads only hinder each other.
    """
    if len(picks) < 2:
        return False
    if sum(len(pick.offsets) for pick in picks) >= MANY_ROWS:
        return True
    bases = {file.base_id for pick in picks for file in pick.fragment.files}
    return not all(snapshot.store_of(snapshot.base(base)).has_views for base in bases)
