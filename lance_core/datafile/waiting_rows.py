"""The rows of a file that wait until they are encoded with those of other fields: here none do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from lance_core.encodings.arrow.memory_pool import low_retention_pool
from lance_core.encodings.page import EncodedPage

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import FieldEncoder

NumberedPage: TypeAlias = tuple[int, EncodedPage]
"""A page, and the number of its field."""


class WaitingRows:
    """Each field is encoded alone, by its encoder."""

    def __init__(self, num_fields: int) -> None:
        self._num_fields = num_fields

    @property
    def numbers(self) -> Sequence[int]:
        """The fields whose rows wait here."""
        return ()

    def num_columns(self, number: int) -> int:
        """The number of columns of a field whose rows wait here."""
        return 1

    def add(self, batch: pa.RecordBatch) -> Mapping[int, Sequence[pa.Array]]:
        """Append a batch of all fields; returns the arrays to encode now, by field."""
        return {number: (array,) for number, array in enumerate(batch.columns)}

    def parts(self) -> Mapping[int, Sequence[pa.Array]]:
        """Remove all rows that wait; returns the arrays of each of the `numbers`."""
        return {}

    def flush(self, encoder_of: Callable[[int], FieldEncoder]) -> Iterable[Sequence[NumberedPage]]:
        """Flush all fields: their pages in order, those that are in memory at once together."""
        for number in range(self._num_fields):
            with low_retention_pool():
                pages = [(number, page) for page in encoder_of(number).flush()]
            if pages:
                yield pages
