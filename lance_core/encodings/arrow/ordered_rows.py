"""Rows in any order: read the distinct rows in ascending order, then reorder them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowIndices, RowRange, Rows, packed_rows
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Decoding, Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class OrderedRows:
    """Rows in the requested order, with repetitions: row i is ``distinct.numbers[places[i]]``.

    ``distinct`` ascends, and ``indices`` contains each of its rows at least once.
    """

    distinct: RowIndices
    indices: Int64Array

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def first(self) -> int:
        """The lowest row."""
        return self.distinct.first

    @property
    def last(self) -> int:
        """The highest row."""
        return self.distinct.last

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest row."""
        return self.distinct.ends

    @property
    def numbers(self) -> Int64Array:
        """Row numbers in the requested order."""
        return self.distinct.values.take(self.indices)

    def moved(self, by: int) -> OrderedRows:
        """The same rows with ``by`` added to each row number."""
        return OrderedRows(self.distinct.moved(by), self.indices) if by else self

    def taken_from(self, array: pa.Array) -> pa.Array:
        """The requested rows from an array of the distinct rows; raises as `reorder` does."""
        self.check(len(array))
        return take_rows(array, from_numpy(self.indices))

    def check(self, num_rows: int) -> None:
        """Raise `CorruptFileError` unless ``num_rows`` equals the number of distinct rows."""
        if num_rows != len(self.distinct):
            raise CorruptFileError(f"{num_rows} rows were decoded instead of {len(self.distinct)}")


AnyRows = Rows | OrderedRows
"""Rows that a caller may request of a field. Code that joins pages or columns receives `Rows`."""


def halves(rows: AnyRows) -> tuple[AnyRows, AnyRows]:
    """The first and the second half of at least two rows, in their order."""
    middle = len(rows) // 2
    if isinstance(rows, RowRange):
        edge = rows.start + middle
        return RowRange(rows.start, edge), RowRange(edge, rows.stop)
    if isinstance(rows, RowIndices):
        return packed_rows(rows.values[:middle]), packed_rows(rows.values[middle:])
    return _ordered(rows, rows.indices[:middle]), _ordered(rows, rows.indices[middle:])


def _ordered(rows: OrderedRows, indices: Int64Array) -> OrderedRows:
    """The rows of ``rows`` at ``indices`` of its distinct rows."""
    used, numbers = np.unique(indices, return_inverse=True)
    return OrderedRows(RowIndices(rows.distinct.values[used]), numbers)


def reorder(decoding: Decoding[list[pa.Array]], rows: OrderedRows) -> Decoding[list[pa.Array]]:
    """The requested ``rows``, built from a decoder of the distinct rows; raises as `reordered`."""
    return reordered((yield from decoding), rows)


def reordered(arrays: list[pa.Array], rows: OrderedRows) -> list[pa.Array]:
    """The requested ``rows``, from ``arrays`` of the distinct rows.

    Raises `CorruptFileError` if there are more or fewer rows, and `ResultTooLargeError`.
    """
    if len(arrays) == 1:
        return [rows.taken_from(arrays[0])]
    rows.check(sum(map(len, arrays)))
    # Arrow's take on a table reads chunked arrays without concatenating them.
    table = pa.table([pa.chunked_array(arrays)], names=[""])
    chunks: list[pa.Array] = take_rows(table, from_numpy(rows.indices)).column(0).chunks
    return chunks
