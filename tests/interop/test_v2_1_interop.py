"""Tables that pylance writes in versions 2.1 and 2.2 are read here as there."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import LanceError
from tests.interop.columns import same
from tests.interop.nested_columns import table

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

VERSIONS = ("2.1", "2.2")


def written(
    data: pa.Table, path: Path, version: str, max_rows_per_file: int = 1 << 20
) -> lance.LanceDataset:
    return lance.write_dataset(
        data, str(path), data_storage_version=version, max_rows_per_file=max_rows_per_file
    )


def ours(theirs: lance.LanceDataset) -> lance_core.LanceDataset:
    return lance_core.dataset(theirs.uri)


def check_reads(theirs: lance.LanceDataset) -> None:
    """Whole, in batches, a range, single rows and under a filter: all as pylance."""
    expected, mine = theirs.to_table(), ours(theirs)
    same(mine.to_table(), expected)
    rows = expected.num_rows
    if not rows:
        return
    start, count = rows // 3, max(1, rows // 4)
    same(mine.to_table(offset=start, limit=count), expected.slice(start, count))
    chosen = np.unique(np.random.default_rng(rows).integers(0, rows, 12)).tolist()
    same(mine.take(chosen), expected.take(chosen))
    for row in (*chosen[:5], rows - 1):  # a way of their own
        same(mine.take([row]), expected.take([row]))
    key = np.asarray(expected["key"])
    chosen = (key % 7 == 3) | (key == key[-1])
    filtered = mine.to_table(filter=f"key % 7 = 3 or key = {key[-1]}")
    same(filtered, expected.filter(pa.array(chosen)))


@pytest.mark.parametrize("version", VERSIONS)
def test_pages_that_do_not_line_up_are_read(version: str, tmp_path: Path) -> None:
    rows = 90_000
    random = np.random.default_rng(2)
    texts = pa.array(random.integers(0, 9, rows).astype(str)).take(pa.array(np.arange(rows)))
    lengths = random.integers(0, 4, rows)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    numbers = pa.array(random.integers(0, 1 << 60, int(lengths.sum())))
    lists = pa.ListArray.from_arrays(offsets, numbers, mask=pa.array(lengths == 3))
    wide = pa.FixedSizeBinaryArray.from_buffers(  # three pages; the other members have one
        pa.binary(200), rows, [None, pa.py_buffer(random.bytes(200 * rows))]
    )
    members = {"lists": lists, "texts": texts, "wide": wide}
    mask = pa.array(np.arange(rows) % 11 == 5)
    struct = pa.StructArray.from_arrays(list(members.values()), list(members), mask=mask)
    data = pa.table({"key": np.arange(rows), "s": struct})
    theirs = written(data, tmp_path / "t", version)
    mine = ours(theirs)
    chosen = np.unique(random.integers(0, rows, 300)).tolist()
    same(mine.take(chosen), theirs.take(chosen))
    for columns in (["s.lists"], ["key", "s.texts"]):
        assert mine.to_table(columns).equals(theirs.to_table(columns))
    same(mine.to_table(offset=70_000, limit=9), theirs.to_table(offset=70_000, limit=9))


@pytest.mark.parametrize("version", VERSIONS)
def test_embeddings_and_large_values_are_read(version: str, tmp_path: Path) -> None:
    rows, random = 700, np.random.default_rng(3)
    vectors = pa.array(random.normal(size=rows * 768).astype(np.float32))
    embedding = pa.FixedSizeListArray.from_arrays(
        vectors, 768, mask=pa.array(np.arange(rows) % 9 == 1)
    )
    large = pa.array(
        [None if i % 10 == 3 else random.bytes(i * 40) for i in range(rows)], pa.binary()
    )
    texts = pa.array([None if i % 13 == 4 else "word ä " * (i % 200) for i in range(rows)])
    offsets = pa.array([0, *(2 * (i // 2) for i in range(1, rows // 2)), rows], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, large)
    data = pa.table({"key": np.arange(rows), "e": embedding, "large": large, "texts": texts})
    check_reads(written(data, tmp_path / "t", version))
    nested = pa.table({"key": np.arange(len(lists)), "lists": lists})
    check_reads(written(nested, tmp_path / "nested", version))


@pytest.mark.parametrize("version", VERSIONS)
def test_packed_structs_are_read(version: str, tmp_path: Path) -> None:
    kind = pa.struct({"a": pa.int32(), "b": pa.float64(), "c": pa.int8()})
    rows = [{"a": i, "b": i / 2, "c": i % 100} for i in range(3000)]
    members = {"packed": pa.array(rows, kind)}
    if version == "2.2":
        texts = [{"n": i, "text": "x" * (i % 40), "m": i * 7} for i in range(3000)]
        members["texts"] = pa.array(
            texts, pa.struct({"n": pa.int16(), "text": pa.string(), "m": pa.int64()})
        )
    metadata = {"lance-encoding:packed": "true"}
    fields = [pa.field("key", pa.int64())]
    fields += [pa.field(name, array.type, metadata=metadata) for name, array in members.items()]
    data = pa.Table.from_arrays(
        [pa.array(range(3000)), *members.values()], schema=pa.schema(fields)
    )
    check_reads(written(data, tmp_path / "t", version))


@pytest.mark.parametrize("version", VERSIONS)
def test_blobs_are_described_as_by_pylance(version: str, tmp_path: Path) -> None:
    values = [None if i % 7 == 2 else b"" if i % 7 == 3 else b"blob" * i for i in range(300)]
    field = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([pa.field("key", pa.int64()), field])
    data = pa.Table.from_arrays([pa.array(range(300)), pa.array(values, field.type)], schema=schema)
    theirs = written(data, tmp_path / "t", version)
    same(ours(theirs).to_table(), theirs.to_table())
    found = ours(theirs).scanner(blob_handling="all_binary").to_table()
    assert found["blob"].to_pylist() == values


@pytest.mark.parametrize("version", VERSIONS)
def test_deleted_rows_and_added_columns_are_seen_on_both_sides(
    version: str, tmp_path: Path
) -> None:
    data = table(version, "some nulls", 400, {}, frozenset({"int32", "string"}))
    theirs = written(data, tmp_path / "t", version, max_rows_per_file=150)
    ours(theirs).delete("key % 10 = 4")
    theirs = lance.dataset(theirs.uri)
    assert theirs.count_rows() == 360
    theirs.add_columns({"twice": "key * 2"})
    theirs.delete("key = 7")
    same(ours(theirs).to_table(), lance.dataset(theirs.uri).to_table())


@pytest.mark.parametrize("version", VERSIONS)
def test_appended_rows_are_of_the_version_of_the_table(version: str, tmp_path: Path) -> None:
    data = table(version, "some nulls", 100, {}, frozenset({"int32", "string"}))
    theirs = written(data, tmp_path / "t", version)
    ours(theirs).insert(data.slice(7, 50))
    theirs = lance.dataset(theirs.uri)
    same(theirs.to_table(), pa.concat_tables([data, data.slice(7, 50)]))
    minors = [f.data_files()[0].file_minor_version for f in theirs.get_fragments()]
    assert minors == [int(version[-1])] * 2


@pytest.mark.parametrize("version", VERSIONS)
def test_damaged_files_give_the_same_rows_or_a_typed_error(version: str, tmp_path: Path) -> None:
    data = table(version, "some nulls", 50, {}, frozenset({"int32", "string"}))
    theirs = written(data, tmp_path / "t", version)
    (path,) = (tmp_path / "t" / "data").glob("*.lance")
    sound, random = path.read_bytes(), np.random.default_rng(int(version[-1]))
    for _ in range(25):  # `tox -e fuzz` damages files of pylance in thousands of ways
        damaged = bytearray(sound)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(0, len(sound) - 40)] = random.integers(0, 256)
        path.write_bytes(damaged)
        try:
            read = lance_core.dataset(theirs.uri).to_table()
        except LanceError:
            continue
        read.validate(full=True)
        assert read.num_rows == 50


@pytest.mark.parametrize("rows", [[[None], [None]], [[None], None], [[[None, None]], [None]]])
@pytest.mark.parametrize("version", VERSIONS)
def test_vectors_in_vectors_may_all_be_null(
    rows: list[object], version: str, tmp_path: Path
) -> None:
    type_ = pa.list_(pa.list_(pa.int32(), 2), 1)
    data = pa.table({"key": [0, 1], "vectors": pa.array(rows, type_)})
    check_reads(written(data, tmp_path / "t", version))
