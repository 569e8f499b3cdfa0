"""`LanceTable`: a table for changes and maintenance with Spark, as ``DeltaTable`` is for Delta."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Unpack

from pyspark.sql import DataFrame, SparkSession

import lance_core
from lance_core.dataset import CleanupStats
from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core.indices import IndexConfig
from lance_core.optimize import CompactionMetrics, CompactionOptions
from lance_core.plugins import ALLOW_OPTION
from lance_core.progress import FragmentWriteProgress
from lance_core_spark.options.option_reader import OptionReader
from lance_core_spark.table import change_rows
from lance_core_spark.table.add_columns import add_columns
from lance_core_spark.table.aggregate import aggregate
from lance_core_spark.table.compact import compact
from lance_core_spark.table.create_index import create_index
from lance_core_spark.table.expressions import Expression, as_column
from lance_core_spark.table.history import detail, history, indices
from lance_core_spark.table.merge_builder import LanceMergeBuilder
from lance_core_spark.table.target import Target
from lance_core_spark.table_ref import TableRef


class LanceTable:
    """A table and the Spark session that works on it; `forPath` makes one.

    Methods and arguments have the names that users of ``DeltaTable`` know. Conditions and new
    values are SQL of Spark or columns of its DataFrame API.
    """

    def __init__(self, spark: SparkSession, table: TableRef, alias: str | None = None) -> None:
        self._spark = spark
        self._table = table
        self._alias = alias

    @classmethod
    def forPath(  # noqa: N802
        cls, spark: SparkSession, uri: str | os.PathLike[str], **options: str | Secret
    ) -> LanceTable:
        """The table at ``uri``; nothing is read yet.

        ``options``: those of the store, named as for ``spark.read``. Raises `InvalidInputError` for
        other options.
        """
        options = hide_secrets(options)
        reader = OptionReader({**options, "path": os.fspath(uri)})
        storage = reader.storage(reader.uri())
        reader.finish()
        return cls(spark, TableRef.of(os.fspath(uri), storage))

    @classmethod
    def isLanceTable(  # noqa: N802
        cls, spark: SparkSession, uri: str | os.PathLike[str], **options: str | Secret
    ) -> bool:
        """True if there is a table at ``uri``; see `forPath` for ``options``."""
        table = cls.forPath(spark, uri, **options)
        return table._table.open_if_exists() is not None  # noqa: SLF001  # made by this class

    def __repr__(self) -> str:
        return f"LanceTable({self._table})"

    def alias(self, aliasName: str) -> LanceTable:  # noqa: N803
        """The same table, whose columns expressions may name as ``aliasName.column``."""
        if not isinstance(aliasName, str) or not aliasName:
            raise InvalidInputError(f"an alias must be text, not {aliasName!r}")
        return LanceTable(self._spark, self._table, aliasName)

    def toDF(self) -> DataFrame:  # noqa: N802
        """A data frame of the version that is the newest now."""
        return self._target.load()

    def aggregate(
        self,
        by: Sequence[str] | Mapping[str, str],
        aggregates: Mapping[str, tuple[str, str]],
        *,
        filter: str | None = None,
        version: int | None = None,
    ) -> DataFrame:
        """Aggregates of groups of rows, computed by the tasks that read them; see `aggregate`."""
        return aggregate(
            self._spark,
            self._table.uri,
            by,
            aggregates,
            filter=filter,
            version=version,
            storage_options=self._table.options,
        )

    def delete(self, condition: Expression | None = None) -> int:
        """Delete the rows for which ``condition`` is true, or all rows, and return their number.

        The tasks of Spark write the deletion files, the driver commits them as one version. If
        another writer changes the same rows, the rows are searched again in the newest version.
        Without a row to delete nothing is committed.

        Raises `InvalidInputError` for a condition that Spark cannot resolve, and the errors of
        `LanceDataset.delete`.
        """
        if condition is None:
            return self._table.open().delete("true")["num_deleted_rows"]
        return change_rows.delete(self._target, condition)

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

    def addColumns(self, values: Mapping[str, Expression]) -> None:  # noqa: N802
        """Add columns with computed values, and commit them as one version.

        ``values`` maps names of new columns to SQL of Spark or to columns, such as the results of
        ``arrow_udf``. The new columns can be null. Tasks of Spark write one new file for each
        fragment, existing files stay as they are.

        Raises `SchemaMismatchError` for a column that the table has, `InvalidInputError` for
        expressions that Spark cannot resolve, `RetryableCommitConflictError` if another writer has
        changed the table in the meantime; then nothing is added.
        """
        add_columns(self._target, values)

    def history(self, limit: int | None = None) -> DataFrame:
        """The newest ``limit`` versions, or all, newest first, as a data frame.

        Its columns are ``version``, ``timestamp``, ``operation``, ``operationParameters``,
        ``readVersion``, ``operationMetrics`` and ``userMetadata`` (the commit message). Raises
        `InvalidInputError` for a limit below 1.
        """
        return history(self._spark, self._table.open(), limit)

    def detail(self) -> DataFrame:
        """One row about the newest version: its location, files, rows, bytes and properties."""
        return detail(self._spark, self._table.open(), str(self._table))

    def restoreToVersion(self, version: int) -> None:  # noqa: N802
        """Commit a new version with the content of an older one.

        Raises `DatasetNotFoundError` if there is no such version.
        """
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise InvalidInputError(f"version must be the number of a version, not {version!r}")
        self._table.open(version).restore()

    def restoreToTimestamp(self, timestamp: str | datetime) -> None:  # noqa: N802
        """Commit a new version with the content that the table had at a time.

        ``timestamp`` without a zone is local time of the driver. Raises `InvalidInputError` for
        text that is no time, and `DatasetNotFoundError` if the table is younger.
        """
        if not isinstance(timestamp, str | datetime):
            raise InvalidInputError(f"timestamp must be text or a datetime, not {timestamp!r}")
        self._table.open(asof=str(timestamp)).restore()

    def vacuum(self, retentionHours: float | None = None) -> CleanupStats:  # noqa: N803
        """Remove versions older than ``retentionHours`` (two weeks), and files of no version.

        Versions with a tag stay, and so do recent files and versions that were superseded minutes
        ago, see `LanceDataset.cleanup_old_versions`, whose statistics are returned.
        ``retentionHours=0``: the caller guarantees that no other process writes to the table; then
        these go, too.
        """
        hours = retentionHours
        if hours is None:
            return self._table.open().cleanup_old_versions(error_if_tagged_old_versions=False)
        if isinstance(hours, bool) or not isinstance(hours, int | float) or not hours >= 0:
            raise InvalidInputError(f"retentionHours must be a number from 0 on, not {hours!r}")
        older_than = timedelta(hours=hours)
        return self._table.open().cleanup_old_versions(
            older_than, delete_unverified=not hours, error_if_tagged_old_versions=False
        )

    def cloneShallow(  # noqa: N802
        self, target: str | os.PathLike[str], version: int | None = None
    ) -> LanceTable:
        """Create a table at ``target`` with the content of a version, by default the newest.

        The new table references the files of this one, so keep a tag on the version here while the
        clone needs them. The returned table may read them; other readers of the clone need the
        option ``allow_base_paths``. Raises `DatasetExistsError` if ``target`` has a table.
        """
        dataset = self._table.open(version)
        made = dataset.shallow_clone(target, None, self._table.options)
        options = {**self._table.options, ALLOW_OPTION: _allowed(made)}
        return LanceTable(self._spark, TableRef.of(os.fspath(target), options))

    def createIndex(  # noqa: N802
        self,
        column: str | Sequence[str],
        kind: str | IndexConfig,
        name: str | None = None,
        replace: bool = True,
        *,
        numSegments: int | None = None,  # noqa: N803
        mergeSegments: bool = True,  # noqa: N803
        **parameters: object,
    ) -> None:
        """Index a column, with the executors; see `create_index` for arguments and errors."""
        create_index(
            self._spark,
            self._table.uri,
            column,
            kind,
            name,
            replace=replace,
            num_segments=numSegments,
            merge_segments=mergeSegments,
            storage_options=self._table.options,
            **parameters,
        )

    def dropIndex(self, name: str) -> None:  # noqa: N802
        """Remove an index; `vacuum` removes its files later. Raises `IndexNotFoundError`."""
        self._table.open().drop_index(name)

    def listIndices(self) -> DataFrame:  # noqa: N802
        """The indices of the newest version, one row for each, as a data frame.

        Its columns are ``name``, ``type``, ``columns``, ``numSegments``, ``numIndexedFragments``,
        ``numIndexedRows`` and ``sizeInBytes`` (null if it is not recorded).
        """
        return indices(self._spark, self._table.open())

    def optimizeIndices(  # noqa: N802
        self,
        indexNames: Sequence[str] | None = None,  # noqa: N803
        retrain: bool = False,
    ) -> None:
        """Add the rows that indices do not cover to them, or to ``indexNames`` only.

        The driver does the work. ``retrain``: build each index again, from all rows. Raises the
        errors of `DatasetOptimizer.optimize_indices`.
        """
        optimizer = self._table.open().optimize
        optimizer.optimize_indices(index_names=indexNames, retrain=retrain)

    def optimize(
        self,
        *,
        max_attempts: int = 3,
        progress: FragmentWriteProgress | None = None,
        **options: Unpack[CompactionOptions],
    ) -> CompactionMetrics:
        """Merge small fragments and remove deleted rows; see `compact`."""
        return compact(
            self._spark,
            self._table.uri,
            storage_options=self._table.options,
            max_attempts=max_attempts,
            progress=progress,
            **options,
        )

    @property
    def _target(self) -> Target:
        return Target(self._spark, self._table, self._alias)


def _allowed(clone: lance_core.LanceDataset) -> str:
    """The value of `ALLOW_OPTION` with which the files of ``clone`` can be read."""
    return str(clone.snapshot.root.config.options[ALLOW_OPTION])
