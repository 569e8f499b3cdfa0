"""Kernels: the inner loops of decoders and encoders, replaceable by those of plugins."""

from lance_core.encodings.kernels.numpy.loops import NUMPY, NUMPY_KERNELS
from lance_core.encodings.kernels.table import (
    LOOPS,
    OPTIONAL_LOOPS,
    Kernels,
    KernelSpec,
    kernel_table,
)

__all__ = [
    "LOOPS",
    "NUMPY",
    "NUMPY_KERNELS",
    "OPTIONAL_LOOPS",
    "KernelSpec",
    "Kernels",
    "kernel_table",
]
