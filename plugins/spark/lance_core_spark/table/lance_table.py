"""`LanceTable`: a table for changes and maintenance with Spark, as ``DeltaTable`` is for Delta."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

import lance_core
from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core.plugins import ALLOW_OPTION
from lance_core_spark.options.option_reader import OptionReader
from lance_core_spark.table.aggregate import aggregate
from lance_core_spark.table.commit_info import CommitInfo
from lance_core_spark.table.target import Target
from lance_core_spark.table.verbs.columns import ColumnVerbs
from lance_core_spark.table.verbs.history import HistoryVerbs
from lance_core_spark.table.verbs.maintenance import MaintenanceVerbs
from lance_core_spark.table.verbs.rows import RowVerbs
from lance_core_spark.table_ref import TableRef


class LanceTable(RowVerbs, ColumnVerbs, HistoryVerbs, MaintenanceVerbs):
    """A table and the Spark session that works on it; `forPath` makes one.

    Methods and arguments have the names that users of ``DeltaTable`` know. Conditions and new
    values are SQL of Spark or columns of its DataFrame API.
    """

    def __init__(self, target: Target) -> None:
        self._target = target

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
        return cls(Target(spark, TableRef.of(os.fspath(uri), storage)))

    @classmethod
    def isLanceTable(  # noqa: N802
        cls, spark: SparkSession, uri: str | os.PathLike[str], **options: str | Secret
    ) -> bool:
        """True if there is a table at ``uri``; see `forPath` for ``options``."""
        table = cls.forPath(spark, uri, **options)
        return table._target.table.open_if_exists() is not None  # noqa: SLF001  # made by this class

    def __repr__(self) -> str:
        return f"LanceTable({self._target.table})"

    def alias(self, aliasName: str) -> LanceTable:  # noqa: N803
        """The same table, whose columns expressions may name as ``aliasName.column``."""
        if not isinstance(aliasName, str) or not aliasName:
            raise InvalidInputError(f"an alias must be text, not {aliasName!r}")
        return LanceTable(replace(self._target, alias=aliasName))

    def toDF(self) -> DataFrame:  # noqa: N802
        """A data frame of the version that is the newest now."""
        return self._target.load()

    def withCommit(  # noqa: N802
        self,
        message: str | None = None,
        *,
        txnAppId: str | None = None,  # noqa: N803
        txnVersion: int | None = None,  # noqa: N803
    ) -> LanceTable:
        """The same table, whose changes are committed with a message, or only once.

        ``message``: `history` has it as ``userMetadata``. ``txnAppId`` and ``txnVersion``: a verb
        does nothing if a version has a change of this application with this number or a higher one,
        so that a job can be repeated; see the options of writes. Verbs that make no version, for
        tags, branches and `vacuum`, refuse both. Raises `InvalidInputError` for other types.
        """
        return LanceTable(
            replace(self._target, commit=CommitInfo.of(message, txnAppId, txnVersion))
        )

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
            self._target.spark,
            self._target.table.uri,
            by,
            aggregates,
            filter=filter,
            version=version,
            storage_options=self._target.table.options,
        )

    def cloneShallow(  # noqa: N802
        self, target: str | os.PathLike[str], version: int | None = None
    ) -> LanceTable:
        """Create a table at ``target`` with the content of a version, by default the newest.

        The new table references the files of this one, so keep a tag on the version here while the
        clone needs them. The returned table may read them; other readers of the clone need the
        option ``allow_base_paths``. Raises `DatasetExistsError` if ``target`` has a table.
        """
        dataset = self._target.table.open(version)
        made = dataset.shallow_clone(target, None, self._target.table.options)
        options = {**self._target.table.options, ALLOW_OPTION: _allowed(made)}
        return LanceTable(Target(self._target.spark, TableRef.of(os.fspath(target), options)))


def _allowed(clone: lance_core.LanceDataset) -> str:
    """The value of `ALLOW_OPTION` with which the files of ``clone`` can be read."""
    return str(clone.snapshot.root.config.options[ALLOW_OPTION])
