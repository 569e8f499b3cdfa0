"""The tables that the benchmarks use; the same seed gives the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

WORDS = np.array(
    [
        *("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet"),
        *("jetty", "knoll", "lagoon", "meadow", "north", "orchard", "prairie", "quarry"),
        *("ridge", "summit", "tundra", "upland", "valley", "willow", "yonder", "zephyr"),
    ]
)


@dataclass(frozen=True, slots=True)
class Workload:
    """A table and its queries. ``selective``: an SQL filter for about one row in 1,000."""

    name: str
    make: Callable[[int], pa.Table]
    rows: int
    selective: str
    columns: tuple[str, ...]
    """Columns that are also scanned one by one."""


def _texts(rng: np.random.Generator, rows: int, words: int) -> pa.Array:
    """Strings of ``words`` random words."""
    picked = [pa.array(WORDS[rng.integers(0, len(WORDS), rows)]) for _ in range(words)]
    joined = picked[0]
    for more in picked[1:]:
        import pyarrow.compute as pc

        joined = pc.binary_join_element_wise(joined, more, " ")
    return joined.cast(pa.string())


def _with_nulls(rng: np.random.Generator, values: pa.Array, share: float) -> pa.Array:
    import pyarrow.compute as pc

    mask = pa.array(rng.random(len(values)) < share)
    return pc.if_else(mask, pa.scalar(None, values.type), values)


def wide(rows: int) -> pa.Table:
    """14 columns of mixed types, a few with nulls."""
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "id": pa.array(np.arange(rows, dtype=np.int64)),
            "i32": pa.array(rng.integers(0, 1_000_000, rows, np.int32)),
            "i16": pa.array(rng.integers(-500, 500, rows).astype(np.int16)),
            "f64": pa.array(rng.random(rows)),
            "f32": pa.array(rng.random(rows, np.float32)),
            "flag": pa.array(rng.random(rows) < 0.3),
            "at": pa.array(rng.integers(0, 2**50, rows), pa.timestamp("us")),
            "day": pa.array(rng.integers(0, 20_000, rows).astype(np.int32), pa.date32()),
            "text": _texts(rng, rows, 6),
            "city": pa.array(WORDS[rng.integers(0, len(WORDS), rows)]).cast(pa.string()),
            "code": pa.array(rng.integers(10**7, 10**8, rows).astype(str)).cast(pa.string()),
            "n_i64": _with_nulls(rng, pa.array(rng.integers(0, 2**40, rows)), 0.1),
            "n_f64": _with_nulls(rng, pa.array(rng.random(rows)), 0.1),
            "n_text": _with_nulls(rng, _texts(rng, rows, 2), 0.1),
        }
    )


def ten(rows: int) -> pa.Table:
    """10 of the columns of `wide`: numbers, times, texts, and some with nulls."""
    names = ("id", "i32", "f64", "f32", "at", "text", "city", "code", "n_i64", "n_text")
    return wide(rows).select(names)


def texts(rows: int) -> pa.Table:
    """An id and texts of different lengths."""
    rng = np.random.default_rng(6)
    columns = {f"text{words}": _texts(rng, rows, words) for words in (4, 12, 20)}
    return pa.table({"id": pa.array(np.arange(rows, dtype=np.int64)), **columns})


def embed(rows: int) -> pa.Table:
    """Vectors of 768 floats, with an id and a text."""
    rng = np.random.default_rng(8)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * 768, np.float32)), 768)
    ids = pa.array(np.arange(rows, dtype=np.int64))
    return pa.table({"id": ids, "vector": vectors, "text": _texts(rng, rows, 6)})


def list_offsets(rng: np.random.Generator, rows: int, most: int) -> npt.NDArray[np.int32]:
    """The offsets of lists of up to ``most`` items."""
    return np.append(0, np.cumsum(rng.integers(0, most + 1, rows))).astype(np.int32)


def nested(rows: int) -> pa.Table:
    """Lists of structs."""
    rng = np.random.default_rng(9)
    offsets = list_offsets(rng, rows, 4)
    items = int(offsets[-1])
    struct = pa.StructArray.from_arrays(
        [pa.array(rng.integers(0, 1000, items)), pa.array(rng.random(items))], ["k", "v"]
    )
    ids = pa.array(np.arange(rows, dtype=np.int64))
    return pa.table({"id": ids, "items": pa.ListArray.from_arrays(pa.array(offsets), struct)})


def compressible(rows: int) -> pa.Table:
    """Sorted and repeated integers, and strings of few distinct values."""
    rng = np.random.default_rng(10)
    names = np.array(
        [f"https://example.org/{first}/{second}" for first in WORDS for second in WORDS]
    )
    return pa.table(
        {
            "id": pa.array(np.arange(rows, dtype=np.int64)),
            "at": pa.array(np.sort(rng.integers(0, 2**40, rows)), pa.timestamp("us")),
            "status": pa.array(rng.integers(0, 5, rows, np.int32)),
            "day": pa.array(np.arange(rows, dtype=np.int32) // 10_000),
            "level": pa.array(WORDS[rng.integers(0, 4, rows)]).cast(pa.string()),
            "page": pa.array(names[rng.integers(0, len(names), rows)]).cast(pa.string()),
            "host": pa.array(np.sort(WORDS[rng.integers(0, len(WORDS), rows)])).cast(pa.string()),
            "price": pa.array(rng.integers(0, 100, rows) / 4),
        }
    )


def blobs(rows: int) -> pa.Table:
    """Values of 100 KB that cannot be compressed."""
    rng = np.random.default_rng(12)
    offsets = pa.array(np.arange(rows + 1, dtype=np.int64) * 100_000)
    data = pa.py_buffer(rng.bytes(rows * 100_000))
    values = pa.Array.from_buffers(pa.large_binary(), rows, [None, offsets.buffers()[1], data])
    return pa.table({"id": pa.array(np.arange(rows, dtype=np.int64)), "data": values})


WORKLOADS = (
    Workload("wide", wide, 2_000_000, "i32 < 1000", ("id", "i32", "f64", "text", "city", "n_text")),
    Workload("ten", ten, 2_000_000, "i32 < 1000", ()),
    Workload("compressible", compressible, 3_000_000, "id % 1000 = 7", ("at", "day", "page")),
    Workload("embed", embed, 50_000, "id % 1000 = 7", ("vector",)),
    Workload("nested", nested, 500_000, "id % 1000 = 7", ("items",)),
    Workload("blobs", blobs, 2_000, "id % 1000 = 7", ("data",)),
)
