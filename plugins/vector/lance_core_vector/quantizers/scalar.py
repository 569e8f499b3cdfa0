"""`ScalarQuantizer`: each number of a vector is one of 256 steps of a range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.searches import Hits
from lance_core_vector.loops.best_rows import Masks
from lance_core_vector.loops.integer_products import integer_products
from lance_core_vector.loops.passes import STEPS, scalar_codes
from lance_core_vector.loops.scalar_scan import (
    MIDDLE,
    around_zero,
    arranged,
    best_by_scalars,
    scalar_scores,
)
from lance_core_vector.partitions.index_files import (
    QUANTIZER_KEY,
    IndexFiles,
    as_object,
    whole,
)
from lance_core_vector.quantizers.base import (
    PART_NUMBERS,
    Codes,
    Distances,
    Quantizer,
    Scorer,
    Vector,
    check_metric,
    fixed_bytes,
    matrix,
    rows_of_codes,
)

if TYPE_CHECKING:
    from lance_core_vector.partitions.partition_cache import Partition

COLUMN = "__sq_code"

_MAX_BOUND = float(np.finfo(np.float32).max)

MAX_RANGE = 1e18
"""The largest difference of bounds: its square is far below the largest 32-bit float."""


def usable_bounds(low: Any, high: Any) -> tuple[float, float] | None:
    """The bounds of codes as floats; None unless they are numbers, ascend, and are not too large.

    They are not if distances of codes could not be computed with 32-bit floats.
    """
    if any(isinstance(bound, bool) or not isinstance(bound, int | float) for bound in (low, high)):
        return None
    try:
        low, high = float(low), float(high)
    except OverflowError:  # an integer
        return None
    is_usable = -_MAX_BOUND <= low <= high <= _MAX_BOUND and high - low <= MAX_RANGE
    return (low, high) if is_usable else None


class ScalarQuantizer(Quantizer):
    """The range of the numbers of all vectors; l2 and cosine compare the codes of queries."""

    def __init__(self, width: int, low: float, high: float, metric: str, path: str) -> None:
        check_metric(metric)
        self.columns = {COLUMN: fixed_bytes(width)}
        self.bytes_per_row = width + 4
        self.low, self.high = low, high
        self.step = (high - low) / STEPS
        self._metric = metric
        self._path = path

    @classmethod
    def of(cls, files: IndexFiles, width: int) -> ScalarQuantizer:
        """The quantizer of stored codes. Raises `CorruptFileError`."""
        stored, path = files.quantizer, files.codes.path
        bounds = as_object(stored.get("bounds"), path, f"{QUANTIZER_KEY}.bounds")
        usable = usable_bounds(bounds.get("start"), bounds.get("end"))
        if usable is None:
            raise CorruptFileError(f"bounds are {bounds!r}", path, field=QUANTIZER_KEY)
        if whole(stored, "dim", path) != width:
            raise CorruptFileError(f"dim is not {width}", path, field=QUANTIZER_KEY)
        return cls(width, *usable, files.metric, path)

    def encode(self, vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8]:
        """The codes of vectors; numbers outside of the range have the nearest code."""
        return scalar_codes(vectors, self.low, self.step)

    def load(self, arrays: Sequence[pa.Array]) -> Codes:
        codes = matrix(arrays[0], self._path)
        return around_zero(codes)[:1] if self._metric == "dot" else arranged(codes)

    def scorer(self, query: Vector) -> Scorer:
        return _DotScorer(self, query) if self._metric == "dot" else _L2Scorer(self, query)


class _DotScorer(Scorer):
    def __init__(self, quantizer: ScalarQuantizer, query: Vector) -> None:
        self._query = query.astype(np.float32)
        self._step = quantizer.step
        self.rows_of_part = PART_NUMBERS // len(query)
        middle = quantizer.low + MIDDLE * quantizer.step
        self._base = 1 - middle * float(query.sum(dtype=np.float64))

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        scores = np.concatenate(
            [integer_products(partition.codes[0], self._query) for partition in partitions]
        )
        scores *= np.float32(-self._step)
        scores += np.float32(self._base)
        return scores


class _L2Scorer(Scorer):
    def __init__(self, quantizer: ScalarQuantizer, query: Vector) -> None:
        self._codes = quantizer.encode(query)
        self.rows_of_part = rows_of_codes(len(query))
        self._scale = quantizer.step**2

    def scores(self, partitions: Sequence[Partition]) -> Distances:
        return np.concatenate(
            [scalar_scores(partition.codes, self._codes, self._scale) for partition in partitions]
        )

    def top(self, partitions: Sequence[Partition], count: int, masks: Masks | None) -> Hits:
        codes = [partition.codes for partition in partitions]
        rows = [partition.rows for partition in partitions]
        best = best_by_scalars(codes, rows, masks, self._codes, self._scale, count)
        return Hits(best.rows, best.scores)
