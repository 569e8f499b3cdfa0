"""`Quantizer` and `Scorer`: what each way to encode vectors implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.hookspecs.searches import Hits, best_of, lowest
from lance_core_vector.loops.best_rows import Masks
from lance_core_vector.loops.library import is_compiled

if TYPE_CHECKING:
    from lance_core_vector.partitions.partition_cache import Partition

Codes: TypeAlias = tuple[npt.NDArray[Any], ...]
"""The codes of a partition as `Quantizer.load` arranges them for comparisons."""

Distances: TypeAlias = npt.NDArray[np.floating]
Vector: TypeAlias = npt.NDArray[Any]


PART_CODES, PART_NUMBERS = 14 << 20, 3 << 20
"""Codes that are compared in a millisecond by compiled loops and by numpy, see
`Scorer.rows_of_part`."""


def rows_of_codes(width: int) -> int:
    """Rows of ``width`` codes each that are compared in a millisecond."""
    return (PART_CODES if is_compiled() else PART_NUMBERS) // width


def check_metric(name: str) -> None:
    """Raise `UnsupportedFeatureError` for a metric by which no codes of floats are compared."""
    if name not in ("l2", "cosine", "dot"):
        raise UnsupportedFeatureError(f"codes of floats for the metric {name!r}")


class Scorer(ABC):
    """One query, prepared for comparisons with codes."""

    error = 0.0
    """The most by which `scores` may differ from `exact`; 0 if they are the same."""
    rows_of_part: int
    """Rows that `top` ranks in about a millisecond, so that another thread pays for as many."""

    @abstractmethod
    def scores(self, partitions: Sequence[Partition]) -> Distances:
        """The distance of each vector of ``partitions``, one after the other; NaN for none."""

    def top(self, partitions: Sequence[Partition], count: int, masks: Masks | None) -> Hits:
        """The ``count`` best rows of ``partitions``, with their distances.

        ``masks``: for each partition, True for the rows that count; None if all do.
        """
        scores = self.scores(partitions)
        if masks is not None:
            scores = np.where(np.concatenate(masks), scores, scores.dtype.type(np.nan))
        near = lowest(scores, count, 2 * self.error)
        rows = np.concatenate([partition.rows for partition in partitions])[near]
        return best_of(rows, self.exact(partitions, near, scores[near]), count, ascending=True)

    def exact(
        self, partitions: Sequence[Partition], positions: npt.NDArray[np.intp], scores: Distances
    ) -> npt.NDArray[np.float32]:
        """The distances of the vectors at ``positions`` whose `scores` are ``scores``."""
        return scores.astype(np.float32, copy=False)


class Quantizer(ABC):
    """How the vectors of an index are encoded. Immutable and thread-safe."""

    columns: Mapping[str, pa.DataType]
    """The columns with the codes, and the type of each."""
    bytes_per_row: int
    """About the bytes in memory of the codes of a vector."""
    refinement: int | None = None
    """How many times as many rows as wanted are ranked again by their vectors, if a query does not
    say; None for none: then nine of ten nearest rows, and more, are among the best by the codes."""

    @property
    def coarse(self) -> Quantizer:
        """The quantizer of fewer `columns`, for ``approx_mode="fast"``; itself if none is."""
        return self

    @abstractmethod
    def load(self, arrays: Sequence[pa.Array]) -> Codes:
        """The codes of a partition from its part of the `columns`."""

    @abstractmethod
    def scorer(self, query: Vector) -> Scorer:
        """``query``, prepared; it has the length one if the metric is cosine."""

    def thorough_scorer(self, query: Vector) -> Scorer:
        """As `scorer`, but it leaves out no row by a part of its code."""
        return self.scorer(query)

    def rows_of(self, arrays: Sequence[pa.Array]) -> npt.NDArray[Any]:
        """The codes of a partition as an `Encoder` returns them, from its part of the `columns`."""
        return matrix(arrays[0], "")

    def without(
        self, arrays: Sequence[pa.Array], order: npt.NDArray[np.intp]
    ) -> Sequence[pa.Array]:
        """The columns of a partition with the rows ``order`` only, in this order."""
        at = from_numpy(order)
        return [array.take(at) for array in arrays]


def check_columns(columns: Mapping[str, pa.DataType], stored: pa.Schema, path: str) -> None:
    """Raise `CorruptFileError` unless a file has ``columns`` of these types."""
    for name, expected in columns.items():
        at = stored.get_field_index(name)
        if at < 0:
            raise CorruptFileError("the column is missing", path, field=name)
        data_type = stored.field(at).type
        if pa.types.is_fixed_size_list(expected):
            same = (
                pa.types.is_fixed_size_list(data_type)
                and data_type.list_size == expected.list_size
                and data_type.value_type == expected.value_type
            )
        elif pa.types.is_list(expected):
            same = pa.types.is_list(data_type) and data_type.value_type == expected.value_type
        else:
            same = data_type == expected
        if not same:
            raise CorruptFileError(
                f"has the type {data_type} instead of {expected}", path, field=name
            )


def matrix(values: pa.Array, path: str) -> npt.NDArray[Any]:
    """The numbers of a fixed-size list array, one list a row, aligned in memory.

    Raises `CorruptFileError` for nulls.
    """
    flat = values.flatten()
    if values.null_count or flat.null_count:
        raise CorruptFileError("a code is null", path)
    values_of_lists: npt.NDArray[Any] = to_numpy(flat)
    # Products with numbers of mapped files that are not aligned would copy them each time.
    return np.require(values_of_lists, requirements="A").reshape(len(values), values.type.list_size)


def numbers(values: pa.Array, path: str) -> npt.NDArray[Any]:
    """The numbers of an array. Raises `CorruptFileError` for nulls."""
    if values.null_count:
        raise CorruptFileError("a factor is null", path)
    values_of_rows: npt.NDArray[Any] = to_numpy(values)
    return values_of_rows


def aligned(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Numbers as loops take them: those of mapped files may begin anywhere."""
    floats: npt.NDArray[np.float32] = np.require(values, np.float32, "A")
    return floats


def places_of(
    lengths: Sequence[int], positions: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The partition of each of ``positions``, which count the rows of all, and its row there."""
    ends = np.cumsum(lengths)
    which = np.searchsorted(ends, positions, side="right")
    return which, positions - np.append(0, ends)[which]


def rows_at(
    arrays: Sequence[npt.NDArray[Any]], which: npt.NDArray[np.intp], at: npt.NDArray[np.intp]
) -> npt.NDArray[Any]:
    """The rows ``at`` of the arrays ``which``, in their order; see `places_of`."""
    rows = np.empty((len(which), *arrays[0].shape[1:]), arrays[0].dtype)
    if len(which) <= 4 * len(arrays):  # a few: faster without a mask for each array
        for index, (number, row) in enumerate(zip(which.tolist(), at.tolist(), strict=True)):
            rows[index] = arrays[number][row]
        return rows
    for number, array in enumerate(arrays):
        mine = np.flatnonzero(which == number)
        rows[mine] = array[at[mine]]
    return rows


def fixed_bytes(width: int) -> pa.DataType:
    """The type of codes of ``width`` bytes."""
    return pa.list_(pa.uint8(), width)
