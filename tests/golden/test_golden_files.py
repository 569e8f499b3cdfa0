"""Files of each layout and compression, whose bytes are kept with the tests.

`scripts/make_golden_files.py` makes them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.decoding import RowIndices, RowRange
from tests.golden import archive
from tests.golden.columns import CASES, FILES
from tests.golden.reading import column, opened

MOST_BYTES = 500_000


def same(found: pa.ChunkedArray, expected: pa.Array) -> None:
    found.validate(full=True)
    assert found.type == expected.type
    # Dictionaries may have other items; what they stand for is the same.
    assert found.equals(pa.chunked_array([expected])) or found.to_pylist() == expected.to_pylist()


def test_there_is_a_file_for_each_case() -> None:
    expected = {archive.member(name, version) for name, version in FILES}
    assert set(archive.all_stored(archive.PYLANCE)) == expected


def test_the_files_take_little_space() -> None:
    assert sum(path.stat().st_size for path in Path(__file__).parent.rglob("*")) < MOST_BYTES


@pytest.mark.parametrize(("name", "version"), FILES)
def test_what_pylance_wrote_is_read(name: str, version: str) -> None:
    expected = CASES[name].values()
    reader = opened(archive.stored(archive.PYLANCE, name, version))
    assert reader.metadata.version.value == version
    same(column(reader), expected)
    rows = len(expected)
    for start, stop in ((0, 1), (rows // 3, rows // 2), (rows - 2, rows)):
        same(column(reader, RowRange(start, stop)), expected[start:stop])
    chosen = np.unique(np.array([0, 1, rows // 4, rows // 2, rows - 1]))
    same(column(reader, RowIndices(chosen)), expected.take(pa.array(chosen)))
