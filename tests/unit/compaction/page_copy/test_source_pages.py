"""The pages of many files as arrays, beside the messages that other readers parse."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest

import lance_core
from lance_core.datafile.metadata import Columns
from lance_core.datafile.reader import FileReader
from lance_core.errors import CorruptFileError, LanceError, UnsupportedFeatureError
from lance_core_compaction.page_copy.source_pages import _long_varint, source_pages
from tests.each_case import each_case


def readers(uri: Path, version: str) -> list[FileReader]:
    for start in (0, 3000):
        numbers = list(range(start, start + 1000 + start))
        table = pa.table(
            {"x": numbers, "s": [f"{n}" * 9 for n in numbers], "l": [[n] for n in numbers]}
        )
        with mock.patch.dict("os.environ", {"LANCE_FILE_WRITER_MAX_PAGE_BYTES": "9000"}):
            lance_core.write_dataset(table, str(uri), mode="append", data_storage_version=version)
    snapshot = lance_core.dataset(str(uri)).snapshot
    return [snapshot.reader(one.files[0]) for one in snapshot.manifest.fragments]


@each_case("version", ("2.0", "2.1", "2.2"))
def test_positions_rows_and_encodings_are_those_of_the_messages(
    tmp_path: Path, version: str
) -> None:
    opened = readers(tmp_path / "t", version)
    found = source_pages([one.metadata.columns for one in opened], [one.path for one in opened])
    page = 0
    for file, reader in enumerate(opened):
        assert found.data_ends[file] == reader.metadata.columns.position
        assert found.file_pages[file] == page
        for number, column in enumerate(reader.metadata.columns):
            assert found.first_page[found.first_column[file] + number] == page
            for wanted in column.pages:
                buffers = slice(found.first_buffer[page], found.first_buffer[page + 1])
                starts, sizes = found.offsets[buffers].tolist(), found.sizes[buffers].tolist()
                assert starts == [one.start for one in wanted.buffers]
                assert sizes == [one.length for one in wanted.buffers]
                assert found.rows[page] == wanted.num_rows
                page += 1
    assert page == len(found.rows) > 12


@each_case(
    "damage, error, match",
    [
        (lambda raw: raw[:-1], LanceError, "'data/"),
        (lambda raw: raw[:1] + b"\xff\x7f" + raw[3:], LanceError, "'data/"),
        (lambda raw: b"\x1a" + raw[1:], UnsupportedFeatureError, "outside of its pages"),
        (lambda raw: b"\x7a" + raw[1:], UnsupportedFeatureError, "unknown column metadata"),
        (lambda raw: b"\x12" + raw[1:], LanceError, "'data/"),
    ],
)
def test_damaged_metadata_is_refused_with_the_name_of_the_file(
    tmp_path: Path, damage: object, error: type[Exception], match: str
) -> None:
    opened = readers(tmp_path / "t", "2.1")
    assert callable(damage)
    columns = opened[1].metadata.columns
    damaged = Columns.__new__(Columns)
    for name in Columns.__slots__:
        setattr(damaged, name, getattr(columns, name))
    damaged._metadata = damage(columns.raw_metadata)
    with (
        mock.patch.object(opened[1].metadata, "columns", damaged),
        pytest.raises(error, match=match) as raised,
    ):
        source_pages([one.metadata.columns for one in opened], [one.path for one in opened])
    assert opened[1].path in str(raised.value)
    assert isinstance(raised.value, CorruptFileError | UnsupportedFeatureError)


@each_case("number", [0x80, 300, 0x3FFF, 0x4000, 1 << 20, (1 << 28) - 1, 1 << 28, 1 << 40])
def test_lengths_of_several_bytes_are_read(number: int) -> None:
    raw, rest = b"\x12", number
    while rest >= 0x80:
        raw += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    raw += bytes([rest])
    assert _long_varint(raw + b"\x12", 1) == (number, len(raw))
