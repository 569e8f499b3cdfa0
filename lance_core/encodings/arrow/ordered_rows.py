"""Rows in any order: how they are asked for, and how ascending ones are brought in that order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowIndices, Rows
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Decoding, Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class OrderedRows:
    """Rows in the order asked for, as often as asked for: ``places[i]`` of the ``distinct`` ones.

    Each of those is at some place. `numbers` are the rows themselves.
    """

    distinct: RowIndices
    places: Int64Array

    def __len__(self) -> int:
        return len(self.places)

    @property
    def first(self) -> int:
        """The lowest row."""
        return self.distinct.first

    @property
    def last(self) -> int:
        """The highest row."""
        return self.distinct.last

    @property
    def numbers(self) -> Int64Array:
        """Row numbers, in the order asked for."""
        return self.distinct.values.take(self.places)

    def moved(self, by: int) -> OrderedRows:
        """Rows whose numbers are higher by as much."""
        return OrderedRows(self.distinct.moved(by), self.places) if by else self

    def taken_from(self, array: pa.Array) -> pa.Array:
        """These rows, from an array of the distinct ones; raises as `reorder` does."""
        self.check(len(array))
        return take_rows(array, pa.array(self.places))

    def check(self, found: int) -> None:
        """Raise `CorruptFileError` unless as many rows were ``found`` as are distinct."""
        if found != len(self.distinct):
            raise CorruptFileError(f"{found} rows were decoded instead of {len(self.distinct)}")


AnyRows = Rows | OrderedRows
"""Rows that whole fields are asked for; what joins several pages or columns gets `Rows`."""


def reorder(decoding: Decoding[list[pa.Array]], rows: OrderedRows) -> Decoding[list[pa.Array]]:
    """``rows``, from the decoder of those that are distinct.

    Raises `CorruptFileError` if it gives more or fewer, and `ResultTooLargeError`.
    """
    arrays = yield from decoding
    if len(arrays) == 1:
        return [rows.taken_from(arrays[0])]
    rows.check(sum(map(len, arrays)))
    table = pa.table([pa.chunked_array(arrays)], names=[""])  # it takes from arrays not joined
    chunks: list[pa.Array] = take_rows(table, pa.array(rows.places)).column(0).chunks
    return chunks
