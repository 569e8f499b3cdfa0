"""Blobs that are encoded and decoded together are those of single sets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError
from lance_core.index.base import RowNumbers
from lance_core.table.indices.row_set import RowSet
from lance_core_indices.bitmaps.blobs import RowGroups, decode_blobs, encode_blobs
from tests.each_case import each_case

RANDOM = np.random.default_rng(5)


def _sets(count: int, max_rows: int, fragments: int, span: int) -> list[RowNumbers]:
    found = []
    for _ in range(count):
        rows = int(RANDOM.integers(1, max_rows + 1))
        high = RANDOM.integers(0, fragments, rows).astype(np.uint64) << np.uint64(32)
        found.append(np.unique(high | RANDOM.integers(0, span, rows).astype(np.uint64)))
    return found


def _groups(sets: list[RowNumbers]) -> RowGroups:
    return RowGroups(np.array([len(one) for one in sets]), np.concatenate(sets))


@each_case(
    "count,max_rows,fragments,span",
    [
        (1, 1, 1, 1),
        (99, 10, 3, 999),
        (10, 200, 5, 2**32),
        (9, 9000, 3, 10_000),
        (8, 50_000, 2, 10**5),
    ],
)
def test_blobs_are_those_of_single_sets(
    count: int, max_rows: int, fragments: int, span: int
) -> None:
    groups = _groups(_sets(count, max_rows, fragments, span))
    blobs = encode_blobs(groups)
    parts = np.split(groups.rows, np.cumsum(groups.counts)[:-1])
    assert blobs.to_pylist() == [RowSet.of(part).to_tree_map() for part in parts]
    # The bytes may begin at an even or odd position of their buffer.
    for before in (b"", b"x", b"xx"):
        decoded = decode_blobs(pa.array([before, *blobs.to_pylist()])[1:])
        assert (decoded.counts == groups.counts).all()
        assert (decoded.rows == groups.rows).all()


def test_damaged_blobs_are_refused_as_single_ones() -> None:
    raw = encode_blobs(_groups(_sets(5, 4, 3, 200_000))).to_pylist()
    outcomes = {True: 0, False: 0}
    for number in range(400):
        changed = [bytearray(one) for one in raw]
        some = changed[RANDOM.integers(len(changed))]
        if number % 5 == 0:
            del some[RANDOM.integers(len(some)) :]
        elif number % 5 == 1:
            some += bytes(2 * int(RANDOM.integers(1, 9)))
        else:
            some[RANDOM.integers(len(some))] = RANDOM.integers(256 if number % 2 else 3)
        blobs = [bytes(one) for one in changed]
        try:
            expected = [RowSet.from_tree_map(one).numbers() for one in blobs]
        except CorruptFileError:
            outcomes[False] += 1
            with pytest.raises(CorruptFileError):
                decode_blobs(pa.array(blobs))
            continue
        outcomes[True] += 1
        decoded = decode_blobs(pa.array(blobs))
        assert (decoded.rows == np.concatenate(expected)).all()
        assert decoded.counts.tolist() == [len(one) for one in expected]
    assert min(outcomes.values()) > 20
