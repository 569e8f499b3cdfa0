"""Levels that are stored as a block of runs in each chunk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from lance_core.encodings.context import DecodeContext
from lance_core.encodings.v2_1.codecs.base import decode
from lance_core.encodings.v2_1.codecs.rle import run_blocks
from lance_core.encodings.v2_1.pages import level_codecs
from lance_core.encodings.v2_1.pages.level_codecs import decode_levels
from lance_core.errors import CorruptFileError

COUNTS = np.array([1000, 1, 600, 24])
LEVELS = (np.random.default_rng(7).random(COUNTS.sum()) < 0.1).astype(np.uint16)
RUNS = run_blocks(LEVELS, COUNTS)
SIZES = RUNS.sizes[0]
STARTS = np.cumsum(SIZES) - SIZES


def stored() -> npt.NDArray[np.uint8]:
    """The blocks of all chunks, which a test may change."""
    return np.frombuffer(RUNS.buffers[0], np.uint8).copy()


def test_chunks_of_runs_are_decoded_by_one_call(
    decoding: DecodeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    count = lambda *arguments: calls.append(arguments) or decode(*arguments)  # noqa: E731
    monkeypatch.setattr(level_codecs, "decode", count)
    found = decode_levels(RUNS.encoding, stored(), (STARTS, SIZES), COUNTS, decoding)
    assert np.array_equal(found, LEVELS)
    assert found.dtype == np.uint16
    assert len(calls) == 1


def test_chunks_may_have_other_bytes_between_them(decoding: DecodeContext) -> None:
    gaps = STARTS + 5 * np.arange(1, len(STARTS) + 1)
    data = np.full(int(SIZES.sum()) + 40, 255, np.uint8)
    for start, size, place in zip(STARTS, SIZES, gaps, strict=True):
        data[place : place + size] = stored()[start : start + size]
    found = decode_levels(RUNS.encoding, data, (gaps, SIZES), COUNTS, decoding)
    assert np.array_equal(found, LEVELS)


@pytest.mark.parametrize("chunk", range(len(COUNTS)))
def test_a_chunk_whose_runs_do_not_fit_is_refused(decoding: DecodeContext, chunk: int) -> None:
    def check(data: npt.NDArray[np.uint8], sizes: npt.NDArray[np.int64], reason: str) -> None:
        with pytest.raises(CorruptFileError, match=reason):
            decode_levels(RUNS.encoding, data, (STARTS, sizes), COUNTS, decoding)

    shorter = SIZES.copy()
    shorter[chunk] = 7
    check(stored(), shorter, "has only 7 bytes")
    for number in (int(SIZES[chunk]) - 7, 1 << 40, 1 << 63, (1 << 64) - 1):
        data = stored()
        head = np.array([number], "<u8").view(np.uint8)
        data[STARTS[chunk] : STARTS[chunk] + 8] = head
        check(data, SIZES, f"run values take {number} bytes, but their block has {SIZES[chunk]}")
    data = stored()
    data[STARTS[chunk] + SIZES[chunk] - 1] ^= 1  # the last length
    check(data, SIZES, "do not add up")
