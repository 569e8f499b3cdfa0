"""Pages of FSST codes become one page with one table of symbols, and the same strings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    CompressiveEncoding,
    Fsst,
    MiniBlockLayout,
)
from lance_core.byte_ranges import BufferSlices
from lance_core.encodings.compression.fsst import SymbolTable
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.v2_1.codecs.base import Encoded, Place, Target, decode, encode
from lance_core.encodings.v2_1.codecs.values import VariableWidth, as_variable
from lance_core.encodings.v2_1.levels.repdef import Levels, layer_kinds
from lance_core.encodings.v2_1.pages.mini_block.writer import mini_block_page
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core_compaction.page_copy import code_pages
from lance_core_compaction.page_copy.code_pages import shared_codes, symbols_of
from lance_core_compaction.page_copy.stored_pages import StoredPages, UnpackedPages
from tests.unit.encodings.v2_1.conftest import REGISTRY

CONTEXT = DecodeContext(0, 0, FileVersion.V2_2, REGISTRY)
Strings = Sequence[bytes]


def page_of(texts: Strings, symbols: Sequence[bytes]) -> tuple[MiniBlockLayout, list[pa.Buffer]]:
    """A page of ``texts``, in codes of these symbols."""
    table = SymbolTable(tuple(symbols))
    data = np.frombuffer(b"".join(texts), np.uint8)
    ends = np.cumsum([0, *map(len, texts)])
    kernels = REGISTRY.kernels
    codes, offsets = kernels.fsst_encode(data, ends[:-1], ends[1:], *table.packed)
    target = Target(Place.MINI_BLOCK, REGISTRY, ("variable",), chunk_bytes=64)
    inner = encode(VariableWidth(offsets.astype(np.int32), codes), target)
    stored = Fsst(symbol_table=table.to_bytes(), values=inner.encoding)
    values = inner.within(CompressiveEncoding(fsst=stored))
    levels = Levels(layer_kinds((REPDEF_ALL_VALID_ITEM,)), None, None, len(texts))
    page = mini_block_page(levels, values, lambda *_: pytest.fail("no levels"), True, kernels)
    assert page is not None
    return page.layout.mini_block_layout, page.buffers


def unpacked(pages: Sequence[tuple[MiniBlockLayout, list[pa.Buffer]]]) -> UnpackedPages:
    words, chunks = (BufferSlices.of([buffers[n] for _, buffers in pages]) for n in (0, 1))
    rows = np.array([message.num_items for message, _ in pages])
    joined = words.joined(REGISTRY.kernels.join_slices)
    return StoredPages(joined, words.sizes, chunks, rows).unpacked(pages[0][0], CONTEXT)


def merged(pages: Sequence[tuple[Strings, Sequence[bytes]]]) -> Encoded | None:
    written = [page_of(*page) for page in pages]
    stored = [symbols_of(message) for message, _ in written]
    assert all(stored)
    shared = shared_codes(unpacked(written), [one for one in stored if one], CONTEXT)
    return None if shared is None else shared.encoded(CONTEXT)


def strings_of(encoded: Encoded) -> list[bytes]:
    values = as_variable(decode(encoded.encoding, encoded.chunks(), CONTEXT))
    data, ends = values.data.to_pybytes(), values.offsets.tolist()
    return [data[start:stop] for start, stop in pairwise(ends)]


letters = st.lists(st.sampled_from([b"a", b"b", b"\0", b"\xff", b"\xc3"]), max_size=9).map(b"".join)
symbols = st.lists(letters.map(lambda text: text[:8]).filter(len), unique=True, max_size=12)
all_pages = st.lists(
    st.tuples(st.lists(letters, min_size=1, max_size=40), symbols), min_size=1, max_size=4
)


@given(all_pages, st.sampled_from([255, 6, 2]))
def test_strings_stay_whatever_the_symbols_are(
    pages: list[tuple[list[bytes], list[bytes]]], most: int
) -> None:
    with (
        mock.patch.object(code_pages, "_MAX_GROWTH", 99),
        mock.patch.object(code_pages, "MAX_SYMBOLS", most),
    ):
        found = merged(pages)
    if found is None:  # a symbol would become more than eight codes, or there are no symbols
        assert most < 255 or not any(symbols for _, symbols in pages)
    else:
        assert strings_of(found) == [text for texts, _ in pages for text in texts]


def test_codes_of_a_shared_table_may_take_little_more_space() -> None:
    texts = [b"red green", b"blue"] * 50
    alike = [(texts, [b"red ", b"green", b"blue"]), (texts, [b"blue", b"red ", b"green"])]
    found = merged(alike)
    assert found is not None
    assert strings_of(found) == texts * 2
    stored = SymbolTable((b"red ", b"green", b"blue")).to_bytes()
    assert len(found.encoding.fsst.symbol_table) == len(stored)
    with mock.patch.object(code_pages, "MAX_SYMBOLS", 10):  # the single letters only
        assert merged(alike) is None


def test_pages_without_codes_are_left_alone() -> None:
    message, buffers = page_of([b"a"], [b"a"])
    inactive = SymbolTable((), active=False).to_bytes()
    assert shared_codes(unpacked([(message, buffers)]), [inactive], CONTEXT) is None
    message.value_compression.fsst.values.variable.values.SetInParent()
    assert symbols_of(message) is None
    message.value_compression.fsst.values.flat.bits_per_value = 8
    assert symbols_of(message) is None
    message.value_compression.flat.bits_per_value = 8
    assert symbols_of(message) is None


def test_damaged_codes_are_errors() -> None:
    message, (words, chunks) = page_of([b"ab"] * 9, [b"ab"])
    assert (chunks[8], chunks[48]) == (40, 0)  # the first offset, and a code
    for place, value in ((8, 255), (48, 7), (56, 255)):
        damaged = bytearray(chunks)
        damaged[place] = value
        pages = unpacked([(message, [words, pa.py_buffer(bytes(damaged))])])
        with pytest.raises(CorruptFileError):
            shared_codes(pages, [message.value_compression.fsst.symbol_table], CONTEXT)
