"""The rows that a merge writes: new values of target rows, and new rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.merge_insert.decide import Decision
from lance_core.dataset.write.merge_insert.source import Source
from lance_core.dataset.write.merge_insert.target import Addresses, OldRows
from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.dictionary_items import bytes_of_rows
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.kernels.numpy.integer_index import Int64Array
from lance_core.schema import Field, is_blob_v2

PIECE_BYTES = 32 << 20
"""Bytes of source rows that are collected and written together."""


class NewValues:
    """The rows to write, first those that replace target rows, then the inserted ones."""

    def __init__(self, snapshot: Snapshot, source: Source) -> None:
        self._source = source
        self._fields = snapshot.schema.fields
        names = source.missing.names
        self._missing = OldRows(snapshot, names) if names else None

    def batches(self, decisions: Sequence[Decision]) -> Iterator[pa.RecordBatch]:
        """All rows, part by part of the source."""
        for number, decision in enumerate(decisions):
            if len(decision.updates):
                rows = self._source.part(number)
                for piece in _pieces(decision.update_rows, rows):
                    yield from self._updated(
                        rows, decision.update_rows[piece], decision.updates[piece]
                    )
        for number, decision in enumerate(decisions):
            if len(decision.inserts):
                rows = self._source.part(number)
                for piece in _pieces(decision.inserts, rows):
                    chosen = _chosen(rows, decision.inserts[piece])
                    yield from self._completed(chosen, None).to_batches()

    def _updated(
        self, rows: pa.Table, numbers: Int64Array, addresses: Addresses
    ) -> Iterator[pa.RecordBatch]:
        if self._missing is None:
            yield from _chosen(rows, numbers).to_batches()
            return
        for part, old in self._missing.pieces(addresses):
            yield from self._completed(_chosen(rows, numbers[part]), old).to_batches()

    def _completed(self, new: pa.Table, old: pa.Table | None) -> pa.Table:
        """The rows with all fields of the table: from ``new``, else from ``old``, else null."""
        if self._missing is None:
            return new
        columns, names = [], []
        for field in self._fields:
            sides = [
                None
                if table is None or field.name not in table.column_names
                else combine_chunks(table.column(field.name))
                for table in (new, old)
            ]
            array = merged_values(field, sides[0], sides[1])
            columns.append(pa.nulls(new.num_rows, field.storage_type) if array is None else array)
            names.append(field.name)
        return pa.table(columns, names=names)


def _pieces(numbers: Int64Array, rows: pa.Table) -> Iterator[slice]:
    """Pieces of ``numbers`` of at most `PIECE_BYTES` of ``rows``."""
    most = max(1, PIECE_BYTES * max(1, rows.num_rows) // max(1, bytes_of_rows(rows)))
    stop = 0
    while stop < len(numbers):
        start, stop = stop, stop + most
        yield slice(start, stop)


def _chosen(rows: pa.Table, numbers: Int64Array) -> pa.Table:
    """The rows at ``numbers``, without a copy if these are all rows in their order."""
    if len(numbers) == rows.num_rows and bool((numbers == np.arange(rows.num_rows)).all()):
        return rows
    return take_rows(rows, from_numpy(numbers))


def merged_values(field: Field, new: pa.Array | None, old: pa.Array | None) -> pa.Array | None:
    """The values of ``field``: the members that ``new`` has, and the others from ``old``.

    A member that neither has is null. A struct of which ``new`` lacks members is null only if it is
    null in both; a null in ``new`` then makes its own members null. Returns None if both are None.
    """
    if new is None:
        return old
    if not _lacks_members(field, new.type):
        return new
    new_members, old_members = _members(new), _members(old)
    members = []
    for child in field.children:
        array = merged_values(child, new_members.get(child.name), old_members.get(child.name))
        members.append(pa.nulls(len(new), child.storage_type) if array is None else array)
    mask = None
    if new.null_count:
        nulls = new.is_null()
        mask = nulls if old is None else pc.and_(nulls, old.is_null())
    fields = [pa.field(c.name, m.type) for c, m in zip(field.children, members, strict=True)]
    return pa.StructArray.from_arrays(members, fields=fields, mask=mask)


def _lacks_members(field: Field, type_: pa.DataType) -> bool:
    """True if ``type_`` lacks members of the struct ``field``, or of structs in it."""
    if is_blob_v2(field) or not field.is_struct or not pa.types.is_struct(type_):
        return False
    if type_.num_fields < len(field.children):
        return True
    members = {type_.field(i).name: type_.field(i).type for i in range(type_.num_fields)}
    return any(_lacks_members(child, members[child.name]) for child in field.children)


def _members(array: pa.Array | None) -> dict[str, pa.Array]:
    """The members of a struct by name, null where the struct is null."""
    if array is None:
        return {}
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    return dict(zip(names, array.flatten(), strict=True))
