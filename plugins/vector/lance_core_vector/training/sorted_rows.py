"""`PartitionedRows`: encoded rows, batch by batch, then partition by partition.

Each batch is sorted by partition; above a budget, batches wait in a temporary file. A partition is
read as one slice of each batch, so that memory does not depend on the number of rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MEMORY = 256 << 20
"""Bytes of batches that wait in memory."""


class PartitionedRows:
    """Rows of ``count`` partitions; ``scratch`` returns a folder for what exceeds the memory."""

    def __init__(self, count: int, scratch: Any) -> None:
        self._count = count
        self._scratch = scratch
        self._batches: list[tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]] = []
        self._bytes = 0
        self.lengths = np.zeros(count, np.int64)

    def add(
        self, partitions: npt.NDArray[Any], rows: npt.NDArray[np.uint64], codes: npt.NDArray[Any]
    ) -> None:
        """Add rows with their partitions and codes; row numbers ascend from call to call."""
        order = np.argsort(partitions, kind="stable")
        sizes = np.bincount(partitions, minlength=self._count)
        self.lengths += sizes
        starts = np.append(0, np.cumsum(sizes))
        kept = rows[order], codes[order]
        self._bytes += kept[0].nbytes + kept[1].nbytes
        if self._bytes > MEMORY:
            kept = (kept[0], self._spilled(kept[1]))
        self._batches.append((starts, *kept))

    def _spilled(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        path = Path(self._scratch()) / f"codes-{len(self._batches)}"
        codes.tofile(path)
        return np.memmap(path, codes.dtype, "r", shape=codes.shape) if codes.size else codes

    def partition(self, number: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]:
        """The row numbers, ascending, and codes of a partition."""
        slices = [slice(int(s[number]), int(s[number + 1])) for s, _, _ in self._batches]
        some = [
            (rows[at], codes[at])
            for at, (_, rows, codes) in zip(slices, self._batches, strict=True)
        ]
        rows = np.concatenate([one[0] for one in some])
        codes = np.concatenate([one[1] for one in some])
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            rows, codes = rows[order], codes[order]
        return rows, codes
