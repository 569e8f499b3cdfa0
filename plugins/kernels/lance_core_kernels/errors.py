"""What C code finds wrong, as errors of this project; and arrays as C code takes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError, InvalidInputError

Bytes = npt.NDArray[np.uint8]
Int64Array = npt.NDArray[np.int64]
LevelArray = npt.NDArray[np.uint16]

CHUNK = 1024
"""Values that are packed together."""

WORDS = (8, 16, 32, 64)
"""Bits of integers that are packed or in runs."""


@contextmanager
def failing(kind: type[CorruptFileError] | type[InvalidInputError]) -> Iterator[None]:
    """A ``ValueError`` of C code is raised as ``kind``."""
    try:
        yield
    except (CorruptFileError, InvalidInputError):
        raise
    except ValueError as error:
        raise kind(str(error)) from None


def octets(data: Bytes) -> Bytes:
    """Contiguous bytes."""
    return np.ascontiguousarray(data)


def aligned(values: Int64Array) -> Int64Array:
    """Contiguous and aligned numbers."""
    return np.require(values, np.int64, ["C", "A"])


def levels_of(levels: LevelArray | None) -> LevelArray:
    """Contiguous and aligned levels; none where they are absent."""
    return _NO_LEVELS if levels is None else np.require(levels, np.uint16, ["C", "A"])


_NO_LEVELS = np.empty(0, np.uint16)
