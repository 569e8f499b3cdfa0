"""Pairs of a merge on equal keys, found by tasks that search the key columns of the table.

Spark's own join gets all rows of the table from Python, which takes most of the time of a small
merge. These tasks pass on the pairs only. They need no data source, so Spark starts no processes to
plan it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st

import lance_core
from lance_core.hookspecs.concurrency import num_processors
from lance_core_spark.brief_errors import brief_rows
from lance_core_spark.table.expressions import Expression
from lance_core_spark.table.numbered_columns import numbered_type, renamed
from lance_core_spark.table.target import Target
from lance_core_spark.table_ref import TableRef, TableVersion, open_version
from lance_core_spark.task_threads import limit_threads_to_task
from lance_core_spark.types.arrow_types import arrow_schema
from lance_core_spark.types.convert import convert_batch

MAX_KEY_BYTES = 64 << 20
"""Maximum bytes of the source's keys, which the driver collects and sends to all tasks."""

TASK_ROWS = 1 << 20
"""Rows of the table below which another task takes longer than it saves."""

MAX_TASK_ROWS = 1 << 26
"""Rows of the table from which on there are more tasks than this machine has processors."""

BATCH_ROWS = 1 << 16

_NAME = r"(?:`(?:[^`]|``)+`|[^\W\d]\w*)"
_COLUMN = rf"(?:({_NAME})\s*\.\s*)?({_NAME})"
_EQUALITY = re.compile(rf"\s*{_COLUMN}\s*={{1,2}}\s*{_COLUMN}\s*")
_AND = re.compile(r"\band\b", re.IGNORECASE)

_COMPARABLE = (
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.string(),
    pa.large_string(),
    pa.date32(),
)
"""Types of stored columns whose values are equal in Spark if their bytes are."""


def equal_keys(
    condition: Expression,
    alias: str | None,
    table: Mapping[str, st.DataType],
    source: st.StructType,
    stored: pa.Schema,
) -> dict[str, str] | None:
    """The pairs of columns that ``condition`` compares: those of the table, each with the source's.

    None for a condition that is not the text of equalities joined by AND, for columns that the text
    does not clearly name, and for types that tasks do not compare as Spark does. ``alias``: that of
    the table. ``stored``: the schema of the table.
    """
    if not isinstance(condition, str):
        return None
    pairs: dict[str, str] = {}
    for text in _AND.split(condition):
        equality = _EQUALITY.fullmatch(text)
        if equality is None:
            return None
        sides = [
            _side(equality[i], _plain(equality[i + 1]), alias, [*table], source.names)
            for i in (1, 3)
        ]
        by_side = dict(side for side in sides if side is not None)
        if len(by_side) < 2 or by_side[True] in pairs:
            return None
        pairs[by_side[True]] = by_side[False]
    for name, other in pairs.items():
        if stored.field(name).type not in _COMPARABLE or table[name] != source[other].dataType:
            return None
    return pairs


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _side(
    qualifier: str | None,
    name: str,
    alias: str | None,
    table: Sequence[str],
    source: Sequence[str],
) -> tuple[bool, str] | None:
    """True and the column if a name means one of the table, False for one of the source, or None.

    A qualifier that could be a struct column, and names that differ in case only, are not clear.
    """
    columns = [(True, column) for column in table] + [(False, column) for column in source]
    if qualifier is not None:
        qualifier = _plain(qualifier).lower()
        if alias is None or any(column.lower() == qualifier for _, column in columns):
            return None
        is_table = alias.lower() == qualifier
        columns = [column for column in columns if column[0] == is_table]
    same = [column for column in columns if column[1].lower() == name.lower()]
    return same[0] if len(same) == 1 else None


@dataclass(frozen=True, slots=True)
class KeySearch:
    """The function of a task of Spark: its rows are positions in ``groups`` of fragment ids.

    ``keys``: the keys of the source by columns of the table, with the types of these, and
    ``rows``: the ids of the source rows. ``schema``: that of the result: the columns of the keys,
    addresses, and ids of source rows.
    """

    table: TableRef
    version: TableVersion
    groups: Sequence[Sequence[int]]
    keys: pa.Table
    rows: pa.ChunkedArray
    schema: pa.Schema

    @brief_rows
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit_threads_to_task()
        dataset = open_version(self.table, self.version)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                pairs = dataset.find_keys(self.keys, self.groups[number])
                for start in range(0, pairs.num_rows, BATCH_ROWS):
                    yield self._batch(pairs.slice(start, BATCH_ROWS))

    def _batch(self, pairs: pa.Table) -> pa.RecordBatch:
        positions = pairs["_position"]
        keys = self.keys.take(positions).columns
        columns = [*keys, pairs["_rowaddr"], self.rows.take(positions)]
        chunks = [column.combine_chunks() for column in columns]
        return convert_batch(chunks, self.schema, pairs.num_rows)


def find_pairs(
    target: Target,
    version: lance_core.LanceDataset,
    fragments: Sequence[int] | None,
    keys: pa.Table,
    result: st.StructType,
) -> DataFrame:
    """The pairs of the rows of some fragments, or of all, with rows of the source.

    ``keys``: the keys of the source by columns of the table, and last the ids of its rows.
    ``result``: the columns as `KeySearch` returns them.
    """
    names = keys.column_names[:-1]
    stored = pa.schema([version.schema.field(name) for name in names])
    parts = [
        convert_batch(batch.columns[:-1], stored, batch.num_rows) for batch in keys.to_batches()
    ]
    fields = [st.StructField(member.name, member.dataType, True) for member in result]
    schema = numbered_type(fields)
    groups = _groups(version, fragments)
    task = KeySearch(
        target.table,
        TableVersion.of(version),
        groups,
        pa.Table.from_batches(parts, stored),
        keys.column(len(names)),
        arrow_schema(schema),
    )
    pairs = target.spark.range(0, len(groups), 1, len(groups)).mapInArrow(task, schema)
    return renamed(pairs, fields)


def _groups(version: lance_core.LanceDataset, chosen: Sequence[int] | None) -> list[list[int]]:
    """The ids of fragments in groups of about the same number of rows, one for each task."""
    sizes = {fragment.fragment_id: fragment.physical_rows for fragment in version.get_fragments()}
    if chosen is not None:
        sizes = {id_: rows for id_, rows in sizes.items() if id_ in set(chosen)}
    total = sum(sizes.values())
    count = max(min(num_processors(), total // TASK_ROWS), -(-total // MAX_TASK_ROWS), 1)
    groups: list[list[int]] = [[] for _ in range(count)]
    before = 0
    for id_, rows in sizes.items():
        groups[(before + rows // 2) * count // max(total, 1)].append(id_)
        before += rows
    return groups
