"""Columns that tables have only from version 2.1 on: null structs and maps, and nested ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tests.interop import columns
from tests.interop.columns import Items, items, lists


def every(count: int, step: int, which: str) -> pa.Array | None:
    """Which slots are null: one in ``step`` if ``which`` says so."""
    return pa.array(np.arange(count) % step == 1) if which == "some nulls" else None


def structs(make: Items, count: int, which: str) -> pa.Array:
    members = [make(count), pa.array(np.arange(count) % 7)]
    return pa.StructArray.from_arrays(members, ["x", "y"], mask=every(count, 3, which))


def structs_of_lists(make: Items, rows: int, which: str) -> pa.Array:
    members = [lists(pa.ListArray, make, rows, which), structs(make, rows, which)]
    return pa.StructArray.from_arrays(members, ["l", "s"], mask=every(rows, 4, which))


def maps(make: Items, rows: int, which: str) -> pa.Array:
    def entries(count: int) -> pa.Array:
        keys = pa.array([f"k{number}" for number in range(count)], pa.string())
        fields = [pa.field("key", pa.string(), False), pa.field("value", make(0).type)]
        return pa.StructArray.from_arrays([keys, make(count)], fields=fields)

    plain = lists(pa.ListArray, entries, rows, which)
    kind = pa.map_(pa.string(), make(0).type)
    return pa.Array.from_buffers(kind, rows, plain.buffers()[:2], -1, 0, [plain.values])


def vectors_of_structs(make: Items, rows: int, which: str) -> pa.Array:
    inner = structs(make, 2 * rows, which)
    return pa.FixedSizeListArray.from_arrays(inner, 2, mask=every(rows, 3, which))


SHAPES: dict[str, Callable[[Items, int, str], pa.Array]] = {
    "null struct": structs,
    "list of null structs": lambda make, rows, which: lists(
        pa.ListArray, lambda count: structs(make, count, which), rows, which
    ),
    "null struct of lists": structs_of_lists,
    "list of null structs of lists": lambda make, rows, which: lists(
        pa.LargeListArray, lambda count: structs_of_lists(make, count, which), rows, which
    ),
}
SHAPES_2_2: dict[str, Callable[[Items, int, str], pa.Array]] = {
    "map": maps,
    "struct of maps": lambda make, rows, which: structs(
        lambda count: maps(make, count, which), rows, which
    ),
}


def table(
    version: str, which: str, rows: int, metadata: dict[str, str], types: frozenset[str] | None
) -> pa.Table:
    """``key``, which counts rows, and one column for each shape and each of ``types`` (or all).

    Every field has the ``metadata``.
    """
    shapes = {**columns.SHAPES, **SHAPES, **(SHAPES_2_2 if version == "2.2" else {})}
    fields, arrays = [pa.field("key", pa.int64())], [pa.array(np.arange(rows))]
    for shape, arrange in shapes.items():
        for name, values in (columns.FIXED if "vector" in shape else columns.VALUES).items():
            if types is not None and name not in types:
                continue
            array = arrange(items(values, which), rows, which)
            fields.append(pa.field(f"{shape}, {name}".replace(".", ""), array.type, True, metadata))
            arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
