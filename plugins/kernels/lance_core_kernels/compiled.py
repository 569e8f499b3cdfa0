"""The compiled library, and the check that it belongs to this Python code.

The Python code only allocates results and converts errors. The C code checks all arguments on which
it relies. A library of other sources, which may remain in a checkout, is rejected.
"""

from lance_core.hookspecs import KernelSpec
from lance_core.hookspecs.native_loops import is_built_of
from lance_core_kernels import _native, chunks, files, integers, json_documents, levels, strings

if not is_built_of(_native, "lance_core_kernels"):
    raise ImportError(
        "the compiled kernels are not those of this lance-core-kernels; install it again"
    )

COMPILED_KERNELS = KernelSpec.of(
    "compiled", chunks, files, integers, json_documents, levels, strings
)
