"""The compiled library, and whether it is used.

A function of this package asks `is_compiled` and calls `native`, or does the same with numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_core.hookspecs.native_loops import CompiledLoops

__all__ = ["VARIABLE", "is_compiled", "native", "numpy_loops"]

VARIABLE = "LANCE_CORE_VECTOR_LOOPS"
"""Environment variable; "numpy" selects the numpy loops. It is read once per process."""

_LOOPS = CompiledLoops("lance_core_vector", VARIABLE)

if TYPE_CHECKING:
    from lance_core_vector import _native as native
else:
    native = _LOOPS.native

is_compiled, numpy_loops = _LOOPS.is_used, _LOOPS.switched_off
