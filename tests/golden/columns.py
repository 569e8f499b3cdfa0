"""What the golden files hold: a small column for each page layout and each compression.

The values come from arithmetic alone, so that they are the same everywhere and for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.schema import DESCRIPTION_V2

BOTH = ("2.1", "2.2")
NEW = ("2.2",)


@dataclass(frozen=True)
class Case:
    """A column ``c``; ``metadata`` without the prefix of its keys.

    ``pages``: into how many pages of about as many rows it is written.
    """

    values: Callable[[], pa.Array]
    metadata: dict[str, str] = field(default_factory=dict)
    versions: tuple[str, ...] = BOTH
    pages: int = 1
    payloads: Callable[[], list[bytes | None]] | None = None
    """Of blobs of version 2, whose descriptions are the values."""

    def table(self) -> pa.Table:
        array = self.values()
        keys = {f"lance-encoding:{key}": value for key, value in self.metadata.items()}
        return pa.Table.from_arrays(
            [array], schema=pa.schema([pa.field("c", array.type, metadata=keys or None)])
        )


def mixed(count: int, bits: int = 64) -> np.ndarray:
    """Integers of ``bits`` bits without a pattern that a compression could find."""
    state = (np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(
        7
    )
    state ^= state >> np.uint64(29)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(32)
    return state >> np.uint64(64 - bits)


def ints(count: int, bits: int, kind: str, nulls: int = 0) -> pa.Array:
    """Integers of ``bits`` bits as Arrow type ``kind``; every ``nulls``-th one is null."""
    return masked(pa.array(mixed(count, bits).astype(kind)), nulls)


def masked(array: pa.Array, nulls: int) -> pa.Array:
    """``array`` with each ``nulls``-th value null, none if it is 0."""
    if not nulls:
        return array
    order = np.arange(len(array))
    return array.take(pa.array(order, mask=order % nulls == nulls - 1))


def runs(count: int, kind: str) -> pa.Array:
    """Runs of 1 to 300 equal values."""
    lengths = mixed(count, 9).astype(np.int64) % 300 + 1
    return pa.array(np.repeat(mixed(count, 15).astype(kind), lengths)[:count])


def steps(count: int, kind: str) -> pa.Array:
    return pa.array((np.arange(count) * 0.37 + 1000).astype(kind))


def texts(count: int, pattern: str, type_: pa.DataType | None = None, nulls: int = 0) -> pa.Array:
    numbers = mixed(count, 24).tolist()
    values = [pattern.format(i=i, n=n) for i, n in enumerate(numbers)]
    if type_ is not None and (pa.types.is_binary(type_) or pa.types.is_large_binary(type_)):
        return masked(pa.array([value.encode() for value in values], type_), nulls)
    return masked(pa.array(values, type_ or pa.string()), nulls)


def long_texts(count: int, nulls: int = 0) -> pa.Array:
    """Values of 260 to 360 bytes, of which each is compressible."""
    values = [f"{i} " + "some words that come again " * 10 + "x" * (i % 99) for i in range(count)]
    return masked(pa.array(values), nulls)


def few(count: int, type_: pa.DataType | None = None, nulls: int = 0) -> pa.Array:
    """A handful of distinct strings."""
    values = [f"one of a few words {n}" for n in (mixed(count, 16) % 7).tolist()]
    return masked(pa.array(values, type_ or pa.string()), nulls)


def keyed(count: int, index: pa.DataType, nulls: int = 0) -> pa.Array:
    keys = masked(pa.array((mixed(count, 16) % 5).astype(np.int64)), nulls).cast(index)
    return pa.DictionaryArray.from_arrays(keys, pa.array(["a", "bee", "", "dee", "e"]))


def lists(
    items: Callable[[int], pa.Array], rows: int, kinds: str = "full empty null", large: bool = False
) -> pa.Array:
    """Lists of 0 to 4 items, of which some are empty or null as ``kinds`` says."""
    lengths = mixed(rows, 8).astype(np.int64) % 4 + 1
    order = np.arange(rows)
    if "empty" in kinds:
        lengths[order % 5 == 3] = 0
    nulls = order % 7 == 4
    if "null" in kinds:
        lengths[nulls] = 0
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    kind = pa.LargeListArray if large else pa.ListArray
    width = pa.int64() if large else pa.int32()
    mask = pa.array(nulls) if "null" in kinds else None
    return kind.from_arrays(pa.array(offsets, width), items(int(offsets[-1])), mask=mask)


def vectors(items: pa.Array, size: int, nulls: int = 0) -> pa.Array:
    rows = len(items) // size
    mask = pa.array(np.arange(rows) % nulls == nulls - 1) if nulls else None
    return pa.FixedSizeListArray.from_arrays(items, size, mask=mask)


def structs(nulls: int = 0, **members: pa.Array) -> pa.Array:
    rows = len(next(iter(members.values())))
    mask = pa.array(np.arange(rows) % nulls == nulls - 1) if nulls else None
    return pa.StructArray.from_arrays(list(members.values()), list(members), mask=mask)


def maps(rows: int) -> pa.Array:
    def entries(count: int) -> pa.Array:
        fields = [pa.field("key", pa.string(), False), pa.field("value", pa.int32())]
        members = [texts(count, "key {i}"), ints(count, 9, "i4", 3)]
        return pa.StructArray.from_arrays(members, fields=fields)

    plain = lists(entries, rows)
    kind = pa.map_(pa.string(), pa.int32())
    return pa.Array.from_buffers(kind, rows, plain.buffers()[:2], -1, 0, [plain.values])


def blobs(values: Sequence[Any]) -> pa.Array:
    return pa.array(values, pa.large_binary())


def payloads(count: int) -> list[bytes | None]:
    return [None if i % 4 == 1 else b"blob" * (i % 5 * i + min(i, 1)) for i in range(count)]


def descriptions(given: Sequence[bytes | None]) -> pa.Array:
    """Of inline blobs, which begin at multiples of 64 from 0 on."""
    rows, position = [], 0
    for payload in given:
        size = len(payload or b"")
        rows.append((0, position, size, 0, ""))
        position += -(-size // 64) * 64
    missing = pa.array([payload is None for payload in given])
    members = [
        pa.array(part, member.type)
        for part, member in zip(zip(*rows, strict=True), DESCRIPTION_V2, strict=True)
    ]
    return pa.StructArray.from_arrays(members, fields=list(DESCRIPTION_V2), mask=missing)


ZIPPED = {"structural-encoding": "fullzip"}
PLAIN = {"compression": "none"}
BIG = pa.decimal256(60, 2)


def of_items(bits: int, kind: str, nulls: int = 0) -> Callable[[int], pa.Array]:
    return lambda count: ints(count, bits, kind, nulls)


FLAT: dict[str, Case] = {
    "flat int32": Case(lambda: ints(300, 32, "i4", 5), PLAIN),
    "flat int64 in chunks": Case(lambda: ints(600, 40, "i8"), PLAIN),
    "flat int16 in pages": Case(lambda: ints(90, 16, "i2", 4), PLAIN, pages=4),
    "flat bool": Case(lambda: pa.array(mixed(500) % 3 == 0, mask=np.arange(500) % 6 == 2)),
    "flat decimal256": Case(lambda: ints(40, 50, "i8").cast(BIG), PLAIN),
    "flat binary of 5": Case(lambda: texts(50, "{i:05}", pa.binary()).cast(pa.binary(5)), PLAIN),
    "byte streams lz4": Case(lambda: steps(1100, "f4"), {"bss": "on", "compression": "lz4"}),
    "byte streams zstd": Case(lambda: steps(600, "f8"), {"bss": "on", "compression": "zstd"}),
}
PACKED: dict[str, Case] = {
    **{
        f"packed uint{bits}": Case(
            lambda bits=bits: ints(2400 // bits + 900, bits // 4, f"u{bits // 8}", 9)
        )
        for bits in (8, 16, 32, 64)
    },
    **{
        f"runs of int{bits}": Case(
            lambda bits=bits: runs(1500, f"i{bits // 8}"),
            {"rle-threshold": "1.0", "dict-divisor": "100000"},
        )
        for bits in (8, 16, 32, 64)
    },
}
VARIABLE: dict[str, Case] = {
    "strings": Case(lambda: texts(260, "text {n}", nulls=6), PLAIN),
    "large strings": Case(lambda: texts(60, "text {n}", pa.large_string()), PLAIN),
    "binaries": Case(lambda: texts(60, "text {n}", pa.binary(), 4)),
    "fsst": Case(
        lambda: texts(950, "http://host/path/of/{i}/some/file-{n}.html", nulls=7),
        {"compression": "fsst"},
    ),
    "lz4 strings": Case(lambda: texts(400, "text number {i}"), {"compression": "lz4"}),
    "zstd strings": Case(lambda: texts(400, "text number {i}"), {"compression": "zstd"}),
    "dictionary of strings": Case(lambda: few(300, nulls=8)),
    "dictionary of large strings": Case(lambda: few(300, pa.large_string())),
    "dictionary of integers": Case(
        lambda: pa.array((mixed(400) % 6 + (1 << 60)).astype(np.int64)), versions=NEW
    ),
    "dictionary of decimals": Case(
        lambda: pa.array((mixed(400) % 6).astype(np.int64)).cast(pa.decimal128(38, 2))
    ),
    "keys int8": Case(lambda: keyed(200, pa.int8(), 5)),
    "keys uint32": Case(lambda: keyed(80, pa.uint32())),
}
NESTED: dict[str, Case] = {
    "vectors": Case(lambda: vectors(steps(150, "f4"), 3, 5)),
    "vectors with null items": Case(lambda: vectors(ints(240, 30, "i4", 4), 6, 5)),
    "vectors of bool": Case(lambda: vectors(pa.array(mixed(150) % 2 == 0), 5)),
    "vectors of vectors": Case(lambda: vectors(vectors(ints(120, 16, "i2", 7), 2, 6), 3, 4)),
    "packed structs": Case(
        lambda: structs(a=ints(90, 32, "i4"), b=steps(90, "f8")), {"packed": "true"}
    ),
    "lists": Case(lambda: lists(of_items(20, "i4", 4), 200)),
    "lists in chunks": Case(lambda: lists(of_items(64, "i8"), 500), PLAIN),
    "lists in pages": Case(lambda: lists(of_items(8, "u1", 3), 100), pages=3),
    "lists never empty": Case(lambda: lists(of_items(8, "u1"), 60, "full")),
    "lists maybe empty": Case(lambda: lists(of_items(8, "u1"), 60, "full empty")),
    "lists maybe null": Case(lambda: lists(of_items(8, "u1"), 60, "full null")),
    "large lists of strings": Case(
        lambda: lists(lambda n: texts(n, "item {i}", nulls=5), 80, large=True)
    ),
    "lists of lists": Case(lambda: lists(lambda n: lists(of_items(12, "i2", 5), n), 60)),
    "lists of structs": Case(
        lambda: lists(lambda n: structs(4, a=ints(n, 9, "i4", 3), b=texts(n, "{i}")), 70)
    ),
    "structs of lists": Case(
        lambda: structs(4, a=lists(of_items(9, "i4", 3), 80), b=ints(80, 7, "i8", 5))
    ),
    "structs of structs": Case(
        lambda: structs(4, s=structs(3, a=ints(80, 7, "i8", 5), b=texts(80, "{n}")))
    ),
    "maps": Case(lambda: maps(70), versions=NEW),
    "vectors of structs": Case(
        lambda: vectors(structs(4, a=ints(120, 9, "i4", 3), b=texts(120, "{i}")), 2, 5),
        versions=NEW,
    ),
}
ZIPPED_PAGES: dict[str, Case] = {
    "zipped integers": Case(lambda: ints(80, 32, "i4", 5), ZIPPED),
    "zipped integers without nulls": Case(lambda: ints(80, 64, "i8"), ZIPPED),
    "zipped strings": Case(lambda: texts(60, "text {n}", nulls=5), ZIPPED | PLAIN),
    "zipped long strings": Case(lambda: long_texts(24, 4)),
    "zipped zstd strings": Case(lambda: long_texts(150, 9), ZIPPED | {"compression": "zstd"}),
    "zipped fsst": Case(
        lambda: texts(950, "http://host/path/of/{i}/some/file-{n}.html", nulls=7),
        ZIPPED | {"compression": "fsst"},
    ),
    "zipped vectors": Case(lambda: vectors(ints(270, 30, "i4", 4), 9, 3), ZIPPED),
    "zipped lists of integers": Case(lambda: lists(of_items(30, "i4", 4), 60), ZIPPED),
    "zipped lists of strings": Case(
        lambda: lists(lambda n: texts(n, "item {n}", nulls=4), 50), ZIPPED | PLAIN
    ),
    "zipped lists of lists": Case(
        lambda: lists(lambda n: lists(lambda m: texts(m, "{n}", nulls=5), n), 30), ZIPPED | PLAIN
    ),
    "zipped structs": Case(
        lambda: structs(a=ints(60, 15, "i2"), b=texts(60, "b {n}"), d=ints(60, 60, "i8")),
        {"packed": "true"},
        NEW,
    ),
}
CONSTANT: dict[str, Case] = {
    "nulls": Case(lambda: pa.nulls(90, pa.int32())),
    "nulls of type null": Case(lambda: pa.nulls(90)),
    "lists of nulls": Case(lambda: lists(lambda n: pa.nulls(n, pa.string()), 400)),
    "null structs of nulls": Case(lambda: structs(3, a=pa.nulls(60, pa.int64()))),
    "one integer": Case(lambda: pa.array([70000] * 90, pa.int32()), versions=NEW),
    "one integer or null": Case(lambda: masked(pa.array([7] * 90), 4), versions=NEW),
    "one boolean": Case(lambda: pa.array([True] * 90), versions=NEW),
    "one string": Case(lambda: pa.array(["the same"] * 90), versions=NEW),
    "one string or null": Case(lambda: masked(pa.array(["the same"] * 90), 4), versions=NEW),
    "one wide value": Case(lambda: pa.array([b"w" * 40] * 20, pa.binary(40)), versions=NEW),
    "lists of one integer": Case(
        lambda: lists(lambda n: masked(pa.array([5] * n, pa.int16()), 4), 80), versions=NEW
    ),
    "blobs": Case(
        lambda: blobs([None if i % 4 == 1 else b"blob" * (i % 5 * i) for i in range(24)]),
        {"blob": "true"},
        ("2.1",),
    ),
    "blobs of version 2": Case(
        lambda: descriptions(payloads(24)), versions=NEW, payloads=lambda: payloads(24)
    ),
}
CASES: dict[str, Case] = {**FLAT, **PACKED, **VARIABLE, **NESTED, **ZIPPED_PAGES, **CONSTANT}
FILES: tuple[tuple[str, str], ...] = tuple(
    (name, version) for name, case in CASES.items() for version in case.versions
)
"""The name of a case and the file version, of each golden file."""

SUMMED_FILES = FILES[::9]
"""Those that are also kept with checksums."""
