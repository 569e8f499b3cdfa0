"""Files of each layout and compression, whose bytes are kept with the tests.

`scripts/make_golden_files.py` makes them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_core.datafile import FileReader
from lance_core.datafile.encoding_text import encoding_text
from lance_core.encodings.decoding import RowIndices, RowRange
from tests.each_case import each_case
from tests.golden import archive
from tests.golden.columns import CASES, FILES, SUMMED_FILES
from tests.golden.reading import column, opened
from tests.golden.writing import written
from tests.sequences import sequence

MOST_BYTES = 500_000

each_file = each_case(("name", "version"), FILES)
by_both = pytest.mark.parametrize("kept", [archive.PYLANCE, archive.OURS], ids=lambda p: p.stem)


def same(found: pa.ChunkedArray, expected: pa.Array) -> None:
    found.validate(full=True)
    assert found.type == expected.type
    # Dictionaries may have other items; what they stand for is the same.
    assert found.equals(pa.chunked_array([expected])) or found.to_pylist() == expected.to_pylist()


def encodings(reader: FileReader) -> list[str]:
    return [encoding_text(page.encoding) for c in reader.metadata.columns for page in c.pages]


@by_both
def test_there_is_a_file_for_each_case(kept: Path) -> None:
    expected = {archive.member(name, version) for name, version in FILES}
    assert set(archive.all_stored(kept)) == expected


def test_the_files_take_little_space() -> None:
    found = [path for path in Path(__file__).parent.rglob("*") if "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in found) < MOST_BYTES


@by_both
@each_file
def test_what_was_written_is_read(name: str, version: str, kept: Path) -> None:
    expected = CASES[name].values()
    reader = opened(archive.stored(kept, name, version))
    assert reader.metadata.version.value == version
    same(column(reader), expected)
    rows = len(expected)
    for start, stop in ((0, 1), (rows // 3, rows // 2), (rows - 2, rows)):
        same(column(reader, RowRange(start, stop)), expected[start:stop])
    chosen = np.unique(np.array([0, 1, rows // 4, rows // 2, rows - 1]))
    same(column(reader, RowIndices(chosen)), expected.take(pa.array(chosen)))
    # Few rows may be read in the order asked for; of many rows each chunk is decoded whole.
    few = [rows // 2, 0, rows - 1, 0, rows // 4]
    for wanted in (few, [rows - 1], [*range(rows - 1, -1, -2), *few]):
        same(column(reader, sequence(wanted)), expected.take(pa.array(wanted)))


def test_what_earlier_versions_wrote_is_read() -> None:
    stored = archive.all_stored(archive.EARLIER)
    assert stored
    for path, raw in stored.items():
        version, name = path.removesuffix(".lance").split("/")
        expected, reader = CASES[name].values(), opened(raw)
        assert reader.metadata.version.value == version
        same(column(reader), expected)
        same(column(reader, sequence([7, 0, 7, 3])), expected.take(pa.array([7, 0, 7, 3])))


@each_file
def test_the_same_bytes_are_written(name: str, version: str, tmp_path: Path) -> None:
    found = written(None, CASES[name], version, tmp_path)
    _same_bytes(found, archive.stored(archive.OURS, name, version), name)


@each_case(("name", "version"), SUMMED_FILES)
def test_the_same_checksums_are_written(name: str, version: str, tmp_path: Path) -> None:
    found = written(None, CASES[name], version, tmp_path, "pages")
    _same_bytes(found, archive.stored(archive.SUMMED, name, version), name)
    same(column(opened(found)), CASES[name].values())
    assert opened(found).check_pages() > 0


def _same_bytes(found: bytes, expected: bytes, name: str) -> None:
    if found == expected:
        return
    # Only another release of the zstd or lz4 library may make a difference.
    reader = opened(found)
    assert encodings(reader) == encodings(opened(expected))
    assert any("CompressionAlgorithm" in text for text in encodings(reader))
    same(column(reader), CASES[name].values())
