"""The bytes of the blobs in rows of a fragment, from their descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.fragments.fragment_reader import read_fields
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.encodings.decoding import Rows
from lance_core.schema import UNASSIGNED, BlobKind, Field
from lance_core.schema.blobs.fields import has_given_blobs
from lance_core.schema.project import project_lineages

if TYPE_CHECKING:
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.table.fragments.fragment import Fragment


Sizes = npt.NDArray[np.float64]


def described_blobs(snapshot: Snapshot, fields: Iterable[Field]) -> tuple[Field, ...]:
    """The descriptions of all blobs whose bytes ``fields`` contain, with their parent fields."""
    if not snapshot.has_blobs:
        return ()
    blob_ids = [
        part.id
        for field in fields
        for part in field.walk()
        if (not part.children and (part.is_blob or part.id in snapshot.blobs_v2))
        or (part.id in snapshot.blobs_v2 and has_given_blobs(part))
    ]
    if not blob_ids:
        return ()
    schema = snapshot.schema_with_descriptions
    return project_lineages([_readable(schema.lineage(schema.path_of(id_))) for id_ in blob_ids])


def _readable(lineage: tuple[Field, ...]) -> tuple[Field, ...]:
    """``lineage`` up to a map, which is read as a whole: its keys cannot be left out."""
    for depth, field in enumerate(lineage):
        if field.is_map:
            return lineage[: depth + 1]
    return lineage


def blob_sizes(
    snapshot: Snapshot, fragment: Fragment, described: tuple[Field, ...], rows: Rows
) -> Sizes:
    """The bytes of the blobs ``described`` in each of ``rows``."""
    columns = read_fields(snapshot, fragment, described, rows)
    total: Sizes = np.sum(
        [
            np.concatenate([_sizes(chunk, field) for chunk in column.chunks])
            for column, field in zip(columns, described, strict=True)
        ],
        axis=0,
    )
    return total


def size_cuts(sizes: Sizes, most_bytes: int) -> Iterator[tuple[int, int]]:
    """Runs (first, end) of positions with at most ``most_bytes``, or of one larger value."""
    ends = np.cumsum(sizes)
    first, before = 0, 0.0
    while first < len(ends):
        stop = int(np.searchsorted(ends, before + most_bytes, side="right"))
        stop = max(stop, first + 1)
        yield first, stop
        first, before = stop, float(ends[stop - 1])


def _sizes(array: pa.Array, field: Field) -> Sizes:
    """The total bytes of the blobs in each row, from their descriptions."""
    if field.is_leaf:
        return np.zeros(len(array))
    if field.is_struct and field.children[0].id == UNASSIGNED:
        return _described_sizes(array)
    if field.is_struct:
        parts = zip(array.flatten(), field.children, strict=True)
        total: Sizes = np.sum([_sizes(part, child) for part, child in parts], axis=0)
        return total
    (item,) = field.children
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        items = array.values.slice(array.offset * size, len(array) * size)
        rows: Sizes = _sizes(items, item).reshape(-1, size).sum(axis=1)
        return rows
    before = np.concatenate([[0], np.cumsum(_sizes(array.values, item))])
    return np.diff(before[np.asarray(array.offsets)])


def _described_sizes(array: pa.StructArray) -> Sizes:
    members = dict(zip([member.name for member in array.type], array.flatten(), strict=True))
    sizes = np.asarray(members["size"].fill_null(0)).astype(np.float64)
    if "kind" in members:
        kinds = np.asarray(members["kind"].fill_null(0))
        sizes[(kinds == BlobKind.EXTERNAL) & (sizes == 0)] = tuning().blobs.unknown_bytes
    return sizes
