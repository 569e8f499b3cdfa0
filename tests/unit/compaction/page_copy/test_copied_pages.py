"""Runs of bytes that are copied: which buffers they have, and where they begin in the new file."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.datafile.aligned_output import AlignedOutput
from lance_core.encodings.version import FileVersion
from lance_core.store.memory import MemoryStore, Objects
from lance_core_compaction.page_copy.copied_pages import BLOCK, _append_runs, copy_runs
from lance_core_compaction.page_copy.file_bytes import SourceFile

LARGE = 600 << 10


def moves_of(starts: list[int], stops: list[int]) -> list[int]:
    """Copies runs, and checks their bytes; by how many bytes each was moved."""
    store = MemoryStore(Objects())
    content = np.random.default_rng(3).bytes(max(stops) + 64)
    store.put("a", content)
    writer = store.open_writer("b")
    output = AlignedOutput(writer, FileVersion.V2_1)
    output.write_aligned(b"begin")
    moves = _append_runs(output, SourceFile(store, "a", 1 << 20), starts, stops)
    writer.close()
    copied = store.get("b").to_pybytes()
    for start, stop, move in zip(starts, stops, moves, strict=True):
        assert copied[start + move : stop + move] == content[start:stop]
    return moves


@pytest.mark.parametrize("start", [0, 128, 10, 4096, 4097])
def test_small_runs_begin_at_multiples_of_64(start: int) -> None:
    assert moves_of([start, start + 2000], [start + 1000, start + 2100])[0] == 64 - start


@pytest.mark.parametrize("start", [0, 128, 4096, BLOCK + 64])
def test_large_aligned_runs_keep_their_place_in_blocks(start: int) -> None:
    (move,) = moves_of([start], [start + LARGE])
    assert move % BLOCK == 0


@pytest.mark.parametrize("start", [10, BLOCK - 1])
def test_large_runs_of_files_without_alignment_begin_at_multiples_of_64(start: int) -> None:
    (move,) = moves_of([start], [start + LARGE])
    assert start + move == 64


def test_a_run_ends_at_a_gap_and_at_another_alignment() -> None:
    offsets, sizes = np.array([0, 64, 200, 128, 264]), np.array([60, 64, 64, 10, 30])
    runs = copy_runs(offsets, sizes)
    assert runs.starts.tolist() == [0, 200]
    assert runs.stops.tolist() == [138, 294]
    assert runs.of_buffer.tolist() == [0, 0, 1, 0, 1]
