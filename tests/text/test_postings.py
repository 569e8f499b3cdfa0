"""Numbers of posting lists: varints, packed blocks, positions, transducers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.postings.bit_packing import pack, unpack
from lance_core_text.postings.blocks import BlockLayout, decode_blocks
from lance_core_text.postings.fst import Fst
from lance_core_text.postings.index_files import IndexMetadata
from lance_core_text.postings.positions import Streams, decode_streams
from lance_core_text.postings.varints import decode_varints, encode_varints
from lance_core_text.write.encode_blocks import BlockBounds, encode_blocks
from lance_core_text.write.posting_format import PostingFormat


def test_varints_survive() -> None:
    numbers = np.array([0, 1, 127, 128, 16_383, 16_384, 2**21, 2**28, 2**32 - 1])
    data, lengths = encode_varints(numbers)
    decoded, ends = decode_varints(data)
    assert decoded.tolist() == numbers.tolist()
    assert ends.tolist() == np.cumsum(lengths).tolist()
    assert lengths.tolist() == [1, 1, 1, 2, 2, 3, 4, 5, 5]


@pytest.mark.parametrize("data", [b"\x80", b"\x01\xff", b"\x80\x80\x80\x80\x80\x01"])
def test_varints_without_an_end_are_damaged(data: bytes) -> None:
    with pytest.raises(ValueError, match="number"):
        decode_varints(np.frombuffer(data, np.uint8))


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("width", [0, 1, 7, 13, 31, 32])
def test_packed_blocks_survive(width: int, lanes: int) -> None:
    values = np.random.default_rng(width).integers(0, 1 << width, (3, 32 * lanes))
    data = pack(values, width, lanes)
    assert data.shape == (3, 4 * width * lanes)
    starts = np.arange(3) * data.shape[1]
    found = unpack(data.reshape(-1), starts, np.full(3, width), lanes)
    assert (found == values).all()


def test_lanes_are_interleaved() -> None:
    values = np.zeros((1, 128), np.int64)
    values[0, 5] = 1  # the second value of lane 1: bit 1 of the second word
    assert pack(values, 1, 4)[0].tolist() == [0, 0, 0, 0, 2] + [0] * 11


@pytest.mark.parametrize("cut", [1, 4, 5, 9])
def test_short_blocks_are_damaged(cut: int) -> None:
    documents, frequencies = np.arange(128), np.ones(128, np.int64)
    deltas = np.diff(documents, prepend=0)[None]
    block = np.concatenate(
        [
            np.zeros(8, np.uint8),
            [1],
            pack(deltas, 1, 4)[0],
            [1],
            pack(frequencies[None], 1, 4)[0],
        ]
    ).astype(np.uint8)
    whole = np.array([0, len(block)])
    found = decode_blocks(block, whole, np.array([128]), BlockLayout())
    assert found.documents.tolist() == documents.tolist()
    assert found.frequencies.tolist() == frequencies.tolist()
    with pytest.raises(ValueError, match="block"):
        decode_blocks(block[:-cut], np.array([0, len(block) - cut]), np.array([128]), BlockLayout())
    with pytest.raises(ValueError, match="blocks for 129 documents"):
        decode_blocks(block, whole, np.array([129]), BlockLayout())


@pytest.mark.parametrize("number", [1, 2, 3])
def test_blocks_survive(number: int) -> None:
    layout = PostingFormat(number, 256 if number == 3 else 128, with_positions=False).layout
    random = np.random.default_rng(number)
    lengths = np.array([1, 700, 256, 127, 3])
    documents = np.concatenate([np.sort(random.choice(9000, n, replace=False)) for n in lengths])
    frequencies = random.integers(1, 4, len(documents))
    some = random.choice(len(documents), 40, replace=False)
    frequencies[some] = random.integers(1, 1 << 20, 40)
    bounds = BlockBounds.of(lengths, layout.size)
    scores = np.ones(len(bounds.starts), np.float32)
    data, offsets = encode_blocks(bounds, documents, frequencies, scores, layout)
    found = decode_blocks(data, offsets, lengths, layout)
    assert found.documents.tolist() == documents.tolist()
    assert found.frequencies.tolist() == frequencies.tolist()
    if number == 3:
        for cut in range(1, 40):
            with pytest.raises(ValueError, match=r"block|exception|number"):
                decode_blocks(data[:-cut], _cut(offsets, cut), lengths, layout)


def _cut(offsets: np.ndarray, count: int) -> np.ndarray:
    return np.minimum(offsets, offsets[-1] - count)


@pytest.mark.parametrize("data", [b"", b"x" * 40, b"\x03" + b"\x00" * 60])
def test_other_bytes_are_no_transducer(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"transducer|node"):
        Fst(pa.py_buffer(data)).get(b"a") or Fst(pa.py_buffer(data[:10]))


def test_streams_have_the_documents_of_their_list() -> None:
    streams = Streams(np.array([0]), np.array([2]), np.array([2]))
    with pytest.raises(ValueError, match="other documents"):
        decode_streams(np.array([3, 4], np.uint8), streams, np.array([1, 1, 1]))


@pytest.mark.parametrize(
    "partitions", ["[1.5]", "[-1]", "[true]", "[1, 1]", "{}", "[9223372036854775808]"]
)
def test_numbers_of_partitions_are_checked(partitions: str) -> None:
    metadata = {"params": TextParameters().to_json(), "partitions": partitions}
    reader = SimpleNamespace(metadata=metadata, path="metadata.lance")
    folder: Any = SimpleNamespace(reader=lambda name: reader)
    with pytest.raises(CorruptFileError) as caught:
        IndexMetadata.of(folder)
    assert caught.value.field == "partitions"
