"""Left joins of a table's rows with other data, which is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.columns.projection import META_COLUMNS
from lance_core.dataset.read.scan import scan_table
from lance_core.dataset.read.scan_options import ScanOptions, plan_scan
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.schema_evolution.column_files import plan_of_fragments
from lance_core.encodings.arrow.combine_chunks import combine_chunks, with_joined_chunks
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.errors import SchemaMismatchError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.extension import storage_of
from lance_core.schema.path import unquoted
from lance_core.table.fragments.fragment import Fragment

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import ScanPlan

KEY_ROWS = 1 << 20
"""Minimum rows whose keys one look-up processes: each one builds a table of all other keys."""


@dataclass(frozen=True, slots=True)
class RightRows:
    """The data to join with: ``columns`` for each of ``keys``, in reverse order.

    Of several rows with one key the last counts, which is the first one here.
    """

    keys: pa.Array
    columns: pa.Table

    @classmethod
    def of(cls, reader: pa.RecordBatchReader, right_on: str) -> RightRows:
        """The rows of ``reader``, whose keys are in the column ``right_on``, which may be quoted.

        Raises `SchemaMismatchError` without rows, without that column, or without other columns.
        """
        right_on = right_column(reader.schema, right_on)
        data = reader.read_all()
        if not data.num_rows or data.num_columns < 2:
            raise SchemaMismatchError("the data to merge has no rows, or no other columns")
        backwards = from_numpy(np.arange(data.num_rows - 1, -1, -1))
        data = with_joined_chunks(take_rows(data, backwards))
        keys = combine_chunks(data.column(right_on))
        if isinstance(keys, pa.ExtensionArray):
            keys = keys.storage
        return cls(keys, data.drop_columns(right_on))

    def positions(self, keys: pa.ChunkedArray) -> pa.Array:
        """The row of `columns` for each key, null without one; a null key equals null."""
        import pyarrow.compute as pc

        try:
            return combine_chunks(pc.index_in(keys, value_set=self.keys))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise SchemaMismatchError(f"cannot join on {keys.type} values: {error}") from error


def right_column(schema: pa.Schema, name: str) -> str:
    """The column ``name``, which may be quoted, of the data to merge.

    Raises `SchemaMismatchError` if there is none.
    """
    for column in (name, unquoted(name)):
        if schema.get_field_index(column) >= 0:
            return column
    raise SchemaMismatchError(f"Column {name} does not exist in the right side dataset")


@dataclass(frozen=True, slots=True)
class LeftKeys:
    """The keys of the table's rows: the column ``left_on``, read with ``plan``."""

    snapshot: Snapshot
    plan: ScanPlan
    other: RightRows

    @classmethod
    def of(cls, snapshot: Snapshot, left_on: str, other: RightRows) -> LeftKeys:
        """Raises `SchemaMismatchError` for an unknown column or another type of keys."""
        if left_on not in META_COLUMNS and snapshot.schema.field_by_path(left_on) is None:
            raise SchemaMismatchError(f"Column {left_on} does not exist in the left side dataset")
        plan = plan_scan(snapshot, ScanOptions(columns=[left_on]))
        key_type = storage_of(plan.projection.schema.field(0).type)
        if key_type != other.keys.type:
            raise SchemaMismatchError(
                f"Index column type mismatch: expected {key_type}, got {other.keys.type}"
            )
        return cls(snapshot, plan, other)

    def positions(self, fragments: Sequence[Fragment]) -> dict[int, pa.Array]:
        """`RightRows.positions` for the live rows of each fragment, by fragment id."""
        plan = plan_of_fragments(self.plan, self.snapshot, *fragments)
        keys = scan_table(self.snapshot, plan).column(0)
        if isinstance(keys.type, pa.BaseExtensionType):
            chunks = [chunk.storage for chunk in keys.chunks]
            keys = pa.chunked_array(chunks, type=keys.type.storage_type)
        numbers = self.other.positions(keys)
        positions, start = {}, 0
        for fragment in fragments:
            rows = self.snapshot.live_rows(fragment)
            positions[fragment.id] = numbers.slice(start, rows)
            start += rows
        return positions

    def groups(self) -> Iterator[list[Fragment]]:
        """All fragments in groups with about `KEY_ROWS` rows, or as many as the other data."""
        group: list[Fragment] = []
        rows = 0
        for fragment in self.snapshot.manifest.fragments:
            group.append(fragment)
            rows += self.snapshot.live_rows(fragment)
            if rows >= max(KEY_ROWS, len(self.other.keys)):
                yield group
                group, rows = [], 0
        if group:
            yield group
