"""The source of a merge: rows in memory up to a budget, else in partitions on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.dataset.write.blob_options import stored_schema
from lance_core.dataset.write.merge_insert.plan import MergePlan
from lance_core.dataset.write.merge_insert.spill import SpilledRows
from lance_core.encodings.arrow.combine_chunks import with_joined_chunks
from lance_core.encodings.version import FileVersion
from lance_core.error_texts.suggestions import hint
from lance_core.errors import (
    CommitConflictError,
    InvalidInputError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema import Field, Schema, append_schema, given_to_files
from lance_core.schema.align import align_batch
from lance_core.schema.project import keep_ids
from lance_core.store.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from lance_core.schema.json.loops import JsonLoops

MEMORY_BUDGET = 512 << 20
"""Bytes of a streamed source that a merge keeps in memory; it writes larger ones to disk."""

MEMORY_VARIABLE = "LANCE_CORE_MERGE_MEMORY_BYTES"
"""The environment variable that replaces `MEMORY_BUDGET`."""


@dataclass(frozen=True, slots=True)
class Source:
    """The rows to merge, as one part in memory or as several parts on disk.

    ``schema``: the fields of the table that the rows have. ``missing``: the other fields of the
    table; a struct may be in both with different children. All rows with the same key are in the
    same part.
    """

    schema: Schema
    missing: Schema
    table: pa.Table | None
    spilled: SpilledRows | None = None

    @property
    def num_parts(self) -> int:
        return 1 if self.spilled is None else self.spilled.num_parts

    def part(self, number: int) -> pa.Table:
        """The rows of a part; those on disk are mapped into memory."""
        if self.spilled is None:
            assert self.table is not None
            return self.table
        return self.spilled.part(number)

    def for_table(self, table: Schema, plan: MergePlan) -> Source:
        """The same rows, to be merged into another version of the table, with schema ``table``.

        Raises `CommitConflictError` if another writer has changed or dropped columns that the rows
        have, or has added columns that they cannot lack.
        """
        present, missing = _divided(table, _leaves(self.schema))
        if _shape(present) != _shape(self.schema):
            raise CommitConflictError(
                "another writer has changed columns that the source has: merge again"
            )
        partial = _partial_lists(present, missing)
        if partial and (plan.inserts or plan.updates):
            raise CommitConflictError(
                f"another writer has added members to the structs in the lists or maps {partial}: "
                "add them to the source"
            )
        if plan.inserts and _required(missing):
            raise CommitConflictError(
                f"another writer has added the columns {_required(missing)}, which are not "
                "nullable: add them to the source"
            )
        return replace(self, missing=missing)


def source_schemas(
    table: Schema, source: pa.Schema, plan: MergePlan, version: FileVersion
) -> tuple[Schema, Schema]:
    """`Source.schema` and `Source.missing` for rows with the schema ``source``.

    Raises `SchemaMismatchError` if a key column or a column to insert is missing, for columns that
    the table does not have, for other types, and for structs in lists or maps that lack members.
    """
    for name in plan.on:
        if name not in source.names:
            raise SchemaMismatchError(
                f"the source has no key column {name!r}{hint(name, source.names)}"
            )
    arrow = stored_schema(source, version, table)
    relaxed = replace(table, fields=tuple(map(_nullable, table.fields)))
    offered = append_schema(relaxed, arrow)
    _check_keys(table, plan.on)
    present, missing = _divided(table, _leaves(offered))
    partial = _partial_lists(present, missing)
    if partial and (plan.inserts or plan.updates):
        raise SchemaMismatchError(
            f"the structs in the lists or maps {partial} of the source lack members that the table "
            "has: add them to the source"
        )
    if plan.inserts and _required(missing):
        raise SchemaMismatchError(
            f"cannot insert rows from a source without the columns {_required(missing)}, which are "
            "not nullable: add them to the source, or do not insert"
        )
    return present, missing


def _divided(table: Schema, leaves: frozenset[int]) -> tuple[Schema, Schema]:
    """The fields of the table that a source with these leaf fields has, and the others."""
    return _pruned(table, leaves), _pruned(table, _leaves(table) - leaves)


def _leaves(schema: Schema) -> frozenset[int]:
    return frozenset(field.id for field in schema.walk() if not field.children)


def _required(missing: Schema) -> list[str]:
    return [field.name for field in missing.walk() if not field.nullable]


def _partial_lists(present: Schema, missing: Schema) -> list[str]:
    """The paths of lists and maps of structs of which the source lacks members."""
    ids = {field.id for field in missing.walk()}
    return [
        present.path_of(field.id)
        for field in present.walk()
        if field.id in ids and _has_items(field)
    ]


def _has_items(field: Field) -> bool:
    """True for a list, a fixed size list or a map."""
    return bool(field.children) and not field.is_struct


def _shape(schema: Schema) -> list[tuple[object, ...]]:
    """All that rows of the schema depend on; metadata may change."""
    return [(field.id, field.name, field.logical_type, field.nullable) for field in schema.walk()]


def _check_keys(table: Schema, names: Sequence[str]) -> None:
    for field in table.fields:
        if field.name in names and (field.is_json or field.is_blob):
            raise UnsupportedFeatureError(f"column {field.name!r} cannot be a key of a merge")


def _nullable(field: Field) -> Field:
    return replace(field, nullable=True, children=tuple(map(_nullable, field.children)))


def _pruned(table: Schema, leaves: frozenset[int]) -> Schema:
    pruned = (keep_ids(field, leaves) for field in table.fields)
    return replace(table, fields=tuple(field for field in pruned if field is not None))


def read_source(
    reader: pa.RecordBatchReader,
    schemas: tuple[Schema, Schema],
    keys: Sequence[str],
    folder: TemporaryFolder,
    budget: float,
    loops: JsonLoops | None = None,
) -> Source:
    """Read all rows; those of a source above ``budget`` bytes go to partitions in ``folder``.

    Raises `InvalidInputError` for a null in a field that is not nullable, and `StoreError` if the
    rows cannot be written to disk.
    """
    schema, missing = schemas
    stored = replace(schema, fields=tuple(map(given_to_files, schema.fields)))
    arrow = stored.storage_schema()
    batches = (align_batch(batch, stored, loops) for batch in _batches(reader))
    read_batches: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        read_batches.append(batch)
        size += batch.nbytes
        if size > budget:
            with SpilledRows(folder, "source", arrow, keys, budget) as spilled:
                spilled.write(pa.Table.from_batches(read_batches, arrow))
                read_batches.clear()
                for later in batches:
                    spilled.write(pa.Table.from_batches([later], arrow))
            return Source(schema, missing, None, spilled)
    table = with_joined_chunks(pa.Table.from_batches(read_batches, arrow))
    return Source(schema, missing, table)


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    with contextlib.closing(reader):
        try:
            yield from reader
        except (pa.ArrowException, UnicodeEncodeError) as error:
            raise InvalidInputError(f"the source cannot be read: {error}") from error
