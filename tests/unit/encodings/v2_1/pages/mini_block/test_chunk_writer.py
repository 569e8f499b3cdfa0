"""Chunks of mini-block pages: what is put together is found again, and what cannot be is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.v2_1.pages.mini_block.chunk_parts import ChunkForm, chunk_parts
from lance_core.encodings.v2_1.pages.mini_block.chunk_writer import (
    ChunkPart,
    Chunks,
    chunk_bytes,
    chunk_words,
    chunks_fit,
    values_fit,
)
from tests.each_case import each_case


def part_of(sizes: list[int], seed: int) -> ChunkPart:
    data = np.random.default_rng(seed).integers(0, 256, sum(sizes)).astype(np.uint8)
    return ChunkPart(pa.py_buffer(data), np.array(sizes))


@each_case("large", [False, True])
@each_case(
    ("rep", "definition", "values"),
    [
        ([], [], [[5]]),
        ([], [], [[64, 64, 64, 3]]),
        ([], [8, 8, 8, 2], [[64, 64, 64, 3]]),
        ([10, 10, 10], [0, 1, 7], [[9, 9, 9], [0, 1, 2]]),
        ([3, 300, 1, 0, 5], [], [[100, 7, 2000, 1, 8], [1, 1, 1, 1, 1], [16, 8, 24, 8, 0]]),
    ],
)
def test_parts_of_chunks_are_found_where_they_were_put(
    rep: list[int], definition: list[int], values: list[list[int]], large: bool
) -> None:
    number = len(values[0])
    levels = [part_of(sizes, 7 + at) for at, sizes in enumerate((rep, definition)) if sizes]
    parts = [part_of(sizes, at) for at, sizes in enumerate(values)]
    num_levels = np.arange(number) + 1 if levels else np.zeros(number, np.int64)
    form = ChunkForm(bool(rep), bool(definition), len(values), large)
    chunks = Chunks(num_levels, levels, parts)
    assert values_fit(form, parts)
    assert chunks_fit(form, chunks)
    data, sizes = chunk_bytes(form, chunks, NUMPY)
    assert data.size == sizes.sum()
    assert not (sizes % 8).any()
    octets = np.frombuffer(data, np.uint8)
    found = chunk_parts(form, octets, np.cumsum(sizes) - sizes, sizes, NUMPY)
    assert np.array_equal(found.num_levels, num_levels)
    places = [place for place in (found.rep, found.definition) if place is not None]
    places += list(zip(found.starts, found.sizes, strict=True))
    used = np.zeros(len(octets), bool)
    for part, (starts, lengths) in zip([*levels, *parts], places, strict=True):
        assert np.array_equal(lengths, part.sizes)
        spans = [octets[at : at + size] for at, size in zip(starts, lengths, strict=True)]
        assert np.concatenate(spans).tobytes() == part.data.to_pybytes()
        for at, size in zip(starts, lengths, strict=True):
            assert not used[at : at + size].any()
            used[at : at + size] = True
    header = 2 * (1 + len(levels)) + len(values) * (4 if large else 2)
    for start in np.cumsum(sizes) - sizes:
        used[start : start + header] = True
    assert set(octets[~used].tolist()) <= {0xFE}


@pytest.mark.parametrize("large", [False, True])
def test_words_say_how_long_chunks_are_and_what_they_hold(large: bool) -> None:
    sizes, counts = np.array([8, 4096, 32768, 16]), np.array([2, 1024, 4096, 77])
    words = chunk_words(sizes, counts, large)
    edges, values = NUMPY.chunk_edges(words, large, int(counts.sum()), int(sizes.sum()))
    assert np.array_equal(np.diff(edges), sizes)
    assert np.array_equal(np.diff(values), counts)
    assert np.frombuffer(words, "<u4" if large else "<u2")[-1] & 15 == 0


def test_sizes_that_cannot_be_written_are_known() -> None:
    small, large = ChunkForm(True, False, 1, False), ChunkForm(True, False, 1, True)
    values = [part_of([32_000], 1)]
    assert values_fit(small, values)
    assert not values_fit(small, [part_of([33_000], 1)])
    assert values_fit(large, [part_of([33_000], 1)])

    def fits(form: ChunkForm, num_levels: int, level_bytes: int) -> bool:
        level = ChunkPart(pa.py_buffer(bytes(level_bytes)), np.array([level_bytes]))
        return chunks_fit(form, Chunks(np.array([num_levels]), [level], values))

    assert fits(small, 65_535, 700)
    assert not fits(small, 65_536, 700)
    assert not fits(small, 65_535, 800)
    assert fits(large, 65_535, 65_535)
    assert not fits(large, 65_535, 65_536)
    assert not fits(large, 65_536, 100)
