"""The functions of `lance_core.encodings.kernels`, in C.

What is done in Python is what needs it: making room for results and naming errors. The C code
checks everything again that it relies on. A library that was compiled from other sources, as one
can stay behind in a checkout, is refused.
"""

from lance_core_kernels import _native
from lance_core_kernels.chunks import (
    chunk_headers,
    gather_variable,
    interleave_chunks,
    join_variable,
    locate_rows,
    pick_spans,
    split_variable,
    take_variable,
)
from lance_core_kernels.integers import (
    chunk_widths,
    count_runs,
    encode_runs,
    expand_runs,
    join_streams,
    pack_fastlanes,
    pack_inline,
    pick_inline,
    split_streams,
    unpack_fastlanes,
    unpack_inline,
    unpack_levels,
)
from lance_core_kernels.levels import (
    check_levels,
    count_upto,
    layer_offsets,
    layer_slots,
    nth_levels,
    zipped_places,
)
from lance_core_kernels.strings import fsst_decode, fsst_decode_chunks, fsst_encode, fsst_train

__all__ = [
    "check_levels",
    "chunk_headers",
    "chunk_widths",
    "count_runs",
    "count_upto",
    "encode_runs",
    "expand_runs",
    "fsst_decode",
    "fsst_decode_chunks",
    "fsst_encode",
    "fsst_train",
    "gather_variable",
    "interleave_chunks",
    "join_streams",
    "join_variable",
    "layer_offsets",
    "layer_slots",
    "locate_rows",
    "nth_levels",
    "pack_fastlanes",
    "pack_inline",
    "pick_inline",
    "pick_spans",
    "split_streams",
    "split_variable",
    "take_variable",
    "unpack_fastlanes",
    "unpack_inline",
    "unpack_levels",
    "zipped_places",
]

INTERFACE = 5
"""That of ``module.c``."""

if getattr(_native, "INTERFACE", None) != INTERFACE:
    raise ImportError(
        "the compiled kernels are not those of this lance-core-kernels; install it again"
    )
