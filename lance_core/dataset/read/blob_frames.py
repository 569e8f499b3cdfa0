"""Data frames of results with blobs: as files, as bytes, or as descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_core.dataset.blobs.file import BlobFile
from lance_core.dataset.blobs.type import DEFAULT_BLOB_BUFFER_SIZE
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, Output
from lance_core.dataset.read.given_rows.take_blobs import BlobSelection, take_blobs
from lance_core.dataset.read.sources.row_locations import Selector
from lance_core.errors import InvalidInputError
from lance_core.schema import BLOB_KEY, format_path

if TYPE_CHECKING:
    import pandas as pd

    from lance_core.dataset.read.planned_scan import PlannedScan
    from lance_core.dataset.snapshot.snapshot import Snapshot

LAZY, BYTES, DESCRIPTIONS = "lazy", "bytes", "descriptions"


def check_mode(blob_mode: str) -> None:
    """Raise `InvalidInputError` for an unknown ``blob_mode``."""
    if blob_mode not in (LAZY, BYTES, DESCRIPTIONS):
        raise InvalidInputError("blob_mode must be one of: 'lazy', 'bytes', 'descriptions'")


def has_described_blobs(schema: pa.Schema) -> bool:
    """True if a result has descriptions of blobs at top level or in structs."""
    return any(True for field in schema for _ in _blob_paths(field))


def with_files(snapshot: Snapshot, scan: PlannedScan, arguments: dict[str, Any]) -> pd.DataFrame:
    """The result of ``scan`` with a `BlobFile` for each blob, None for null.

    ``arguments`` are those of `pyarrow.Table.to_pandas`.
    """
    names = scan.schema.names
    table = scan.with_addresses().table()
    addresses = table.column(ROW_ADDRESS).combine_chunks()
    files: dict[tuple[str, ...], list[BlobFile | None]] = {}
    for output in scan.plan.projection.outputs:
        for inner in _blob_paths(output.field):
            column = _source(output, inner)
            selection = BlobSelection(Selector.ADDRESSES, addresses)
            blobs = take_blobs(snapshot, column, selection, DEFAULT_BLOB_BUFFER_SIZE)
            files[output.field.name, *inner] = blobs
    whole = [path[0] for path in files if len(path) == 1]
    frame = _frame(table.select([name for name in names if name not in whole]), arguments)
    for number, name in enumerate(names):
        if name in whole:
            frame.insert(number, name, files[name,])
    for path, values in files.items():
        if len(path) > 1:
            pairs = zip(frame[path[0]].tolist(), values, strict=True)
            frame[path[0]] = [_replaced(parent, path[1:], value) for parent, value in pairs]
    return frame


def _frame(table: pa.Table, arguments: dict[str, Any]) -> pd.DataFrame:
    if table.num_columns:
        return table.to_pandas(**arguments)
    import pandas as pd

    return pd.DataFrame(index=range(table.num_rows))


def _blob_paths(field: pa.Field) -> Iterator[tuple[str, ...]]:
    """The path of each description below ``field``; ``()`` if the field is a description."""
    if (field.metadata or {}).get(BLOB_KEY.encode()) is not None and pa.types.is_struct(field.type):
        yield ()
    elif pa.types.is_struct(field.type):
        for member in field.type:
            for inner in _blob_paths(member):
                yield (member.name, *inner)


def _source(output: Output, inner: Sequence[str]) -> str:
    """The path in the table of the description at ``inner`` in a column of the result."""
    if not isinstance(output.source, tuple):
        raise InvalidInputError(
            f"the blobs of the computed column {output.field.name!r} cannot be opened as files"
        )
    return format_path([*output.source, *inner])


def _replaced(parent: Any, names: Sequence[str], value: BlobFile | None) -> Any:
    """The struct ``parent`` with ``value`` for the child at the path ``names``."""
    if parent is None:
        return None
    inner = value if len(names) == 1 else _replaced(parent[names[0]], names[1:], value)
    return {**parent, names[0]: inner}
