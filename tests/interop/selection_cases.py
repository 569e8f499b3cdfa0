"""Columns whose pages show which encodings a writer chooses, and the metadata of their fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tests.examples import share

Case = tuple[pa.Array, dict[str, str]]

COUNT = 20_000
INTEGERS = ("i1", "i2", "i4", "i8")

chance = np.random.default_rng(7)
WIDE = chance.integers(0, 1 << 62, COUNT)
RUNS = np.repeat(WIDE[:2000], chance.integers(1, 40, 2000))[:COUNT]
STEPS = np.cumsum(chance.random(COUNT))
NOISE = chance.random(COUNT)
TEXT = [f"{a} {b}" for a, b in chance.integers(0, 1 << 40, (COUNT, 2))]
LONG = ["x" * 300 + text for text in TEXT[:2000]]
SEVERAL = 2000
"""Values that are compressed one by one, with zstd: each takes long, and any number is a page."""


@cache
def few(count: int) -> list[str]:
    """So many different values."""
    return [f"value number {n % count}" for n in WIDE.tolist()]


def nulls(values: npt.ArrayLike, share: float = 0.2) -> pa.Array:
    """With nulls at random."""
    array = np.asarray(values)
    return pa.array(array, mask=chance.random(len(array)) < share)


def vectors(values: pa.Array, size: int) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(values, size)


def lists(lengths: npt.ArrayLike) -> pa.Array:
    """Lists of small numbers."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.arange(offsets[-1]) % 1000))


def struct(*children: tuple[Any, dict[str, str]]) -> pa.Array:
    """A struct of arrays and the metadata of their fields."""
    arrays = [
        values if isinstance(values, pa.Array) else pa.array(values) for values, _ in children
    ]
    fields = [
        pa.field(f"c{number}", array.type, metadata=prefixed(metadata))
        for number, (array, (_, metadata)) in enumerate(zip(arrays, children, strict=True))
    ]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def prefixed(metadata: dict[str, str]) -> dict[str, str]:
    return {f"lance-encoding:{key}": value for key, value in metadata.items()}


def with_keys(values: Any, *keys: dict[str, str]) -> dict[str, Case]:
    """A case for each of ``keys``, named by it."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return {
        " ".join(f"{k}={v}" for k, v in each.items()) or "plain": (array, each) for each in keys
    }


def _integers() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for kind in INTEGERS:
        shapes = {
            "wide": WIDE >> 1,
            "small": WIDE % 13,
            "negative": WIDE % 13 - 6,
            "runs": RUNS % 100,
            "long runs": np.repeat(WIDE[:20], 1000),
            "pairs": np.repeat(WIDE[:10_000], 2),
            "half small": np.where(np.arange(COUNT) < COUNT // 2, WIDE % 5, WIDE >> 1),
            "ascending": np.arange(COUNT),
        }
        for name, values in shapes.items():
            cases[f"{name} {kind}"] = (pa.array(values.astype(kind)), {})
        cases[f"nulls {kind}"] = (nulls((WIDE % 1000).astype(kind)), {})
    return cases


def _keys_of_integers() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    keys = (
        {"compression": "none"},
        {"compression": "zstd"},
        {"compression": "zstd", "compression-level": "9"},
        {"compression": "lz4"},
        {"compression": "lz4", "compression-level": "5"},
        {"compression": "fsst"},
        {"rle-threshold": "0"},
        {"rle-threshold": "1.0"},
        {"rle-threshold": "nan"},
        {"rle-threshold": "some"},
        {"structural-encoding": "fullzip"},
        {"structural-encoding": "MiniBlock"},
    )
    for kind in ("i2", "i8"):
        for name, case in with_keys((RUNS % 100).astype(kind), *keys).items():
            cases[f"{kind} {name}"] = case
    floats = (
        {"compression": "zstd"},
        {"compression": "zstd", "bss": "off"},
        {"compression": "zstd", "bss": "ON"},
        {"compression": "zstd", "bss": "perhaps"},
        {"bss": "on"},
        {"compression": "lz4"},
        {"compression": "zstd", "compression-level": "100"},
        {"compression": "zstd", "compression-level": "-5"},
        {"compression": "zstd", "compression-level": "high"},
    )
    for name, case in with_keys(STEPS, *floats).items():
        cases[f"steps {name}"] = case
    return cases


def _few_values() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for count in (2, 10, 900, 2400, 2700, 9000):
        cases[f"{count} strings"] = (pa.array(few(count)), {})
        cases[f"{count} integers"] = (pa.array(WIDE % count * 10**12), {})
        cases[f"{count} decimals"] = (pa.array(WIDE % count).cast(pa.decimal128(30, 2)), {})
        cases[f"{count} binaries"] = (pa.array(few(count)).cast(pa.binary()), {})
    for count in (99, 100, 1023, 1024, 1025):
        cases[f"{count} values"] = (pa.array(np.arange(count) % 7), {})
        cases[f"{count} texts"] = (pa.array([f"v{n % 7}" for n in range(count)]), {})
        cases[f"{count} pairs of texts"] = (pa.array([f"v{n // 2}" for n in range(count)]), {})
    cases["sorted strings"] = (pa.array(sorted(few(3000))), {})
    cases["sorted integers"] = (pa.array(np.sort(WIDE % 3000) * 10**12), {})
    cases["sorted negatives"] = (pa.array(-np.sort(WIDE % 3000) - 1), {})
    cases["few strings, nulls"] = (nulls(np.array(few(900), object)), {})
    keys = (
        {"dict-divisor": "100"},
        {"dict-divisor": "0"},
        {"dict-divisor": "-1"},
        {"dict-size-ratio": "0.3"},
        {"dict-size-ratio": "0.15"},
        {"dict-size-ratio": "some"},
        {"dict-size-ratio": "nan"},
        {"dict-values-compression": "none"},
        {"dict-values-compression": "zstd"},
        {"dict-values-compression": "zstd", "dict-values-compression-level": "9"},
        {"dict-values-compression": "lz4", "dict-values-compression-level": "5"},
        {"compression": "none"},
        {"compression": "zstd"},
        {"compression": "fsst"},
        {"structural-encoding": "fullzip"},
    )
    for name, case in with_keys(few(900), *keys).items():
        cases[f"few strings {name}"] = case
    return cases


def _text() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    huge = pa.array([text * 2000 for text in TEXT[:100]])
    binary = [text.encode() for text in TEXT]
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        cases[f"{kind}"] = (pa.array(TEXT).cast(kind), {})
        cases[f"{kind} zipped"] = (pa.array(TEXT).cast(kind), {"structural-encoding": "fullzip"})
    for scheme in ("none", "zstd", "lz4", "fsst"):
        for place in ("miniblock", "fullzip"):
            keys = {"compression": scheme, "structural-encoding": place}
            count = SEVERAL if (scheme, place) == ("zstd", "fullzip") else COUNT
            cases[f"text {scheme} {place}"] = (pa.array(TEXT[:count]), keys)
            cases[f"binary {scheme} {place}"] = (pa.array(binary[:count]), keys)
            cases[f"short text {scheme} {place}"] = (pa.array(TEXT[:500]), keys)
        cases[f"huge text {scheme}"] = (huge, {"compression": scheme})
    zipped = {"structural-encoding": "fullzip", "compression": "zstd", "compression-level": "9"}
    cases["text zstd 9 fullzip"] = (pa.array(TEXT[:SEVERAL]), zipped)
    for size in ("1024", "65536", "1", "-1", "some"):
        keys = {"minichunk-size": size, "compression": "none"}
        cases[f"text in chunks of {size}"] = (pa.array(TEXT), keys)
    for count in (1927, 1928, 2520, 2521):  # 32 KiB with and without offsets
        cases[f"{count} texts of 13"] = (pa.array([f"{n % 10**13:013}" for n in WIDE[:count]]), {})
    for width in (4, 5):
        cases[f"texts of {width}"] = (pa.array([f"{n % 10**width:0{width}}" for n in WIDE]), {})
    for longest in (255, 256):
        cases[f"a text of {longest}"] = (pa.array(["x" * longest, "y"]), {})
    cases["long binaries"] = (pa.array(LONG).cast(pa.binary()), {})
    cases["huge text"] = (huge, {})
    cases["text, nulls"] = (nulls(np.array(TEXT, object)), {})
    return cases


def _other_widths() -> dict[str, Case]:
    cases: dict[str, Case] = {
        "booleans": (pa.array(WIDE % 2 == 0), {}),
        "booleans zstd": (pa.array(np.arange(200_000) // 1000 % 2 == 0), {"compression": "zstd"}),
        "booleans zipped": (pa.array(WIDE % 2 == 0), {"structural-encoding": "fullzip"}),
        "halves": (pa.array(NOISE.astype("f2")), {}),
        "floats": (pa.array(NOISE.astype("f4")), {}),
        "round doubles": (pa.array(np.round(NOISE, 1)), {}),
        "times": (pa.array(1_700_000_000_000_000 + np.arange(COUNT), pa.timestamp("us")), {}),
        "days": (pa.array((np.arange(COUNT) // 100).astype("i4"), pa.date32()), {}),
        "decimals": (pa.array(WIDE).cast(pa.decimal128(30, 2)), {}),
        "decimals zstd": (pa.array(WIDE).cast(pa.decimal128(30, 2)), {"compression": "zstd"}),
        "wide decimals": (pa.array(WIDE % 50).cast(pa.decimal256(40, 2)), {}),
    }
    for width in (3, 4, 8, 16, 255, 256):
        digits = [b"%0*d" % (width, n % 50) for n in WIDE[:2000].tolist()]
        cases[f"{width} bytes"] = (pa.array(digits, pa.binary(width)), {})
    doubles = pa.array(chance.random(38_400))
    for size in (3, 31, 32):
        part = doubles.slice(0, 38_400 // size * size)
        cases[f"vectors of {size}"] = (vectors(part, size), {})
        cases[f"vectors of {size} zstd"] = (vectors(part, size), {"compression": "zstd"})
    cases["vectors of nulls"] = (vectors(nulls(chance.random(30_000)), 3), {})
    cases["vectors of 7 nulls"] = (vectors(nulls((WIDE[:14_000] % 99).astype("i1")), 7), {})
    cases["vectors of bits"] = (vectors(pa.array(NOISE < 0.5), 2000), {})
    cases["vectors of odd bits"] = (vectors(pa.array(WIDE[:18_423] % 2 == 0), 2047), {})
    cases["matrices"] = (vectors(vectors(doubles, 32), 6), {})
    cases["zipped vectors"] = (vectors(doubles, 3), {"structural-encoding": "fullzip"})
    cases["chunked vectors"] = (vectors(doubles, 384), {"structural-encoding": "miniblock"})
    return cases


def _structs() -> dict[str, Case]:
    fixed = struct((WIDE, {}), (STEPS.astype("f4"), {}), ((WIDE % 3).astype("i1"), {}))
    wide, text = WIDE[:SEVERAL], TEXT[:SEVERAL]
    mixed = struct((wide, {}), (text, {"compression": "none"}), (text, {"compression": "zstd"}))
    return {
        "packed": (fixed, {"packed": "true"}),
        "packed zstd": (fixed, {"packed": "true", "compression": "zstd"}),
        "packed text": (mixed, {"packed": "true"}),
        "packed text zstd": (mixed, {"packed": "true", "compression": "zstd"}),
        "packed text in chunks": (mixed, {"packed": "true", "structural-encoding": "miniblock"}),
        "packed vectors": (
            struct((WIDE, {}), (vectors(pa.array(chance.random(COUNT * 3)), 3), {})),
            {"packed": "true"},
        ),
    }


def _dictionaries() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    for key in ("u1", "i4", "i8"):
        indices = pa.array((WIDE % 3).astype(key))
        array = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b", "c"]))
        cases[f"keys {key}"] = (array, {})
    masked = pa.array((RUNS % 100).astype("i4"), mask=NOISE < 0.3)
    cases["keys in runs, nulls"] = (
        pa.DictionaryArray.from_arrays(masked, pa.array(TEXT[:100])),
        {},
    )
    for count in (5, 100, 900, 1024, 1025, 5000):
        indices = pa.array((WIDE % count).astype("i4"))
        for name, items in {
            "small": pa.array(np.arange(count).astype("i2")),
            "longs": pa.array(np.arange(count)),
            "negatives": pa.array(-np.arange(count) - 1),
            "doubles": pa.array(NOISE[:count]),
            "repeated": pa.array(np.arange(count) // 100),
            "texts": pa.array([f"{n << 30}" for n in range(count)]),
        }.items():
            cases[f"dictionary of {count} {name}"] = (
                pa.DictionaryArray.from_arrays(indices, items),
                {},
            )
    return cases


def _levels() -> dict[str, Case]:
    cases: dict[str, Case] = {
        "lists of 3": (lists(np.full(5000, 3)), {}),
        "lists": (lists(chance.integers(0, 6, 5000)), {}),
        "lists of 1000": (lists(np.full(20, 1000)), {}),
        "lists of one": (lists(np.full(5000, 1)), {}),
        "few lists": (lists(np.full(300, 3)), {}),
        "mostly empty": (lists((chance.random(30_000) < 0.01) * 3), {}),
    }
    for count in (10, 64, 65, 1000, 1500, COUNT):
        cases[f"{count} every other null"] = (
            pa.array(WIDE[:count], mask=np.arange(count) % 2 == 0),
            {},
        )
        cases[f"{count} first null"] = (pa.array(WIDE[:count], mask=np.arange(count) < 5), {})
        for part in (0.3, 0.01):
            cases[f"{count} {part} null"] = (nulls(WIDE[:count], part), {})
    for length in (24, 100, 1000):
        cases[f"nulls in runs of {length}"] = (
            pa.array(WIDE, mask=np.arange(COUNT) // length % 2 == 0),
            {},
        )
    return cases


GROUPS = (
    _integers,
    _keys_of_integers,
    _few_values,
    _text,
    _other_widths,
    _structs,
    _dictionaries,
    _levels,
)
ONLY_2_2 = ("packed text", "packed vectors", "text in chunks of 65536")
"""The beginnings of names of cases that no file of 2.1 can have."""


def choices() -> Iterator[tuple[str, pa.Array, dict[str, str], str]]:
    """Half of the cases, each with one of the two versions; in a full run all of them with both.

    All at once are 100 MB.
    """
    for group in GROUPS:
        cases = group()
        both = [name for name in cases if not name.startswith(ONLY_2_2)]
        new = [name for name in cases if name.startswith(ONLY_2_2)]
        for version, names in (
            ("2.1", share(both, 4, turn=0)),
            ("2.2", [*share(both, 4, turn=1), *new]),
        ):
            for name in names:
                yield name, *cases[name], version
