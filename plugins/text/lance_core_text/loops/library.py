"""The compiled library, and whether it is used.

A function of this package asks `is_compiled` and calls `native`, or does the same with numpy. A
library of other sources, which may remain in a checkout, is not used.
"""

from __future__ import annotations

import os
import pkgutil
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

__all__ = ["VARIABLE", "is_compiled", "native", "numpy_loops"]

VARIABLE = "LANCE_CORE_TEXT_LOOPS"
"""Environment variable; "numpy" selects the numpy loops. It is read once per process."""

_STALE = "they are not those of this lance-core-text; install it again"

try:
    from lance_core_text import _native as native
except ImportError as error:
    native = None  # type: ignore[assignment]  # `is_compiled` is False
    _failure = str(error) if find_spec("lance_core_text._native") else None
    _is_compiled = False
else:
    _signatures = pkgutil.get_data("lance_core_text", "_native.pyi") or b""
    _failure = None if getattr(native, "INTERFACE", None) == zlib.crc32(_signatures) else _STALE
    _is_compiled = _failure is None and os.environ.get(VARIABLE) != "numpy"

if _failure is not None:
    warnings.warn(
        f"the compiled loops are not used, but numpy: {_failure}", RuntimeWarning, stacklevel=2
    )


def is_compiled() -> bool:
    """True if `native` exists and is used."""
    return _is_compiled


@contextmanager
def numpy_loops() -> Iterator[None]:
    """The numpy loops in all threads of the process, for tests."""
    global _is_compiled  # noqa: PLW0603
    before, _is_compiled = _is_compiled, False
    try:
        yield
    finally:
        _is_compiled = before
