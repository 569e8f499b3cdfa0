"""The table that a verb changes: one version of it, and the columns that expressions need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as st

import lance_core
from lance_core.engines import commit_properties
from lance_core.errors import AlreadyCommittedError, UnsupportedFeatureError
from lance_core.fragment import RowChangeCommit, RowChangeCounts, RowChanges
from lance_core_spark.job_progress import job_description, row_progress
from lance_core_spark.options.read_options import META_COLUMNS
from lance_core_spark.table.change_task import ADDRESS, ChangeTask, run_changes
from lance_core_spark.table.commit_info import NOTHING, CommitInfo
from lance_core_spark.table.expressions import quoted
from lance_core_spark.table_ref import TableRef, TableVersion
from lance_core_spark.types.blobs import with_bytes
from lance_core_spark.types.spark_types import spark_field

Result = TypeVar("Result")

NO_CHANGES = RowChangeCounts(num_inserted_rows=0, num_updated_rows=0, num_deleted_rows=0)

RETRY_TIMEOUT = timedelta(hours=6)
"""Time after which a change is not computed again; the number of retries is the usual limit."""


@dataclass(frozen=True, slots=True)
class Target:
    """A table, the session that changes it, and the alias that expressions name it by.

    ``commit``: what is recorded with changes.
    """

    spark: SparkSession
    table: TableRef
    alias: str | None = None
    commit: CommitInfo = NOTHING

    def load(
        self,
        columns: Sequence[str] | None = None,
        version: int | None = None,
        fragments: Sequence[int] | None = None,
    ) -> DataFrame:
        """A data frame of the table at ``version``, by default the newest.

        With ``columns`` it also has the column `ADDRESS`. ``fragments``: the ids of those to read.
        """
        reader = self.spark.read.format("lance").options(**self.table.source_options)
        if version is not None:
            reader = reader.option("version", version)
        if fragments is not None:
            reader = reader.option("fragments", ",".join(map(str, fragments)))
        if columns is not None:
            if not columns:
                address = st.StructField(ADDRESS, st.LongType(), False)
                reader = reader.schema(st.StructType([address]))
            else:
                reader = reader.option("with_row_address", True)
                named = (quoted(name) for name in columns if name != ADDRESS)
                reader = reader.option("columns", ",".join(named))
        frame = reader.load(self.table.uri)
        return frame if self.alias is None else frame.alias(self.alias)

    def commit_once(
        self,
        verb: str,
        work: Callable[[], Result],
        without: Callable[[], Result],
        parameters: Mapping[str, object],
    ) -> Result:
        """The result of ``work``, whose commits of this thread record what `withCommit` was given.

        ``parameters``: what the history shows besides, without those that are None. If a version
        has the change already, nothing is done, and the result is that of ``without``.
        """
        if self.commit == NOTHING:
            return work()
        if self.commit.is_done(self.table.open()):
            return without()
        texts = {name: str(value) for name, value in parameters.items() if value is not None}
        properties = self.commit.properties(verb, texts, {})
        try:
            with commit_properties(properties, self.commit.is_committed):
                return work()
        except AlreadyCommittedError:
            return without()

    def check_no_commit(self, verb: str) -> None:
        """Raise `UnsupportedFeatureError` for a verb without a version that records something."""
        if self.commit != NOTHING:
            raise UnsupportedFeatureError(
                f"{verb} makes no version that could have a message or an application: call it "
                "without withCommit"
            )

    def change(
        self,
        dataset: lance_core.LanceDataset,
        plan: Callable[[lance_core.LanceDataset], Changes],
        how: RowChangeCommit,
        **parameters: str,
    ) -> RowChangeCounts:
        """Run the changes that ``plan`` computes for a version, and commit them as one version.

        After a conflict with another writer they are computed again. ``parameters`` are recorded
        with the numbers of rows. Returns these, with the keys of `LanceDataset.change_rows`; they
        are 0 if a version has the change already.
        """

        def work(version: lance_core.LanceDataset) -> Iterator[RowChanges]:
            self.commit.check_not_done(version)
            changes = plan(version)
            schema = pa.schema([with_bytes(version.schema.field(n)) for n in changes.columns])
            with row_progress(self.spark, how.verb) as count:
                pinned = TableVersion.of(version)
                task = ChangeTask(self.table, pinned, changes.actions, schema, count)
                try:
                    yield from run_changes(changes.rows, task)
                finally:
                    for frame in changes.cached:
                        frame.unpersist()

        how = replace(
            how,
            properties=lambda counts: self.commit.properties(how.verb, parameters, counts),
            is_committed=self.commit.is_committed,
        )
        try:
            with job_description(self.spark, f"{how.verb} {self.table}"):
                return dataset.change_rows(work, how, retry_timeout=RETRY_TIMEOUT)
        except AlreadyCommittedError:
            return NO_CHANGES


@dataclass(frozen=True, slots=True)
class Changes:
    """The changed rows of a version; see `run_changes` for the columns of ``rows``.

    ``actions``: see `LanceDataset.write_row_changes`. ``columns``: those that ``rows`` have new
    values for. ``cached``: data frames that Spark keeps until the changes are written.
    """

    rows: DataFrame
    actions: tuple[frozenset[str] | None, ...]
    columns: tuple[str, ...] = ()
    cached: tuple[DataFrame, ...] = ()


def column_types(schema: pa.Schema) -> dict[str, st.DataType]:
    """The types that new values of columns have in Spark; blobs are binary."""
    return {field.name: spark_field(with_bytes(field)).dataType for field in schema}


ROW_ID = META_COLUMNS["with_row_id"]


def readable_columns(schema: pa.Schema) -> list[str]:
    """The columns that expressions may name: those of the table, ids and addresses of rows."""
    return list(dict.fromkeys([*schema.names, ROW_ID, ADDRESS]))


def fragment_of(address: Column) -> Column:
    """The id of the fragment of a row."""
    return sf.shiftright(address, 32)
