"""The serialized metadata of the columns of files, and where each column is in all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lance_core.datafile.footer import TABLE_ENTRY
from lance_core.encodings.arrow.spans import edges_of
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array


class RawColumns(Protocol):
    """The serialized metadata of the columns of a file; see `lance_core.datafile.metadata`."""

    @property
    def position(self) -> int:
        """The position in the file of the column metadata, at which the data ends."""

    @property
    def raw_table(self) -> bytes:
        """The column offsets table."""

    @property
    def raw_metadata(self) -> bytes:
        """The serialized ``ColumnMetadata`` messages, from `position` on."""


def column_ranges(files: Sequence[RawColumns]) -> tuple[Int64Array, Int64Array]:
    """The byte ranges of all ``ColumnMetadata`` messages in the joined metadata of ``files``.

    Raises `CorruptFileError` if a column is outside of the metadata of its file.
    """
    raw = b"".join([file.raw_table for file in files])
    table = np.frombuffer(raw, "<u8").astype(np.int64).reshape(-1, 2)
    counts = [len(file.raw_table) // TABLE_ENTRY for file in files]
    sizes = np.array([len(file.raw_metadata) for file in files], np.int64)
    positions = np.array([file.position for file in files], np.int64)
    begins = table[:, 0] - np.repeat(positions, counts)
    rest = np.repeat(sizes, counts) - begins
    if ((begins < 0) | (rest < 0) | (table[:, 1] < 0) | (table[:, 1] > rest)).any():
        raise CorruptFileError("a column is outside of the column metadata")
    begins += np.repeat(edges_of(sizes)[:-1], counts)
    return begins, begins + table[:, 1]
