"""`DatasetRows`: the vectors of a dataset as a training reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import to_numpy
from lance_core.hookspecs.indices import IndexBatch


@dataclass(frozen=True, slots=True, eq=False)
class DatasetRows:
    """The rows of ``fragments`` of a dataset, None for all, with their row ids."""

    dataset: Any
    column: str
    fragments: Sequence[Any] | None = None

    @classmethod
    def of_ids(cls, dataset: Any, column: str, ids: Sequence[int] | None) -> DatasetRows:
        """The rows of the fragments with these ids. Raises `InvalidInputError`."""
        if ids is None:
            return cls(dataset, column)
        fragments = [dataset.get_fragment(id_) for id_ in ids]
        if None in fragments:
            raise InvalidInputError(f"Fragment id does not exist: {ids[fragments.index(None)]}")
        return cls(dataset, column, fragments)

    @property
    def type(self) -> pa.DataType:
        """The type of the column in files."""
        data_type = self.dataset.schema.field(self.column).type
        return data_type.storage_type if isinstance(data_type, pa.BaseExtensionType) else data_type

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        if self.fragments is None:
            return int(self.dataset.count_rows())
        return sum(fragment.count_rows() for fragment in self.fragments)

    def batches(self) -> Iterator[IndexBatch]:
        """All rows, in the order of fragments and offsets."""
        scanner = self.dataset.scanner(
            columns=[self.column], with_row_id=True, fragments=self.fragments
        )
        for batch in scanner.to_batches():
            values = batch.column(0)
            if isinstance(values, pa.ExtensionArray):
                values = values.storage
            yield IndexBatch(values, to_numpy(batch.column(1)))
