"""The inner loops in C, and the check that the library belongs to this Python code.

What is done in Python is what needs it: making room for results and naming errors. The C code
checks everything again that it relies on. A library that was compiled from other sources, as one
can stay behind in a checkout, is refused.
"""

import pkgutil
import zlib

from lance_core.hookspecs import KernelSpec
from lance_core_kernels import _native, chunks, integers, levels, strings

SIGNATURES = pkgutil.get_data("lance_core_kernels", "_native.pyi") or b""

if getattr(_native, "INTERFACE", None) != zlib.crc32(SIGNATURES):
    raise ImportError(
        "the compiled kernels are not those of this lance-core-kernels; install it again"
    )

COMPILED_KERNELS = KernelSpec.of("compiled", chunks, integers, levels, strings)
