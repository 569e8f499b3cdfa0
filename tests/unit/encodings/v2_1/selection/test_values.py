"""Which encodings values get in chunks and value by value; they are read back again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.context import DecodeContext, EncodeContext
from lance_core.encodings.v2_1.codecs.arrow_values import values_of
from lance_core.encodings.v2_1.codecs.base import Encoded, PerValue, decode
from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.encodings.v2_1.selection.structure import Structure, choose_structure
from lance_core.encodings.v2_1.selection.values import mini_block_values, per_value
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from tests.each_case import each_case

Encoding = Callable[[str], EncodeContext]
PLAIN = FieldOptions()
ZSTD, LZ4, NONE, FSST = (FieldOptions(compression=name) for name in ("zstd", "lz4", "none", "fsst"))

chance = np.random.default_rng(5)
WIDE = chance.integers(0, 1 << 62, 9000)
SMALL = WIDE % 13
STEPS = pa.array(np.cumsum(chance.random(9000)))
RUNS = np.repeat(WIDE[:300], 30)
TEXT = pa.array([f"{n} {n >> 20}" for n in WIDE.tolist()])
HUGE = pa.array([text * 2000 for text in TEXT.to_pylist()[:20]])
PACKED = pa.StructArray.from_arrays([pa.array(WIDE), pa.array(SMALL.astype("i2"))], ["a", "b"])
MIXED = pa.StructArray.from_arrays([pa.array(WIDE), TEXT], ["a", "b"])


def names(encoding: Any) -> list[str]:
    """The encodings, from the outer one inwards."""
    found = []
    while (key := encoding.WhichOneof("compression")) is not None:
        found.append(key)
        inner = getattr(encoding, key)
        if key not in ("general", "fsst", "byte_stream_split", "fixed_size_list", "packed_struct"):
            break
        encoding = inner.values
    return found


def chunked(array: pa.Array, options: FieldOptions, context: EncodeContext) -> Encoded:
    return mini_block_values(values_of(array), array.type, options, context)


def zipped(array: pa.Array, options: FieldOptions, context: EncodeContext) -> Encoded:
    return per_value(values_of(array), array.type, options, context)


@each_case(
    ("array", "options", "expected"),
    [
        (pa.array(WIDE - (1 << 61)), PLAIN, ["flat"]),
        (pa.array(WIDE), PLAIN, ["inline_bitpacking"]),
        (pa.array(SMALL.astype("u1")), PLAIN, ["inline_bitpacking"]),
        (pa.array(SMALL), NONE, ["flat"]),
        (pa.array(SMALL), FSST, ["byte_stream_split", "flat"]),
        (pa.array(SMALL), ZSTD, ["general", "byte_stream_split", "flat"]),
        (pa.array(RUNS), PLAIN, ["rle"]),
        (pa.array(RUNS), FieldOptions(rle_threshold=1 / 30), ["inline_bitpacking"]),
        (pa.array(RUNS), FieldOptions(rle_threshold=1 / 29), ["rle"]),
        (pa.array(SMALL == 0), PLAIN, ["flat"]),
        (pa.array([b"abc"] * 9000, pa.binary(3)), LZ4, ["general", "flat"]),
        (STEPS, PLAIN, ["flat"]),
        (STEPS, ZSTD, ["general", "flat"]),
        (
            STEPS,
            FieldOptions(compression="zstd", bss="on"),
            ["general", "byte_stream_split", "flat"],
        ),
        (STEPS.slice(0, 500), ZSTD, ["flat"]),
        (pa.FixedSizeListArray.from_arrays(STEPS, 3), ZSTD, ["fixed_size_list", "flat"]),
        (PACKED, ZSTD, ["packed_struct", "flat"]),
        (TEXT, PLAIN, ["fsst", "variable"]),
        (TEXT.cast(pa.large_string()), PLAIN, ["fsst", "variable"]),
        (TEXT.cast(pa.binary()), PLAIN, ["variable"]),
        (TEXT.cast(pa.binary()), FSST, ["fsst", "variable"]),
        (TEXT, NONE, ["variable"]),
        (TEXT, ZSTD, ["general", "variable"]),
        (TEXT.slice(0, 200), PLAIN, ["variable"]),
        (pa.array(["abcd"] * 9000), PLAIN, ["variable"]),
        (pa.array(["abcde"] * 9000), PLAIN, ["fsst", "variable"]),
    ],
)
def test_values_in_chunks(
    array: pa.Array,
    options: FieldOptions,
    expected: list[str],
    encoding: Encoding,
    decoding: DecodeContext,
) -> None:
    encoded = chunked(array, options, encoding("2.1"))
    assert names(encoded.encoding) == expected
    assert decode(encoded.encoding, encoded.chunks(), decoding).to_arrow(array.type).equals(array)


@pytest.mark.parametrize(
    ("array", "options", "expected"),
    [
        (pa.array(WIDE), ZSTD, ["flat"]),
        (pa.FixedSizeListArray.from_arrays(STEPS, 90), ZSTD, ["fixed_size_list", "flat"]),
        (TEXT, PLAIN, ["fsst", "variable"]),
        (TEXT.cast(pa.binary()), PLAIN, ["variable"]),
        (TEXT, NONE, ["variable"]),
        (TEXT, ZSTD, ["general", "variable"]),
        (TEXT, LZ4, ["general", "variable"]),
        (TEXT.slice(0, 200), ZSTD, ["variable"]),
        (HUGE, PLAIN, ["general", "variable"]),
        (HUGE, FSST, ["general", "variable"]),
        (HUGE.cast(pa.large_binary()), PLAIN, ["general", "variable"]),
        (HUGE, NONE, ["variable"]),
        (MIXED, PLAIN, ["variable_packed_struct"]),
    ],
)
def test_values_one_by_one(
    array: pa.Array,
    options: FieldOptions,
    expected: list[str],
    encoding: Encoding,
    decoding: DecodeContext,
) -> None:
    encoded = zipped(array, options, encoding("2.2"))
    assert names(encoded.encoding) == expected
    assert encoded.payload is not None
    found = decode(encoded.encoding, PerValue(encoded.payload), decoding)
    assert found.to_arrow(array.type).equals(array)


@pytest.mark.parametrize(
    ("options", "scheme", "level"),
    [
        (ZSTD, 2, 0),
        (LZ4, 2, 0),
        (FieldOptions(compression="zstd", level=9), 2, 9),
        (FieldOptions(compression="lz4", level=9), 2, 0),
    ],
)
def test_values_one_by_one_are_compressed_by_zstd(
    options: FieldOptions, scheme: int, level: int, encoding: Encoding
) -> None:
    compression = zipped(TEXT, options, encoding("2.1")).encoding.general.compression
    assert (compression.scheme, compression.level) == (scheme, level)


def test_children_of_structs_are_encoded_as_they_ask(encoding: Encoding) -> None:
    options = FieldOptions(compression="none", children=(PLAIN, ZSTD))
    fields = zipped(MIXED, options, encoding("2.2")).encoding.variable_packed_struct.fields
    assert [names(field.value) for field in fields] == [["flat"], ["general", "variable"]]


def test_chunks_of_text_are_as_small_as_asked_for_but_of_two_values(encoding: Encoding) -> None:
    for size, most in ((1024, 1024), (1, 100), (-1, 100)):
        options = FieldOptions(compression="none", minichunk_size=size)
        encoded = chunked(TEXT, options, encoding("2.1"))
        assert encoded.sizes.max() <= most
        assert encoded.counts.min() >= 2


@pytest.mark.parametrize("array", [STEPS, TEXT])
@pytest.mark.parametrize("name", ["snappy", "ZSTD", ""])
def test_an_unknown_compression_is_refused(array: pa.Array, name: str, encoding: Encoding) -> None:
    with pytest.raises(InvalidInputError, match="unknown compression"):
        chunked(array, FieldOptions(compression=name), encoding("2.1"))


def test_structs_of_variable_width_are_refused_before_2_2(encoding: Encoding) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"2\.1"):
        zipped(MIXED, PLAIN, encoding("2.1"))


@pytest.mark.parametrize("child", [pa.array(SMALL == 0), PACKED])
def test_structs_of_booleans_or_structs_are_refused(child: pa.Array, encoding: Encoding) -> None:
    array = pa.StructArray.from_arrays([TEXT, child], ["a", "b"])
    with pytest.raises(UnsupportedFeatureError, match="booleans"):
        zipped(array, PLAIN, encoding("2.2"))


@pytest.mark.parametrize(
    ("array", "wanted", "expected"),
    [
        (pa.array(WIDE), None, Structure.MINI_BLOCK),
        (pa.array(WIDE), "fullzip", Structure.FULL_ZIP),
        (pa.array(["x" * 255]), None, Structure.MINI_BLOCK),
        (pa.array(["x" * 256]), None, Structure.FULL_ZIP),
        (pa.array(["x" * 256]), "miniblock", Structure.MINI_BLOCK),
        (pa.array([b"x" * 256], pa.binary(256)), None, Structure.FULL_ZIP),
        (pa.FixedSizeListArray.from_arrays(STEPS, 30), None, Structure.MINI_BLOCK),
        (pa.FixedSizeListArray.from_arrays(STEPS, 36), None, Structure.FULL_ZIP),
        (pa.FixedSizeListArray.from_arrays(pa.array(SMALL == 0), 3000), None, Structure.MINI_BLOCK),
        (PACKED, None, Structure.MINI_BLOCK),
        (PACKED, "fullzip", Structure.MINI_BLOCK),
        (MIXED, None, Structure.FULL_ZIP),
        (MIXED, "miniblock", Structure.FULL_ZIP),
        (pa.array([], pa.string()), None, Structure.MINI_BLOCK),
    ],
)
def test_wide_values_are_zipped_unless_asked_for(
    array: pa.Array, wanted: str | None, expected: Structure
) -> None:
    options = FieldOptions(structural_encoding=wanted)
    assert choose_structure(values_of(array), options) is expected


def test_an_unknown_layout_is_refused() -> None:
    options = FieldOptions(structural_encoding="sparse")
    with pytest.raises(InvalidInputError, match="structural-encoding"):
        choose_structure(values_of(TEXT), options)
