"""`RowIdSequence`: the stable row ids of a fragment, for transactions that callers build."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.values.row_metadata import RowIdMeta
from lance_core.errors import InvalidInputError
from lance_core.table.row_ids import row_ids as stored


class RowIdSequence:
    """The stable row ids of the rows of one fragment, in order.

    For `FragmentMetadata.row_id_meta` of a new fragment with rows that the same transaction removes
    elsewhere. The ids belong to the fragment's first rows; a commit assigns new ids to the others.
    Raises `InvalidInputError` for repeated ids and for numbers that are no ids, and ``TypeError``
    for other values.
    """

    def __init__(self, row_ids: range | pa.Array | pa.ChunkedArray | Iterable[int]) -> None:
        if isinstance(row_ids, range) and row_ids.step == 1 and row_ids.start >= 0:
            self._ids = stored.RowIdSequence.from_range(row_ids.start, len(row_ids))
            return
        ids = _as_ids(row_ids)
        ordered = np.sort(ids)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(repeated):
            raise InvalidInputError(f"row ids must be unique, but {repeated[0]} occurs twice")
        self._ids = stored.RowIdSequence.from_ids(ids)

    @staticmethod
    def from_inline_metadata(metadata: bytes) -> RowIdSequence:
        """The ids in a fragment's ``row_id_meta``. Raises `CorruptFileError` for other bytes."""
        sequence = RowIdSequence(())
        sequence._ids = stored.RowIdSequence.from_bytes(metadata)
        return sequence

    def to_inline_metadata(self) -> RowIdMeta:
        """The value for a fragment's ``row_id_meta``."""
        return RowIdMeta(self._ids.to_bytes())

    def to_pyarrow(self) -> pa.UInt64Array:
        """The ids in order."""
        return pa.array(self._ids.slice(0, len(self)), pa.uint64())

    def __len__(self) -> int:
        return self._ids.count

    def __iter__(self) -> Iterator[int]:
        ids: list[int] = self._ids.slice(0, len(self)).tolist()
        return iter(ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowIdSequence):
            return NotImplemented
        return list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return RowIdSequence.from_inline_metadata, (self.to_inline_metadata(),)

    def __repr__(self) -> str:
        return f"RowIdSequence({list(self)})"


def _as_ids(values: Any) -> npt.NDArray[np.uint64]:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        if not (pa.types.is_integer(values.type) or pa.types.is_null(values.type)):
            raise TypeError(f"row ids must be integers, not {values.type}")
        if values.null_count:
            raise InvalidInputError(f"row ids must not be null, but {values.null_count} are")
        values = values.to_pylist()
    try:
        ids = [operator.index(value) for value in values]
    except TypeError:
        raise TypeError(f"row ids must be integers, got {values!r:.80}") from None
    wrong = [id_ for id_ in ids if not 0 <= id_ < 1 << 64]
    if wrong:
        raise InvalidInputError(f"row ids are numbers from 0 to 2**64 - 1, got {wrong[0]}")
    return np.array(ids, np.uint64)
