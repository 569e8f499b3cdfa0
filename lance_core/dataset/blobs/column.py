"""`BlobColumn`: a binary column in memory, as an iterable of files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

import pyarrow as pa


class BlobColumn:
    """An iterable of one readable binary file for each value of a binary column; None for null."""

    def __init__(self, blob_column: pa.Array | pa.ChunkedArray) -> None:
        if not isinstance(blob_column, pa.Array | pa.ChunkedArray):
            raise ValueError(f"Expected a binary array, got {type(blob_column)}")
        type_ = blob_column.type
        if not (pa.types.is_large_binary(type_) or pa.types.is_binary(type_)):
            raise ValueError(f"Expected a binary array, got {type_}")
        self.blob_column = blob_column

    def __iter__(self) -> Iterator[IO[bytes] | None]:
        for value in self.blob_column:
            yield io.BytesIO(value.as_py()) if value.is_valid else None
