"""Chunk words and the repetition index: which chunks hold which rows, and what is damage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.kernels import NUMPY
from lance_core.encodings.v2_1.pages.mini_block.chunk_table import (
    ChunkTable,
    RowTable,
    chunk_table,
    row_table,
)
from lance_core.errors import CorruptFileError
from tests.each_case import each_case


def words(*chunks: tuple[int, int], large: bool = True) -> pa.Buffer:
    """Words of chunks of (bytes, log2 of values)."""
    numbers = [(size // 8 - 1) << 4 | log for size, log in chunks]
    return pa.py_buffer(np.array(numbers, "<u4" if large else "<u2"))


def index(*chunks: tuple[int, int]) -> pa.Buffer:
    return pa.py_buffer(np.array(chunks, "<u8"))


def table_of(
    words: pa.Buffer, large: bool, values: int, size: int, rows: RowTable | None = None
) -> ChunkTable:
    message = MiniBlockLayout(has_large_chunk=large, num_items=values)
    return chunk_table(words, message, size, rows, NUMPY)


def lists() -> ChunkTable:
    """Row 0 in chunk 0, row 1 in chunks 0 to 2, rows 2 and 3 in chunk 2."""
    rows = row_table(index((1, 2), (0, 4), (3, 0)), 1, 4)
    return table_of(words((8, 2), (8, 2), (8, 0)), True, 10, 24, rows)


@pytest.mark.parametrize("large", [False, True])
def test_the_last_chunk_has_the_values_that_remain(large: bool) -> None:
    table = table_of(words((16, 10), (24, 3), (8, 0), large=large), large, 1037, 48)
    assert table.starts.tolist() == [0, 16, 40]
    assert table.stops.tolist() == [16, 40, 48]
    assert table.values.tolist() == [0, 1024, 1032, 1037]
    assert table.chunks_of(RowRange(1023, 1033), NUMPY).tolist() == [0, 1, 2]
    assert table.chunks_of(RowIndices(np.array([0, 1036])), NUMPY).tolist() == [0, 2]


@each_case(("row", "chunks"), [(0, [0]), (1, [0, 1, 2]), (2, [2]), (3, [2])], ids=str)
def test_a_row_is_in_all_chunks_that_its_levels_are_in(row: int, chunks: list[int]) -> None:
    assert lists().chunks_of(RowRange(row, row + 1), NUMPY).tolist() == chunks
    assert lists().chunks_of(RowIndices(np.array([row])), NUMPY).tolist() == chunks


def test_a_row_that_starts_with_its_chunk_is_not_looked_for_before_it() -> None:
    rows = row_table(index((2, 0), (1, 0)), 1, 3)
    table = table_of(words((8, 1), (8, 0)), True, 3, 16, rows)
    assert table.chunks_of(RowRange(2, 3), NUMPY).tolist() == [1]


@each_case(
    ("stored", "values", "size"),
    [
        (b"", 1, 8),
        (b"\0\0\0", 1, 8),
        (words((16, 0)).to_pybytes(), 1, 8),
        (words((8, 0), (8, 0)).to_pybytes(), 2, 16),
        (words((8, 3), (8, 0)).to_pybytes(), 8, 16),
        (words((8, 3)).to_pybytes(), 7, 8),
        (words((8, 0)).to_pybytes(), 1 << 40, 8),
    ],
)
def test_chunks_that_do_not_hold_the_values_are_damage(
    stored: bytes, values: int, size: int
) -> None:
    with pytest.raises(CorruptFileError):
        table_of(pa.py_buffer(stored), True, values, size)


@each_case(
    "stored",
    [
        index((1, 0), (1, 1)),
        index((1, 0), (0, 0), (1, 0)),
        index((1, 0)),
        index((1 << 63, 0), (1 << 63, 0)),
        pa.py_buffer(b"\1"),
        pa.py_buffer(b""),
    ],
)
def test_a_repetition_index_that_contradicts_itself_is_damage(stored: pa.Buffer) -> None:
    with pytest.raises(CorruptFileError):
        row_table(stored, 1, 2)
