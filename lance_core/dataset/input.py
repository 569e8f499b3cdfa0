"""What users hand to a writer, turned into one stream of record batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError

ReaderLike = Any
"""A table, record batch, reader, data frame, scanner, dataset, dict of columns, list of row dicts,
an iterable of record batches (with ``schema``), or anything with ``__arrow_c_stream__``."""


def to_reader(data: ReaderLike, schema: pa.Schema | None = None) -> pa.RecordBatchReader:
    """``data`` as a stream.

    Raises `InvalidInputError` if the kind of ``data`` is unknown, or if it is an iterable of
    batches and no schema can be known.
    """
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if _is_pandas(data):
        return pa.Table.from_pandas(data, schema=schema).to_reader()
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
    kind = type(data)
    return kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _from_iterable(data: Iterable[Any], schema: pa.Schema | None) -> pa.RecordBatchReader:
    items = iter(data)
    first = next(items, None)
    if first is None:
        if schema is None:
            raise InvalidInputError("no rows and no schema: pass schema= to write an empty table")
        return pa.RecordBatchReader.from_batches(schema, [])
    if isinstance(first, Mapping):
        rows = [first, *items]
        return pa.Table.from_pylist([dict(row) for row in rows], schema=schema).to_reader()
    if isinstance(first, pa.RecordBatch | pa.Table):
        batches = _batches(itertools.chain([first], items))
        return pa.RecordBatchReader.from_batches(schema or first.schema, batches)
    raise InvalidInputError(f"cannot read rows from an iterable of {type(first).__name__}")


def _batches(items: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[pa.RecordBatch]:
    for item in items:
        if isinstance(item, pa.Table):
            yield from item.to_batches()
        else:
            yield item
