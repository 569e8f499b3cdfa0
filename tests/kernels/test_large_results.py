"""Results that are larger than the cache, which C writes past it."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.encodings.compression.fsst import SymbolTable
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.kernels.numpy.fsst_decode import SymbolTables
from lance_core.encodings.kernels.numpy.variable_chunks import VariableChunks
from tests.kernels.outcomes import array, compiled

SIZE = 5 << 20
"""Bytes; from 2 MiB they are written past the cache."""

TABLE = SymbolTable((b"abcdefgh", b"xyz", b"q", b"\xc3\xa4")).packed


def texts(seed: int, size: int, alphabet: tuple[bytes, ...]) -> list[bytes]:
    chance = np.random.default_rng(seed)
    found, left = [], size
    while left > 0:
        picked = chance.integers(0, len(alphabet), int(chance.integers(0, 40)))
        found.append(b"".join(alphabet[number] for number in picked))
        left -= len(found[-1]) + 1
    return found


@pytest.mark.parametrize(
    ("alphabet", "is_ascii"),
    [((b"abcdefgh", b"xyz", b"q", b"!"), True), ((b"abcdefgh", b"xyz", "ä".encode()), False)],
)
def test_strings_of_coded_and_plain_pages_are_whole(
    alphabet: tuple[bytes, ...], is_ascii: bool
) -> None:
    parts, sizes, counts, edges, numbers = [], [], [], [0], []
    strings: list[bytes] = []
    for page, is_coded in enumerate([True, True, False, True, False, False, True]):
        some = texts(page, SIZE // 7 + 13 * page, alphabet)
        codes = np.frombuffer(b"".join(some), np.uint8)
        ends = np.cumsum([0, *map(len, some)], dtype=np.int64)
        if is_coded:
            coded, ends = compiled.fsst_encode(codes, ends[:-1], ends[1:], *TABLE)
            codes = np.frombuffer(coded, np.uint8)[: int(ends[-1])]
        stored, lengths, numbers_of_values = NUMPY.split_variable(codes, ends, 4, 64)
        parts.append(stored.to_pybytes())
        sizes += lengths.tolist()
        counts += numbers_of_values.tolist()
        edges.append(len(counts))
        numbers.append(len(TABLE[1]) if is_coded else -1)
        strings += some
    symbols, lengths_ = (part * numbers.count(len(TABLE[1])) for part in TABLE)
    octets = np.frombuffer(b"".join(parts), np.uint8)
    starts = np.cumsum(array([0, *sizes]))[:-1]
    chunks = VariableChunks(octets, starts, array(sizes), array(counts), 4)
    tables = SymbolTables(symbols, lengths_, array(numbers), array(edges))
    text, offsets, found = compiled.fsst_decode_chunks(chunks, tables)
    assert text.size > 4 << 20
    assert text.to_pybytes() == b"".join(strings)
    assert offsets.tolist() == np.cumsum([0, *map(len, strings)]).tolist()
    assert found is is_ascii


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_of_full_and_short_chunks_are_whole(bits: int) -> None:
    chance = np.random.default_rng(bits)
    pages, places, sizes, counts, at = [], [], [], [], 0
    values = []
    left = SIZE // (bits // 8)
    while left > 0:
        count = int(chance.integers(1, 300_000))
        page = chance.integers(0, 1 << int(chance.integers(1, bits - 1)), count, np.uint64)
        page = page.astype(f"u{bits // 8}")
        packed, lengths = compiled.pack_inline(page)
        pages.append(np.frombuffer(packed, np.uint8))
        places += (at + np.cumsum(lengths) - lengths).tolist()
        sizes += lengths.tolist()
        counts += [1024] * (count // 1024) + [count % 1024] * (count % 1024 > 0)
        at += int(lengths.sum())
        values.append(page)
        left -= count
    data = np.concatenate(pages)
    found = compiled.unpack_inline(data, array(places), array(sizes), array(counts), bits)
    assert found.nbytes > 4 << 20
    assert np.array_equal(found, np.concatenate(values))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.int64])
def test_strings_are_taken_by_indices_of_any_width(kind: type[np.integer]) -> None:
    items = [b"", b"a", b"just 16 bytes ..", b"rather more than sixteen bytes", "ä".encode() * 3]
    chance = np.random.default_rng(3)
    places = chance.integers(0, len(items), 400_000).astype(kind)
    edges = np.cumsum(array([0, *map(len, items)]))
    text, offsets = compiled.take_variable(np.frombuffer(b"".join(items), np.uint8), edges, places)
    assert text.to_pybytes() == b"".join(items[place] for place in places)
    lengths = array(list(map(len, items)))[places]
    assert offsets.dtype == np.int32
    assert np.array_equal(offsets[1:], np.cumsum(lengths))
