"""Single files by path or URI: what users of ``lance.file`` know, and clear errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    ObjectNotFoundError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.file import (
    LanceFileReader,
    LanceFileSession,
    LanceFileWriter,
    ListResult,
    stable_version,
)

TABLE = pa.table({"a": pa.array(range(10_000), pa.int32()), "b": [str(i) for i in range(10_000)]})


def write(path: Any, table: pa.Table = TABLE, **options: Any) -> LanceFileWriter:
    with LanceFileWriter(path, table.schema, **options) as writer:
        writer.write_batch(table)
    return writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path / "x.lance")
    return tmp_path / "x.lance"


@pytest.mark.parametrize("kind", [str, Path, Path.as_uri], ids=["text", "path", "URI"])
def test_a_file_is_named_by_text_path_or_uri(tmp_path: Path, kind: Callable[[Path], Any]) -> None:
    target = kind(tmp_path / "new folder" / "x.lance")
    writer = write(target)
    assert writer.closed
    assert writer.size_bytes == (tmp_path / "new folder" / "x.lance").stat().st_size
    assert LanceFileReader(target).read_all().to_table() == TABLE


def test_files_may_be_in_memory() -> None:
    write("memory://test-file/x.lance")
    assert LanceFileReader("memory://test-file/x.lance").num_rows() == 10_000


def test_rows_are_read_in_batches(path: Path) -> None:
    reader = LanceFileReader(path)
    batches = list(reader.read_all(batch_size=999).to_batches())
    assert [batch.num_rows for batch in batches] == [999] * 10 + [10]
    assert pa.Table.from_batches(batches) == TABLE
    assert reader.read_range(9990, 10).to_table() == TABLE.slice(9990)
    assert reader.read_range(5, 0).to_table() == TABLE.slice(0, 0)


@pytest.mark.parametrize(
    "rows",
    [[], [0, 5, 9999], (3, 4), np.array([1, 7]), pa.array([2, 8]), range(0, 100, 7)],
    ids=["none", "list", "tuple", "numpy", "arrow", "range"],
)
def test_rows_are_taken_by_number(path: Path, rows: Any) -> None:
    numbers = rows.to_pylist() if isinstance(rows, pa.Array) else list(rows)
    taken = LanceFileReader(path).take_rows(rows, batch_size=2).to_table()
    assert taken == TABLE.take(pa.array(numbers, pa.int64()))


@pytest.mark.parametrize("rows", [[3, 1], [1, 1], [-1], [10_000], [[1]]])
def test_rows_that_cannot_be_taken_are_refused(path: Path, rows: list[Any]) -> None:
    with pytest.raises(InvalidInputError):
        LanceFileReader(path).take_rows(rows)


@pytest.mark.parametrize("part", [(-1, 5), (0, 10_001), (9999, 2), (0, -1)])
def test_ranges_that_are_not_there_are_refused(path: Path, part: tuple[int, int]) -> None:
    with pytest.raises(InvalidInputError):
        LanceFileReader(path).read_range(*part)


@pytest.mark.parametrize("batch_size", [0, -5])
def test_batches_have_at_least_a_row(path: Path, batch_size: int) -> None:
    with pytest.raises(InvalidInputError, match="batch_size"):
        LanceFileReader(path).read_all(batch_size=batch_size)


def test_columns_may_be_chosen(path: Path) -> None:
    assert LanceFileReader(path, columns=["b"]).read_all().to_table() == TABLE.select(["b"])
    with pytest.raises(InvalidInputError, match="'c'"):
        LanceFileReader(path, columns=["c"])
    with pytest.raises(InvalidInputError, match="at least one"):
        LanceFileReader(path, columns=[])


def test_damage_that_is_met_while_reading_is_an_error_of_ours(path: Path) -> None:
    page = LanceFileReader(path).metadata().columns[1].pages[0].buffers[0]
    raw = bytearray(path.read_bytes())
    raw[page.position + 80] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(CorruptFileError, match=r"x\.lance.*'b'"):
        LanceFileReader(path).read_all().to_table()


@pytest.mark.parametrize("content", [b"", b"LANC", b"hello" * 100])
def test_what_is_no_data_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(CorruptFileError, match="'x'"):
        LanceFileReader(tmp_path / "x")


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x\.lance"):
        LanceFileReader(tmp_path / "x.lance")


def test_a_path_must_name_a_file() -> None:
    with pytest.raises(InvalidInputError, match="name a file"):
        LanceFileReader("memory://bucket")


def test_an_exception_leaves_no_file(tmp_path: Path) -> None:
    def fail() -> None:
        with LanceFileWriter(tmp_path / "x", TABLE.schema) as writer:
            writer.write_batch(TABLE)
            raise RuntimeError("caller's")

    with pytest.raises(RuntimeError, match="caller's"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_without_schema_and_rows_there_is_nothing_to_write(tmp_path: Path) -> None:
    writer = LanceFileWriter(tmp_path / "x")
    with pytest.raises(InvalidInputError, match="no schema"):
        writer.close()
    assert list(tmp_path.iterdir()) == []


def test_what_comes_before_the_schema_is_kept(tmp_path: Path) -> None:
    with LanceFileWriter(tmp_path / "x") as writer:
        assert writer.add_global_buffer(b"one") == 1
        writer.add_schema_metadata("k", "v")
        writer.write_batch(TABLE)
        assert writer.add_global_buffer(b"two") == 2
    reader = LanceFileReader(tmp_path / "x")
    assert [reader.read_global_buffer(i) for i in (1, 2)] == [b"one", b"two"]
    assert reader.metadata().schema.metadata == {b"k": b"v"}


def test_a_closed_writer_refuses_rows(tmp_path: Path) -> None:
    writer = write(tmp_path / "x")
    assert writer.close() is None
    with pytest.raises(InvalidInputError):
        writer.write_batch(TABLE)


def test_columns_are_matched_by_name(tmp_path: Path) -> None:
    table = pa.table({"c": [1], "b": ["x"], "a": pa.array([7], pa.int32())})
    with LanceFileWriter(tmp_path / "x", TABLE.schema) as writer:
        writer.write_batch(table)
    assert LanceFileReader(tmp_path / "x").read_all().to_table() == table.select(["a", "b"])


@pytest.mark.parametrize(
    "table",
    [pa.table({"a": pa.array([1], pa.int32())}), pa.table({"a": [1], "b": ["x"]})],
    ids=["column missing", "other type"],
)
def test_rows_that_do_not_fit_are_refused(tmp_path: Path, table: pa.Table) -> None:
    writer = LanceFileWriter(tmp_path / "x", TABLE.schema)
    with pytest.raises(SchemaMismatchError):
        writer.write_batch(table)
    writer.abort()


def test_rows_without_columns_are_refused(tmp_path: Path) -> None:
    rows = TABLE.select([])
    assert rows.num_rows == TABLE.num_rows
    for schema in (rows.schema, None):
        with (
            pytest.raises(SchemaMismatchError, match="10000 rows without columns"),
            LanceFileWriter(tmp_path / "x.lance", schema) as writer,
        ):
            writer.write_batch(rows)
    assert list(tmp_path.iterdir()) == []
    write(tmp_path / "empty.lance", rows.slice(0, 0))
    with pytest.raises(InvalidInputError, match="at least one column"):
        LanceFileReader(tmp_path / "empty.lance").read_all()


def test_versions_are_chosen_by_name(tmp_path: Path) -> None:
    write(tmp_path / "x", version="0.3")
    found = LanceFileReader(tmp_path / "x").metadata()
    assert (found.major_version, found.minor_version) == (0, 3)
    write(tmp_path / "y")
    found = LanceFileReader(tmp_path / "y").metadata()
    assert (found.major_version, found.minor_version) == (2, 2)
    assert stable_version() == "2.2"
    with pytest.raises(UnsupportedFeatureError, match=r"2\.3"):
        write(tmp_path / "x", version="next")
    with pytest.raises(InvalidInputError, match="9"):
        write(tmp_path / "x", version="9")


def test_a_table_of_a_namespace_needs_its_client_and_its_name(path: Path) -> None:
    for make in (LanceFileReader, LanceFileWriter, LanceFileSession):
        for named in ({"namespace_client": object()}, {"table_id": ["t"]}):
            with pytest.raises(InvalidInputError, match="together"):
                make(str(path), **named)  # type: ignore[arg-type]


def test_a_session_works_below_its_folder(tmp_path: Path) -> None:
    session = LanceFileSession(tmp_path)
    with session.open_writer("d/e/x.lance", schema=TABLE.schema, data_cache_bytes=1000) as writer:
        writer.write_batch(TABLE)
    assert writer.size_bytes is not None
    assert session.open_reader("d/e/x.lance", ["a"]).read_all().to_table() == TABLE.select(["a"])
    assert session.contains("d/e/x.lance")
    assert not session.contains("d/e/y.lance")
    (tmp_path / "local").write_bytes(b"0123456789")
    session.upload_file(tmp_path / "local", "d/copy")
    session.download_file("d/copy", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == b"0123456789"
    assert session.read_range("d/copy", 2, 3) == b"234"
    assert sorted(session.list()) == ["back", "d/copy", "d/e/x.lance", "local"]
    assert session.list("d/e") == ["d/e/x.lance"]
    assert session.list_with_delimiter("d") == ListResult(["d/e"], ["d/copy"])
    assert session.list_with_delimiter() == ListResult(["d"], ["back", "local"])
    session.delete_file("d/copy")
    for use in (session.delete_file, session.open_reader, lambda p: session.read_range(p, 0, 1)):
        with pytest.raises(ObjectNotFoundError):
            use("d/copy")


def test_a_session_never_leaves_its_folder(tmp_path: Path) -> None:
    session = LanceFileSession(tmp_path / "inside")
    write(tmp_path / "x.lance")
    for path in ("../x.lance", str(tmp_path / "x.lance")):
        with pytest.raises(InvalidInputError):
            session.open_reader(path)
    with pytest.raises(InvalidInputError):
        session.read_range("x", -1, 5)
