"""FSST: stored tables, codes, escapes, and finding symbols."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.compression.fsst import (
    TABLE_BYTES,
    SymbolTable,
    packed_symbols,
)
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.kernels.numpy.fsst_decode import escaped_places
from lance_core.encodings.kernels.numpy.fsst_train import fsst_sample
from lance_core.errors import CorruptFileError
from tests.each_case import each_case

SYMBOLS = (b"hello", b"world", b"lo", b"h", b"12345678")


def decoded(symbols: tuple[bytes, ...], codes: bytes, ends: list[int]) -> list[bytes]:
    data, edges = NUMPY.fsst_decode(
        np.frombuffer(codes, np.uint8), np.array([0, *ends]), *SymbolTable(symbols).packed
    )
    return [bytes(data)[a:b] for a, b in pairwise(edges.tolist())]


def encoded(symbols: tuple[bytes, ...], texts: list[bytes]) -> tuple[bytes, list[int]]:
    edges = np.cumsum([0, *(len(text) for text in texts)])
    data = np.frombuffer(b"".join(texts), np.uint8)
    packed = SymbolTable(symbols).packed
    codes, offsets = NUMPY.fsst_encode(data, edges[:-1], edges[1:], *packed)
    return bytes(codes), offsets[1:].tolist()


def test_a_table_has_its_bytes() -> None:
    stored = SymbolTable(SYMBOLS).to_bytes()
    assert len(stored) == TABLE_BYTES
    assert stored[:8] == bytes([5, 0, 5, 1]) + b"TSSF"
    assert stored[8:24] == b"hello\0\0\0world\0\0\0"
    assert stored[48:53] == bytes([5, 5, 2, 1, 8])
    assert not any(stored[53:])
    assert packed_symbols(stored) == SymbolTable(SYMBOLS).packed


def test_an_inactive_table_has_no_symbols() -> None:
    stored = SymbolTable((), active=False).to_bytes()
    assert stored == b"\0\0\0\0TSSF".ljust(TABLE_BYTES, b"\0")
    assert packed_symbols(stored) is None


@each_case(
    "stored",
    [
        b"",
        SymbolTable(SYMBOLS).to_bytes()[:-1],
        b"\0" * TABLE_BYTES,
        SymbolTable(SYMBOLS).to_bytes().replace(bytes([5, 5, 2, 1, 8]), bytes([5, 5, 2, 1, 9])),
        SymbolTable(SYMBOLS).to_bytes().replace(bytes([5, 5, 2, 1, 8]), bytes([5, 5, 0, 1, 8])),
    ],
)
def test_a_garbled_table_is_corruption(stored: bytes) -> None:
    with pytest.raises(CorruptFileError):
        packed_symbols(stored)


def test_codes_become_symbols_and_escapes_bytes() -> None:
    codes = bytes([0, 255, 32, 1, 255, 255, 3, 2, 255, 0])
    assert decoded(SYMBOLS, codes, [4, 4, 6, 8, 10]) == [
        b"hello world",
        b"",
        b"\xff",
        b"hlo",
        b"\0",
    ]


@each_case(
    ("codes", "escapes"),
    [
        (b"", []),
        (b"\xff\xff", [0]),
        (b"\xff\xff\xff\x01", [0, 2]),
        (b"\x01\xff\x02\xff\xff\x03", [1, 3]),
        (b"\xff\xff\xff\xff\xff\xff", [0, 2, 4]),
    ],
)
def test_every_second_255_of_a_run_is_meant(codes: bytes, escapes: list[int]) -> None:
    assert escaped_places(np.frombuffer(codes, np.uint8)).tolist() == escapes


@each_case(
    ("codes", "ends"),
    [(b"\x00\xff", [2]), (b"\xff\x01", [1, 2]), (b"\x00\xff\xff\xff\x01", [4, 5])],
)
def test_a_string_cut_in_an_escape_is_corruption(codes: bytes, ends: list[int]) -> None:
    with pytest.raises(CorruptFileError, match="ends within an escape"):
        decoded(SYMBOLS, codes, ends)


@each_case("code", [5, 100, 254])
def test_a_code_without_a_symbol_is_corruption(code: int) -> None:
    with pytest.raises(CorruptFileError, match="no symbol among 5"):
        decoded(SYMBOLS, bytes([0, code]), [2])


def test_the_longest_symbol_is_taken() -> None:
    assert encoded(SYMBOLS, [b"hello", b"helo", b"", b"12345678x"]) == (
        bytes([0, 3, 255, ord("e"), 2, 4, 255, ord("x")]),
        [1, 5, 5, 8],
    )


@each_case("texts", [[], [b""], [b"", b""], [b"\xff" * 300], [bytes(range(256)) * 3]])
def test_strings_come_back_whatever_the_symbols(texts: list[bytes]) -> None:
    for symbols in ((), SYMBOLS, (b"\xff",), (b"\xff\xff\xff", b"\0")):
        codes, ends = encoded(symbols, texts)
        assert len(ends) == len(texts)
        if texts:
            assert decoded(symbols, codes, ends) == texts


def test_symbols_that_are_found_shorten_the_text() -> None:
    words = ["the ", "quick ", "brown ", "fox ", "jumps "]
    chance = np.random.default_rng(1)
    texts = ["".join(words[i] for i in chance.integers(0, 5, 9)).encode() for _ in range(3000)]
    edges = np.cumsum([0, *(len(text) for text in texts)])
    data = pa.py_buffer(b"".join(texts))
    sample = fsst_sample(data, edges[:-1], edges[1:])
    symbols = NUMPY.fsst_train(sample)
    assert symbols == NUMPY.fsst_train(sample)
    assert len(symbols) == len(set(symbols)) <= 255
    assert all(1 <= len(symbol) <= 8 for symbol in symbols)
    long = [symbol[:3] for symbol in symbols if len(symbol) >= 3]
    assert len(long) == len(set(long))
    codes, ends = encoded(symbols, texts)
    assert len(codes) * 4 < data.size
    assert decoded(symbols, codes, ends) == texts


@each_case("period", [4, 16, 25, 100])
def test_texts_that_repeat_themselves_in_turn_are_all_in_the_sample(period: int) -> None:
    chance = np.random.default_rng(period)
    texts = [b"word %d " % (n % period) * int(chance.integers(33, 100)) for n in range(8000)]
    edges = np.cumsum([0, *(len(text) for text in texts)])
    data = pa.py_buffer(b"".join(texts))
    sample = fsst_sample(data, edges[:-1], edges[1:])
    assert 8 << 10 < sum(map(len, sample)) < 32 << 10
    kinds = {bytes(piece.split(b" ")[1]) for piece in sample}
    assert len(kinds) > period / 2
    codes, _ = encoded(NUMPY.fsst_train(sample), texts)
    assert len(codes) * 4 < data.size


def test_nothing_has_no_symbols() -> None:
    nowhere = np.zeros(3, np.int64)
    assert fsst_sample(pa.py_buffer(b""), nowhere, nowhere) == []
    assert NUMPY.fsst_train([]) == ()
