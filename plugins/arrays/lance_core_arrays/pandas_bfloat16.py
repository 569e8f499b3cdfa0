"""bfloat16 columns of data frames of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pandas.api.extensions import ExtensionArray, ExtensionDtype, register_extension_dtype, take
from pandas.api.indexers import check_array_indexer

from lance_core_arrays.bfloat16 import BFloat16, BFloat16Array, bfloat16_array


@register_extension_dtype
class PandasBFloat16Type(ExtensionDtype):  # type: ignore[misc]  # pandas is not typed here
    """The dtype ``lance.bfloat16``; a missing value is None."""

    name = "lance.bfloat16"
    type = BFloat16
    kind = "f"
    na_value = None
    _is_numeric = True

    @classmethod
    def construct_array_type(cls) -> type[ExtensionArray]:  # type: ignore[valid-type]
        return PandasBFloat16Array

    def __from_arrow__(self, array: pa.Array | pa.ChunkedArray) -> PandasBFloat16Array:
        return PandasBFloat16Array(array)


class PandasBFloat16Array(ExtensionArray):  # type: ignore[misc]
    """A column of bfloat16 values; ``data`` is the Arrow array."""

    dtype = PandasBFloat16Type()

    def __init__(self, data: pa.Array | pa.ChunkedArray) -> None:
        if isinstance(data, pa.ChunkedArray):
            data = data.combine_chunks()
        if isinstance(data, pa.ChunkedArray):
            data = pa.concat_arrays(data.chunks) if data.num_chunks else bfloat16_array([])
        self.data: Any = data

    @classmethod
    def _from_sequence(
        cls, scalars: Iterable[Any], *, dtype: Any = None, copy: bool = False
    ) -> Self:
        return cls(_array_of(scalars))

    @classmethod
    def _from_factorized(cls, values: Any, original: Any) -> Self:
        return cls._from_sequence(values)

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Self]) -> Self:
        return cls(pa.concat_arrays([each.data for each in to_concat]))

    @classmethod
    def from_numpy(cls, array: npt.NDArray[Any]) -> Self:
        """The values of an array of the dtype ``bfloat16`` of ``ml_dtypes``."""
        return cls(BFloat16Array.from_numpy(array))

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, item: Any) -> Any:
        item = check_array_indexer(self, item)
        if isinstance(item, int | np.integer):
            return self.data[int(item)].as_py()
        if isinstance(item, slice):
            return type(self)(self.data.take(pa.array(np.arange(len(self))[item])))
        rows = np.flatnonzero(item) if np.asarray(item).dtype == bool else np.asarray(item)
        return type(self)(self.data.take(pa.array(np.where(rows < 0, rows + len(self), rows))))

    def __setitem__(self, key: Any, value: Any) -> None:
        values = np.array(self.data.to_pylist(), object)
        key = check_array_indexer(self, key)
        is_list = isinstance(value, Sequence | np.ndarray | ExtensionArray)
        values[key] = np.array(list(value), object) if is_list else value
        self.data = _array_of(values)

    def __eq__(self, other: object) -> Any:
        """Compare value by value; a missing value equals nothing."""
        theirs = other if isinstance(other, Iterable) else [other] * len(self)
        pairs = zip(self, theirs, strict=True)
        return np.array(
            [not _is_missing(a) and not _is_missing(b) and float(a) == float(b) for a, b in pairs],
            bool,
        )

    __hash__ = None  # type: ignore[assignment]  # as all arrays of pandas

    def isna(self) -> npt.NDArray[np.bool_]:
        """True where a value is missing."""
        return np.asarray(self.data.is_null())

    @property
    def nbytes(self) -> int:
        """The bytes of the Arrow array."""
        return int(self.data.nbytes)

    def copy(self) -> Self:
        """The same values, which Arrow never changes."""
        return type(self)(self.data)

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Self:
        """The values at ``indices``; with ``allow_fill``, -1 stands for ``fill_value``."""
        values = np.array(self.data.to_pylist(), object)
        taken = take(values, indices, allow_fill=allow_fill, fill_value=fill_value)
        return type(self)(_array_of(taken))

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> Any:
        """The values as the dtype ``bfloat16`` of ``ml_dtypes``, or as ``dtype``.

        Raises ``ValueError`` if some are missing and ``dtype`` cannot hold that.
        """
        if dtype is None:
            return self.data.to_numpy()
        values = np.array(self.data.to_pylist(), object)
        values[self.isna()] = na_value
        return values.astype(dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.to_numpy(object if dtype is None else dtype)

    def __arrow_array__(self, type: Any = None) -> pa.Array:
        return self.data


def _array_of(scalars: Iterable[Any]) -> pa.Array:
    return bfloat16_array([None if _is_missing(value) else float(value) for value in scalars])


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value)) or repr(value) == "<NA>"
