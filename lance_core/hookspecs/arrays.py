"""Arrow arrays from buffers and numpy arrays, in the memory that a read may use.

For authors of indices, kernels, file versions and SQL functions.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lance_core.encodings.arrow.coalesced_take import (
    MAX_OFFSET,
    Cuts,
    Places,
    span_ranges,
    span_take,
)
from lance_core.encodings.arrow.fixed_width import alignment, bits_from, has_fixed_width
from lance_core.encodings.arrow.lists import Lists, list_arrays
from lance_core.encodings.arrow.memory_pool import allocate, concat_arrays, empty, memory_pool
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.numpy_values import (
    from_numpy,
    from_values,
    numpy_dtype,
    to_numpy,
    to_scalar,
)
from lance_core.encodings.arrow.ordered_rows import AnyRows, OrderedRows, reorder
from lance_core.encodings.arrow.spans import edges_of, spans_index
from lance_core.encodings.arrow.strings import (
    Spans,
    above_text,
    is_text,
    is_variable,
    offset_dtype,
    variable_arrays,
)
from lance_core.encodings.arrow.structs import struct_arrays
from lance_core.schema.empty_arrays import empty_array, empty_batch

__all__ = [
    "MAX_OFFSET",
    "AnyRows",
    "Cuts",
    "Int64Array",
    "Lists",
    "OrderedRows",
    "Places",
    "Spans",
    "above_text",
    "alignment",
    "all_null",
    "allocate",
    "bits_from",
    "concat_arrays",
    "edges_of",
    "empty",
    "empty_array",
    "empty_batch",
    "from_numpy",
    "from_values",
    "has_fixed_width",
    "is_text",
    "is_variable",
    "list_arrays",
    "memory_pool",
    "numpy_dtype",
    "offset_dtype",
    "reorder",
    "span_ranges",
    "span_take",
    "spans_index",
    "struct_arrays",
    "to_numpy",
    "to_scalar",
    "variable_arrays",
]

Int64Array: TypeAlias = npt.NDArray[np.int64]
"""Numbers of 64 bits: positions, lengths, offsets."""
