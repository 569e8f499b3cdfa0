"""Limits on the memory of computed values, so that no expression exhausts the memory.

All limits apply to the rows that are evaluated together, usually about ten thousand.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import ResultTooLargeError

MAX_ADDED_BYTES = 256 << 20
"""Maximum bytes by which the result of one function may be larger than its arguments."""

MAX_LIVE_BYTES = 1 << 30
"""Maximum bytes of all strings and lists that are in memory at the same time."""

MAX_EVALUATED_BYTES = 8 << 20
"""Maximum bytes of the columns of rows that are evaluated together; more rows are divided.

An evaluation is only interrupted between two calls of kernels. Of the slowest, regular expressions
with many alternatives, one takes up to a second for this many bytes.
"""

MAX_FOLDED_BYTES = 1 << 12
"""Maximum bytes of a computed constant that the plan keeps; a filter may have thousands."""


def check_added(what: str, count: int) -> None:
    """Raise `ResultTooLargeError` if ``what`` adds more than `MAX_ADDED_BYTES`."""
    if count > MAX_ADDED_BYTES:
        raise ResultTooLargeError(
            f"{what} makes values longer by {count} bytes; at most {MAX_ADDED_BYTES} are allowed"
            " for the rows that are evaluated together"
        )


def text_bytes(value: pa.Array | pa.ChunkedArray | pa.Scalar) -> int:
    """The total bytes of all strings in ``value``."""
    lengths = pc.binary_length(value)
    if isinstance(lengths, pa.Scalar):
        return lengths.as_py() or 0
    return pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0


def is_variable(kind: pa.DataType) -> bool:
    """True for types whose values have no fixed size."""
    return bool(
        pa.types.is_nested(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def scalar_bytes(value: pa.Scalar) -> int:
    """The bytes that one value takes in an array."""
    return int(pa.repeat(value, 1).nbytes) if value.is_valid else 0


class LiveBytes:
    """Counts the bytes of intermediate values during the evaluation of an expression."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._total = 0

    def add(self, key: int, value: pa.Array | pa.ChunkedArray | pa.Scalar) -> None:
        """Add ``value``; raise `ResultTooLargeError` above `MAX_LIVE_BYTES`."""
        count = scalar_bytes(value) if isinstance(value, pa.Scalar) else value.nbytes
        self._counts[key] = count
        self._total += count
        if self._total > MAX_LIVE_BYTES:
            raise ResultTooLargeError(
                f"the values of an expression take more than {MAX_LIVE_BYTES} bytes"
                " for the rows that are evaluated together"
            )

    def drop(self, key: int) -> None:
        """Subtract the value with this key, which is no longer in memory."""
        self._total -= self._counts.pop(key, 0)
