"""Limits on what computed values take, so that no expression takes all memory.

All limits are for the rows that are evaluated together, some ten thousand as a rule.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import ResultTooLargeError

MAX_ADDED_BYTES = 256 << 20
"""Most bytes by which the result of one function may be longer than its arguments."""

MAX_LIVE_BYTES = 1 << 30
"""Most bytes of all texts and lists that are held at the same time."""

MAX_FOLDED_BYTES = 1 << 12
"""Longer values of constants are not kept in the plan: thousands of them fit into one filter."""


def check_added(what: str, count: int) -> None:
    """Raises `ResultTooLargeError` if ``what`` adds too many bytes."""
    if count > MAX_ADDED_BYTES:
        raise ResultTooLargeError(
            f"{what} makes values longer by {count} bytes; at most {MAX_ADDED_BYTES} are allowed"
            " for the rows that are evaluated together"
        )


def text_bytes(value: pa.Array | pa.ChunkedArray | pa.Scalar) -> int:
    """How many bytes the texts have together."""
    lengths = pc.binary_length(value)
    if isinstance(lengths, pa.Scalar):
        return lengths.as_py() or 0
    return pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0


def is_variable(kind: pa.DataType) -> bool:
    """Whether values of one type may be of any length."""
    return bool(
        pa.types.is_nested(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def scalar_bytes(value: pa.Scalar) -> int:
    """How many bytes one value takes in an array."""
    return int(pa.array([value], value.type).nbytes) if value.is_valid else 0


class LiveBytes:
    """Counts what is held while an expression is evaluated."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._total = 0

    def add(self, key: int, value: pa.Array | pa.ChunkedArray | pa.Scalar) -> None:
        """Counts ``value``. Raises `ResultTooLargeError` if there is too much now."""
        count = scalar_bytes(value) if isinstance(value, pa.Scalar) else value.nbytes
        self._counts[key] = count
        self._total += count
        if self._total > MAX_LIVE_BYTES:
            raise ResultTooLargeError(
                f"the values of an expression take more than {MAX_LIVE_BYTES} bytes"
                " for the rows that are evaluated together"
            )

    def drop(self, key: int) -> None:
        """The value is no longer held."""
        self._total -= self._counts.pop(key, 0)
