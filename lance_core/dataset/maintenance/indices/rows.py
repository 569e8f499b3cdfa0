"""The live rows of fragments as an index type reads them, and where indexed rows are now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.columns.projection import (
    META_FIELDS,
    ROW_ADDRESS,
    ROW_ID,
    Output,
    Projection,
)
from lance_core.dataset.read.columns.searched_field import SearchedField
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.plan import ScanPlan
from lance_core.dataset.read.scan import scan_windows
from lance_core.dataset.read.sources.row_locations import live_locations
from lance_core.dataset.read.sources.row_source import SpanRows
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.combine_chunks import fitting_batches
from lance_core.encodings.arrow.numpy_values import to_numpy
from lance_core.errors import InvalidInputError
from lance_core.imports.on_demand import Part, load
from lance_core.index.base import IndexBatch, RowNumbers
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import Field, binary_json, to_storage
from lance_core.schema.project import project_lineages
from lance_core.store.local.libc import forget_mapped_pages
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.address_map import AddressMap

if TYPE_CHECKING:
    from pyroaring import BitMap

WINDOW_ROWS = 1 << 18
"""Target rows of a window of the scan."""

BATCH_ROWS = 1 << 18
BATCH_BYTES = 16 << 20
"""Windows are joined until a batch has so many rows or bytes."""

MAPPED_BYTES = 16 << 20
"""Bytes of batches after which the pages of mapped files are forgotten."""

BLOCK_ROWS = 256
"""Adjacent rows of a sample that are read together. Rows near each other are often alike, so blocks
are small; smaller ones would take more reads of the same pages."""

_HIGH_BITS = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class FragmentRows:
    """The live rows of ``fragments`` with the values of one field.

    ``lineage``: the field after the structs and lists around it, outermost first. ``with_row_ids``:
    True for row ids as row numbers, False for row addresses. ``advance`` is called with numbers of
    rows that were read. ``spans``: the physical rows that are read; None for all.
    """

    snapshot: Snapshot
    lineage: tuple[Field, ...]
    fragments: Sequence[Fragment]
    with_row_ids: bool
    advance: Callable[[int], object] = lambda _: None
    spans: tuple[Span, ...] | None = None

    @property
    def type(self) -> pa.DataType:
        """The type of the column in files; lists of it for a field inside of lists."""
        return self._field.type

    @property
    def num_rows(self) -> int:
        """The number of live rows; that of physical rows if only some are read."""
        if self.spans is not None:
            return sum(span.stop - span.start for span in self.spans)
        return sum(map(self.snapshot.live_rows, self.fragments))

    @property
    def _field(self) -> SearchedField:
        return SearchedField.of(self.lineage)

    def batches(self) -> Iterator[IndexBatch]:
        """All rows in the order of fragments and offsets, in few batches.

        Raises `CorruptFileError` for corrupt files, and the errors of the store.
        """
        parts: list[pa.RecordBatch] = []
        rows = size = mapped = 0
        for window in scan_windows(self.snapshot, self._plan()):
            self.advance(window.num_rows)
            parts.append(window)
            rows, size = rows + window.num_rows, size + window.nbytes
            if rows >= BATCH_ROWS or size >= BATCH_BYTES:
                yield from self._joined(parts)
                mapped += size
                parts, rows, size = [], 0, 0
            if mapped >= MAPPED_BYTES:  # pages of mapped files count as memory of the process
                forget_mapped_pages()
                mapped = 0
        if parts:
            yield from self._joined(parts)

    def _joined(self, parts: Sequence[pa.RecordBatch]) -> Iterator[IndexBatch]:
        joined: Iterable[pa.RecordBatch] = parts
        if not pa.types.is_dictionary(self.type):  # their dictionaries differ
            table = pa.Table.from_batches(parts)
            joined = fitting_batches(table, table.schema)
        field = self._field
        for batch in joined:
            values = field.values(to_storage(batch.column(0), binary_json(field.read)))
            yield IndexBatch(values, to_numpy(batch.column(1)))

    def _plan(self) -> ScanPlan:
        load(Part.FILES)
        snapshot, meta = self.snapshot, ROW_ID if self.with_row_ids else ROW_ADDRESS
        top = self.lineage[0]
        if top.name in (ROW_ID, ROW_ADDRESS):
            raise InvalidInputError(f"column {top.name!r} has the name of a meta column")
        stored = tuple(map(binary_json, project_lineages([self.lineage])))
        field = self._field
        value = pa.field("value", binary_json(field.read).arrow_type)
        schema = replace(snapshot.schema, fields=stored)
        outputs = [Output(value, field.names), Output(META_FIELDS[meta], (meta,))]
        spans = self.spans
        if spans is None:
            spans = tuple(
                Span(fragment, 0, snapshot.physical_rows(fragment)) for fragment in self.fragments
            )
        return ScanPlan(
            projection=Projection.of(schema, outputs),
            rows=SpanRows(spans),
            schema=schema,
            batch_size=WINDOW_ROWS,
        )


def sampled_rows(rows: FragmentRows, count: int, seed: int = 0) -> FragmentRows:
    """About ``count`` of ``rows`` in their order: random blocks, the same for a ``seed``.

    All rows if there are no more. Deleted rows count, too.
    """
    sizes = np.array(
        [rows.snapshot.physical_rows(fragment) for fragment in rows.fragments], np.int64
    )
    ends = np.cumsum(-(-sizes // BLOCK_ROWS))
    num_blocks = -(-count // BLOCK_ROWS)
    if not len(ends) or num_blocks >= ends[-1]:
        return rows
    random = np.random.default_rng(seed)
    blocks = np.sort(random.choice(int(ends[-1]), num_blocks, replace=False))
    owners = np.searchsorted(ends, blocks, side="right")
    starts = BLOCK_ROWS * (blocks - np.append(0, ends)[owners])
    stops = np.minimum(starts + BLOCK_ROWS, sizes[owners])
    sampled_blocks = zip(owners.tolist(), starts.tolist(), stops.tolist(), strict=True)
    spans = tuple(Span(rows.fragments[owner], start, stop) for owner, start, stop in sampled_blocks)
    return replace(rows, spans=spans)


@dataclass(frozen=True, slots=True, eq=False)
class AddressesInFragments:
    """The map of row addresses: keeps rows that are in one of the fragments ``fragments`` now.

    ``rewrites`` has the addresses after compactions that did not change the indices.
    """

    rewrites: AddressMap
    fragments: BitMap

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        """The address of each row now, and True if its fragment is kept."""
        now, is_live = self.rewrites.moved(rows)
        fragment_ids = np.array(self.fragments.to_array(), np.uint64)
        return now, is_live & np.isin(now >> _HIGH_BITS, fragment_ids)


@dataclass(frozen=True, slots=True, eq=False)
class RowIdsInFragments:
    """The map of row ids: keeps rows that are in one of some ``fragments`` of a version."""

    snapshot: Snapshot
    fragments: BitMap

    def moved(self, rows: RowNumbers) -> tuple[RowNumbers, npt.NDArray[np.bool_]]:
        """Each id, and True if its live row is in a kept fragment."""
        locations = live_locations(self.snapshot, rows)
        positions = self.snapshot.fragment_positions
        kept_positions = [positions[id_] for id_ in self.fragments if id_ in positions]
        return rows, (locations >= 0) & np.isin(locations >> 32, kept_positions)
