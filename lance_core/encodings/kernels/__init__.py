"""Kernels: the inner loops of decoders and encoders, replaceable by those of plugins."""

from lance_core.encodings.kernels.numpy.loops import NUMPY, NUMPY_KERNELS
from lance_core.encodings.kernels.table import (
    ALL_LOOPS,
    LOOPS,
    Kernels,
    KernelSpec,
    kernel_table,
)

__all__ = [
    "ALL_LOOPS",
    "LOOPS",
    "NUMPY",
    "NUMPY_KERNELS",
    "KernelSpec",
    "Kernels",
    "kernel_table",
]
