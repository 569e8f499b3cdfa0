"""Whole pages of chunks: C gives what numpy gives, whether they are right or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lance_core.encodings.compression.fsst import SymbolTable
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.kernels.numpy.fsst_decode import SymbolTables
from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
from lance_core.encodings.kernels.numpy.repacked_chunks import PackedSlices
from lance_core.encodings.kernels.numpy.runs import RunRule
from lance_core.encodings.kernels.numpy.single_packed import PackedPositions
from lance_core.encodings.kernels.numpy.variable_chunks import VariableChunks
from tests.each_case import each_case
from tests.kernels.outcomes import array, check, compiled

BITS = (8, 16, 32, 64)

bits = st.sampled_from(BITS)
strings = st.lists(st.binary(max_size=12), max_size=40)
tables = st.lists(st.binary(min_size=1, max_size=8), max_size=20).map(
    lambda symbols: SymbolTable(tuple(symbols)).packed
)


def words(count: int, width: int, bits: int, seed: int) -> np.ndarray[Any, Any]:
    """Some of them as wide as ``width``, in stretches that are narrower and wider."""
    chance = np.random.default_rng(seed)
    tops = chance.integers(0, width, -(-count // 300) + 1, endpoint=True)
    values = chance.integers(0, 1 << 63, count, np.uint64, endpoint=True)
    shift = 64 - np.repeat(tops, 300)[:count].astype(np.uint64)
    return np.where(shift == 64, 0, (values << 1) >> np.minimum(shift, 63)).astype(f"u{bits // 8}")


def damaged(data: st.DataObject, octets: np.ndarray[Any, Any], *numbers: Any) -> list[Any]:
    """The same with one byte or number changed, or nothing."""
    octets, *changed = (np.array(one) for one in (octets, *numbers))
    which = data.draw(st.integers(-2, len(changed) - 1))
    target = octets if which == -1 else changed[which] if which >= 0 else None
    if target is not None and target.size:
        place = data.draw(st.integers(0, target.size - 1))
        value = data.draw(st.integers(-3, 70) | st.sampled_from([1 << 40, (1 << 63) - 1]))
        target.reshape(-1)[place] = value % 256 if which == -1 else value
    return [octets, *changed]


@each_case("bits", BITS)
@each_case("count", [0, 1, 1023, 1024, 5000])
def test_integers_are_packed_to_the_same_chunks_and_come_back(bits: int, count: int) -> None:
    for width in {0, 1, bits // 2, bits - 1, bits}:
        values = words(count, width, bits, width)
        check("chunk_widths", values)
        packed, sizes = compiled.pack_inline(values)
        expected, expected_sizes = NUMPY.pack_inline(values)
        assert packed.tobytes() == expected.tobytes()
        assert sizes.tolist() == expected_sizes.tolist()
        counts = np.minimum(count - np.arange(len(sizes)) * 1024, 1024)
        for function in (NUMPY.unpack_inline, compiled.unpack_inline):
            found = function(packed, np.cumsum(sizes) - sizes, sizes, counts, bits)
            assert found.tobytes() == values.tobytes()


@given(bits, st.lists(st.integers(-1, 1025), max_size=5), st.data())
def test_packed_chunks_of_any_form_have_the_same_values(
    bits: int, counts: list[int], data: st.DataObject
) -> None:
    values = words(1024 * len(counts), bits, bits, len(counts))
    packed, sizes = NUMPY.pack_inline(values)
    sizes = sizes[: len(counts)]
    forms = damaged(data, packed, np.cumsum(sizes) - sizes, sizes, array(counts))
    wanted = data.draw(st.just(bits) | st.integers(0, 65))
    check("unpack_inline", *forms, wanted)
    members = values[::100].view(f"i{bits // 8}").astype(np.int64)
    check("find_inline", *forms, wanted, IntegerIndex(np.unique(members)))


def chunks_of(values: list[np.ndarray[Any, Any]], large: bool) -> list[bytes]:
    """Chunks with a header, as pages without levels have them."""
    found = []
    for some in values:
        packed, _ = NUMPY.pack_inline(some)
        size = len(packed).to_bytes(4 if large else 2, "little")
        found.append((bytes(2) + size).ljust(8, b"\xfe") + packed.tobytes())
    return found


@each_case("bits", BITS)
@each_case("large", [False, True])
def test_chunks_of_pages_are_repacked_to_the_same_chunks(bits: int, large: bool) -> None:
    for counts in ([1024], [1024, 784, 1024, 1], [0, 5, 0], [512] * 6, [1023, 1024, 1024]):
        values = [words(count, bits, bits, number) for number, count in enumerate(counts)]
        chunks = chunks_of(values, large)
        buffers = [pa.py_buffer(b"before" + chunk + b"after") for chunk in chunks]
        starts = np.full(len(counts), 6)
        stops = starts + [len(chunk) for chunk in chunks]
        places = PackedSlices(buffers, np.arange(len(counts)), starts, stops, array(counts))
        check("repack_chunks", places, bits, large)
        data, sizes = compiled.repack_chunks(places, bits, large)
        begins = np.cumsum(sizes) - sizes
        octets = np.frombuffer(data, np.uint8)
        _, inner, lengths = NUMPY.chunk_headers(octets, begins, sizes, 0, 1, large).reshape(3, -1)
        total = sum(counts)
        stored = np.minimum(total - np.arange(len(sizes)) * 1024, 1024)
        found = NUMPY.unpack_inline(octets, inner, lengths, stored, bits)
        assert found.tobytes() == np.concatenate(values).tobytes()


@given(bits, st.booleans(), st.lists(st.integers(0, 1024), max_size=5), st.data())
def test_damaged_chunks_are_repacked_with_the_same_outcome(
    bits: int, large: bool, counts: list[int], data: st.DataObject
) -> None:
    values = [words(count, bits, bits, number) for number, count in enumerate(counts)]
    chunks = chunks_of(values, large)
    octets = np.frombuffer(b"".join(chunks), np.uint8)
    stops = np.cumsum(array([len(chunk) for chunk in chunks]))
    starts = np.append(0, stops)[: len(chunks)]
    owners = np.zeros(len(chunks), np.int64)
    octets, *rest = damaged(data, octets, owners, starts, stops, array(counts))
    wanted = data.draw(st.just(bits) | st.sampled_from([0, 1, 8, 64, 65]))
    check("repack_chunks", PackedSlices([pa.py_buffer(octets)], *rest), wanted, large)


@each_case("bits", BITS)
@each_case("count", [0, 1, 1023, 1024, 5000])
def test_the_same_packed_integers_are_found(bits: int, count: int) -> None:
    chance = np.random.default_rng(count)
    for width in {0, 1, bits // 2, bits - 1, bits}:
        values = words(count, width, bits, width)
        # Some chunks ascend, and members of an index with many values share slots.
        for some in (values, np.sort(values.view(f"i{bits // 8}")).view(values.dtype)):
            packed, sizes = NUMPY.pack_inline(some)
            counts = np.minimum(count - np.arange(len(sizes)) * 1024, 1024)
            plain = some.view(f"i{bits // 8}").astype(np.int64)
            for others in (0, 10_000):
                more = chance.integers(-(1 << 63), (1 << 63) - 1, others, endpoint=True)
                members = np.unique(np.concatenate([plain[::3], more]))
                index = IntegerIndex(members)
                starts = np.cumsum(sizes) - sizes
                check("find_inline", packed, starts, sizes, counts, bits, index)
                rows, numbers = compiled.find_inline(packed, starts, sizes, counts, bits, index)
                assert rows.tolist() == np.flatnonzero(np.isin(plain, members)).tolist()
                assert (members[numbers] == plain[rows]).all()
                check("find_integers", plain, index)
                check("find_integers", plain[::-2], index)


def packed_levels(width: int, counts: list[int], raw: bool) -> tuple[Any, Any, Any]:
    """Chunks of levels, and where they are; what is left of a chunk packed, or as it is."""
    parts = []
    for count in counts:
        levels = words(max(count, 0), width, 16, count)
        whole = len(levels) // 1024 * 1024
        rest = levels[whole:]
        padded = np.concatenate([rest, np.zeros(-len(rest) % 1024, "u2")])
        last = rest.view("u1") if raw else NUMPY.pack_fastlanes(padded, width)
        parts.append(np.concatenate([NUMPY.pack_fastlanes(levels[:whole], width), last]))
    sizes = array([len(part) for part in parts])
    return np.concatenate([array([], np.uint8), *parts]), np.cumsum(sizes) - sizes, sizes


@given(st.integers(0, 16), st.lists(st.integers(0, 2100), max_size=4), st.booleans(), st.data())
def test_packed_levels_of_any_form_are_the_same(
    width: int, counts: list[int], raw: bool, data: st.DataObject
) -> None:
    forms = damaged(data, *packed_levels(width, counts, raw), array(counts))
    wanted = data.draw(st.just(width) | st.integers(-1, 17))
    check("unpack_levels", *forms, wanted)
    numbers = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 2100)), max_size=9)
    pairs = data.draw(numbers) + [(i, n - 1) for i, n in enumerate(counts) if n]
    picked = PackedPositions(array([c for c, _ in pairs]), array([p for _, p in pairs]))
    check("pick_levels", *forms, picked, wanted)
    check("pick_levels", *forms, PackedPositions(*(part[len(pairs) :] for part in picked)), wanted)


@given(strings, st.sampled_from([4, 8]), st.integers(0, 200))
@example([b"x" * 9000, b"", b"y"], 4, 4096)
@example([b""] * 9000, 8, 1 << 20)
@example([b""] * 4095, 4, 1 << 20)
@example([b"abc"] * 100, 4, 40)
def test_strings_are_put_into_the_same_chunks_and_come_back(
    texts: list[bytes], width: int, limit: int
) -> None:
    octets = np.frombuffer(b"??" + b"".join(texts), np.uint8)
    offsets = np.cumsum([2, *map(len, texts)], dtype=np.int64)
    check("split_variable", octets, offsets, width, limit)
    data, sizes, counts = compiled.split_variable(octets, offsets, width, limit)
    starts = np.cumsum(sizes) - sizes
    chunks = VariableChunks(np.frombuffer(data, np.uint8), starts, sizes, counts, width)
    check("join_variable", chunks)
    back, text = compiled.join_variable(chunks)
    assert text.to_pybytes() == b"".join(texts)
    assert back.tolist() == (offsets - 2).tolist()


@given(st.integers(0, 5), st.integers(1, 4), st.sampled_from([4, 8]), st.integers(0, 99), st.data())
@example(4100, 2, 4, 1 << 20, None)
def test_strings_of_columns_are_put_into_the_chunks_of_each(
    rows: int, columns: int, width: int, limit: int, draw: st.DataObject | None
) -> None:
    count = rows * columns
    texts = [b"abc"] * count
    if draw is not None:
        texts = draw.draw(st.lists(st.binary(max_size=40), min_size=count, max_size=count))
    octets = np.frombuffer(b"".join(texts), np.uint8)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    check("split_variable", octets, offsets, width, limit, columns)
    check("split_variable", octets, offsets, width, limit, columns + 1)
    data, sizes, counts = compiled.split_variable(octets, offsets, width, limit, columns)
    if not rows:
        return
    edges = [offsets[rows * n : rows * (n + 1) + 1] for n in range(columns)]
    alone = [NUMPY.split_variable(octets, own, width, limit) for own in edges]
    assert data.to_pybytes() == b"".join(one.to_pybytes() for one, _, _ in alone)
    assert sizes.tolist() == np.concatenate([own for _, own, _ in alone]).tolist()
    assert counts.tolist() == np.concatenate([own for _, _, own in alone]).tolist()


@given(
    st.binary(max_size=40),
    st.lists(st.integers(-1, 41), max_size=6),
    st.integers(3, 9),
    st.integers(-2, 50),
)
def test_strings_anywhere_are_put_into_the_same_chunks(
    data: bytes, offsets: list[int], width: int, limit: int
) -> None:
    check("split_variable", np.frombuffer(data, np.uint8), array(offsets), width, limit)


@given(strings, st.sampled_from([4, 8]), tables, st.data())
def test_string_chunks_of_any_form_have_the_same_values(
    texts: list[bytes], width: int, table: tuple[bytes, bytes], data: st.DataObject
) -> None:
    joined = np.frombuffer(b"".join(texts), np.uint8)
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    codes, ends = NUMPY.fsst_encode(joined, offsets[:-1], offsets[1:], *table)
    stored, sizes, counts = NUMPY.split_variable(np.frombuffer(codes, np.uint8), ends, width, 64)
    octets = np.frombuffer(stored, np.uint8)
    forms = damaged(data, octets, np.cumsum(sizes) - sizes, sizes, counts)
    width = data.draw(st.just(width) | st.sampled_from([0, 4, 8]))
    chunks = VariableChunks(*forms, width)
    check("join_variable", chunks)
    for keeps_escapes in (False, True):
        tables = single_table(table, len(chunks.counts))._replace(keeps_escapes=keeps_escapes)
        check("fsst_decode_chunks", chunks, tables)


def single_table(table: tuple[bytes, bytes], chunks: int) -> SymbolTables:
    return SymbolTables(*table, array([len(table[1])]), array([0, chunks]))


@given(st.lists(st.tuples(strings, st.none() | tables), max_size=4), st.data())
def test_string_chunks_of_several_pages_have_the_same_values(
    pages: list[tuple[list[bytes], tuple[bytes, bytes] | None]], data: st.DataObject
) -> None:
    width = data.draw(st.sampled_from([4, 8]))
    parts, sizes, counts, edges = [], [], [], [0]
    for texts, table in pages:
        codes: Any = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        if table is not None:
            codes, ends = NUMPY.fsst_encode(codes, ends[:-1], ends[1:], *table)
        found = NUMPY.split_variable(np.frombuffer(codes, np.uint8), ends, width, 64)
        parts.append(found[0].to_pybytes())
        sizes += found[1].tolist()
        counts += found[2].tolist()
        edges.append(len(counts))
    chosen = [table for _, table in pages]
    symbols, lengths = (
        b"".join(table[part] for table in chosen if table is not None) for part in (0, 1)
    )
    numbers = array([-1 if table is None else len(table[1]) for table in chosen])
    octets = np.frombuffer(b"".join(parts), np.uint8)
    starts = np.cumsum(array([0, *sizes]))[:-1]
    chunks = VariableChunks(octets, starts, array(sizes), array(counts), width)
    whole = compiled.fsst_decode_chunks(
        chunks, SymbolTables(symbols, lengths, numbers, array(edges))
    )
    assert whole[0].to_pybytes() == b"".join(text for texts, _ in pages for text in texts)
    assert whole[1].tolist() == np.cumsum([0, *(len(t) for ts, _ in pages for t in ts)]).tolist()
    octets, *numbered = damaged(
        data, octets, starts, array(sizes), array(counts), numbers, array(edges)
    )
    cut = data.draw(st.sampled_from([0, 0, 0, 1]))
    chunks = VariableChunks(octets, *numbered[:3], width)
    some = SymbolTables(symbols[8 * cut :], lengths[cut:], *numbered[3:], data.draw(st.booleans()))
    check("fsst_decode_chunks", chunks, some)


@given(
    st.lists(st.binary(max_size=200).map(lambda data: np.frombuffer(data, np.uint8)), max_size=3),
    st.integers(0, 5),
    st.integers(-1, 9),
    st.data(),
)
def test_pieces_of_any_form_make_the_same_chunks(
    buffers: list[Any], chunks: int, align: int, data: st.DataObject
) -> None:
    sizes = []
    for buffer in buffers:
        edges = sorted(data.draw(st.lists(st.integers(0, len(buffer)), max_size=chunks)))
        cuts = [*edges, *[len(buffer)] * (chunks - len(edges))]
        sizes.append(np.diff([0, *cuts]))
    table = array(np.reshape(sizes, (len(buffers), chunks)).tolist()).reshape(len(buffers), chunks)
    _, table = damaged(data, array([1], np.uint8), table)
    check("interleave_chunks", buffers, table, align, 0xFE)


@pytest.mark.parametrize("align", [1, 8])
def test_many_pieces_of_many_sizes_make_the_same_chunks(align: int) -> None:
    chance = np.random.default_rng(align)
    sizes = chance.integers(0, 40, (3, 500))
    sizes[1] = 6
    buffers = [chance.integers(0, 256, int(part.sum()), np.uint8) for part in sizes]
    check("interleave_chunks", buffers, sizes, align, 0xFE)


lengths = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1, 2, 254, 255, 256, 700])))


@given(bits, lengths, st.integers(0, 9), st.integers(0, 4), st.integers(0, 40), st.integers(0, 30))
@example(32, [(0, 700)] * 20, 7, 12, 64, 6)
def test_runs_are_the_same_and_come_back(
    bits: int, runs: list[tuple[int, int]], per_chunk: int, doubled: int, least: int, room: int
) -> None:
    values = np.repeat(array([value for value, _ in runs]), [length for _, length in runs])
    values = values.astype(f"u{bits // 8}")
    check("count_runs", values, per_chunk)
    check("encode_runs", values, RunRule(least << doubled, room, least))
    rule = RunRule(least << doubled, least, room)
    check("encode_runs", values, rule)
    if least and room:
        stored, steps, numbers, counts = compiled.encode_runs(values, rule)
        assert (steps > 0).all()
        data = np.concatenate([stored.view(np.uint8), steps])
        sizes = np.stack([numbers * (bits // 8), numbers])
        starts = np.cumsum(sizes, axis=1) - sizes + [[0], [stored.nbytes]]
        for function in (NUMPY.expand_runs, compiled.expand_runs):
            back = function(data, starts, sizes, counts, bits)
            assert back.tobytes() == values.tobytes()


@given(bits, lengths, st.data())
def test_runs_of_any_form_have_the_same_values(
    bits: int, runs: list[tuple[int, int]], data: st.DataObject
) -> None:
    steps = array([length % 256 for _, length in runs], np.uint8)
    values = array([value for value, _ in runs]).astype(f"u{bits // 8}")
    octets = np.concatenate([values.view(np.uint8), steps])
    starts, sizes = array([[0], [values.nbytes]]), array([[values.nbytes], [len(steps)]])
    forms = damaged(data, octets, starts, sizes, array([int(steps.sum())]))
    check("expand_runs", *forms, data.draw(st.just(bits) | st.integers(0, 65)))


@given(st.sampled_from([4, 8]), st.integers(0, 700), st.integers(0, 300), st.data())
def test_byte_streams_of_any_form_are_the_same(
    width: int, count: int, per_chunk: int, data: st.DataObject
) -> None:
    octets = np.random.default_rng(count).integers(0, 256, count * width, np.uint8)
    check("split_streams", octets, width, per_chunk)
    check("split_streams", octets, data.draw(st.integers(0, 9)), 5)
    per_chunk = max(per_chunk, 1)
    streams = NUMPY.split_streams(octets, width, per_chunk)
    begins = np.arange(0, count, per_chunk)
    counts = np.minimum(count - begins, per_chunk)
    for function in (NUMPY.join_streams, compiled.join_streams):
        back = function(streams, begins * width, counts * width, counts, width)
        assert back.tobytes() == octets.tobytes()
    forms = damaged(data, streams, begins * width, counts * width, counts)
    check("join_streams", *forms, data.draw(st.just(width) | st.integers(0, 9)))


@given(
    st.lists(st.integers(0, 40), max_size=64),
    st.lists(st.tuples(st.integers(-1, 130), st.integers(-1, 70)), max_size=5),
    st.integers(-1, 3),
    st.integers(-1, 4) | st.just(64),
    st.booleans(),
)
@example([5, 0, 8, 0, 3, 0, 1, 0] * 8, [(0, 64), (16, 48)], 2, 1, False)
@example([5, 0, 8, 0, 3, 0, 0, 0] * 8, [(0, 64)], 1, 1, True)
def test_headers_of_chunks_of_any_form_have_the_same_outcome(
    octets: list[int],
    chunks: list[tuple[int, int]],
    levels: int,
    buffers: int,
    large: bool,
) -> None:
    starts, sizes = array([start for start, _ in chunks]), array([size for _, size in chunks])
    data = array(octets * 2, np.uint8)
    check("chunk_headers", data, starts, sizes, levels, buffers, large)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 15)), max_size=9),
    st.binary(max_size=3),
    st.integers(-2, 9),
    st.integers(-1, 9),
    st.booleans(),
)
@example([], b"", 1, 0, True)
@example([(1, 10), (4000, 15), (2, 0)], b"", 7, 0, False)
@example([(1, 0), (1, 0)], b"", 1, 0, True)
@example([(1 << 27, 4)] * 3, b"", 16, 0, True)
def test_words_of_chunks_of_any_form_have_the_same_outcome(
    chunks: list[tuple[int, int]], more: bytes, rest: int, missing: int, large: bool
) -> None:
    stored = np.array([size << 4 | log for size, log in chunks], np.uint32)
    words = pa.py_buffer(stored.astype("<u4" if large else "<u2").tobytes() + more)
    before = sum(1 << log for _, log in chunks[:-1])
    size = sum(8 * (size + 1) for size, _ in chunks) - missing
    for values in (before + rest, before + (1 << chunks[-1][1] if chunks else 0), 1 << 63):
        check("chunk_edges", words, large, values, size)
