"""Files that honestly hold far more than they have bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tests.bombs.build import (
    NULLABLE,
    VALID,
    VARIABLE,
    chunk,
    constant,
    file_of,
    flat,
    general,
    mini_block,
    one_chunk,
    texts,
    u32,
    words,
    zstd,
)

MANY = (1 << 31) - 9
SOME = 1 << 20


def constant_text(size: int, rows: int) -> bytes:
    buffer = u32(2, 8, size, 0, size) + b"x" * size
    return texts(f"constant_layout {{ {VALID} }}", buffer, rows=rows)


def large_dictionary(size: int, rows: int) -> bytes:
    """One text of ``size`` bytes that each row has."""
    count = rows // 1024
    part = chunk("2.2", bytes(4))
    block = u32(32, 16, 0, size) + bytes(size)
    stored = np.array([len(block)], "<u8").tobytes() + pa.Codec("zstd").compress(
        block, asbytes=True
    )
    more = f"dictionary {{ {general('zstd', VARIABLE)} }} num_dictionary_items: 1"
    values = "inline_bitpacking { uncompressed_bits_per_value: 32 }"
    chunks = words("2.2", *[(len(part), 10)] * (count - 1), (len(part), 0))
    layout = mini_block(values, rows, more=more)
    return file_of("dictionary of strings", "2.2", layout, (chunks, part * count, stored), rows)


def nulls(like: str) -> bytes:
    return file_of(like, "2.2", f"constant_layout {{ {NULLABLE} }}", (), MANY)


AMPLIFIED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "2^31 equal integers": ("flat int32", lambda: constant(MANY)),
    "2^31 null integers": ("flat int32", lambda: nulls("flat int32")),
    "2^31 null texts": ("strings", lambda: nulls("strings")),
    "2^31 null vectors": ("vectors", lambda: nulls("vectors")),
    "2^20 equal texts of 60,000 bytes": ("strings", lambda: constant_text(60_000, SOME)),
    "2^20 equal texts of 1,500 bytes": ("strings", lambda: constant_text(1_500, SOME)),
    "2^20 rows of one text of 16 MiB": (
        "dictionary of strings",
        lambda: large_dictionary(16 << 20, SOME),
    ),
    "2^20 rows of one text of 1,000 bytes": (
        "dictionary of strings",
        lambda: large_dictionary(1_000, SOME),
    ),
    "32 MiB behind 8 values": (
        "flat int32",
        lambda: one_chunk(general("zstd", flat(32)), zstd(1 << 25), rows=8),
    ),
}
"""The golden file whose schema each has, and what makes it."""
