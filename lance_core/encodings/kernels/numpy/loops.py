"""The default kernels, collected from the modules of this package."""

from lance_core.encodings.arrow import coalesced_take
from lance_core.encodings.kernels.numpy import (
    bitpacking,
    buffer_slices,
    byte_streams,
    chunk_edges,
    chunk_headers,
    chunk_rows,
    chunk_spans,
    dictionary_codes,
    fsst_decode,
    fsst_encode,
    fsst_train,
    full_zip_offsets,
    levels,
    repacked_chunks,
    runs,
    single_packed,
    variable_chunks,
)
from lance_core.encodings.kernels.table import KernelSpec, kernel_table

NUMPY_KERNELS = KernelSpec.of(
    "numpy",
    bitpacking,
    buffer_slices,
    byte_streams,
    chunk_edges,
    chunk_headers,
    chunk_rows,
    chunk_spans,
    coalesced_take,
    dictionary_codes,
    fsst_decode,
    fsst_encode,
    fsst_train,
    full_zip_offsets,
    levels,
    repacked_chunks,
    runs,
    single_packed,
    variable_chunks,
    rank=0,
)
"""The default functions under the names of all kernels."""

NUMPY = kernel_table([("builtin", NUMPY_KERNELS)])
"""The kernel table without any plugin."""
