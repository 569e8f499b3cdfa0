"""Aggregate a table: tasks group the rows that they scan, Spark combines their partial results.

So a few rows go through Spark's Arrow hop instead of all rows of the table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

import lance_core
from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.hookspecs.options import Secret, hide_secrets, hint
from lance_core_spark.options.read_options import LanceReadOptions
from lance_core_spark.scan.reader import LanceReader
from lance_core_spark.scan.schema import read_schema
from lance_core_spark.table.aggregates.from_indices import states_from_indices
from lance_core_spark.table.aggregates.functions import FUNCTIONS, Aggregate
from lance_core_spark.table.aggregates.states import Grouping
from lance_core_spark.table.aggregates.task import AggregateTask, KnownRow
from lance_core_spark.table.expressions import quoted
from lance_core_spark.table.numbered_columns import numbered_type
from lance_core_spark.table_ref import TableRef, TableVersion, keep_open
from lance_core_spark.types.arrow_types import arrow_schema
from lance_core_spark.types.spark_types import spark_field

EVERY_ROW = "*"
"""The expression of a count of rows."""


def aggregate(  # noqa: PLR0913 (those of a read, groups and functions)
    spark: SparkSession,
    uri: str | os.PathLike[str],
    by: Sequence[str] | Mapping[str, str],
    aggregates: Mapping[str, tuple[str, str]],
    *,
    filter: str | None = None,
    version: int | None = None,
    storage_options: Mapping[str, str | Secret] | None = None,
) -> DataFrame:
    """Aggregates of the groups of a table's rows, as a data frame with a row for each group.

    ``by``: columns, or a mapping of names to SQL of lance-core, whose equal values make a group;
    without any, all rows are one group. ``aggregates``: names of the results, each with a function,
    ``sum``, ``count``, ``count_distinct``, ``min``, ``max`` or ``avg``, and SQL for its values;
    ``("count", "*")`` counts rows. ``filter``: SQL that selects rows, for which indices are used.
    ``version``: by default the newest.

    Results are those of Spark for the values that `read` returns: also for nulls, NaN and decimals.
    A sum of integers that is not a bigint, and one of decimals with over 38 digits, is an error.
    Each task keeps at most some megabytes of groups, and sends them to Spark when there are more.
    Without groups and a filter, counts of rows and of columns that cannot be null read no row, nor
    do counts of other columns, and least and greatest values, if a BTREE index has all rows.

    Raises `InvalidInputError` for unknown functions and columns, `InvalidTypeError` for values that
    a function does not accept, and `UnsupportedFeatureError` for values that Arrow cannot group.
    """
    storage_options = hide_secrets(storage_options)
    keys = _checked_keys(by)
    calls = _checked_calls(aggregates, keys)
    table = TableRef.of(os.fspath(uri), storage_options or {})
    dataset = table.open(version)
    if not isinstance(by, Mapping):
        keys = {name: _as_sql(dataset, name) for name in keys}
    texts = [*keys.values(), *(text for _, text in calls.values() if text != EVERY_ROW)]
    columns = {f"_{number}": text for number, text in enumerate(dict.fromkeys(texts))}
    # Checks the expressions and the filter.
    stored = dataset.scanner(dict(columns), filter=filter).projected_schema
    plan = _Plan.of(stored, columns, keys, calls)
    if filter is None and (row := plan.known_row(dataset, [*columns.values()])) is not None:
        only = spark.range(0, 1, 1, 1)
        return plan.final(only.mapInArrow(KnownRow(row), numbered_type(plan.partial)))
    reader = _reader(table, dataset, columns, filter)
    partitions = [*reader.partitions()]
    task = AggregateTask(
        table,
        TableVersion.of(dataset),
        filter,
        columns,
        arrow_schema(numbered_type(plan.scanned)),
        partitions,  # type: ignore[arg-type]  # those of our reader
        reader.batch_rows,
        plan.groupings,
        plan.positions,
        arrow_schema(numbered_type(plan.partial)),
    )
    numbers = spark.range(0, len(partitions), 1, len(partitions))
    return plan.final(numbers.mapInArrow(task, numbered_type(plan.partial)))


def _checked_keys(by: object) -> dict[str, str]:
    """``by`` as a mapping of names to texts."""
    if isinstance(by, str) or not isinstance(by, Sequence | Mapping):
        raise InvalidTypeError(f"by must be names of columns or a mapping, not {by!r}")
    keys = dict(by) if isinstance(by, Mapping) else {name: name for name in by}
    if not all(isinstance(text, str) for pair in keys.items() for text in pair):
        raise InvalidTypeError(f"by must have names of columns or SQL, not {by!r}")
    return keys


def _checked_calls(aggregates: object, keys: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    if not isinstance(aggregates, Mapping) or not aggregates:
        raise InvalidInputError('aggregates must map names to pairs such as ("sum", "price")')
    for name, call in aggregates.items():
        pair = isinstance(call, tuple | list) and len(call) == 2
        if not pair or not all(isinstance(text, str) for text in (name, *call)):
            raise InvalidTypeError(
                f'the aggregate {name!r} must be a pair such as ("sum", "price"), not {call!r}'
            )
        if call[0] not in FUNCTIONS:
            raise InvalidInputError(
                f"the aggregate {name!r} has an unknown function {call[0]!r}"
                f"{hint(call[0], FUNCTIONS)}; there are {', '.join(FUNCTIONS)}"
            )
        if call[1] == EVERY_ROW and call[0] != "count":
            raise InvalidInputError(f"{call[0]}(*) has no meaning: only count has '*'")
        if name in keys:
            raise InvalidInputError(f"the aggregate {name!r} has the name of a group's column")
    return {name: (function, text.strip()) for name, (function, text) in aggregates.items()}


def _as_sql(dataset: lance_core.LanceDataset, name: str) -> str:
    return quoted(name) if name in dataset.schema.names else name


def _reader(
    table: TableRef,
    dataset: lance_core.LanceDataset,
    columns: Mapping[str, str],
    filter: str | None,
) -> LanceReader:
    """A reader that cuts the table into partitions by the sizes of the columns that are read."""
    text = " ".join(columns.values())
    names = tuple(name for name in dataset.schema.names if name in text)
    options = LanceReadOptions(filter=filter, columns=names)
    return LanceReader(table, keep_open(table, dataset), read_schema(dataset, options), options)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The columns of partial results, and how Spark computes the result from them.

    ``scanned`` are the columns of the scan in Spark's types. ``partial`` are those of the tasks:
    the keys, the states, and the values of each count of distinct values. ``results`` are functions
    with the positions of their columns in ``partial``.
    """

    scanned: list[st.StructField]
    partial: list[st.StructField]
    groupings: tuple[Grouping, ...]
    positions: tuple[tuple[int, ...], ...]
    keys: tuple[str, ...]
    results: dict[str, tuple[Aggregate, tuple[int, ...]]]

    @classmethod
    def of(
        cls,
        stored: pa.Schema,
        columns: Mapping[str, str],
        keys: Mapping[str, str],
        calls: Mapping[str, tuple[str, str]],
    ) -> _Plan:
        """Plan for a scan of ``columns`` that returns ``stored``, and check the types."""
        scanned = [spark_field(field) for field in stored]
        schema = arrow_schema(numbered_type(scanned))
        at = {text: number for number, text in enumerate(columns.values())}
        made = {
            name: FUNCTIONS[function](name, at.get(text), _type_of(schema, at.get(text)))
            for name, (function, text) in calls.items()
        }
        by = tuple(at[text] for text in keys.values())
        states = list(dict.fromkeys(state for each in made.values() for state in each.states))
        distinct = list(dict.fromkeys(column for each in made.values() for column in each.distinct))
        first_distinct = len(by) + len(states)
        groupings = [Grouping(by, tuple(states))] if states or not distinct else []
        positions = [tuple(range(first_distinct))] * len(groupings)
        groupings += [Grouping((*by, column), ()) for column in distinct]
        positions += [(*range(len(by)), first_distinct + n) for n in range(len(distinct))]
        _check_groupings(groupings, schema)
        results = {
            name: (
                each,
                (
                    *(len(by) + states.index(state) for state in each.states),
                    *(first_distinct + distinct.index(column) for column in each.distinct),
                ),
            )
            for name, each in made.items()
        }
        state_types = [spark_field(pa.field("state", state.type)).dataType for state in states]
        types = [
            *(scanned[column].dataType for column in by),
            *state_types,
            *(scanned[column].dataType for column in distinct),
        ]
        partial = [st.StructField("", type_, True) for type_ in types]
        return cls(scanned, partial, tuple(groupings), tuple(positions), tuple(keys), results)

    def known_row(
        self, dataset: lance_core.LanceDataset, texts: Sequence[str]
    ) -> pa.RecordBatch | None:
        """The partial result of all rows if it can be known without reading them, else None.

        ``texts``: the SQL of the columns that are scanned.
        """
        if self.keys or len(self.groupings) != 1 or not self.groupings[0].states:
            return None
        scanned = arrow_schema(numbered_type(self.scanned))
        values = states_from_indices(dataset, self.groupings[0].states, texts, scanned)
        if values is None:
            return None
        schema = arrow_schema(numbered_type(self.partial))
        return pa.RecordBatch.from_arrays(values, schema=schema)

    def final(self, frame: DataFrame) -> DataFrame:
        """The result of Spark from the rows of the tasks."""
        names = [*self.keys, *self.results]
        aggregates = [
            each.final([sf.col(f"_{position}") for position in positions])
            for each, positions in self.results.values()
        ]
        numbered = [a.alias(f"_{len(self.keys) + n}") for n, a in enumerate(aggregates)]
        grouped = frame.groupBy(*(f"_{number}" for number in range(len(self.keys))))
        result = grouped.agg(*numbered)
        return result.select([sf.col(f"_{n}").alias(name) for n, name in enumerate(names)])


def _type_of(schema: pa.Schema, column: int | None) -> pa.DataType:
    return pa.int64() if column is None else schema.types[column]


def _check_groupings(groupings: Sequence[Grouping], schema: pa.Schema) -> None:
    """Raise `UnsupportedFeatureError` for types that Arrow cannot group or compare."""
    columns = [pa.nulls(1, type_) for type_ in schema.types]
    try:
        for grouping in groupings:
            grouping.group(columns, 1)
    except (pa.ArrowNotImplementedError, pa.ArrowKeyError) as error:
        raise UnsupportedFeatureError(f"aggregates of such values: {error}") from None
