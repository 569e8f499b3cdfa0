"""Random fields: types, nesting, nullability and metadata that both libraries store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tests.interop.matrix import METADATA

T = TypeVar("T")

MAX_DEPTH = 4


class _Registered(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
    """A registered extension type that is written in Python."""

    NAME: str
    STORAGE: pa.DataType

    def __init__(self) -> None:
        super().__init__(self.STORAGE, self.NAME)

    def __arrow_ext_serialize__(self) -> bytes:
        return b"any"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> _Registered:
        return cls()

    def __hash__(self) -> int:
        return hash(self.extension_name)


class Celsius(_Registered):
    """Stored as numbers."""

    NAME = "tests.celsius"
    STORAGE = pa.float64()


class Point(_Registered):
    """Stored as structs."""

    NAME = "tests.point"
    STORAGE = pa.struct([("x", pa.float32()), pa.field("label", pa.string(), False)])


class Tags(_Registered):
    """Stored as lists."""

    NAME = "tests.tags"
    STORAGE = pa.list_(pa.string())


for _registered in (Celsius(), Point(), Tags()):
    pa.register_extension_type(_registered)

UNITS = ("s", "ms", "us", "ns")
NUMBERS = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64()),
)
TIMES = (
    *(pa.date32(), pa.date64()),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp(unit) for unit in UNITS),
    *(pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Berlin"), pa.timestamp("ns", "+05:30")),
    *(pa.duration(unit) for unit in UNITS),
)
DECIMALS = (
    *(pa.decimal128(5, 2), pa.decimal128(20, 3), pa.decimal128(38, -2)),
    *(pa.decimal256(50, 0), pa.decimal256(76, 2)),
)
FIXED_BINARY = (pa.binary(1), pa.binary(7), pa.binary(16))
TEXTS = (pa.string(), pa.large_string())
BYTES = (pa.binary(), pa.large_binary())
KEYS = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
)
DICTIONARY_VALUES = (*TEXTS, *TEXTS, *BYTES, pa.int32(), pa.uint64(), pa.float32())
EXTENSIONS = (
    *(pa.uuid(), pa.json_(), pa.bool8(), Celsius(), Tags()),
    *(pa.fixed_shape_tensor(pa.float32(), [2, 3]), pa.opaque(pa.int32(), "kind", "vendor")),
)
UNKNOWN = {"ARROW:extension:name": "tests.unknown", "ARROW:extension:metadata": "any"}
"""An extension type that nobody has registered."""
PACKED = {"lance-encoding:packed": "true"}
_GROUPS: tuple[tuple[float, Sequence[pa.DataType]], ...] = (
    (6, NUMBERS),
    (3, TIMES),
    (1, DECIMALS),
    (1, FIXED_BINARY),
    (5, TEXTS),
    (2, BYTES),
    (2, (pa.bool_(),)),
    (0.4, (pa.null(),)),
)
_WEIGHTS = np.array([weight for weight, _ in _GROUPS])


def pick(chance: np.random.Generator, among: Sequence[T]) -> T:
    """One of ``among``."""
    return among[int(chance.integers(len(among)))]


def draw_schema(chance: np.random.Generator, version: str) -> pa.Schema:
    """One to six columns; most tables have a column ``key``, at any place."""
    names = [pick(chance, (f"c{n}", f"c{n}", f"c{n}", f"Case{n}", f"sp {n}")) for n in range(6)]
    count = int(chance.integers(1, 7))
    fields = [draw_field(chance, name, version) for name in names[:count]]
    if version == "2.2" and chance.random() < 0.03:
        # pylance 14 reads such a column only if its table has no other.
        fields = [_vector_of_structs(chance, version)]
    elif chance.random() < 0.8:
        fields.insert(int(chance.integers(count + 1)), pa.field("key", pa.int64(), False))
    metadata = {"about": "a table", "": "empty"} if chance.random() < 0.2 else None
    return pa.schema(fields, metadata)


def draw_field(
    chance: np.random.Generator, name: str, version: str, depth: int = 0, nullable: bool = True
) -> pa.Field:
    """A field of any type; ``nullable=False`` allows no nulls in it."""
    nullable = nullable and chance.random() > 0.15
    metadata = {"unit": "metres", "": "empty"} if chance.random() < 0.1 else {}
    kind = chance.random()
    if depth < MAX_DEPTH and kind < (0.45 if depth == 0 else 0.35):
        type_ = _draw_nested(chance, version, depth)
        if pa.types.is_struct(type_):
            nullable = nullable and version != "2.0"
            if depth == 0 and _packable(type_) and chance.random() < 0.15:
                type_ = pa.struct([member.with_nullable(False) for member in type_])
                nullable, metadata = False, metadata | PACKED
        if chance.random() < 0.05:
            metadata |= UNKNOWN
    elif kind < 0.6:
        # Structs are never null in files of version 2.0.
        more = () if version == "2.0" else (Point(),)
        type_ = pick(chance, (*EXTENSIONS, *more))
        if chance.random() < 0.2:
            type_, metadata = pick(chance, (pa.int16(), pa.string())), metadata | UNKNOWN
    elif kind < 0.7:
        type_ = pa.dictionary(pick(chance, KEYS), pick(chance, DICTIONARY_VALUES))
    else:
        type_ = draw_leaf(chance)
        if chance.random() < 0.2:
            keys = pick(chance, list(METADATA.values()))
            metadata |= {f"lance-encoding:{key}": value for key, value in keys.items()}
    nullable = nullable or pa.types.is_null(type_)
    return pa.field(name, type_, nullable, metadata or None)


def draw_leaf(chance: np.random.Generator) -> pa.DataType:
    group = chance.choice(len(_GROUPS), p=_WEIGHTS / _WEIGHTS.sum())
    return pick(chance, _GROUPS[group][1])


def _draw_nested(chance: np.random.Generator, version: str, depth: int) -> pa.DataType:
    kind = chance.random()
    if kind < 0.4:
        count = int(chance.integers(1, 4))
        return pa.struct([draw_field(chance, f"m{n}", version, depth + 1) for n in range(count)])
    if kind < 0.6:
        return pa.list_(draw_field(chance, "item", version, depth + 1))
    if kind < 0.7:
        return pa.large_list(draw_field(chance, "item", version, depth + 1))
    if kind < 0.85 or version != "2.2":
        return _draw_vector(chance)
    key = pa.field("key", pick(chance, (pa.string(), pa.int32())), False)
    return pa.map_(key, draw_field(chance, "value", version, depth + 1))


def _draw_vector(chance: np.random.Generator) -> pa.DataType:
    """A list of fixed size of values of fixed width, or of such lists."""
    item = pick(chance, (*NUMBERS, *TIMES, *DECIMALS, *FIXED_BINARY, pa.bool_(), pa.bool_()))
    field = pa.field("item", item, chance.random() > 0.2)
    inner = pa.list_(field, int(chance.integers(1, 9)))
    return pa.list_(inner, int(chance.integers(1, 4))) if chance.random() < 0.15 else inner


def _vector_of_structs(chance: np.random.Generator, version: str) -> pa.Field:
    members = [pa.field(f"m{n}", draw_leaf(chance)) for n in range(int(chance.integers(1, 4)))]
    return pa.field("c0", pa.list_(pa.struct(members), int(chance.integers(1, 5))))


def _packable(type_: pa.StructType) -> bool:
    return all(
        pa.types.is_integer(member.type) or pa.types.is_floating(member.type) for member in type_
    )
