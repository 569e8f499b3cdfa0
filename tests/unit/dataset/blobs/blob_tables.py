"""Tables with blobs of all kinds, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import lance_core as lance

V1 = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})

INLINE, DEDICATED = 64 << 10, 4 << 20
"""Up to so many bytes blobs are in the data file; above, they have files of their own."""

SIZES = (10, None, 0, 1, INLINE - 1, INLINE, INLINE + 1, DEDICATED, DEDICATED + 1, 70_000, None, 3)


def payloads(sizes: Sequence[int | None] = SIZES) -> list[bytes | None]:
    """Values of these sizes, no two alike."""
    return [
        None if size is None else (b"%03d " % place * (size // 4 + 1))[:size]
        for place, size in enumerate(sizes)
    ]


def v1(values: Sequence[bytes | None]) -> pa.Table:
    """A column of blobs of version 1, which a table of version 2.2 makes those of version 2."""
    return pa.table(
        [pa.array(range(len(values))), pa.array(values, pa.large_binary())],
        schema=pa.schema([pa.field("i", pa.int64()), V1]),
    )


def v2(values: Sequence[Any], **thresholds: int) -> pa.Table:
    """A column of blobs of version 2."""
    return pa.table(
        [pa.array(range(len(values))), lance.blob_array(values)],
        schema=pa.schema([pa.field("i", pa.int64()), lance.blob_field("b", **thresholds)]),
    )


def as_bytes(dataset: lance.LanceDataset, column: str = "b", **options: Any) -> list[Any]:
    """The column with bytes in it."""
    table = dataset.to_table(columns=[column], blob_handling="all_binary", **options)
    values: list[Any] = table[column].to_pylist()
    return values


def described(dataset: lance.LanceDataset) -> list[Any]:
    """The column as descriptions."""
    values: list[Any] = dataset.to_table(columns=["b"])["b"].to_pylist()
    return values
