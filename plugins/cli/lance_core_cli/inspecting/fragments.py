"""The fragments of a version as arrays of numpy, so that a hundred thousand cost little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core import LanceDataset
from lance_core_cli.inspecting.history import VersionFacts

Int64Array: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FragmentFacts:
    """One item of each array for each fragment, in the order of the table.

    ``rows`` include deleted ones; both are 0 where an old manifest does not record them.
    ``created``: the version that added the fragment; the oldest version that was read stands for
    those before it.
    """

    ids: Int64Array
    rows: Int64Array
    deleted: Int64Array
    files: Int64Array
    bytes: Int64Array
    created: Int64Array

    @classmethod
    def of(cls, table: LanceDataset, versions: Sequence[VersionFacts]) -> FragmentFacts:
        """The fragments of the open version. Raises `CorruptFileError` for impossible counts."""
        counts = table.snapshot.manifest.recorded_fragments.counts
        return cls(
            counts.ids,
            counts.physical_rows,
            counts.deleted_rows,
            counts.data_files,
            counts.data_bytes,
            _created(counts.ids, versions),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def live_rows(self) -> Int64Array:
        """Rows that are not deleted."""
        return self.rows - self.deleted

    def summary(self) -> dict[str, Any]:
        """Counts, and the smallest, the median and the largest fragment."""
        live, size = self.live_rows, self.bytes
        return {
            "count": len(self),
            "with_deleted_rows": int((self.deleted > 0).sum()),
            "data_files": int(self.files.sum()),
            "rows": _spread(live),
            "bytes": _spread(size),
        }


def _spread(values: Int64Array) -> dict[str, int] | None:
    if not len(values):
        return None
    low, middle, high = np.quantile(values, [0, 0.5, 1], method="nearest").tolist()
    return {"min": int(low), "median": int(middle), "max": int(high)}


def _created(ids: Int64Array, versions: Sequence[VersionFacts]) -> Int64Array:
    """The version that added each fragment: ids only grow, and a version records the highest."""
    known = [v for v in versions if v.max_fragment_id is not None]
    if not known:
        return np.zeros(len(ids), np.int64)
    highest = np.maximum.accumulate([v.max_fragment_id or 0 for v in known])
    numbers = np.array([v.version for v in known], np.int64)
    created: Int64Array = numbers[np.minimum(highest.searchsorted(ids), len(numbers) - 1)]
    return created
