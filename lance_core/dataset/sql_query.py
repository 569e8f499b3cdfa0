"""SQL queries over one version of a table, which DataFusion runs on our scans."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import pyarrow as pa

from lance_core.concurrency.pools import run_interruptibly
from lance_core.dataset.arrow_class import ArrowInstance
from lance_core.dataset.expressions.datafusion import (
    INSTALL,
    engine,
    engine_errors,
    query_memory,
    session,
)
from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.read.scan_options import options_of
from lance_core.dataset.scanner import LanceScanner
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.errors import UnsupportedFeatureError

DEFAULT_TABLE_NAME = "dataset"


@short_tracebacks
class SqlQueryBuilder:
    """The options of a query, returned by `LanceDataset.sql`. Each method returns the builder."""

    def __init__(self, dataset: DatasetBase, sql: str) -> None:
        self._dataset = dataset
        self._sql = sql
        self._table_name = DEFAULT_TABLE_NAME
        self._options: dict[str, Any] = {}

    def table_name(self, table_name: str) -> SqlQueryBuilder:
        """The name of the table in the query, ``dataset`` by default."""
        self._table_name = table_name
        return self

    def with_row_id(self, with_row_id: bool = True) -> SqlQueryBuilder:
        """The table has the column ``_rowid``."""
        return self._set(with_row_id=with_row_id)

    def with_row_addr(self, with_row_addr: bool = True) -> SqlQueryBuilder:
        """The table has the column ``_rowaddr``."""
        return self._set(with_row_address=with_row_addr)

    def blob_handling(
        self, blob_handling: Literal["all_binary", "blobs_descriptions", "all_descriptions"]
    ) -> SqlQueryBuilder:
        """The form of blob columns; see `LanceDataset.scanner`."""
        return self._set(blob_handling=blob_handling)

    def batch_size(self, batch_size: int) -> SqlQueryBuilder:
        """The maximum number of rows of a batch."""
        return self._set(batch_size=batch_size)

    def batch_size_bytes(self, batch_size_bytes: int) -> SqlQueryBuilder:
        """The approximate maximum number of bytes of a batch that is scanned."""
        return self._set(batch_size_bytes=batch_size_bytes)

    def build(self) -> SqlQuery:
        """The planned query.

        Raises `UnsupportedFeatureError` if DataFusion is not installed, and `InvalidInputError` for
        text that is not a query over the table.
        """
        if engine() is None:
            raise UnsupportedFeatureError(f"SQL queries need DataFusion: {INSTALL}")
        return SqlQuery(self._dataset, self._sql, self._table_name, self._options)

    def _set(self, **options: Any) -> SqlQueryBuilder:
        self._options.update(options)
        return self


class SqlQuery:
    """A planned query; each method call runs it."""

    def __init__(self, dataset: DatasetBase, sql: str, name: str, options: dict[str, Any]) -> None:
        import pyarrow.dataset  # noqa: F401  # `EngineTable` must be an instance of its class

        sizes = {
            "datafusion.execution.batch_size": str(options.get("batch_size", 8192)),
            # Rows keep the order of the table where the query has none.
            "datafusion.optimizer.enable_round_robin_repartition": "false",
        }
        self._table = EngineTable(dataset, options)
        with engine_errors("cannot run the query"):
            self._frame = run_interruptibly(partial(self._planned, sql, name, sizes))

    def _planned(self, sql: str, name: str, sizes: dict[str, str]) -> Any:
        context = session(sizes, query_memory())
        reads_only = (
            engine().SQLOptions().with_allow_ddl(False).with_allow_dml(False)
        ).with_allow_statements(False)
        self._register(context, name)
        return context.sql_with_options(sql, reads_only)

    def _register(self, context: Any, name: str) -> None:
        """Register the table as ``name``, with filters of float columns left to the engine.

        The engine hands filters on as Arrow expressions, where NaN is not above all numbers as it
        is in SQL. So a view wraps these columns in a function that Arrow expressions do not have.
        """
        fields = list(self._table.schema)
        if not any(pa.types.is_floating(field.type) for field in fields):
            context.register_dataset(name, self._table)
            return
        hidden = f"{name} as it is stored"
        context.register_dataset(hidden, self._table)
        columns = [_kept_back(field) for field in fields]
        query = f"SELECT {', '.join(columns)} FROM {_quoted(hidden)}"  # noqa: S608 (quoted)
        view = context.sql(query)
        context.register_view(name, view)

    def to_batch_records(self) -> list[pa.RecordBatch]:
        """The whole result."""
        return list(self._batches())

    def to_stream_reader(self) -> pa.RecordBatchReader:
        """The result as an Arrow stream, computed while it is read."""
        return pa.RecordBatchReader.from_batches(self._frame.schema(), self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with engine_errors("cannot run the query"):
            try:
                # The engine neither sees signals nor survives an interrupt in its calls of Python.
                stream = iter(run_interruptibly(self._frame.execute_stream))
                while True:
                    batch = run_interruptibly(partial(next, stream, None))
                    if batch is None:
                        return
                    yield batch.to_pyarrow()
            except Exception:
                # The engine only keeps the text of an error of the scan.
                if self._table.failure is not None:
                    raise self._table.failure from None
                raise


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _kept_back(field: pa.Field) -> str:
    name = _quoted(field.name)
    return f"nanvl({name}, {name}) AS {name}" if pa.types.is_floating(field.type) else name


class EngineTable(ArrowInstance):
    """What DataFusion needs of a `pyarrow.dataset.Dataset`: one part, which is a whole scan."""

    arrow_name = "Dataset"

    def __init__(self, dataset: DatasetBase, options: dict[str, Any]) -> None:
        self._dataset = dataset
        self._options = options
        self.schema = self.scanner().projected_schema
        self.failure: BaseException | None = None

    def scanner(self, columns: list[str] | None = None, filter: Any = None) -> LanceScanner:
        """A scan of ``columns``, which may be meta columns, with a filter."""
        arguments = {**self._options, "columns": columns, "filter": filter}
        if columns is not None:
            arguments |= {"with_row_id": None, "with_row_address": None}
        return LanceScanner(self._dataset.snapshot, options_of(arguments))

    def get_fragments(self, filter: Any = None) -> list[EnginePart]:
        """The whole table as one part, so that its rows keep their order."""
        return [EnginePart(self)]


class EnginePart(ArrowInstance):
    """What DataFusion needs of a `pyarrow.dataset.Fragment`."""

    arrow_name = "Fragment"

    def __init__(self, table: EngineTable) -> None:
        self._table = table
        self._scanner = table.scanner()

    def scanner(
        self, schema: pa.Schema, columns: list[str], filter: Any, batch_size: int
    ) -> EnginePart:
        """This part, which scans ``columns`` when `to_batches` is called."""
        self._scanner = self._table.scanner(columns, filter)
        return self

    @property
    def projected_schema(self) -> pa.Schema:
        """The schema of the batches."""
        return self._scanner.projected_schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the scan."""
        try:
            yield from self._scanner.to_batches()
        except GeneratorExit:  # the engine stops for a reason of its own, which it then states
            raise
        except BaseException as error:  # also an interrupt in the middle of the scan
            self._table.failure = error
            raise
