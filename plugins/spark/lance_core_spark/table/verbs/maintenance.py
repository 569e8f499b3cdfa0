"""Verbs that keep a table fast: indices and compaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from pyspark.sql import DataFrame

from lance_core.indices import IndexConfig
from lance_core.optimize import CompactionMetrics, CompactionOptions
from lance_core.progress import FragmentWriteProgress
from lance_core_spark.table.compact import compact
from lance_core_spark.table.create_index import create_index
from lance_core_spark.table.history import indices
from lance_core_spark.table.verbs.base import TableVerbs


class MaintenanceVerbs(TableVerbs):
    """Verbs that change no rows."""

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

        def create() -> None:
            create_index(
                self._target.spark,
                self._target.table.uri,
                column,
                kind,
                name,
                replace=replace,
                num_segments=numSegments,
                merge_segments=mergeSegments,
                storage_options=self._target.table.options,
                **parameters,
            )

        shown = {"column": column, "kind": kind, "name": name}
        self._target.commit_once("create index", create, lambda: None, shown)

    def dropIndex(self, name: str) -> None:  # noqa: N802
        """Remove an index; `vacuum` removes its files later. Raises `IndexNotFoundError`."""

        def drop() -> None:
            self._target.table.open().drop_index(name)

        self._target.commit_once("drop index", drop, lambda: None, {"name": name})

    def listIndices(self) -> DataFrame:  # noqa: N802
        """The indices of the newest version, one row for each, as a data frame.

        Its columns are ``name``, ``type``, ``columns``, ``numSegments``, ``numIndexedFragments``,
        ``numIndexedRows`` and ``sizeInBytes`` (null if it is not recorded).
        """
        return indices(self._target.spark, self._target.table.open())

    def optimizeIndices(  # noqa: N802
        self,
        indexNames: Sequence[str] | None = None,  # noqa: N803
        retrain: bool = False,
    ) -> None:
        """Add the rows that indices do not cover to them, or to ``indexNames`` only.

        The driver does the work. ``retrain``: build each index again, from all rows. Raises the
        errors of `DatasetOptimizer.optimize_indices`.
        """

        def extend() -> None:
            optimizer = self._target.table.open().optimize
            optimizer.optimize_indices(index_names=indexNames, retrain=retrain)

        shown = {"names": indexNames, "retrain": retrain}
        self._target.commit_once("optimize indices", extend, lambda: None, shown)

    def optimize(
        self,
        *,
        max_attempts: int = 3,
        progress: FragmentWriteProgress | None = None,
        **options: Unpack[CompactionOptions],
    ) -> CompactionMetrics:
        """Merge small fragments and remove deleted rows; see `compact`."""

        def run() -> CompactionMetrics:
            return compact(
                self._target.spark,
                self._target.table.uri,
                storage_options=self._target.table.options,
                max_attempts=max_attempts,
                progress=progress,
                **options,
            )

        return self._target.commit_once("optimize", run, CompactionMetrics, options)
