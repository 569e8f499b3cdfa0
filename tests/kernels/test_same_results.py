"""The compiled inner loops give what those of numpy give, and fail where those fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lance_core.encodings.compression.fsst import SymbolTable
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.kernels.numpy.single_packed import PackedPositions
from lance_core.encodings.kernels.numpy.variable_chunks import VariableChunks
from lance_core.errors import CorruptFileError
from tests.each_case import each_case
from tests.kernels.outcomes import array, check, compiled

BITS = (8, 16, 32, 64)
WORDS = [b"the ", b"quick ", b"brown ", b"fox ", b"http://", b".com", b"a", b"\xff", b"\0", b""]

texts = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.lists(st.sampled_from(WORDS), max_size=200).map(b"".join),
    ),
    max_size=30,
)
symbols = st.lists(st.binary(min_size=1, max_size=8), max_size=40)
offsets = st.lists(st.integers(-2, 80), max_size=12)
places = st.lists(st.integers(-1, 30), max_size=4)


def joined(strings: list[bytes]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    edges = np.cumsum([0, *map(len, strings)], dtype=np.int64)
    return np.frombuffer(b"".join(strings), np.uint8), edges


def some_of(strings: list[bytes]) -> st.SearchStrategy[list[int]]:
    """Numbers of some of the strings, in any order."""
    if not strings:
        return st.just([])
    return st.lists(st.integers(0, len(strings) - 1), max_size=20)


@each_case("bits", BITS)
def test_every_width_is_packed_and_unpacked_alike(bits: int) -> None:
    chance = np.random.default_rng(bits)
    for width in range(bits + 1):
        top = (1 << width) - 1
        values = chance.integers(0, top, 2048, np.dtype(f"u{bits // 8}"), endpoint=True)
        packed = compiled.pack_fastlanes(values, width)
        assert packed.tobytes() == NUMPY.pack_fastlanes(values, width).tobytes()
        assert (compiled.unpack_fastlanes(packed, width, bits, 2) == values).all()
        noise = chance.integers(0, 256, 2 * 128 * width, np.uint8)
        check("unpack_fastlanes", noise, width, bits, 2)


@given(st.integers(-1, 400), st.integers(-1, 70), st.integers(-1, 70), st.integers(-1, 3))
@example(0, 0, 8, 1 << 62).via("more than fits into memory is seen before it is made")
def test_chunks_of_any_claim_have_the_same_outcome(
    size: int, width: int, bits: int, chunks: int
) -> None:
    if width == 0 and chunks > 1000:
        with pytest.raises((CorruptFileError, MemoryError, ValueError)):
            compiled.unpack_fastlanes(np.zeros(0, np.uint8), width, bits, chunks)
        return
    check("unpack_fastlanes", np.arange(max(size, 0), dtype=np.uint8), width, bits, chunks)


@given(st.sampled_from(BITS), st.data())
def test_values_of_any_size_have_the_same_outcome(bits: int, data: st.DataObject) -> None:
    width = data.draw(st.integers(-1, bits + 1))
    value = data.draw(st.integers(0, (1 << bits) - 1))
    count = data.draw(st.sampled_from([0, 1, 1024, 2048]))
    values = np.zeros(count, f"u{bits // 8}")
    values[count // 2 :] = value
    check("pack_fastlanes", values, width)


@given(texts)
@example([b"abc" * 3000, b"", bytes(range(256)) * 2])
def test_training_finds_the_same_symbols(sample: list[bytes]) -> None:
    check("fsst_train", sample)


@given(texts, symbols)
def test_strings_have_the_same_codes_and_come_back(
    strings: list[bytes], chosen: list[bytes]
) -> None:
    data, edges = joined(strings)
    for table in (SymbolTable(tuple(chosen)), SymbolTable(NUMPY.fsst_train(strings))):
        check("fsst_encode", data, edges[:-1], edges[1:], *table.packed)
        codes, places = compiled.fsst_encode(data, edges[:-1], edges[1:], *table.packed)
        stored = np.frombuffer(codes, np.uint8)
        check("fsst_decode", stored, places, *table.packed)
        text, back = compiled.fsst_decode(stored, places, *table.packed)
        assert text.to_pybytes() == data.tobytes()
        assert back.tolist() == edges.tolist()


@given(st.binary(max_size=60), offsets, offsets, symbols)
def test_strings_anywhere_have_the_same_outcome(
    data: bytes, starts: list[int], stops: list[int], chosen: list[bytes]
) -> None:
    table = SymbolTable(tuple(chosen)).packed
    check("fsst_encode", np.frombuffer(data, np.uint8), array(starts), array(stops), *table)


@given(
    st.lists(st.one_of(st.integers(0, 255), st.sampled_from([0, 255])), max_size=80),
    offsets,
    symbols,
    st.booleans(),
)
@example([255, 255, 255], [0, 1, 3], [], False)
@example([0] * 8, [0, 4, 8], [b"12345678"], False)
def test_damaged_codes_have_the_same_outcome(
    codes: list[int], edges: list[int], chosen: list[bytes], ascending: bool
) -> None:
    places = array(sorted(edges) if ascending else edges)
    check("fsst_decode", array(codes, np.uint8), places, *SymbolTable(tuple(chosen)).packed)


@given(st.integers(0, 1 << 32), st.sampled_from([0.0, 0.001, 0.2]), st.integers(1, 255))
def test_long_runs_of_codes_have_the_same_outcome(seed: int, escapes: float, count: int) -> None:
    chance = np.random.default_rng(seed)
    size = int(chance.integers(4000, 20_000))
    codes = chance.integers(0, count, size).astype(np.uint8)
    codes[chance.random(size) < escapes] = 255
    symbols = SymbolTable(tuple(chance.bytes(1 + code % 8) for code in range(count))).packed
    places = np.sort(chance.integers(0, size + 1, int(chance.integers(1, 3000))))
    if seed % 2:
        # No string ends within an escape: the byte before an end is an escape that is not literal.
        runs = np.cumsum(codes == 255) - np.maximum.accumulate(
            np.where(codes == 255, 0, np.cumsum(codes == 255))
        )
        within = np.append(False, runs % 2 == 1)
        places = places[~within[places]]
    if len(places):
        check("fsst_decode", codes, places, *symbols)


@given(st.binary(max_size=48), st.lists(st.integers(0, 10), max_size=6).map(bytes))
@example(bytes(8 * 256), bytes([1]) * 256)
def test_damaged_symbols_have_the_same_outcome(padded: bytes, lengths: bytes) -> None:
    data, edges = joined([b"abc", b"", b"\0\0"])
    check("fsst_decode", data, edges, padded, lengths)
    check("fsst_encode", data, edges[:-1], edges[1:], padded, lengths)


@given(st.binary(max_size=80), offsets, offsets)
def test_spans_anywhere_have_the_same_outcome(
    data: bytes, starts: list[int], stops: list[int]
) -> None:
    check("gather_variable", np.frombuffer(data, np.uint8), array(starts), array(stops))


@given(st.binary(max_size=80), st.lists(st.integers(0, 80), max_size=20).map(sorted))
def test_spans_that_ascend_have_the_same_bytes(data: bytes, edges: list[int]) -> None:
    edges = [min(edge, len(data)) for edge in edges[: len(edges) // 2 * 2]]
    gathered = check(
        "gather_variable", np.frombuffer(data, np.uint8), array(edges[::2]), array(edges[1::2])
    )
    expected = b"".join(data[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
    assert isinstance(gathered, tuple)
    assert gathered[0] == expected


def test_arrays_need_not_be_contiguous_nor_aligned() -> None:
    data, edges = joined([b"hello", b"", b"world"])
    table = SymbolTable((b"hello", b"wor")).packed
    unaligned = np.frombuffer(b"\0" + edges.tobytes(), np.int64, offset=1)
    spread = np.repeat(data, 2)[::2]
    codes, places = compiled.fsst_encode(spread, unaligned[:-1], unaligned[1:], *table)
    assert codes.to_pybytes() == bytes([0, 1, 255, ord("l"), 255, ord("d")])
    text, _ = compiled.fsst_decode(np.frombuffer(codes, np.uint8), places[::-1][::-1], *table)
    assert text.to_pybytes() == data.tobytes()


@given(st.sampled_from(BITS), st.data())
def test_single_packed_values_are_picked_alike(bits: int, data: st.DataObject) -> None:
    chance = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    tops = data.draw(st.lists(st.integers(0, bits), min_size=1, max_size=3))
    words = [chance.integers(0, (1 << top) - 1, 1024, f"<u{bits // 8}", True) for top in tops]
    packed, sizes = NUMPY.pack_inline(np.concatenate(words))
    counts = np.full(len(sizes), 1024)
    counts[-1] = data.draw(st.integers(1, 1024))
    starts = np.cumsum(sizes) - sizes
    chunk = chance.integers(0, len(sizes), 50)
    picked = PackedPositions(chunk, chance.integers(0, counts[chunk]))
    check("pick_inline", packed, starts, sizes, counts, picked, bits)
    every = NUMPY.unpack_inline(packed, starts, sizes, counts, bits)
    found = compiled.pick_inline(packed, starts, sizes, counts, picked, bits)
    assert (found == every[picked.chunk * 1024 + picked.position]).all()


@given(st.sampled_from((4, 8)), st.lists(texts, min_size=1, max_size=3), st.data())
def test_single_strings_are_found_alike(
    width: int, chunks: list[list[bytes]], data: st.DataObject
) -> None:
    parts = [NUMPY.split_variable(*joined(own), width, 1 << 20) for own in chunks]
    stored = np.concatenate([np.frombuffer(part[0], np.uint8) for part in parts])
    sizes = np.concatenate([part[1] for part in parts])
    counts = np.concatenate([part[2] for part in parts])
    starts = np.cumsum(sizes) - sizes
    values = [text for own in chunks for text in own]
    numbers = data.draw(some_of(values))
    ends = np.cumsum(counts)
    chunk = np.searchsorted(ends, array(numbers), "right")
    picked = PackedPositions(chunk, array(numbers) - (ends - counts)[chunk])
    found = check("pick_spans", VariableChunks(stored, starts, sizes, counts, width), picked)
    assert isinstance(found, tuple)
    spans = zip(found[0][1], found[1][1], strict=True)
    assert [stored[a:b].tobytes() for a, b in spans] == [values[number] for number in numbers]


@given(
    st.lists(st.integers(0, 40), max_size=12),
    st.sampled_from((4, 8, 3)),
    *[places] * 5,
)
@example([8, 9], 4, [0], [12], [1], [0], [0]).via("just as many bytes as are needed")
@example([8, 13], 4, [0], [12], [1], [0], [0])
@example([7, 9], 4, [0], [12], [1], [0], [0])
@example([8, 9], 4, [0], [8], [1], [0], [0])
@example([8, 9], 4, [0], [12], [1], [0], [1])
def test_single_strings_of_any_claim_have_the_same_outcome(
    words: list[int],
    width: int,
    starts: list[int],
    sizes: list[int],
    counts: list[int],
    chunk: list[int],
    position: list[int],
) -> None:
    stored = np.array(words, np.uint32).view(np.uint8)
    chunks = VariableChunks(stored, array(starts), array(sizes), array(counts), width)
    check("pick_spans", chunks, PackedPositions(array(chunk), array(position)))


@given(texts, st.data())
def test_strings_are_taken_alike(strings: list[bytes], data: st.DataObject) -> None:
    numbers = data.draw(some_of(strings))
    taken = check("take_variable", *joined(strings), array(numbers))
    assert isinstance(taken, tuple)
    assert taken[0] == b"".join(strings[number] for number in numbers)


@given(st.binary(max_size=40), offsets, st.lists(st.integers(-2, 12), max_size=6))
@example(b"abc", [0, 3, 1, 2], [0, 2])
@example(b"abc", [0, 3, 1, 2], [1])
@example(b"abc", [9, 0, 1, 9, 8], [1]).via(
    "what is beyond the values that are taken may be anything"
)
@example(b"", [0, 0, 1], [0])
@example(b"abc", [-1, 0, 3], [0])
@example(b"abc", [0, 3, 4], [1, 0])
@example(b"abc", [], [0])
def test_strings_anywhere_are_taken_alike(
    data: bytes, edges: list[int], numbers: list[int]
) -> None:
    check("take_variable", np.frombuffer(data, np.uint8), array(edges), array(numbers))


@given(st.sampled_from((*BITS, 7)), st.integers(-1, 20), places, places, places, places, places)
@example(8, 1, [0], [160], [9], [0], [8])
@example(8, 1, [0], [160], [9], [0], [9])
@example(8, 1, [0], [128], [9], [0], [8])
@example(8, 0, [199], [1], [9], [0], [8])
def test_picks_of_any_claim_have_the_same_outcome(
    bits: int,
    width: int,
    starts: list[int],
    sizes: list[int],
    counts: list[int],
    chunk: list[int],
    position: list[int],
) -> None:
    data = np.full(200, max(width, 0), np.uint8)
    picked = PackedPositions(array(chunk), array(position))
    check("pick_inline", data, array(starts), array(sizes), array(counts), picked, bits)


@given(
    st.lists(st.binary(max_size=40), max_size=4),
    st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 41), st.integers(-1, 41)), max_size=8),
)
def test_slices_anywhere_have_the_same_outcome(
    data: list[bytes], slices: list[tuple[int, int, int]]
) -> None:
    places = np.array(slices, np.int64).reshape(-1, 3)
    check("join_slices", list(map(pa.py_buffer, data)), *places.T)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=4), st.data())
def test_slices_of_buffers_have_the_same_bytes(buffers: list[bytes], data: st.DataObject) -> None:
    owners = data.draw(st.lists(st.integers(0, len(buffers) - 1), max_size=8))
    edges = [
        sorted(data.draw(st.tuples(*[st.integers(0, len(buffers[owner]))] * 2))) for owner in owners
    ]
    starts, stops = np.array(edges, np.int64).reshape(-1, 2).T
    found = check("join_slices", list(map(pa.py_buffer, buffers)), array(owners), starts, stops)
    places = zip(owners, edges, strict=True)
    expected = b"".join(buffers[owner][start:stop] for owner, (start, stop) in places)
    assert found == ("uint8", list(expected))


@given(
    st.lists(st.one_of(st.binary(max_size=20), st.sampled_from(WORDS)), max_size=60),
    st.integers(1, 5),
    st.integers(-1, 12),
    st.lists(st.integers(-1, 12), max_size=20),
)
@example([b"abcdefgh", b"abcdefgx", b"abcdefgh", b"abcdefghabcdefgh"], 1, 3, [3, 1, 3])
@example([b"abcdefgh", b"bcdefgh", b"", b"b"], 2, 1, [])
def test_dictionaries_of_columns_are_found_alike(
    strings: list[bytes], columns: int, most: int, some: list[int]
) -> None:
    rows = len(strings) // columns
    data, offsets = joined(strings)
    edges = np.concatenate([offsets[c * rows : c * rows + rows + 1] for c in range(columns)])
    check("dictionary_codes", data, edges, columns, array(some), most)
    found = check("dictionary_codes", data, edges, columns, np.arange(rows), most)
    if not isinstance(found, tuple):
        assert most < 0
        return
    codes, counts, firsts = (one[1] for one in found)
    at = 0
    for column, count in enumerate(counts):
        own = strings[column * rows : column * rows + rows]
        assert (count > most) == (len(set(own)) > most)
        if count <= most:
            items = [
                data[edges[place] : edges[place + 1]].tobytes() for place in firsts[at : at + count]
            ]
            assert items == list(dict.fromkeys(own))
            assert [items[code] for code in codes[column * rows :][:rows]] == own
            at += count
    assert at == len(firsts)


@given(offsets, st.integers(-1, 3), places, st.integers(-1, 3))
@example([], 0, [], 1)
@example([0, 3], 0, [], 1)
@example([], 2, [], 1)
@example([4], 1, [0], 1)
def test_edges_of_dictionaries_are_checked_alike(
    edges: list[int], columns: int, some: list[int], most: int
) -> None:
    data = np.arange(40, dtype=np.uint8)
    check("dictionary_codes", data, array(edges), columns, array(some), most)
    check("dictionary_codes", data, array(sorted(edges)), columns, array(some), most)


def test_dictionaries_of_long_columns_are_found_alike() -> None:
    chance = np.random.default_rng(4)
    edges = np.cumsum([0, *chance.integers(0, 12, 29_999)])
    data = chance.integers(0, 2, edges[-1], np.uint8)
    for most in (9_000, 50):
        check("dictionary_codes", data, edges, 3, np.arange(9_999), most)
        check("dictionary_codes", data, edges, 3, np.arange(9_999)[::-2], most)


def test_dictionaries_of_numbers_are_found_alike() -> None:
    values = np.random.default_rng(5).integers(0, 300, (4, 1000)).astype("<u8")
    edges = np.add.outer(np.arange(0, 32_000, 8000), np.arange(0, 8008, 8)).reshape(-1)
    for shift in (0, 4):
        data = np.concatenate([np.zeros(shift, np.uint8), values.view(np.uint8).reshape(-1)])
        for most in (1000, 290, 20):
            check("dictionary_codes", data, edges + shift, 4, np.arange(1000), most)
