"""Everything that the author of kernels needs.

A plugin describes its loops by a `KernelSpec`. Each has the name, arguments, results and errors of
a method of `Kernels`; `NUMPY` has them all, to compare with. The classes here are arguments, the
functions ``check_…`` raise the errors that the method prescribes for invalid ones.
"""

from lance_core.encodings.decoding import Offsets, ValueMatches
from lance_core.encodings.kernels.numpy.bitpacking import (
    CHUNK,
    WIDTHS,
    check_inline,
    check_packed_levels,
)
from lance_core.encodings.kernels.numpy.buffer_slices import check_slices
from lance_core.encodings.kernels.numpy.byte_streams import check_streams
from lance_core.encodings.kernels.numpy.chunk_edges import MAX_CHUNK_VALUES, check_words
from lance_core.encodings.kernels.numpy.chunk_headers import header_length
from lance_core.encodings.kernels.numpy.chunk_spans import chunk_places
from lance_core.encodings.kernels.numpy.fsst_decode import SymbolTables, check_tables
from lance_core.encodings.kernels.numpy.full_zip_offsets import ZippedForm, check_form
from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
from lance_core.encodings.kernels.numpy.levels import Slots, check_lengths, check_lists
from lance_core.encodings.kernels.numpy.loops import NUMPY
from lance_core.encodings.kernels.numpy.repacked_chunks import PackedSlices, check_packed
from lance_core.encodings.kernels.numpy.runs import MAX_RUN, RunRule, check_rule, check_runs
from lance_core.encodings.kernels.numpy.single_packed import PackedPositions, check_places
from lance_core.encodings.kernels.numpy.variable_chunks import (
    VariableChunks,
    check_strings,
    chunk_sizes,
)
from lance_core.encodings.kernels.table import Kernels, KernelSpec

__all__ = [
    "CHUNK",
    "MAX_CHUNK_VALUES",
    "MAX_RUN",
    "NUMPY",
    "WIDTHS",
    "IntegerIndex",
    "KernelSpec",
    "Kernels",
    "Offsets",
    "PackedPositions",
    "PackedSlices",
    "RunRule",
    "Slots",
    "SymbolTables",
    "ValueMatches",
    "VariableChunks",
    "ZippedForm",
    "check_form",
    "check_inline",
    "check_lengths",
    "check_lists",
    "check_packed",
    "check_packed_levels",
    "check_places",
    "check_rule",
    "check_runs",
    "check_slices",
    "check_streams",
    "check_strings",
    "check_tables",
    "check_words",
    "chunk_places",
    "chunk_sizes",
    "header_length",
]
