"""Columns of every type, nullability and shape that a table of version 2.0 holds."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.numpy_values import numpy_dtype

ROWS = 60
NULLS = ("no nulls", "some nulls", "all null", "no rows")

WORDS = pa.array(["a", "bb", "", "dddd", "ä€𝄞"])
DAY = dt.datetime(1969, 7, 20, 20, 17, 40)


def numbers(arrow: pa.DataType) -> pa.Array:
    if pa.types.is_floating(arrow):
        values = np.array([0.5, -0.0, 1.25, np.inf, -np.inf], numpy_dtype(arrow))
        return pa.array(values, arrow)
    limits = np.iinfo(numpy_dtype(arrow))
    return pa.array([limits.min, 0, 1, 7, limits.max], arrow)


def decimals(arrow: pa.DataType) -> pa.Array:
    units = [decimal.Decimal(n) for n in (0, 1, -1, 99999, -123456789)]
    return pa.array([unit.scaleb(-arrow.scale) for unit in units], arrow)


def times(arrow: pa.DataType, step: int = 1) -> pa.Array:
    stored = pa.int32() if arrow.bit_width == 32 else pa.int64()
    return pa.array([0, 1 * step, 7 * step, 80_000 * step, 5 * step], stored).view(arrow)


def keyed(keys: pa.DataType, values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([4, 0, 1, 3, 2], keys), values)


_PRIMITIVE = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64()),
)
_TIMES = (
    *(pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Berlin"), pa.timestamp("s", "+05:30")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
)
_DECIMALS = (pa.decimal128(20, 3), pa.decimal128(38, -2), pa.decimal256(60, 2))

FIXED: dict[str, pa.Array] = {
    "bool": pa.array([True, False, False, True, True]),
    **{str(arrow): numbers(arrow) for arrow in _PRIMITIVE},
    **{str(arrow): times(arrow) for arrow in _TIMES},
    **{str(arrow): decimals(arrow) for arrow in _DECIMALS},
    "date64": times(pa.date64(), 86_400_000),
    "binary of 1": pa.array([b"a", b"\0", b"\xff", b"b", b"c"], pa.binary(1)),
    "binary of 16": pa.array([bytes([n]) * 16 for n in range(5)], pa.binary(16)),
}
VALUES: dict[str, pa.Array] = {
    **FIXED,
    "string": WORDS,
    "large_string": WORDS.cast(pa.large_string()),
    "long strings": pa.array([f"{n} " * 40 * n for n in range(5)]),
    "binary": pa.array([b"", b"\0", b"xyz" * 50, b"\xff\xfe", b"q"]),
    "large_binary": pa.array([b"", b"\0", b"xyz" * 50, b"\xff\xfe", b"q"], pa.large_binary()),
    "dictionary int8": keyed(pa.int8(), WORDS),
    "dictionary uint16": keyed(pa.uint16(), WORDS),
    "dictionary int32": keyed(pa.int32(), WORDS),
    "dictionary int64 of large": keyed(pa.int64(), WORDS.cast(pa.large_string())),
    "null": pa.nulls(5),
}
"""Five values of each type; columns repeat them."""

Items = Callable[[int], pa.Array]


def items(values: pa.Array, which: str) -> Items:
    """Makes as many values as asked for, with nulls among them or not."""

    def make(count: int) -> pa.Array:
        order = np.arange(count) * 3 % 5
        mask = {"some nulls": np.arange(count) % 4 == 1, "all null": np.ones(count, bool)}
        return values.take(pa.array(order, mask=mask.get(which)))

    return make


def lists(kind: type, make: Items, rows: int, which: str) -> pa.Array:
    lengths = np.arange(rows) % 4
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(int)
    width = pa.int64() if kind is pa.LargeListArray else pa.int32()
    mask = pa.array(np.arange(rows) % 5 == 2) if which == "some nulls" else None
    return kind.from_arrays(pa.array(offsets, width), make(int(offsets[-1])), mask=mask)


def structs(make: Items, count: int) -> pa.Array:
    """Version 2.0 has no null structs, but their members may be null."""
    return pa.StructArray.from_arrays([make(count), pa.array(np.arange(count))], ["x", "y"])


def vectors(make: Items, rows: int, which: str) -> pa.Array:
    mask = pa.array(np.arange(rows) % 5 == 2) if which == "some nulls" else None
    return pa.FixedSizeListArray.from_arrays(make(3 * rows), 3, mask=mask)


SHAPES: dict[str, Callable[[Items, int, str], pa.Array]] = {
    "flat": lambda make, rows, which: make(rows),
    "list": lambda make, rows, which: lists(pa.ListArray, make, rows, which),
    "large list": lambda make, rows, which: lists(pa.LargeListArray, make, rows, which),
    "struct": lambda make, rows, which: structs(make, rows),
    "vector": vectors,
    "list of structs": lambda make, rows, which: lists(
        pa.ListArray, lambda count: structs(make, count), rows, which
    ),
    "struct of struct of lists": lambda make, rows, which: pa.StructArray.from_arrays(
        [structs(lambda count: lists(pa.ListArray, make, count, which), rows)], ["inner"]
    ),
    "list of lists of vectors": lambda make, rows, which: lists(
        pa.ListArray,
        lambda count: lists(pa.ListArray, lambda more: vectors(make, more, which), count, which),
        rows,
        which,
    ),
}


def table_of_everything(which: str) -> pa.Table:
    """``key``, which counts rows, and one column for each type and shape."""
    rows = 0 if which == "no rows" else ROWS
    columns = {"key": pa.array(np.arange(rows))}
    for shape, arrange in SHAPES.items():
        for name, values in (FIXED if "vector" in shape else VALUES).items():
            columns[f"{shape}, {name}"] = arrange(items(values, which), rows, which)
    # Names with dots would be paths.
    return pa.table({name.replace(".", ""): array for name, array in columns.items()})


def table_of_most(which: str) -> pa.Table:
    """All columns with some nulls, half of them with nulls only, the others without any."""
    table = table_of_everything(which)
    if which == "some nulls":
        return table
    start = 2 if which == "all null" else 1
    return table.select(["key", *table.column_names[start::2]])


def same(found: pa.Table, expected: pa.Table) -> None:
    """Assert that two tables are equal; dictionaries may be in another order."""
    found.validate(full=True)
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert found.num_rows == expected.num_rows
    different = [
        name
        for name in expected.column_names
        if not found[name].equals(expected[name])
        and plain(found[name].chunks) != plain(expected[name].chunks)
    ]
    assert different == []


def plain(chunks: Iterable[pa.Array]) -> list[object]:
    return [value for chunk in chunks for value in chunk.to_pylist()]
