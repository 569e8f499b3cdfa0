"""`LanceMergeBuilder`: merge a data frame into a table, in the words of ``DeltaTable.merge``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

import lance_core
from lance_core.engines import commit_properties
from lance_core.errors import InvalidInputError
from lance_core.fragment import RowChangeCommit, RowChangeCounts
from lance_core_spark.table.commit_info import CommitInfo
from lance_core_spark.table.expressions import Expression
from lance_core_spark.table.merge_clauses import Clause, Rows, clause, with_clause
from lance_core_spark.table.merge_plan import MergePlan, MergeSource
from lance_core_spark.table.target import NO_CHANGES, Changes, Target
from lance_core_spark.types.stored_fields import stored_field

Values = Mapping[str, Expression]


@dataclass(frozen=True, slots=True)
class LanceMergeBuilder:
    """A merge of a source into a table; `LanceTable.merge` makes one, `execute` runs it.

    Each method returns a builder with one more clause. For each row the first clause that applies
    is used: its kind fits the row and its condition is true. Conditions and values name columns by
    the aliases of the table and of the source. Only the last clause of a kind may have no
    condition. Rows for which the merge condition is null do not match.

    The methods raise `InvalidInputError` for a clause that never applies and for missing values.
    """

    _target: Target
    _source: DataFrame
    _condition: Expression
    _clauses: tuple[Clause, ...] = ()
    _evolves: bool = False

    def withSchemaEvolution(self) -> LanceMergeBuilder:  # noqa: N802
        """Add the columns of the source that the table lacks and that a clause sets.

        They are added as columns that can be null, in a version of its own before that of the
        merge. ``…All`` clauses then set only the columns that the source has.
        """
        return replace(self, _evolves=True)

    def whenMatchedUpdate(  # noqa: N802
        self, condition: Expression | None = None, set: Values | None = None
    ) -> LanceMergeBuilder:
        """Set columns of matched rows: ``set`` maps columns to values."""
        return self._with(clause(Rows.MATCHED, "Update", condition, _given("set", set)))

    def whenMatchedUpdateAll(  # noqa: N802
        self, condition: Expression | None = None
    ) -> LanceMergeBuilder:
        """Set all columns of matched rows to those of the source with the same names."""
        return self._with(clause(Rows.MATCHED, "UpdateAll", condition))

    def whenMatchedDelete(  # noqa: N802
        self, condition: Expression | None = None
    ) -> LanceMergeBuilder:
        """Delete matched rows."""
        return self._with(clause(Rows.MATCHED, "Delete", condition, deletes=True))

    def whenNotMatchedInsert(  # noqa: N802
        self, condition: Expression | None = None, values: Values | None = None
    ) -> LanceMergeBuilder:
        """Insert source rows without a match: ``values`` maps columns to values, others are null.

        ``condition`` and ``values`` use columns of the source only.
        """
        new = clause(Rows.NOT_MATCHED, "Insert", condition, _given("values", values))
        return self._with(new)

    def whenNotMatchedInsertAll(  # noqa: N802
        self, condition: Expression | None = None
    ) -> LanceMergeBuilder:
        """Insert source rows without a match, with the columns of the same names."""
        return self._with(clause(Rows.NOT_MATCHED, "InsertAll", condition))

    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self, condition: Expression | None = None, set: Values | None = None
    ) -> LanceMergeBuilder:
        """Set columns of the table's rows without a match; uses columns of the table only."""
        new = clause(Rows.NOT_MATCHED_BY_SOURCE, "Update", condition, _given("set", set))
        return self._with(new)

    def whenNotMatchedBySourceDelete(  # noqa: N802
        self, condition: Expression | None = None
    ) -> LanceMergeBuilder:
        """Delete the table's rows without a match; ``condition`` uses columns of the table only."""
        return self._with(clause(Rows.NOT_MATCHED_BY_SOURCE, "Delete", condition, deletes=True))

    def execute(self) -> RowChangeCounts:
        """Run the merge, commit it as one version, and return the numbers of changed rows.

        The keys are ``num_inserted_rows``, ``num_updated_rows`` and ``num_deleted_rows``. The
        source is computed once and kept by Spark until the merge ends. If another writer changes
        the same rows, or adds rows that match the source while this merge inserts some, the merge
        is computed again on the newest version. Without a row to change nothing is committed. The
        primary keys of inserted rows are recorded, if the table has a primary key.

        Raises `InvalidInputError` without clauses and for expressions that Spark cannot resolve,
        `SchemaMismatchError` for columns and values that do not fit the table, both before any job
        runs; `MergeError` if several source rows would update the same row, or one would update it
        and another one delete it; `CommitUnknownError` if the outcome is unknown, another
        `CommitError` if nothing has changed.
        """
        if not self._clauses:
            raise InvalidInputError("a merge needs a clause: call whenMatchedUpdateAll or another")
        dataset = self._target.table.open()
        if self._evolves:
            if self._target.commit.is_done(dataset):
                return NO_CHANGES
            self._add_columns(dataset)
        source: list[MergeSource] = []

        def plan(version: lance_core.LanceDataset) -> Changes:
            merge = self._plan(version)
            if not source:
                computed = MergeSource.of(self._source)
                merge.changes(computed)  # Checks the expressions before the source is computed.
                source.append(computed.computed())
            return merge.changes(source[0])

        def matches(version: lance_core.LanceDataset, fragments: list[int]) -> bool:
            """True if rows that others have added match the source."""
            merge = MergePlan(self._target, version, self._condition, (), fragments)
            return merge.has_pairs(source[0])

        inserts = any(part.rows is Rows.NOT_MATCHED for part in self._clauses)
        how = RowChangeCommit("merge", rejects_added_rows=matches if inserts else False)
        clauses = ", ".join(part.name for part in self._clauses)
        parameters = {"predicate": str(self._condition), "clauses": clauses}
        return self._target.change(dataset, plan, how, **parameters)

    def _plan(
        self, version: lance_core.LanceDataset, new_columns: Sequence[pa.Field] = ()
    ) -> MergePlan:
        new = new_columns if self._evolves else None
        return MergePlan(self._target, version, self._condition, self._clauses, None, new)

    def _add_columns(self, dataset: lance_core.LanceDataset) -> None:
        """Add the columns that the clauses set and the table lacks, if the merge is valid."""
        known = {name.lower() for name in dataset.schema.names}
        set_all = any(clause.values is None and not clause.deletes for clause in self._clauses)
        texts = {name.lower() for clause in self._clauses for name in clause.values or ()}
        alias = "" if self._target.alias is None else f"{self._target.alias}.".lower()
        columns = [
            stored_field(column).with_nullable(True)
            for column in self._source.schema
            if column.name.lower() not in known
            and (set_all or {column.name.lower(), alias + column.name.lower()} & texts)
        ]
        if columns:
            self._plan(dataset, columns).changes(MergeSource.of(self._source))  # Checks it.
            message = CommitInfo(self._target.commit.message)  # The merge itself has the rest.
            with commit_properties(message.properties("merge", {}, {})):
                dataset.add_columns(pa.schema(columns))

    def _with(self, new: Clause) -> LanceMergeBuilder:
        return replace(self, _clauses=with_clause(self._clauses, new))


def _given(argument: str, values: Values | None) -> Values:
    if values is None:
        raise InvalidInputError(f"the argument {argument!r} is missing: it maps columns to values")
    return values
