"""Which encodings items of dictionaries and levels get; they are read back again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core.encodings.context import DecodeContext, EncodeContext
from lance_core.encodings.v2_1.codecs.arrow_values import values_of
from lance_core.encodings.v2_1.codecs.base import Block, decode
from lance_core.encodings.v2_1.pages.level_codecs import decode_levels
from lance_core.encodings.v2_1.selection.blocks import encode_block, encode_levels
from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError
from tests.unit.encodings.v2_1.conftest import REGISTRY

Encoding = Callable[[str], EncodeContext]
PLAIN = FieldOptions()
CONTEXT = DecodeContext(0, 0, FileVersion.V2_2, REGISTRY)


def name(encoding: Any) -> str:
    key = encoding.WhichOneof("compression")
    return f"{key}({name(encoding.general.values)})" if key == "general" else key


def kept(number: str) -> FieldOptions:
    return FieldOptions(dict_values_compression=number)


@pytest.mark.parametrize(
    ("items", "options", "in_2_1", "in_2_2"),
    [
        (np.arange(100), PLAIN, "flat", "general(flat)"),
        (np.arange(100), kept("none"), "flat", "flat"),
        (np.arange(1000), PLAIN, "inline_bitpacking", "inline_bitpacking"),
        (np.arange(1025), PLAIN, "out_of_line_bitpacking", "out_of_line_bitpacking"),
        (-np.arange(1, 2000), PLAIN, "flat", "general(flat)"),
        (np.arange(2000) // 100, PLAIN, "out_of_line_bitpacking", "rle"),
        (["a", "b"], PLAIN, "variable", "general(variable)"),
        (["a", "b"], kept("zstd"), "variable", "general(variable)"),
        (["a", "b"], kept("none"), "variable", "variable"),
        (np.arange(9000) << 49, None, "out_of_line_bitpacking", "out_of_line_bitpacking"),
        (-np.arange(1, 9000), None, "flat", "general(flat)"),
        (-np.arange(1, 4000), None, "flat", "flat"),
    ],
)
def test_blocks_by_version(
    items: Any, options: FieldOptions | None, in_2_1: str, in_2_2: str, encoding: Encoding
) -> None:
    array = pa.array(items)
    for version, expected in (("2.1", in_2_1), ("2.2", in_2_2)):
        message, data = encode_block(values_of(array), options, encoding(version))
        assert name(message) == expected
        assert decode(message, Block(data, len(array)), CONTEXT).to_arrow(array.type).equals(array)


@pytest.mark.parametrize(
    ("options", "scheme", "level"),
    [
        (PLAIN, 1, None),
        (FieldOptions(dict_values_compression="lz4", dict_values_level=5), 1, 5),
        (FieldOptions(dict_values_compression="zstd", dict_values_level=5), 2, 5),
        (FieldOptions(dict_values_compression="zstd", level=5), 2, None),
        (None, 2, 0),
    ],
)
def test_how_blocks_are_compressed(
    options: FieldOptions | None, scheme: int, level: int | None, encoding: Encoding
) -> None:
    values = values_of(pa.array([f"value {n}" for n in range(9000)]))
    compression = encode_block(values, options, encoding("2.2"))[0].general.compression
    assert compression.scheme == scheme
    assert (compression.level if compression.HasField("level") else None) == level


@pytest.mark.parametrize("scheme", ["snappy", "fsst", ""])
def test_an_unknown_compression_of_items_is_refused_where_it_is_used(
    scheme: str, encoding: Encoding
) -> None:
    values = values_of(pa.array(["a", "b"]))
    assert name(encode_block(values, kept(scheme), encoding("2.1"))[0]) == "variable"
    with pytest.raises(InvalidInputError, match="unknown compression"):
        encode_block(values, kept(scheme), encoding("2.2"))


def levels_of(kind: str, count: int) -> npt.NDArray[np.uint16]:
    places = np.arange(count)
    shapes = {
        "zeros": places * 0,
        "every other": places % 2,
        "chance": np.random.default_rng(1).integers(0, 4, count),
        "runs": places // 300 % 2,
        "long runs": places // 9000 % 3,
        "one": places == count // 2,
        "wide": places * 13 % 40_000,
    }
    return shapes[kind].astype("<u2")


@given(
    kind=st.sampled_from(["zeros", "every other", "chance", "runs", "long runs", "one", "wide"]),
    counts=st.lists(st.sampled_from([1, 40, 512, 700, 1024, 1500, 2048, 4096]), min_size=1),
    version=st.sampled_from(["2.1", "2.2"]),
)
def test_levels_of_chunks_share_a_message_and_are_read_again(
    kind: str, counts: list[int], version: str
) -> None:
    edges = np.concatenate([[0], np.cumsum(counts)])
    levels = levels_of(kind, int(edges[-1]))
    context = EncodeContext(FileVersion(version), REGISTRY, lambda _: 0)
    message, data, sizes = encode_levels(levels, edges, context)
    assert sizes.sum() == data.size
    assert name(message) != "rle" or version == "2.2"
    place = (np.cumsum(sizes) - sizes, sizes)
    found = decode_levels(message, np.frombuffer(data, np.uint8), place, np.diff(edges), CONTEXT)
    assert (found == levels).all()


@pytest.mark.parametrize(
    ("kind", "count", "in_2_1", "in_2_2"),
    [
        ("every other", 64, "flat", "flat"),
        ("every other", 65, "inline_bitpacking", "inline_bitpacking"),
        ("every other", 1025, "out_of_line_bitpacking", "out_of_line_bitpacking"),
        ("runs", 64, "inline_bitpacking", "inline_bitpacking"),
        ("runs", 2000, "out_of_line_bitpacking", "rle"),
        ("one", 64, "flat", "rle"),
        ("wide", 9000, "flat", "flat"),
    ],
)
def test_levels_by_version(
    kind: str, count: int, in_2_1: str, in_2_2: str, encoding: Encoding
) -> None:
    for version, expected in (("2.1", in_2_1), ("2.2", in_2_2)):
        edges = np.array([0, count])
        message, _, _ = encode_levels(levels_of(kind, count), edges, encoding(version))
        assert name(message) == expected
