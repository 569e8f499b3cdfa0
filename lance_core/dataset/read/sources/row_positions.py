"""Rows that the caller numbers: distinct numbers, and the rows of each fragment among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.fragments.live_rows import offsets_of
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import InvalidInputError
from lance_core.table.fragments.fragment import Fragment

Indices: TypeAlias = Sequence[int] | pa.Array | npt.NDArray[np.integer[Any]]
Int64Array = npt.NDArray[np.int64]


class FragmentPositions(NamedTuple):
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
    if np.minimum.reduce(rows) < 0:
        wrong = values[rows < 0][0]
        raise InvalidInputError(f"index {wrong} is {'negative' if wrong < 0 else 'too large'}")
    return rows


def check_below(count: int, rows: Int64Array, owner: str) -> None:
    """Raise `InvalidInputError` if the last of ascending ``rows`` is not below ``count``.

    ``owner`` names the table or fragment in the message.
    """
    if len(rows) and rows[-1] >= count:
        raise InvalidInputError(f"row {rows[-1]} is out of range: {owner} has {count} rows")


def distinct(requested: Int64Array) -> tuple[Int64Array, Int64Array | None]:
    """The ascending distinct rows, and the index of each wanted row in them.

    The index is None if ``requested`` is ascending and distinct itself.
    """
    if len(requested) < 2 or np.logical_and.reduce(requested[1:] > requested[:-1]):
        return requested, None
    order = requested.argsort()
    rows = requested[order]
    is_new = rows[1:] > rows[:-1]
    indices = np.empty(len(rows), np.int64)
    if is_new.all():
        indices[order] = np.arange(len(rows))
        return rows, indices
    indices[order] = np.concatenate([[0], np.cumsum(is_new)])
    return rows[np.concatenate([[True], is_new])], indices


def by_position(snapshot: Snapshot, rows: Int64Array) -> Iterator[FragmentPositions]:
    """The fragments and offsets of the live rows at ascending positions in the table."""
    starts = snapshot.row_starts
    owners = starts.searchsorted(rows, "right") - 1
    for position, part in runs(owners, rows):
        fragment = snapshot.manifest.fragments[position]
        yield FragmentPositions(fragment, offsets_of(snapshot, fragment, part - starts[position]))


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
