"""Convert the data that users pass to a writer into a stream of record batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError, SchemaMismatchError

ReaderLike = Any
"""A table, record batch, reader, data frame, lazy frame of Polars, scanner, dataset, dict of
columns, list of row dicts, an iterable of record batches (with ``schema``), or anything with
``__arrow_c_stream__``."""


_NOTHING = object()


def to_reader(data: ReaderLike, schema: pa.Schema | None = None) -> pa.RecordBatchReader:
    """``data`` as a stream of record batches.

    ``schema`` applies to data without one (a data frame, a dict, row dicts) and to iterables of
    batches, which are cast to it. Raises `InvalidInputError` if the type of ``data`` is unknown,
    if its values do not fit ``schema``, or if there are no rows to infer a schema from.
    """
    try:
        return _reader(data, schema)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise InvalidInputError(f"the rows cannot be converted: {error}") from error


def stays_in_memory(data: ReaderLike) -> bool:
    """True if the reader of ``data`` keeps all rows in memory, whether they were read or not."""
    return isinstance(data, pa.Table | pa.RecordBatch | Mapping) or _is_pandas(data)


def _reader(data: ReaderLike, schema: pa.Schema | None) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if _is_pandas(data):
        return pa.Table.from_pandas(data, schema=schema).to_reader()
    if _is_lazy_frame(data):
        return _from_lazy_frame(data, schema)
    if hasattr(data, "to_reader"):
        return data.to_reader()
    if hasattr(data, "scanner"):
        return data.scanner().to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data, schema)
    if isinstance(data, Mapping):
        return pa.Table.from_pydict(dict(data), schema=schema).to_reader()
    if isinstance(data, Iterable):
        return _from_iterable(data, schema)
    raise InvalidInputError(f"cannot read rows from a {type(data).__name__}")


def _is_pandas(data: object) -> bool:
    """True for a pandas data frame, without importing pandas."""
    data_class = type(data)
    return data_class.__module__.split(".")[0] == "pandas" and data_class.__name__ == "DataFrame"


def _is_lazy_frame(data: object) -> bool:
    """True for a lazy frame of Polars, without importing Polars."""
    data_class = type(data)
    return data_class.__module__.split(".")[0] == "polars" and data_class.__name__ == "LazyFrame"


def _from_lazy_frame(data: Any, schema: pa.Schema | None) -> pa.RecordBatchReader:
    """The rows of a lazy frame, computed batch by batch as they are read."""
    if schema is None:
        empty = data.collect_schema().to_frame()
        schema = pa.RecordBatchReader.from_stream(empty).schema
    parts = (
        batch
        for frame in data.collect_batches()
        for batch in pa.RecordBatchReader.from_stream(frame)
    )
    return pa.RecordBatchReader.from_batches(schema, _batches(parts, schema))


def _from_iterable(data: Iterable[Any], schema: pa.Schema | None) -> pa.RecordBatchReader:
    items = iter(data)
    first = next(items, _NOTHING)
    if first is _NOTHING:
        if schema is None:
            raise InvalidInputError("no rows and no schema: pass schema= to write an empty table")
        return pa.RecordBatchReader.from_batches(schema, [])
    if isinstance(first, Mapping):
        rows = [first, *items]
        if not all(isinstance(row, Mapping) for row in rows):
            raise InvalidInputError("the first row is a dict, but other rows are not")
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
        if table.num_rows < len(rows):
            raise SchemaMismatchError(f"{len(rows)} rows without columns cannot be stored")
        return table.to_reader()
    if isinstance(first, pa.RecordBatch | pa.Table):
        stored_schema = schema or first.schema
        batches = _batches(itertools.chain([first], items), stored_schema)
        return pa.RecordBatchReader.from_batches(stored_schema, batches)
    raise InvalidInputError(f"cannot read rows from an iterable of {type(first).__name__}")


def _batches(items: Iterable[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All batches of the items, cast to ``schema`` where they differ from it."""
    for item in items:
        if not isinstance(item, pa.RecordBatch | pa.Table):
            raise InvalidInputError(f"expected record batches, got {type(item).__name__}")
        fitting = item
        if not item.schema.equals(schema):
            try:
                fitting = item.cast(schema)
            except (pa.ArrowException, ValueError) as error:
                raise SchemaMismatchError(f"a batch does not fit the schema: {error}") from error
        if isinstance(fitting, pa.Table):
            yield from fitting.to_batches()
        else:
            yield fitting
