"""Convert errors of C code into lance-core errors, and arrays into the form that C code takes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.hookspecs.native_loops import is_built_of
from lance_core_kernels import _native

Bytes = npt.NDArray[np.uint8]
Int64Array = npt.NDArray[np.int64]
LevelArray = npt.NDArray[np.uint16]
Words = npt.NDArray[np.unsignedinteger[Any]]
Codes = npt.NDArray[np.uint32]

T = TypeVar("T", bound=np.generic)


# A library of other sources, which may remain in a checkout, may have none of the names below.
if not is_built_of(_native, "lance_core_kernels"):
    raise ImportError(
        "the compiled kernels are not those of this lance-core-kernels; install it again"
    )

CORRUPT = _native.Failing(CorruptFileError)
INVALID = _native.Failing(InvalidInputError)


def _int64s(values: Int64Array) -> Int64Array:
    return np.require(values, np.int64, ["C", "A"])


if TYPE_CHECKING:

    def contiguous(data: npt.NDArray[T]) -> npt.NDArray[T]:
        """``data`` as a contiguous array."""

    def aligned(values: Int64Array) -> Int64Array:
        """``values`` as a contiguous, aligned array."""

else:
    # A take calls these dozens of times, nearly always with arrays that are usable as they are.
    contiguous = partial(_native.contiguous, np.ascontiguousarray)
    aligned = partial(_native.aligned, _int64s)


def levels_of(levels: LevelArray | None) -> LevelArray:
    """``levels`` as a contiguous, aligned array; empty if they are absent."""
    if levels is None:
        return _NO_LEVELS
    if levels.dtype == _UINT16 and levels.flags.c_contiguous and levels.flags.aligned:
        return levels
    return np.require(levels, np.uint16, ["C", "A"])


_UINT16 = np.dtype(np.uint16)
_NO_LEVELS = np.empty(0, np.uint16)
