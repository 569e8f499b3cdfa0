"""Files of many pages, batches and options are the same to pylance and to us."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance.file import LanceFileReader as TheirReader
from lance.file import LanceFileWriter as TheirWriter

from lance_core.file import LanceFileReader as OurReader
from lance_core.file import LanceFileWriter as OurWriter

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk", "without_checksums")

Writer = type[OurWriter | TheirWriter]
MIB = 1 << 20
ROWS = 4 * MIB + 1000
"""A column of numbers exceeds the 32 MiB of a page."""

BLOB = {"lance-encoding:blob": "true"}


def lists(rows: int) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(np.arange(rows) % 4)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.arange(offsets[-1])))


def flat(rows: int) -> pa.Table:
    chance = np.random.default_rng(rows)
    numbers = chance.integers(0, 1 << 60, rows)
    return pa.table(
        {
            "number": numbers,
            "flag": numbers % 3 == 0,
            "text": pa.array(numbers).cast(pa.string()),
            "gap": pa.array(chance.normal(size=rows), mask=numbers % 5 == 0),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(2.0 * rows)), 2),
        }
    )


def mixed(rows: int) -> pa.Table:
    table = flat(rows)
    numbers = table["number"].chunk(0)
    few = pc.cast(pa.array(numbers.to_numpy() % 7), pa.string())
    struct = pa.StructArray.from_arrays([numbers, lists(rows)], ["n", "l"])
    return (
        table.append_column("few", few)
        .append_column("list", lists(rows))
        .append_column("struct", struct)
    )


def write(
    writer: Writer, path: Path, batches: Sequence[Any], schema: pa.Schema, **options: Any
) -> Path:
    with writer(str(path), schema, version="2.0", **options) as target:
        for batch in batches:
            target.write_batch(batch)
    return path


def check_both_ways(
    tmp_path: Path, table: pa.Table, batches: Sequence[Any] | None = None, **options: Any
) -> tuple[Path, Path]:
    """Either one's file is read equal by the other; returns their file and ours."""
    paths = []
    for name, writer, readers in (
        ("theirs", TheirWriter, (OurReader,)),
        ("ours", OurWriter, (TheirReader, OurReader)),
    ):
        parts = [table] if batches is None else batches
        path = write(writer, tmp_path / name, parts, table.schema, **options)
        paths.append(path)
        for reader in readers:
            check(reader(str(path)), table)
    return paths[0], paths[1]


def check(reader: Any, table: pa.Table) -> None:
    rows = table.num_rows
    read = reader.read_all(batch_size=10_000).to_table()
    assert read.num_rows == rows
    assert read.combine_chunks().equals(table.combine_chunks())
    if rows < 10:
        return
    for start, count in ((0, 1), (rows // 3, rows // 2), (rows - 3, 3)):
        part = reader.read_range(start, count, batch_size=1000).to_table()
        assert part.combine_chunks().equals(table.slice(start, count).combine_chunks())
    wanted = np.unique(np.linspace(0, rows - 1, 50).astype(int)).tolist()
    assert (
        reader.take_rows(wanted).to_table().combine_chunks() == table.take(wanted).combine_chunks()
    )


def num_pages(path: Path) -> list[int]:
    return [column.num_pages for column in OurReader(str(path)).file_statistics().columns]


def test_one_large_batch_becomes_the_same_file(tmp_path: Path) -> None:
    table = flat(MIB + 1000)  # more than the 8 MiB of a column that a writer keeps
    # All of them at once need 400 MB to be compared.
    for names in (["number", "flag"], ["text"], ["gap"], ["vector"]):
        theirs, ours = check_both_ways(tmp_path, table.select(names))
        assert ours.read_bytes() == theirs.read_bytes()


def test_what_exceeds_a_page_becomes_several(tmp_path: Path) -> None:
    table = pa.table({"n": np.arange(ROWS), "v": np.zeros(ROWS, np.uint8)})
    theirs, ours = check_both_ways(tmp_path, table)
    assert num_pages(ours) == num_pages(theirs) == [2, 1]


def test_many_batches_share_pages(tmp_path: Path) -> None:
    table = mixed(30_000).drop_columns("struct")
    _, ours = check_both_ways(tmp_path, table, table.to_batches(700))
    assert set(num_pages(ours)) == {1}


def test_a_small_cache_makes_many_pages(tmp_path: Path) -> None:
    table = mixed(50_000).drop_columns("struct")
    _, ours = check_both_ways(
        tmp_path, table, table.to_batches(5000), data_cache_bytes=table.num_columns * 100_000
    )
    assert num_pages(ours)[0] == 4


def test_a_page_limit_is_kept(tmp_path: Path) -> None:
    table = pa.table({"n": np.arange(100_000)})
    theirs, ours = check_both_ways(tmp_path, table, max_page_bytes=100_000)
    assert num_pages(ours) == num_pages(theirs) == [8]


def test_slices_are_written_as_what_they_show(tmp_path: Path) -> None:
    table = mixed(5000).drop_columns("struct").slice(77, 1234)
    check_both_ways(tmp_path, table)
    check_both_ways(tmp_path, table, [b.slice(0) for b in table.to_batches(100)])


def test_our_files_of_sliced_structs_are_read_by_pylance(tmp_path: Path) -> None:
    # pylance itself cannot write these.
    table = mixed(3000).slice(500, 2000)
    ours = write(OurWriter, tmp_path / "ours", table.to_batches(300), table.schema)
    for reader in (TheirReader, OurReader):
        check(reader(str(ours)), table)


def test_chunked_tables_are_one_column(tmp_path: Path) -> None:
    table = pa.concat_tables([mixed(500), mixed(900), mixed(1)])
    check_both_ways(tmp_path, table)


@pytest.mark.parametrize("batches", [0, 1, 3])
def test_no_rows_are_a_file_too(tmp_path: Path, batches: int) -> None:
    table = mixed(10).slice(0, 0)
    empty = pa.RecordBatch.from_arrays(
        [column.combine_chunks() for column in table.columns], schema=table.schema
    )
    theirs, ours = check_both_ways(tmp_path, table, [empty] * batches)
    assert ours.read_bytes() == theirs.read_bytes()


def test_batches_without_rows_change_nothing(tmp_path: Path) -> None:
    table = mixed(100)
    (batch,) = table.to_batches()
    check_both_ways(tmp_path, table, [batch.slice(0, 0), batch, batch.slice(5, 0)])


def test_a_schema_may_come_from_the_first_batch(tmp_path: Path) -> None:
    table = mixed(100)
    for writer, reader in ((OurWriter, TheirReader), (TheirWriter, OurReader)):
        with writer(str(tmp_path / "x"), version="2.0") as target:
            target.write_batch(table)
        check(reader(str(tmp_path / "x")), table)


def test_blobs_become_the_same_file(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("n", pa.int32()),
            pa.field("b", pa.large_binary(), metadata=BLOB),
            pa.field("t", pa.string()),
        ]
    )
    payloads = [b"x" * (i * 17 % 900) if i % 5 else None for i in range(500)]
    table = pa.table(
        [range(500), pa.array(payloads, pa.large_binary()), map(str, range(500))], schema=schema
    )
    theirs, ours = check_both_ways(tmp_path, table)
    assert ours.read_bytes() == theirs.read_bytes()


def test_packed_structs_become_the_same_file(tmp_path: Path) -> None:
    members = pa.struct({"a": pa.int32(), "b": pa.float64(), "c": pa.list_(pa.int8(), 3)})
    schema = pa.schema([pa.field("p", members, metadata={"packed": "true"})])
    rows = [{"a": i, "b": i / 2, "c": [1, 2, i % 100]} for i in range(1000)]
    theirs, ours = check_both_ways(tmp_path, pa.table([pa.array(rows, members)], schema=schema))
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("scheme", ["zstd", "lz4", "fsst", "none"])
def test_compressed_columns_are_read_either_way(tmp_path: Path, scheme: str) -> None:
    asked = {"lance-encoding:compression": scheme}
    schema = pa.schema(
        [
            pa.field("s", pa.string(), metadata=asked),
            pa.field("b", pa.binary(), metadata=asked),
        ]
    )
    values = [None if i % 9 == 4 else f"hello {i % 50} world {i}" for i in range(5000)]
    table = pa.table([values, [v and v.encode() for v in values]], schema=schema)
    _, ours = check_both_ways(tmp_path, table)
    raw_bytes = sum(column.nbytes for column in table.columns)
    assert (ours.stat().st_size < 0.8 * raw_bytes) == (scheme != "none")


def test_extension_types_come_back(tmp_path: Path) -> None:
    keys = pa.array([bytes([i]) * 16 for i in range(50)], pa.binary(16))
    floats = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(200.0)), 4)
    tensor = pa.fixed_shape_tensor(pa.float64(), [2, 2])
    table = pa.table(
        {
            "uuid": pa.ExtensionArray.from_storage(pa.uuid(), keys),
            "tensor": pa.ExtensionArray.from_storage(tensor, floats),
        }
    )
    check_both_ways(tmp_path, table)


def test_json_is_the_same_bytes_and_text_to_our_users(tmp_path: Path) -> None:
    table = pa.table({"j": pa.array(['{"a":[1,2.5,"x"]}', None, "null"], pa.json_())})
    theirs = write(TheirWriter, tmp_path / "theirs", [table], table.schema)
    ours = write(OurWriter, tmp_path / "ours", [table], table.schema)
    stored = [TheirReader(str(path)).read_all().to_table() for path in (theirs, ours)]
    assert stored[0] == stored[1]
    for path in (theirs, ours):
        assert OurReader(str(path)).read_all().to_table() == table


def test_metadata_of_schema_and_fields_is_kept(tmp_path: Path) -> None:
    schema = pa.schema(
        [pa.field("a", pa.int32(), nullable=False, metadata={"unit": "m"})],
        metadata={"made by": "us"},
    )
    theirs, ours = check_both_ways(tmp_path, pa.table([pa.array([1, 2], pa.int32())], schema))
    assert ours.read_bytes() == theirs.read_bytes()
    for reader in (OurReader(str(theirs)), OurReader(str(ours)), TheirReader(str(ours))):
        assert reader.metadata().schema.equals(schema, check_metadata=True)


def test_extra_buffers_and_metadata_become_the_same_file(tmp_path: Path) -> None:
    for name, writer in (("theirs", TheirWriter), ("ours", OurWriter)):
        with writer(str(tmp_path / name), pa.schema([("a", pa.int64())]), version="2.0") as target:
            assert target.add_global_buffer(b"one") == 1
            target.write_batch(pa.table({"a": [1, 2, 3]}))
            assert target.add_global_buffer(b"x" * 100) == 2
            assert target.add_global_buffer(b"") == 3
            target.add_schema_metadata("key", "value")
        assert target.size_bytes == (tmp_path / name).stat().st_size
        assert target.close() is None
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    for reader in (TheirReader(str(tmp_path / "ours")), OurReader(str(tmp_path / "theirs"))):
        assert [reader.read_global_buffer(i) for i in (1, 2, 3)] == [b"one", b"x" * 100, b""]
        assert reader.metadata().schema.metadata == {b"key": b"value"}


def description(reader: Any) -> Any:
    found = reader.metadata()

    def places(buffers: Any) -> list[tuple[int, int]]:
        return [(buffer.position, buffer.size) for buffer in buffers]

    columns = [
        (
            places(column.column_buffers),
            [(places(page.buffers), sorted(page.encoding.splitlines())) for page in column.pages],
        )
        for column in found.columns
    ]
    figures = [(c.num_pages, c.size_bytes) for c in reader.file_statistics().columns]
    return (
        found.schema,
        (found.num_rows, reader.num_rows(), found.major_version, found.minor_version),
        (found.num_data_bytes, found.num_column_metadata_bytes, found.num_global_buffer_bytes),
        places(found.global_buffers),
        columns,
        figures,
    )


def test_metadata_describes_a_file_as_pylance_does(tmp_path: Path) -> None:
    table = mixed(2000)
    for writer in (TheirWriter, OurWriter):
        path = write(writer, tmp_path / "x", [table], table.schema)
        assert description(OurReader(str(path))) == description(TheirReader(str(path)))


@pytest.mark.parametrize(
    "columns", [["text"], ["list", "number"], ["struct"], ["struct.n"], ["struct.l", "flag"]]
)
def test_columns_are_chosen_as_pylance_does(tmp_path: Path, columns: list[str]) -> None:
    table = mixed(2000)
    path = str(write(TheirWriter, tmp_path / "x", [table], table.schema))
    theirs = TheirReader(path, columns=columns)
    ours = OurReader(path, columns=columns)
    assert ours.read_all().to_table() == theirs.read_all().to_table()
    assert ours.take_rows([5, 1999]).to_table() == theirs.take_rows([5, 1999]).to_table()
    assert ours.num_rows() == 2000


def test_batches_have_the_size_that_was_asked_for(tmp_path: Path) -> None:
    table = mixed(50_000).drop_columns("struct")
    path = str(
        write(
            TheirWriter,
            tmp_path / "x",
            table.to_batches(999),
            table.schema,
            data_cache_bytes=200_000,
        )
    )
    for reader in (TheirReader(path), OurReader(path)):
        sizes = [batch.num_rows for batch in reader.read_all(batch_size=1500).to_batches()]
        assert sizes == [1500] * 33 + [500]
