"""Running decoders: rounds are shared, ranges are answered in order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.encodings.decoding import (
    Decoding,
    RowIndices,
    RowRange,
    decode_in_memory,
    packed_rows,
    run_interleaved,
)

DATA = pa.py_buffer(bytes(range(100)))


def reader(*rounds: Sequence[ByteRange]) -> Decoding[list[bytes]]:
    """Asks for each of the rounds and returns all that came."""
    got: list[bytes] = []
    for ranges in rounds:
        got += [bytes(buffer) for buffer in (yield ranges)]
    return got


def content(start: int, stop: int) -> bytes:
    return bytes(range(start, stop))


def test_a_decoder_runs_on_bytes_in_memory() -> None:
    decoding = reader([ByteRange(1, 3), ByteRange(5, 5)], [], [ByteRange(90, 100)])
    assert decode_in_memory(decoding, DATA) == [content(1, 3), b"", content(90, 100)]


def test_decoders_share_their_rounds() -> None:
    decoding = run_interleaved(
        [
            reader([ByteRange(0, 1)], [ByteRange(1, 2), ByteRange(2, 3)], [ByteRange(3, 4)]),
            reader(),
            reader([ByteRange(10, 12), ByteRange(20, 21)]),
        ]
    )
    rounds = [next(decoding)]
    try:
        while True:
            buffers = [DATA.slice(r.start, r.length) for r in rounds[-1]]
            rounds.append(decoding.send(buffers))
    except StopIteration as done:
        results = done.value
    assert [len(ranges) for ranges in rounds] == [3, 2, 1]
    assert results == [
        [content(0, 1), content(1, 2), content(2, 3), content(3, 4)],
        [],
        [content(10, 12), content(20, 21)],
    ]


def test_rows_that_follow_each_other_become_a_range() -> None:
    assert packed_rows(np.array([4, 5, 6])) == RowRange(4, 7)
    assert packed_rows(np.array([9])) == RowRange(9, 10)
    assert len(packed_rows(np.array([], np.int64))) == 0
    scattered = packed_rows(np.array([4, 6]))
    assert isinstance(scattered, RowIndices)
    assert scattered.values.tolist() == [4, 6]
