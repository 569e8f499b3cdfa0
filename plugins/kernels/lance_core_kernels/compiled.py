"""The kernels of the compiled library.

The Python code only allocates results and converts errors. The C code checks all arguments on which
it relies.
"""

from dataclasses import replace
from types import MappingProxyType

from lance_core.hookspecs import KernelSpec
from lance_core_kernels import _native, chunks, files, integers, json_documents, levels, strings

_LOOPS = KernelSpec.of("compiled", chunks, files, integers, json_documents, levels, strings)

# Its arguments and result need no conversion.
COMPILED_KERNELS = replace(
    _LOOPS, loops=MappingProxyType({**_LOOPS.loops, "crc32c": _native.crc32c})
)
