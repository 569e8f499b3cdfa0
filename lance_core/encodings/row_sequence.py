"""Rows in any order: how they are asked for, and how ascending ones are brought in that order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.choose_rows import take_rows
from lance_core.encodings.decoding import RowIndices, Rows

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Decoding, Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class RowSequence:
    """Rows in the order asked for, as often as asked for: ``places[i]`` of the ``distinct`` ones.

    Each of those is at some place. `numbers` are the rows themselves.
    """

    distinct: RowIndices
    places: Int64Array

    def __len__(self) -> int:
        return len(self.places)

    @property
    def numbers(self) -> Int64Array:
        """Row numbers, in the order asked for."""
        return self.distinct.values.take(self.places)


AnyRows = Rows | RowSequence
"""Rows that whole fields are asked for; what is below a field gets them ascending, as `Rows`."""


def in_sequence(decoding: Decoding[list[pa.Array]], rows: RowSequence) -> Decoding[list[pa.Array]]:
    """``rows``, from the decoder of those that are distinct."""
    arrays = yield from decoding
    return list(_taken(arrays, pa.array(rows.places)))


def _taken(arrays: Sequence[pa.Array], places: pa.Array) -> Sequence[pa.Array]:
    if len(arrays) == 1:
        return [take_rows(arrays[0], places)]
    table = pa.table([pa.chunked_array(arrays)], names=[""])  # it takes from arrays not joined
    chunks: Sequence[pa.Array] = take_rows(table, places).column(0).chunks
    return chunks
