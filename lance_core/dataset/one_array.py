"""The chunks of a column as one array."""

from __future__ import annotations

import pyarrow as pa

from lance_core.errors import ResultTooLargeError


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """All values of ``column``; copied only if it has several chunks.

    Raises `ResultTooLargeError` where no array can hold them: 2 GiB of text, for example, or
    dictionaries that have too many items together.
    """
    if column.num_chunks == 1:
        return column.chunk(0)
    try:
        return column.combine_chunks()
    except pa.ArrowInvalid as error:
        raise ResultTooLargeError(f"{len(column)} rows as one array: {error}") from error
