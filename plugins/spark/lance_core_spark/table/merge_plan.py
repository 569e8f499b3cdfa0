"""The changed rows of a merge, computed by joins of Spark.

Pairs of rows come first: only the columns of the condition are joined, and the ids of source rows;
few source rows are sent to all tasks, so that the table is not shuffled. If the condition compares
keys, tasks find the pairs without a join, see `lance_core_spark.table.equal_keys`. Then the whole
source is joined with the pairs by these ids, which also finds the source rows without a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql import types as st

import lance_core
from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core_spark.table.change_task import ACTION, ADDRESS, PLACE
from lance_core_spark.table.equal_keys import MAX_KEY_BYTES, equal_keys, find_pairs
from lance_core_spark.table.expressions import (
    Expression,
    Path,
    analysed,
    as_column,
    assigned,
    mentioned,
    quoted,
    resolve_paths,
)
from lance_core_spark.table.merge_clauses import Clause, Rows
from lance_core_spark.table.target import (
    Changes,
    Target,
    column_types,
    fragment_of,
    readable_columns,
)
from lance_core_spark.types.blobs import has_blobs
from lance_core_spark.types.spark_types import spark_field

SOURCE_ROW = "__lance_source_row"
PAIR_ROW = "__lance_pair_row"
PAIR_ADDRESS = "__lance_address"

BROADCAST_ROWS = 1 << 19
"""Maximum number of source rows whose condition columns are sent to all tasks."""

INSERT_PLACES = 64
"""Groups of new rows; Spark joins small ones into one task."""


@dataclass(frozen=True, slots=True)
class MergeSource:
    """The source rows, each with an id in `SOURCE_ROW`. ``rows``: their number if known."""

    frame: DataFrame
    rows: int | None = None

    @classmethod
    def of(cls, frame: DataFrame) -> MergeSource:
        """The rows of ``frame``, which are computed by each job."""
        return cls(frame.withColumn(SOURCE_ROW, sf.monotonically_increasing_id()))

    def computed(self) -> MergeSource:
        """The same rows, kept by Spark: computing them again could give them other ids."""
        checkpoint = self.frame.localCheckpoint(eager=False)
        # The job that counts the rows keeps them.
        return MergeSource(checkpoint, checkpoint.count())

    @property
    def names(self) -> list[str]:
        return [name for name in self.frame.columns if name != SOURCE_ROW]


class MergePlan:
    """A merge of one version of the table."""

    def __init__(
        self,
        target: Target,
        version: lance_core.LanceDataset,
        condition: Expression,
        clauses: Sequence[Clause],
        fragments: Sequence[int] | None = None,
        new_columns: Sequence[pa.Field] | None = None,
    ) -> None:
        """``fragments``: the ids of those whose rows are merged, by default all.

        ``new_columns``: those that the merge adds, so that ``…All`` clauses set only the columns
        that the source has; None if these set all.
        """
        self._target = target
        self._condition = condition
        self._clauses = clauses
        self._stored = pa.schema([*version.schema, *(new_columns or ())])
        self._evolves = new_columns is not None
        self._names = self._stored.names
        self._readable = readable_columns(self._stored)
        self._types = column_types(self._stored)
        self._required = {field.name for field in self._stored if not field.nullable}
        self._version = version
        self._fragments = fragments
        updates = [clause for clause in clauses if clause.rows is not Rows.NOT_MATCHED]
        texts = [text for clause in updates for text in clause.expressions()]
        self._changed = {*mentioned(self._readable, texts), *self._nested()}

    def changes(self, source: MergeSource) -> Changes:
        """The changed rows; all expressions are resolved before any job runs.

        Raises `InvalidInputError` for expressions that Spark cannot resolve, and
        `SchemaMismatchError` for columns and values that do not fit the table.
        """
        by_source = any(clause.rows is Rows.NOT_MATCHED_BY_SOURCE for clause in self._clauses)
        persisted: tuple[DataFrame, ...] = ()
        pairs = None if by_source else self._equal_pairs(source)
        if pairs is None:
            table = self._table(source)
            pairs = self._pairs(source, table)
            if by_source and source.rows is not None:
                persisted = (pairs.persist(),)  # Both parts use the pairs.
        both = self._joined(source, pairs)
        parts = [self._part(both, source, pairs, Rows.MATCHED, Rows.NOT_MATCHED)]
        if by_source:
            matched = pairs.select(sf.col(PAIR_ADDRESS).alias(PAIR_ROW))
            others = table.join(
                matched, sf.col(PAIR_ADDRESS) == sf.col(PAIR_ROW), "left_anti"
            ).withColumn(SOURCE_ROW, sf.lit(None).cast("long"))
            if self._target.alias is not None:
                others = others.alias(self._target.alias)
            parts.append(self._part(others, source, table, Rows.NOT_MATCHED_BY_SOURCE))
        columns = self._columns(source)
        rows = reduce(DataFrame.union, parts)
        actions = tuple(
            None if clause.deletes else frozenset(path[0] for path in self._paths(clause, source))
            for clause in self._clauses
        )
        return Changes(rows, actions, columns, persisted)

    def has_pairs(self, source: MergeSource) -> bool:
        """True if a row of the table matches a source row."""
        pairs = self._equal_pairs(source)
        if pairs is None:
            pairs = self._pairs(source, self._table(source))
        return bool(pairs.select(PAIR_ROW).head(1))

    def _table(self, source: MergeSource) -> DataFrame:
        """The needed columns of the table, and addresses.

        There are no rows if the expressions are only checked, unless their types depend on options
        of the read: Spark starts a process to load the table.
        """
        needed = {*mentioned(self._readable, [self._condition]), *self._changed}
        columns = [name for name in self._readable if name in needed]
        stored = self._stored
        known = [stored.field(name) for name in columns if name in stored.names]
        if source.rows is None and not any(map(has_blobs, known)):
            of_rows = [name for name in (*columns, PAIR_ADDRESS) if name not in stored.names]
            fields = [
                *map(spark_field, known),
                *(st.StructField(name, st.LongType(), False) for name in of_rows),
            ]
            table = self._target.spark.createDataFrame([], st.StructType(fields))
        else:
            table = self._target.load(columns, self._version.version, self._fragments)
            table = table.select(*map(quoted, columns), sf.col(quoted(ADDRESS)).alias(PAIR_ADDRESS))
        return table if self._target.alias is None else table.alias(self._target.alias)

    def _equal_pairs(self, source: MergeSource) -> DataFrame | None:
        """The result of `_pairs` if tasks can find equal keys without a join; see `equal_keys`."""
        if source.rows is None or source.rows > BROADCAST_ROWS:
            return None
        schema = source.frame.select(*map(quoted, source.names)).schema
        alias = self._target.alias
        names = equal_keys(self._condition, alias, self._types, schema, self._stored)
        if names is None or self._changed - names.keys():
            return None
        others = [sf.col(quoted(other)).alias(name) for name, other in names.items()]
        keys = source.frame.select(*others, SOURCE_ROW).toArrow()
        if keys.nbytes > MAX_KEY_BYTES:
            return None
        result = st.StructType([st.StructField(name, self._types[name]) for name in names])
        result = result.add(PAIR_ADDRESS, st.LongType()).add(PAIR_ROW, st.LongType())
        # Spark does not know how many pairs there are, and must not send all of them to all tasks.
        pairs = find_pairs(self._target, self._version, self._fragments, keys, result)
        return pairs.hint("merge")

    def _pairs(self, source: MergeSource, table: DataFrame) -> DataFrame:
        """The matched pairs: needed columns of the table, addresses, and ids of source rows."""
        names = mentioned(source.names, [self._condition])
        keys = source.frame.select(*(source.frame[quoted(n)] for n in names), SOURCE_ROW)
        keys = keys.withColumnRenamed(SOURCE_ROW, PAIR_ROW)
        if source.rows is not None and source.rows <= BROADCAST_ROWS:
            keys = sf.broadcast(keys)
        condition = as_column(self._condition, "the merge condition")
        with analysed("the merge condition", [*self._readable, *source.names]):
            joined = table.join(keys, condition, "inner")
            columns = [table[quoted(name)] for name in table.columns]
            pairs = joined.select(*columns, sf.col(PAIR_ROW))
            _ = pairs.schema
        return pairs

    def _joined(self, source: MergeSource, pairs: DataFrame) -> DataFrame:
        """All source rows with their pairs, or those with a pair if no clause is for others."""
        alias = self._target.alias
        named = pairs if alias is None else pairs.alias(alias)
        inserts = any(clause.rows is Rows.NOT_MATCHED for clause in self._clauses)
        same = sf.col(SOURCE_ROW) == sf.col(PAIR_ROW)
        return source.frame.join(named, same, "left" if inserts else "inner")

    def _part(
        self, frame: DataFrame, source: MergeSource, table: DataFrame, *kinds: Rows
    ) -> DataFrame:
        """The rows of ``frame`` that a clause of ``kinds`` changes, with action and new values.

        ``table``: the part of ``frame`` with the columns of the table.
        """
        action = self._action(frame, source, kinds)
        frame = frame.withColumn(ACTION, action).where(sf.col(ACTION).isNotNull())
        address = sf.col(PAIR_ADDRESS)
        new = -1 - sf.pmod(sf.col(SOURCE_ROW), sf.lit(INSERT_PLACES))
        fragment = sf.when(address.isNotNull(), fragment_of(address)).otherwise(new)
        values = self._values(frame, source, table, kinds)
        return frame.select(
            address.alias(ADDRESS), sf.col(ACTION), fragment.cast("long").alias(PLACE), *values
        )

    def _action(self, frame: DataFrame, source: MergeSource, kinds: tuple[Rows, ...]) -> Column:
        """The number of the first clause that applies, null without one."""
        matched = sf.col(PAIR_ADDRESS).isNotNull() & sf.col(SOURCE_ROW).isNotNull()
        is_of = {
            Rows.MATCHED: matched,
            Rows.NOT_MATCHED: sf.col(PAIR_ADDRESS).isNull(),
            Rows.NOT_MATCHED_BY_SOURCE: sf.col(SOURCE_ROW).isNull(),
        }
        action: Column | None = None
        for number, clause in enumerate(self._clauses):
            if clause.rows not in kinds:
                continue
            applies, condition = is_of[clause.rows], clause.condition_column()
            if condition is not None:
                known = source.frame if clause.rows is Rows.NOT_MATCHED else frame
                with analysed(f"the condition of {clause.name}", self._known(clause, source)):
                    _ = known.where(condition).schema
                applies = applies & condition
            action = sf.when(applies, number) if action is None else action.when(applies, number)
        return sf.lit(None).cast("int") if action is None else action

    def _known(self, clause: Clause, source: MergeSource) -> list[str]:
        """The columns that the expressions of a clause may use."""
        table = [] if clause.rows is Rows.NOT_MATCHED else self._readable
        return [*table, *([] if clause.rows is Rows.NOT_MATCHED_BY_SOURCE else source.names)]

    def _values(
        self, frame: DataFrame, source: MergeSource, table: DataFrame, kinds: tuple[Rows, ...]
    ) -> list[Column]:
        """The new values of all columns that a clause of the merge sets."""
        chosen: dict[str, list[tuple[int, Column]]] = {}
        for number, clause in enumerate(self._clauses):
            if clause.rows in kinds and not clause.deletes:
                known = source.frame if clause.rows is Rows.NOT_MATCHED else frame
                for name, value in self._assigned(clause, known, source, table).items():
                    chosen.setdefault(name, []).append((number, value))
        columns = []
        for name in self._columns(source):
            value = sf.lit(None).cast(self._types[name])
            for number, one_value in reversed(chosen.get(name, [])):
                value = sf.when(sf.col(ACTION) == number, one_value).otherwise(value)
            columns.append(value.alias(name))
        return columns

    def _assigned(
        self, clause: Clause, frame: DataFrame, source: MergeSource, table: DataFrame
    ) -> dict[str, Column]:
        """The new values of a clause by the table's columns, with the types of these columns."""
        paths = self._paths(clause, source)
        if clause.values is None:
            values = {path: source.frame[quoted(other)] for path, other in paths.items()}
        else:
            values = {
                path: as_column(clause.values[other], f"{clause.name}: the value of {other!r}")
                for path, other in paths.items()
            }
        if clause.rows is Rows.NOT_MATCHED:
            missing = sorted(self._required - {path[0] for path in values})
            if missing:
                raise SchemaMismatchError(
                    f"{clause.name}: column {missing[0]!r} cannot be null and gets no value"
                )
        return assigned(frame, values, self._types, clause.name, table)

    def _paths(self, clause: Clause, source: MergeSource) -> dict[Path, str]:
        """What a clause sets, each with its given name or with the source column."""
        if clause.values is not None:
            return self._given_paths(clause)
        paths: dict[Path, str] = {}
        by_name = {name.lower(): name for name in source.names}
        for name in self._names:
            other = name if name in source.names else by_name.get(name.lower())
            if other is not None:
                paths[(name,)] = other
            elif not self._evolves:
                raise SchemaMismatchError(
                    f"{clause.name}: the source has no column {name!r}; name the columns to set "
                    f"with {clause.name.removesuffix('All')}, or call withSchemaEvolution()"
                )
        return paths

    def _given_paths(self, clause: Clause) -> dict[Path, str]:
        """The columns and nested fields that the user names in a clause, each with this name."""
        paths = resolve_paths(clause.values or (), self._types, self._target.alias, clause.name)
        nested = next((text for path, text in paths.items() if len(path) > 1), None)
        if clause.rows is Rows.NOT_MATCHED and nested is not None:
            raise InvalidInputError(
                f"{clause.name}: {nested!r} is a nested field; a new row needs the whole column"
            )
        return paths

    def _nested(self) -> set[str]:
        """The columns of which a clause sets nested fields: their old values are needed."""
        paths = (path for clause in self._clauses for path in self._given_paths(clause))
        return {path[0] for path in paths if len(path) > 1}

    def _columns(self, source: MergeSource) -> tuple[str, ...]:
        """All columns that some clause sets, in the order of the table."""
        clauses = (clause for clause in self._clauses if not clause.deletes)
        names = {path[0] for clause in clauses for path in self._paths(clause, source)}
        return tuple(name for name in self._names if name in names)
