"""Columns of each type, nesting, kind of nulls, size and way to be encoded, packed into tables.

A table has one column for each type and nesting; which nulls, values and metadata it has goes
around. So each table has all pairs of these, and the tables of all ``turn``\\ s have everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tests.golden.columns import mixed
from tests.interop.columns import FIXED, VALUES

VERSIONS = ("2.1", "2.2")
NULLS = ("none", "some", "all", "parents", "both")
METADATA: dict[str, dict[str, str]] = {
    "default": {},
    "none": {"compression": "none"},
    "zstd": {"compression": "zstd"},
    "lz4": {"compression": "lz4", "compression-level": "2"},
    "fsst": {"compression": "fsst"},
    "split": {"bss": "on", "compression": "lz4"},
    "runs": {"rle-threshold": "1.0"},
    "dictionary": {"dict-divisor": "1", "dict-size-ratio": "1.0"},
    "zipped": {"structural-encoding": "fullzip"},
    "zipped zstd": {"structural-encoding": "fullzip", "compression": "zstd"},
    "chunks": {"structural-encoding": "miniblock"},
}
TURNS = len(NULLS) * len(METADATA)
"""So many tables have each type and nesting with all nulls and metadata."""


class Column(NamedTuple):
    """What a column is: ``type`` and ``shape`` name it, ``nulls`` and ``keys`` go around."""

    type: str
    shape: str
    nulls: str
    keys: str

    @property
    def name(self) -> str:
        return ", ".join(self).replace(".", "")


def items(name: str, count: int, nulls: str) -> pa.Array:
    """Values of a type, with nulls in between if ``nulls`` says so; few distinct or many."""
    mask = None
    if nulls in ("some", "both"):
        mask = np.arange(count) % 4 == 1
    elif nulls == "all":
        mask = np.ones(count, bool)
    if name in MANY and count % 2:
        array = MANY[name](count)
        return array if mask is None else array.take(pa.array(np.arange(count), mask=mask))
    return VALUES[name].take(pa.array(np.arange(count) * 3 % 5, mask=mask))


MANY: dict[str, Callable[[int], pa.Array]] = {
    "int16": lambda count: pa.array(mixed(count, 9).astype(np.int16)),
    "int64": lambda count: pa.array(mixed(count, 40).astype(np.int64)),
    "uint32": lambda count: pa.array(np.repeat(mixed(count, 20), 7)[:count].astype(np.uint32)),
    "double": lambda count: pa.array(np.arange(count) / 7),
    "string": lambda count: pa.array([f"word {n}" for n in mixed(count, 20).tolist()]),
    "large_binary": lambda count: pa.array(
        [b"%d" % n for n in mixed(count, 30).tolist()], pa.large_binary()
    ),
}
"""Types of which there are columns with many distinct values, too."""


def _parents(rows: int, nulls: str, step: int) -> pa.Array | None:
    has_nulls = nulls in ("parents", "both")
    return pa.array(np.arange(rows) % step == 1) if has_nulls else None


def _lists(kind: type, name: str, rows: int, nulls: str, inner: Shape) -> pa.Array:
    lengths = np.arange(rows) % 4
    if nulls == "none":  # neither null nor empty
        lengths = lengths + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    width = pa.int64() if kind is pa.LargeListArray else pa.int32()
    content = inner(name, int(offsets[-1]), nulls)
    return kind.from_arrays(pa.array(offsets, width), content, mask=_parents(rows, nulls, 5))


def _structs(name: str, rows: int, nulls: str, inner: Shape) -> pa.Array:
    members = [inner(name, rows, nulls), pa.array(np.arange(rows) % 7)]
    return pa.StructArray.from_arrays(members, ["x", "y"], mask=_parents(rows, nulls, 3))


def _vectors(name: str, rows: int, nulls: str, inner: Shape) -> pa.Array:
    content = inner(name, 3 * rows, nulls)
    return pa.FixedSizeListArray.from_arrays(content, 3, mask=_parents(rows, nulls, 4))


def _maps(name: str, rows: int, nulls: str) -> pa.Array:
    def entries(_: str, count: int, nulls: str) -> pa.Array:
        keys = pa.array([f"k{number}" for number in range(count)], pa.string())
        content = items(name, count, nulls)
        fields = [pa.field("key", pa.string(), False), pa.field("value", content.type)]
        return pa.StructArray.from_arrays([keys, content], fields=fields)

    plain = _lists(pa.ListArray, name, rows, nulls, entries)
    kind = pa.map_(pa.string(), plain.type.value_type.field("value").type)
    return pa.Array.from_buffers(kind, rows, plain.buffers()[:2], -1, 0, [plain.values])


Shape = Callable[[str, int, str], pa.Array]


def list_of(inner: Shape, kind: type = pa.ListArray) -> Shape:
    return lambda name, rows, nulls: _lists(kind, name, rows, nulls, inner)


def struct_of(inner: Shape) -> Shape:
    return lambda name, rows, nulls: _structs(name, rows, nulls, inner)


def vector_of(inner: Shape) -> Shape:
    return lambda name, rows, nulls: _vectors(name, rows, nulls, inner)


SHAPES: dict[str, Shape] = {
    "plain": items,
    "list": list_of(items),
    "large list": list_of(items, pa.LargeListArray),
    "struct": struct_of(items),
    "list of structs": list_of(struct_of(items)),
    "struct of lists": struct_of(list_of(items)),
    "list of lists": list_of(list_of(items, pa.LargeListArray)),
    "struct of structs of lists": struct_of(struct_of(list_of(items))),
    "list of structs of lists": list_of(struct_of(list_of(items))),
    "vector": vector_of(items),
    "vector of vectors": vector_of(vector_of(items)),
    "list of vectors": list_of(vector_of(items)),
    "struct of vectors": struct_of(vector_of(items)),
    "map": _maps,
    "list of maps": list_of(_maps),
    "struct of maps": struct_of(_maps),
}
ONLY_2_2 = frozenset({"map", "list of maps", "struct of maps"})
VECTOR_OF_STRUCTS = vector_of(struct_of(items))
"""For tables of their own: pylance 14 reads such a column only if its table has no other."""


def refused_by_pylance(column: Column) -> bool:
    """Whether pylance 14 cannot write the column.

    It panics on lists of fixed size of nothing but nulls that are to be put into chunks, and zips
    no booleans whose lists are not whole bytes, or whose items may be null.
    """
    if "vector" not in column.shape:
        return False
    nothing = column.nulls == "all" and column.keys == "chunks"
    return nothing or (column.type == "bool" and "zipped" in column.keys)


def columns(version: str, turn: int, part: int = 1) -> list[Column]:
    """The columns of one table; every ``part``-th of all types and shapes."""
    found = []
    for shape_number, shape in enumerate(SHAPES):
        if version == "2.1" and shape in ONLY_2_2:
            continue
        types = FIXED if "vector" in shape else VALUES
        for number, name in enumerate(types):
            if (number + shape_number + turn) % part:
                continue
            # 5 kinds of nulls and 11 of metadata: going around both at once meets all pairs.
            place = number + 3 * shape_number + turn
            nulls, keys = NULLS[place % len(NULLS)], list(METADATA)[place % len(METADATA)]
            found.append(Column(name, shape, nulls, keys))
    return found


def table(chosen: list[Column], rows: int) -> pa.Table:
    """``key``, which counts rows, and the ``chosen`` columns."""
    fields, arrays = [pa.field("key", pa.int64())], [pa.array(np.arange(rows))]
    for column in chosen:
        array = SHAPES[column.shape](column.type, rows, column.nulls)
        keys = {f"lance-encoding:{key}": value for key, value in METADATA[column.keys].items()}
        fields.append(pa.field(column.name, array.type, metadata=keys or None))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
