"""Blobs that are written before the rows that refer to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import lance.file
import pyarrow as pa
import pytest

import lance_core
import lance_core.file
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

SCHEMA = [pa.field("id", pa.int64()), lance_core.blob_field("b")]


def table(path: Path) -> lance_core.LanceDataset:
    rows = pa.table([[0], lance_core.blob_array([b"first"])], schema=pa.schema(SCHEMA))
    return lance_core.write_dataset(rows, path)


def written(library: Any, dataset: Any) -> None:
    """Write blobs, and the data file ``made.lance`` that refers to them."""
    session, name = dataset.new_file_session(), "data/made.lance"
    packed = session.open_packed_blob_writer(name, 1)
    packed.write_blob(b"hello")
    packed.write_blobs(pa.array([b"", None, b"x" * 1000], pa.large_binary()))
    alone = session.open_dedicated_blob_writer(name, 2)
    alone.write(b"part one, ")
    alone.write(b"part two")
    builder = library.BlobDescriptorArrayBuilder("b")
    builder.extend(packed.finish())
    builder.append(alone.finish())
    builder.append_inline(b"inline")
    builder.append_null()
    builder.extend_packed(1, [1], [3])
    builder.append_dedicated(2, 4)
    column, field = builder.finish(), builder.field
    schema = pa.schema([SCHEMA[0], field])
    with session.open_writer(name, schema=schema, version="2.2") as writer:
        ids = pa.array(range(len(column)), pa.int64())
        writer.write_batch(pa.record_batch([ids, column], schema=schema))


BLOBS = [b"first", b"hello", b"", None, b"x" * 1000, b"part one, part two", b"inline", None]


@pytest.mark.parametrize("library", [lance, lance_core])
def test_files_of_either_library_are_read_by_both(tmp_path: Path, library: Any) -> None:
    uri = table(tmp_path / "t").uri
    written(library, library.dataset(uri))
    file = lance_core.dataset(uri)._ds.data_file("made.lance")
    fragment = lance_core.FragmentMetadata(0, [file], 9)
    append = lance_core.LanceOperation.Append([fragment])
    dataset = lance_core.LanceDataset.commit(uri, append, 1)
    for opened in (dataset, lance.dataset(uri)):
        files = opened.take_blobs("b", indices=range(10))
        read = [None if file is None else file.read() for file in files]
        assert read == [*BLOBS, b"ell", b"part"]


def test_finished_arrays_have_a_field(tmp_path: Path) -> None:
    session = lance_core.file.LanceFileSession(tmp_path)
    writer = session.open_packed_blob_writer("x.lance", 3)
    with pytest.raises(InvalidInputError, match="finish_array"):
        _ = writer.field
    writer.write_blob(memoryview(b"abc"))
    array = writer.finish_array("b")
    assert writer.field.name == "b"
    assert (writer.blob_id, writer.path) == (3, "x/11000000000000000000000000000000.blob")
    assert array.field("blob_size").to_pylist() == [3]
    with pytest.raises(InvalidInputError, match="finished"):
        writer.write_blob(b"x")
    with pytest.raises(InvalidInputError, match="finished"):
        writer.finish()


def test_what_is_no_blob_is_refused(tmp_path: Path) -> None:
    session = lance_core.file.LanceFileSession(tmp_path)
    for path, number in (("x", 1), ("x.lance", 0), ("x.lance", 1 << 32), ("../x.lance", 1)):
        with pytest.raises(ValueError, match=r"lance|number|segment"):
            session.open_packed_blob_writer(path, number)
    writer = session.open_packed_blob_writer("x.lance", 1)
    for value in ("text", None, 5):
        with pytest.raises(TypeError, match="a blob is bytes"):
            writer.write_blob(value)
    for values in (pa.array(["text"]), [b"x"]):
        with pytest.raises(InvalidInputError, match="binary"):
            writer.write_blobs(values)
    builder = lance_core.BlobDescriptorArrayBuilder("b")
    with pytest.raises(InvalidInputError, match="2 offsets"):
        builder.extend_packed(1, [1, 2], [3])
    with pytest.raises(InvalidInputError, match="bytes from 0 on"):
        builder.append_dedicated(1, -1)
    with pytest.raises(UnsupportedFeatureError, match="managed"):
        builder.append_managed("x", 0, 1)
    with pytest.raises(TypeError, match="BlobDescriptor"):
        builder.append("x")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": 3}, "neither bytes nor in a side file"),
        ({"kind": 4}, "managed"),
        ({"kind": 1, "blob_id": 0}, "names no side file"),
        ({"kind": 0}, "kind that does not fit"),
        ({"data": b"x"}, "kind that does not fit"),
    ],
)
def test_made_up_descriptors_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    builder = lance_core.BlobDescriptorArrayBuilder("b")
    builder.append_dedicated(1, 4)
    array, field = builder.finish(), builder.field
    row = {**array.to_pylist()[0], **changes}
    schema = pa.schema([field])
    batch = pa.record_batch([pa.array([row], field.type)], schema=schema)
    writer = lance_core.file.LanceFileWriter(tmp_path / "x.lance", schema, version="2.2")
    with pytest.raises((ValueError, NotImplementedError), match=message):
        writer.write_batch(batch)
    with pytest.raises(ValueError, match="expected struct"):
        lance_core.write_dataset(pa.Table.from_batches([batch]), tmp_path / "t")
