"""The kernels of the compiled library.

The Python code only allocates results and converts errors. The C code checks all arguments on which
it relies.
"""

from lance_core.hookspecs import KernelSpec
from lance_core_kernels import chunks, files, integers, json_documents, levels, strings

COMPILED_KERNELS = KernelSpec.of(
    "compiled", chunks, files, integers, json_documents, levels, strings
)
