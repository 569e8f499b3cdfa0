"""`PrecomputedPartitions`: the partitions of rows as a table of a caller states them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

import lance_core
from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core.hookspecs.arrays import to_numpy

COLUMNS = ("row_id", "partition")


class PrecomputedPartitions:
    """The partitions of the rows of a table with the columns ``row_id`` and ``partition``."""

    def __init__(self, rows: npt.NDArray[np.uint64], partitions: npt.NDArray[np.uint32]) -> None:
        """``rows`` ascend."""
        self._rows = rows
        self._partitions = partitions

    @classmethod
    def of(cls, uri: str, count: int, options: Mapping[str, str] | None) -> Self:
        """The table at ``uri``, of rows in ``count`` partitions.

        Raises `SchemaMismatchError` for other columns, `InvalidInputError` for other partitions,
        and the errors of opening a table.
        """
        dataset = lance_core.dataset(uri, storage_options=None if options is None else {**options})
        if missing := [name for name in COLUMNS if name not in dataset.schema.names]:
            raise SchemaMismatchError(
                f"precomputed_partition_dataset {uri!r} has no column {', '.join(missing)}"
            )
        table = dataset.to_table(columns=list(COLUMNS))
        rows, partitions = (_numbers(table, name, uri) for name in COLUMNS)
        if len(partitions) and int(partitions.max()) >= count:
            raise InvalidInputError(
                f"precomputed_partition_dataset {uri!r} has partition {partitions.max()}, of "
                f"{count} centroids"
            )
        order = np.argsort(rows, kind="stable")
        return cls(rows[order].astype(np.uint64), partitions[order].astype(np.uint32))

    def owners(
        self, rows: npt.NDArray[np.uint64], nearest: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """The partition of each row; for one that the table has not, that of ``nearest``."""
        if not len(self._rows):
            return nearest
        indices = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        return np.where(self._rows[indices] == rows, self._partitions[indices], nearest)


def _numbers(table: Any, name: str, uri: str) -> npt.NDArray[Any]:
    numbers: npt.NDArray[Any] = to_numpy(table[name].combine_chunks())
    if table[name].null_count or numbers.dtype.kind not in "iu":
        raise SchemaMismatchError(
            f"column {name!r} of precomputed_partition_dataset {uri!r} is not of whole numbers"
        )
    return numbers
