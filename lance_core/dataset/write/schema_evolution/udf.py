"""Functions of users that compute new columns, and the checkpoint file of their results."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from lance_core.dataset.write.input import ReaderLike, to_reader
from lance_core.errors import InvalidInputError, UserFunctionError
from lance_core.schema.path import unquoted

Function = Callable[[pa.RecordBatch], Any]


class BatchUDF:
    """A function that computes new columns from a record batch; see `batch_udf`."""

    def __init__(
        self,
        func: Function,
        output_schema: pa.Schema | None = None,
        checkpoint_file: str | Path | None = None,
    ) -> None:
        self.func = func
        self.output_schema = output_schema
        self.cache = None if checkpoint_file is None else BatchUDFCheckpoint(checkpoint_file)

    def __call__(self, batch: pa.RecordBatch) -> Any:
        """The unchecked result of the function."""
        return self.func(batch)

    def result(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The result for ``batch`` as a record batch of `output_schema`.

        Raises `UserFunctionError` if the function raises an error, or returns anything else than a
        record batch or data frame with this schema and as many rows as ``batch``.
        """
        made = call(self.func, batch)
        if made.schema != self.output_schema:
            raise UserFunctionError(
                "Output schema of function does not match the expected schema. "
                f"Expected:\n{self.output_schema}\nGot:\n{made.schema}"
            )
        if made.num_rows != batch.num_rows:
            raise UserFunctionError(
                f"the function returned {made.num_rows} rows for a batch of {batch.num_rows}"
            )
        return made


def call(func: Function, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The result of ``func`` as a record batch; raises `UserFunctionError`."""
    try:
        made = func(batch)
    except Exception as error:
        raise UserFunctionError(f"the function raised {type(error).__name__}: {error}") from error
    if isinstance(made, pa.RecordBatch):
        return made
    if type(made).__module__.split(".")[0] == "pandas":
        try:
            return pa.RecordBatch.from_pandas(made)
        except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
            raise UserFunctionError(f"the function must return a record batch: {error}") from error
    raise UserFunctionError(
        f"the function must return a RecordBatch or data frame, not {type(made).__name__}"
    )


def batch_udf(
    output_schema: pa.Schema | None = None, checkpoint_file: str | Path | None = None
) -> Callable[[Function], BatchUDF]:
    """A decorator that makes a function usable for `LanceDataset.add_columns`.

    The function gets a record batch of existing columns, and returns a record batch (or pandas data
    frame) with the new columns and as many rows. ``output_schema``: the schema of the results, by
    default that of the result for the first row. ``checkpoint_file``: a file that keeps results: if
    ``add_columns`` fails, another call with the same file computes only the missing ones.
    """

    def wrap(func: Function) -> BatchUDF:
        return BatchUDF(func, output_schema, checkpoint_file)

    return wrap


_CREATE = "CREATE TABLE IF NOT EXISTS"


class BatchUDFCheckpoint:
    """A SQLite file with the results of a `BatchUDF` that are not committed yet.

    It holds the result of each batch of the fragment in progress, and a JSON text for each fragment
    whose file is complete.
    """

    class BatchInfo(NamedTuple):
        """The position of a batch: ``batch_index`` counts the batches of a fragment."""

        fragment_id: int
        batch_index: int

    def __init__(self, path: str | Path) -> None:
        """Open or create the file. Raises `InvalidInputError` if it is no SQLite file."""
        self.path = path
        try:
            self._run(f"{_CREATE} batches (fragment_id INT, batch_index INT, result BLOB)")
            self._run(f"{_CREATE} fragments (fragment_id INT, data BLOB)")
        except sqlite3.DatabaseError as error:
            raise InvalidInputError(f"{path} is not a checkpoint file: {error}") from error

    def cleanup(self) -> None:
        """Remove the file."""
        Path(self.path).unlink()

    def get_batch(self, info: BatchInfo) -> pa.RecordBatch | None:
        """The stored result of a batch, or None."""
        query = "SELECT result FROM batches WHERE fragment_id = ? AND batch_index = ?"
        row = self._run(query, info)
        if row is None:
            return None
        try:
            with pa.ipc.open_stream(row[0]) as stream:
                return stream.read_next_batch()
        except (pa.ArrowException, OSError, StopIteration, TypeError):
            return None  # written by another library: compute it again

    def insert_batch(self, info: BatchInfo, batch: pa.RecordBatch) -> None:
        """Store the result of a batch."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        query = "INSERT INTO batches (fragment_id, batch_index, result) VALUES (?, ?, ?)"
        self._run(query, (*info, sink.getvalue().to_pybytes()))

    def get_fragment(self, fragment_id: int) -> str | None:
        """The JSON text stored for a complete fragment, or None."""
        row = self._run("SELECT data FROM fragments WHERE fragment_id = ?", (fragment_id,))
        return None if row is None else str(row[0])

    def insert_fragment(self, fragment_id: int, fragment: str) -> None:
        """Store the JSON text of a complete fragment in place of its batches."""
        self._run("DELETE FROM fragments WHERE fragment_id = ?", (fragment_id,))
        query = "INSERT INTO fragments (fragment_id, data) VALUES (?, ?)"
        self._run(query, (fragment_id, fragment))
        self._run("DELETE FROM batches WHERE fragment_id = ?", (fragment_id,))

    def _run(self, query: str, values: Iterable[object] = ()) -> Any:
        """The first row of the result; a connection belongs to one thread, so each call has one."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(query, tuple(values)).fetchone()


Transform: TypeAlias = "Mapping[str, str] | BatchUDF | pa.RecordBatchReader"


def as_transform(
    transform: Any, sample: Callable[[], pa.RecordBatch], reader_schema: pa.Schema | None
) -> Transform:
    """The transform that a user passed as SQL expressions, function, or data.

    ``sample`` returns a batch with the first row, for the schema of a function's results. Raises
    ``TypeError`` for other values, and for a function that raises an error.
    """
    if isinstance(transform, BatchUDF):
        if transform.output_schema is None:
            transform.output_schema = call(transform.func, sample()).schema
        return transform
    if isinstance(transform, Mapping):
        for name, text in transform.items():
            if not isinstance(name, str):
                raise TypeError(f"Column names must be a string. Got {type(name)}")
            if not isinstance(text, str):
                raise TypeError(f"Column expressions must be a string. Got {type(text)}")
        named = {unquoted(name): text for name, text in transform.items()}
        if len(named) < len(transform):
            raise InvalidInputError(f"a column is named twice: {', '.join(transform)}")
        return named
    if callable(transform):
        try:
            return BatchUDF(transform, call(transform, sample()).schema)
        except UserFunctionError as error:
            raise TypeError(
                "transforms must be a BatchUDF, dict, map function, or ReaderLike value; "
                f"{type(transform)} is callable, but {error}"
            ) from error
    return as_reader(transform, reader_schema)


def as_reader(data: ReaderLike, schema: pa.Schema | None) -> pa.RecordBatchReader:
    """``data`` as a stream; raises ``TypeError`` for a type without rows."""
    try:
        return to_reader(data, schema)
    except InvalidInputError as error:
        if not isinstance(data, str | bytes | Iterable):
            raise TypeError(
                "transforms must be a BatchUDF, dict, map function, or ReaderLike value. "
                f"Received {type(data)}: {error}"
            ) from error
        raise
