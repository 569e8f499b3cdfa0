"""Verbs that change rows: delete, update, merge."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core_spark.table import change_rows
from lance_core_spark.table.commit_info import NOTHING
from lance_core_spark.table.expressions import Expression, as_column
from lance_core_spark.table.merge_builder import LanceMergeBuilder
from lance_core_spark.table.verbs.base import TableVerbs


class RowVerbs(TableVerbs):
    """Each verb is one version. Conditions may also name ``_rowid`` and ``_rowaddr``."""

    def delete(self, condition: Expression | None = None) -> int:
        """Delete the rows for which ``condition`` is true, or all rows, and return their number.

        The tasks of Spark write the deletion files, the driver commits them as one version. If
        another writer changes the same rows, the rows are searched again in the newest version.
        Without a row to delete nothing is committed.

        Raises `InvalidInputError` for a condition that Spark cannot resolve, and the errors of
        `LanceDataset.delete`.
        """
        if condition is None and self._target.commit == NOTHING:
            return self._target.table.open().delete("true")["num_deleted_rows"]
        return change_rows.delete(self._target, "true" if condition is None else condition)

    def update(
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,
    ) -> int:
        """Set columns where ``condition`` is true, or in all rows, and return the number of rows.

        ``set`` maps columns to new values, which are computed from the old row. Only the columns
        that ``condition`` and ``set`` need are read by Spark; the task that writes a row reads the
        others. See `delete` for commits and conflicts.

        Raises `InvalidInputError` for unknown columns and for expressions that Spark cannot
        resolve, `SchemaMismatchError` for values that do not fit their column.
        """
        if set is None:
            raise InvalidInputError("update needs new values: update(condition, set={...})")
        return change_rows.update(self._target, condition, set)

    def merge(self, source: DataFrame, condition: Expression) -> LanceMergeBuilder:
        """A builder for a merge of ``source`` into the table; see `LanceMergeBuilder`.

        ``condition`` names columns by the aliases of the table and of the source, such as
        ``"t.id = s.id"``. Raises `InvalidTypeError` for other types.
        """
        if not isinstance(source, DataFrame):
            raise InvalidTypeError(f"source must be a DataFrame, not {type(source).__name__}")
        as_column(condition, "the merge condition")
        return LanceMergeBuilder(self._target, source, condition)
