"""Descriptions of blobs that say what cannot be are refused before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.byte_ranges import ByteRange
from lance_core.dataset.blobs.payloads import with_payloads
from lance_core.dataset.blobs.source import (
    BlobDescriptions,
    BlobSource,
    read_ranges,
    sources_v1,
    sources_v2,
)
from lance_core.encodings.blob_payloads import DESCRIPTION
from lance_core.errors import (
    BasePathRefusedError,
    CorruptFileError,
    LanceError,
    ObjectNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.schema import DESCRIPTION_V2
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import side_file_path
from tests.unit.dataset.blobs import blob_tables as blobs

BIG = (1 << 64) - 1
NAMES = [member.name for member in DESCRIPTION_V2]


def described(*values: tuple[Any, ...] | None) -> pa.StructArray:
    rows = [None if value is None else dict(zip(NAMES, value, strict=True)) for value in values]
    return pa.array(rows, DESCRIPTION_V2)


def whole(source: BlobSource | None) -> pa.Buffer:
    assert source is not None
    return source.store.get_ranges(source.path, [source.range(0, source.size)])[0]


@pytest.fixture
def table(uri: str) -> lance.LanceDataset:
    """One inline blob and two that are packed."""
    return lance.write_dataset(blobs.v2([b"inline", b"a" * 70_000, b"b" * 80_000]), uri)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([(9, 0, 1, 0, "")], CorruptFileError),
        ([(255, 0, 0, 0, "")], CorruptFileError),
        ([(4, 0, 1, 0, "s3://bucket/key")], UnsupportedFeatureError),
        ([(0, BIG, 1, 0, "")], CorruptFileError),
        ([(0, 0, BIG, 0, "")], CorruptFileError),
        ([(0, 0, 1 << 40, 0, "")], CorruptFileError),
        ([(0, 1 << 40, 1, 0, "")], CorruptFileError),
        ([(1, 0, 1, 7, "")], ObjectNotFoundError),
        ([(2, 0, 1, 0xFFFFFFFF, "")], ObjectNotFoundError),
        ([(1, 149_999, 2, 1, "")], CorruptFileError),
        ([(3, 0, 1, 9, "key")], CorruptFileError),
        ([(3, 0, 1, 0, "key")], CorruptFileError),
        ([(3, 0, 1, 0, "")], CorruptFileError),
        ([(3, 0, 0, 0, "file:///etc/passwd")], BasePathRefusedError),
        ([(3, 0, 1, 0, "file:///etc/../etc/passwd")], CorruptFileError),
        ([(3, 0, 1, 0, "file://%2Fetc%2Fpasswd")], LanceError),
        ([(1, 0, 50, 1, ""), (1, 40, 50, 1, "")], CorruptFileError),
    ],
)
def test_impossible_descriptions_are_refused(
    table: lance.LanceDataset, values: list[tuple[Any, ...]], error: type[Exception]
) -> None:
    snapshot = table.snapshot
    (file,) = snapshot.manifest.fragments[0].files
    array = described(*values, None)
    field = snapshot.schema.fields[1]
    with pytest.raises(error):
        with_payloads(snapshot, file, pa.chunked_array([array]), field)
    if len(values) == 1:
        with pytest.raises(error):
            whole(sources_v2(snapshot, file, array)[0])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([(1, 70_000, 2, 1, ""), (1, 0, 1, 1, "")], [b"bb", b"a"]),
        ([(1, 0, 2, 1, ""), None, (1, 0, 2, 1, "")], [b"aa", None, b"aa"]),
        ([None, (1, 5, 0, 9, ""), (0, 0, 6, 3, "")], [None, b"", b"inline"]),
        ([(1, 0, 0, 1, ""), (2, 0, 0, 5, "")], [b"", b""]),
        ([(1, 0, 1, 1, ""), (0, 0, 2, 0, ""), (1, 70_000, 1, 1, "")], [b"a", b"in", b"b"]),
        ([], []),
    ],
)
def test_possible_descriptions_are_followed_in_any_order(
    table: lance.LanceDataset, values: list[Any], expected: list[Any]
) -> None:
    snapshot = table.snapshot
    (file,) = snapshot.manifest.fragments[0].files
    column = pa.chunked_array([described(*values)], DESCRIPTION_V2)
    found = with_payloads(snapshot, file, column, snapshot.schema.fields[1])
    assert found.to_pylist() == expected
    found.validate(full=True)


@pytest.mark.parametrize(("position", "size"), [(0, 1 << 40), (BIG, 1), (1 << 40, 5)])
def test_blobs_of_version_1_end_within_their_file(uri: str, position: int, size: int) -> None:
    made = lance.write_dataset(blobs.v1([b"a"]), uri, data_storage_version="2.1")
    (file,) = made.snapshot.manifest.fragments[0].files
    array = pa.array([{"position": position, "size": size}], DESCRIPTION)
    with pytest.raises(CorruptFileError):
        sources_v1(made.snapshot, file, array)


def test_names_of_side_files_have_the_lowest_bit_first() -> None:
    assert side_file_path("data/x.lance", 6) == f"data/x/011{'0' * 29}.blob"
    assert side_file_path("x.lance", 1 << 31) == f"x/{'0' * 31}1.blob"
    with pytest.raises(CorruptFileError):
        side_file_path("data/x.other", 1)


def test_ranges_come_back_in_the_order_asked_for() -> None:
    store = MemoryStore()
    data = bytes(range(256)) * 100
    store.put("file", data)
    ranges = [ByteRange(500, 600), ByteRange(0, 10), ByteRange(5, 20), ByteRange(25_000, 25_600)]
    found = [buffer.to_pybytes() for buffer in read_ranges(store, "file", ranges)]
    assert found == [data[one.start : one.stop] for one in ranges]


def test_columns_of_descriptions_know_what_is_null() -> None:
    columns = BlobDescriptions.of(described((1, 2, 3, 4, ""), None))
    assert columns.valid.tolist() == [True, False]
    assert columns.sizes.tolist() == [3, 0]


def test_a_column_that_a_fragment_does_not_have_is_null(uri: str) -> None:
    lance.write_dataset(blobs.v2([b"a" * 70_000]), uri)
    longer = lance.write_dataset(pa.table({"i": [5]}), uri, mode="append")
    assert blobs.as_bytes(longer) == [b"a" * 70_000, None]
    assert longer.take_blobs("b", indices=[1]) == [None]
    assert len(list(Path(uri, "data").glob("*/*.blob"))) == 1
