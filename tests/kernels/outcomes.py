"""What a kernel returns or raises, so that those of numpy and C can be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.encodings.kernels import NUMPY, kernel_table
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core_kernels.compiled import COMPILED_KERNELS

compiled = kernel_table([("kernels", COMPILED_KERNELS)])


def outcome(function: Callable[..., Any], *arguments: Any) -> object:
    """What a function returns, as plain values with their types, or the type of its error."""
    try:
        result = function(*arguments)
    except (CorruptFileError, InvalidInputError) as error:
        return type(error)
    return tuple(map(plain, result)) if isinstance(result, tuple) else plain(result)


def plain(value: object) -> object:
    if isinstance(value, pa.Buffer):
        return value.to_pybytes()
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    return value


def check(name: str, *arguments: Any) -> object:
    expected = outcome(getattr(NUMPY, name), *arguments)
    assert outcome(getattr(compiled, name), *arguments) == expected
    return expected


def array(values: list[int], kind: type[np.generic] = np.int64) -> np.ndarray[Any, Any]:
    return np.array(values, kind)
