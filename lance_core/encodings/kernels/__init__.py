"""The inner loops of decoders and encoders, and the table by which they are exchanged."""

from lance_core.encodings.kernels.numpy.loops import NUMPY, NUMPY_KERNELS
from lance_core.encodings.kernels.table import LOOPS, Kernels, KernelSpec, kernel_table

__all__ = ["LOOPS", "NUMPY", "NUMPY_KERNELS", "KernelSpec", "Kernels", "kernel_table"]
