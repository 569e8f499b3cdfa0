"""Pages that are written together have the bytes and the metadata of pages written one by one."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core.datafile import aligned_output
from lance_core.datafile.aligned_output import AlignedOutput
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.version import FileVersion
from lance_core.store.memory import MemoryStore, Objects

PATH = "x"


def _pages(sizes: list[list[int]]) -> list[EncodedPage]:
    random = np.random.default_rng(3)
    return [
        EncodedPage(
            0,
            [random.bytes(size) for size in of_page],
            b"encoding %d" % (number % 3) * (1 + number % 40),
            10 << number % 20,
            number**3,
        )
        for number, of_page in enumerate(sizes)
    ]


def _written(pages: list[EncodedPage], step: int) -> tuple[bytes, list[bytes]]:
    store = MemoryStore(Objects())
    writer = store.open_writer(PATH)
    output = AlignedOutput(writer, FileVersion.V2_1)
    metadata = []
    for start in range(0, len(pages), step):
        metadata += output.write_pages(pages[start : start + step], first_row=5)
    assert output.position == writer.tell()
    writer.close()
    return store.get(PATH).to_pybytes(), metadata


def test_pages_written_together_equal_pages_written_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(1)
    sizes = [random.integers(0, 300, number % 4).tolist() for number in range(100)]
    sizes[7], sizes[50], sizes[99] = [200_000, 1], [3, 130_000], [70_000] * 20
    pages = _pages(sizes)
    together = _written(pages, len(pages))
    assert together == _written(pages, 1)
    monkeypatch.setattr(aligned_output, "_MAX_WRITTEN_BYTES", 1 << 12)
    assert together == _written(pages, len(pages))


@pytest.mark.parametrize("least", [1, 100])
def test_large_buffers_are_not_copied(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    monkeypatch.setattr(aligned_output, "_MIN_TOGETHER", least)
    pages = _pages([[10], [1 << 20], [10], [20, 30]])
    output = AlignedOutput(MemoryStore(Objects()).open_writer(PATH), FileVersion.V2_1)
    written: list[object] = []
    monkeypatch.setattr(output.writer, "write", written.append)
    output.write_pages(pages)
    assert any(data is pages[1].buffers[0] for data in written)
    assert len(written) < 10


def test_no_pages() -> None:
    assert _written([], 1) == (b"", [])
    output = AlignedOutput(MemoryStore(Objects()).open_writer(PATH), FileVersion.V2_1)
    assert output.write_pages([]) == []
