"""Convert errors of C code into lance-core errors, and arrays into the form that C code takes."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError, InvalidInputError

Bytes = npt.NDArray[np.uint8]
Int64Array = npt.NDArray[np.int64]
LevelArray = npt.NDArray[np.uint16]
Words = npt.NDArray[np.unsignedinteger[Any]]
Codes = npt.NDArray[np.uint32]

T = TypeVar("T", bound=np.generic)


class Failing:
    """A context manager that converts a ``ValueError`` of C code into another error."""

    __slots__ = ("_kind",)

    def __init__(self, kind: type[CorruptFileError] | type[InvalidInputError]) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Raise the converted error."""
        if kind is ValueError:
            raise self._kind(str(error)) from None


CORRUPT = Failing(CorruptFileError)
INVALID = Failing(InvalidInputError)


def contiguous(data: npt.NDArray[T]) -> npt.NDArray[T]:
    """``data`` as a contiguous array."""
    return data if data.flags.c_contiguous else np.ascontiguousarray(data)


def aligned(values: Int64Array) -> Int64Array:
    """``values`` as a contiguous, aligned array."""
    if values.dtype == _INT64 and values.flags.c_contiguous and values.flags.aligned:
        return values
    return np.require(values, np.int64, ["C", "A"])


def levels_of(levels: LevelArray | None) -> LevelArray:
    """``levels`` as a contiguous, aligned array; empty if they are absent."""
    if levels is None:
        return _NO_LEVELS
    if levels.dtype == _UINT16 and levels.flags.c_contiguous and levels.flags.aligned:
        return levels
    return np.require(levels, np.uint16, ["C", "A"])


_INT64, _UINT16 = np.dtype(np.int64), np.dtype(np.uint16)
_NO_LEVELS = np.empty(0, np.uint16)
