"""Reading a data file that is only some bytes in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lance_core.datafile import FileReader
from lance_core.encodings.arrow.ordered_rows import AnyRows
from lance_core.encodings.decoding import RowRange
from lance_core.plugins import get_manager
from lance_core.schema import Field
from lance_core.store.memory import MemoryStore, Objects

PATH = "golden.lance"


def opened(raw: bytes) -> FileReader:
    store = MemoryStore(Objects())
    store.put(PATH, raw)
    return FileReader.open(store, PATH, registry=get_manager().encodings)


def leaf_columns(fields: Sequence[Field]) -> dict[int, int]:
    """Field id to column of a 2.1 or 2.2 file, in which only leaves have a column."""
    return {field.id: number for number, field in enumerate(_leaves(fields))}


def _leaves(fields: Sequence[Field]) -> Iterator[Field]:
    for field in fields:
        if field.children and not field.is_packed_struct and not field.is_blob:
            yield from _leaves(field.children)
        else:
            yield field


def column(reader: FileReader, rows: AnyRows | None = None) -> pa.ChunkedArray:
    """Some ``rows`` of the first field, all if it is None."""
    fields = reader.schema.fields
    wanted = RowRange(0, reader.num_rows) if rows is None else rows
    (found,) = reader.read(fields[:1], leaf_columns(fields), wanted)
    return found
