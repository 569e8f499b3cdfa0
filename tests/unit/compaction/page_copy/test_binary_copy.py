"""Copies of pages: what is refused and why, what is copied, and what remains after a failure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.dispatch import decode_field
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    CorruptFileError,
    ObjectNotFoundError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.local import LocalStore, store
from lance_core.store.local.disk import Disk
from lance_core_compaction.copied_fragments import (
    CopyOptions,
    RewrittenFragments,
    copy_fragments,
)
from lance_core_compaction.page_copy import joined_pages, merge_groups, pieces
from lance_core_compaction.page_copy import source_pages as source_pages_module
from lance_core_compaction.page_copy.binary_copy import (
    why_no_pages,
    why_not,
)
from lance_core_compaction.page_copy.source_pages import source_pages
from tests.each_case import each_case

VERSIONS = ("2.0", "2.1", "2.2")


def rows(start: int, count: int = 200) -> pa.Table:
    numbers = np.arange(start, start + count)
    return pa.table(
        {
            "id": numbers,
            "s": [f"text {n}" for n in numbers],
            "p": pa.array([{"x": n, "l": [n] * (n % 3)} for n in numbers.tolist()]),
        }
    )


def write(uri: Path, version: str, count: int = 3, **options: Any) -> None:
    for number in range(count):
        table = rows(1000 * number)
        lance_core.write_dataset(
            table, str(uri), mode="append", data_storage_version=version, **options
        )


def snapshot_of(uri: Path) -> Snapshot:
    return lance_core.dataset(str(uri)).snapshot


def copy(snapshot: Snapshot, **options: Any) -> RewrittenFragments:
    writing = CopyOptions(1 << 40, 1 << 40, snapshot.storage_version, **options)
    return copy_fragments(snapshot, list(snapshot.manifest.fragments), writing)


def reason(uri: Path, version: FileVersion | None = None) -> tuple[str | None, str | None]:
    """Why neither all pages nor any page can be copied."""
    snapshot = snapshot_of(uri)
    fragments = list(snapshot.manifest.fragments)
    version = version or snapshot.storage_version
    return why_not(snapshot, fragments, version), why_no_pages(snapshot, fragments, version)


def data_files(uri: Path) -> set[str]:
    return {path.name for path in (uri / "data").iterdir()}


def test_what_cannot_be_copied_strictly_is_refused_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path / "t", "2.1")
    assert reason(tmp_path / "t") == (None, None)
    assert reason(tmp_path / "t", FileVersion.V2_2) == ("no file has version 2.2",) * 2
    lance_core.dataset(str(tmp_path / "t")).delete("id = 1")
    assert reason(tmp_path / "t") == ("fragment 0 has deleted rows", None)
    write(tmp_path / "columns", "2.0")
    lance_core.dataset(str(tmp_path / "columns")).add_columns({"n": "id + 1"})
    assert reason(tmp_path / "columns") == ("the columns of fragment 0 are in 2 files", None)
    write(tmp_path / "dropped", "2.2")
    lance_core.dataset(str(tmp_path / "dropped")).drop_columns(["s"])
    strict, hybrid = reason(tmp_path / "dropped")
    assert strict is not None
    assert strict.endswith("does not have the columns of the table's schema")
    assert hybrid is None


@each_case("version", VERSIONS)
def test_rows_are_encoded_again_if_no_metadata_can_be_copied(tmp_path: Path, version: str) -> None:
    write(tmp_path / "t", version)
    dataset = lance_core.dataset(str(tmp_path / "t"))
    dataset.delete("id = 1")
    before = dataset.to_table()
    real = source_pages_module._columns

    def columns(raw: bytes, begins: Any, ends: Any) -> Any:
        if len(begins):
            raise UnsupportedFeatureError("unknown column metadata")
        return real(raw, begins, ends)

    with (
        mock.patch.object(source_pages_module, "_columns", columns),
        mock.patch.object(source_pages_module, "_single_pages", return_value=None),
    ):
        metrics = dataset.optimize.compact_files(compaction_mode="try_binary_copy")
    assert metrics.pages_copied == 0
    assert len(dataset.get_fragments()) == 1
    assert dataset.to_table() == before


def test_old_files_and_blobs_are_refused(tmp_path: Path) -> None:
    lance_core.write_dataset(
        rows(0).select(["id"]), str(tmp_path / "old"), data_storage_version="0.1"
    )
    strict, hybrid = reason(tmp_path / "old")
    assert strict == hybrid == "files of version 0.1 have no pages that can be copied"
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = pa.table([pa.array([b"1", b"2"], pa.large_binary())], schema=pa.schema([field]))
    lance_core.write_dataset(table, str(tmp_path / "blobs"), data_storage_version="2.0")
    strict, hybrid = reason(tmp_path / "blobs")
    assert strict == hybrid == "column 'b' has blobs, which are stored outside of pages"
    lance_core.write_dataset(
        pa.table({"b": lance_core.blob_array([b"1"])}),
        str(tmp_path / "blobs-2"),
        data_storage_version="2.2",
    )
    assert reason(tmp_path / "blobs-2")[1] is not None


@each_case("version", VERSIONS)
def test_pages_keep_their_bytes_and_get_new_positions(tmp_path: Path, version: str) -> None:
    write(tmp_path / "t", version)
    snapshot = snapshot_of(tmp_path / "t")
    advanced: list[int] = []
    copied = copy(snapshot, is_strict=True, advance=advanced.append)
    (fragment,) = copied.fragments
    assert fragment.physical_rows == sum(advanced) == 600
    (file,) = fragment.files
    new = snapshot.reader(file)
    old = [snapshot.reader(one.files[0]) for one in snapshot.manifest.fragments]
    whole = (tmp_path / "t" / "data" / file.path).read_bytes()
    assert len(whole) == file.file_size_bytes
    for number, column in enumerate(new.metadata.columns):
        sources = [(one, page) for one in old for page in one.metadata.columns[number].pages]
        if len(column.pages) == 1:  # the header of the struct
            assert column.pages[0].num_rows == sum(page.num_rows for _, page in sources)
            assert column.pages[0].buffers == ()
            continue
        for page, (source, before) in zip(column.pages, sources, strict=True):
            assert (page.num_rows, page.encoding) == (before.num_rows, before.encoding)
            data = (tmp_path / "t" / source.path).read_bytes()
            for at, was in zip(page.buffers, before.buffers, strict=True):
                assert at.start % 64 == 0
                assert whole[at.start : at.stop] == data[was.start : was.stop]
    table = source_pages([new.metadata.columns], [new.path])
    first, stop = table.first_page[:2]
    assert table.priorities[first:stop].tolist() == [0, 200, 400]
    assert new.schema.to_arrow() == snapshot.schema.to_arrow()


def test_fragments_without_live_rows_leave_nothing(tmp_path: Path) -> None:
    write(tmp_path / "t", "2.1")
    ds = lance_core.dataset(str(tmp_path / "t"))
    ds.delete("id < 1000 AND id > 0")
    copied = copy(snapshot_of(tmp_path / "t"))
    assert [one.physical_rows for one in copied.fragments] == [401]
    snapshot = snapshot_of(tmp_path / "t")
    empty = CopyOptions(10, 10, snapshot.storage_version)
    assert copy_fragments(snapshot, [], empty).fragments == ()


def damage(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


def check_fails(uri: Path, error: type[Exception], match: str, **options: Any) -> None:
    """A copy raises ``error`` and leaves no file."""
    snapshot, before = snapshot_of(uri), data_files(uri)
    with pytest.raises(error, match=match):
        copy(snapshot, **options)
    assert data_files(uri) == before


@each_case("version", VERSIONS)
def test_a_missing_file_is_an_error_and_leaves_nothing(tmp_path: Path, version: str) -> None:
    write(tmp_path / "t", version)
    (file,) = snapshot_of(tmp_path / "t").manifest.fragments[1].files
    (tmp_path / "t" / "data" / file.path).unlink()
    check_fails(tmp_path / "t", ObjectNotFoundError, file.path)


@each_case("version", VERSIONS)
def test_wrong_positions_are_errors_that_name_the_file(tmp_path: Path, version: str) -> None:
    write(tmp_path / "t", version)
    snapshot = snapshot_of(tmp_path / "t")
    (file,) = snapshot.manifest.fragments[1].files
    path = tmp_path / "t" / "data" / file.path
    footer = path.stat().st_size - 40
    # The metadata of the columns begins earlier, so that a buffer reaches into it.
    content = path.read_bytes()
    start = int.from_bytes(content[footer : footer + 8], "little")
    stop = int.from_bytes(content[footer + 8 : footer + 16], "little")
    assert start < stop
    first = content.index(b"\x12", start)
    damage(path, first + 1, b"\xff\x7f")
    check_fails(tmp_path / "t", CorruptFileError, file.path)


def test_wrong_counts_of_rows_are_errors(tmp_path: Path) -> None:
    write(tmp_path / "t", "2.1")
    snapshot = snapshot_of(tmp_path / "t")
    with (
        mock.patch.object(Snapshot, "physical_rows", return_value=201),
        mock.patch.object(Snapshot, "live_rows", return_value=201),
        pytest.raises(CorruptFileError, match="have 200 rows, the fragment has 201"),
    ):
        copy(snapshot)


def test_damaged_pages_are_found_if_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "t", "2.1")
    snapshot = snapshot_of(tmp_path / "t")
    (file,) = snapshot.manifest.fragments[1].files
    reader = snapshot.reader(file)
    page = reader.metadata.columns[1].pages[0]
    damage(tmp_path / "t" / "data" / file.path, page.buffers[0].start, b"\xff" * 64)
    check_fails(tmp_path / "t", CorruptFileError, file.path, verify_pages=True)
    assert copy(snapshot_of(tmp_path / "t"), is_strict=True).counts.pages_copied


def test_a_full_disk_and_an_interruption_leave_nothing(tmp_path: Path) -> None:
    write(tmp_path / "t", "2.2")
    full = OSError(28, "No space left on device")
    for name, most in (("copy_ranges", 0), ("write", store.MAX_VIEW_BYTES)):
        with mock.patch.object(store, "MAX_VIEW_BYTES", most):
            with mock.patch.object(Disk, name, side_effect=full):
                check_fails(tmp_path / "t", StoreError, "No space left", is_strict=True)
            with mock.patch.object(Disk, name, side_effect=KeyboardInterrupt):
                check_fails(tmp_path / "t", KeyboardInterrupt, "^$", is_strict=True)
    with mock.patch.object(Disk, "write", side_effect=full):
        check_fails(tmp_path / "t", StoreError, "No space left")


def test_finished_files_are_listed_for_the_caller_to_remove(tmp_path: Path) -> None:
    write(tmp_path / "t", "2.1")
    snapshot = snapshot_of(tmp_path / "t")
    fragments: Sequence[Any] = list(snapshot.manifest.fragments)
    writing = CopyOptions(200, 1 << 40, snapshot.storage_version)
    (tmp_path / "t" / "data" / fragments[2].files[0].path).unlink()
    with pytest.raises(ObjectNotFoundError):
        copy_fragments(snapshot, fragments, writing)
    names = {file.path for one in writing.done for file in one.files}
    assert len(names) == 2
    assert data_files(tmp_path / "t") == names | {one.files[0].path for one in fragments[:2]}


@each_case("version", VERSIONS)
def test_pages_without_deleted_rows_are_copied(tmp_path: Path, version: str) -> None:
    table = pa.concat_tables([rows(n) for n in range(0, 40_000, 200)]).combine_chunks()
    with mock.patch.dict(os.environ, {"LANCE_FILE_WRITER_MAX_PAGE_BYTES": "16384"}):
        lance_core.write_dataset(table, str(tmp_path / "t"), data_storage_version=version)
    ds = lance_core.dataset(str(tmp_path / "t"))
    ds.delete("id = 39000 OR id = 39001")
    with (
        mock.patch.object(pieces, "MERGE_BYTES", 0),
        mock.patch.object(merge_groups, "MAX_NUMBER_BYTES", 0),
    ):
        copied = copy(snapshot_of(tmp_path / "t"))
    (fragment,) = copied.fragments
    assert fragment.physical_rows == 39_998
    assert copied.counts.pages_copied > 20
    if version != "2.0":  # the lists of 2.0 files are encoded again as a whole
        assert copied.counts.pages_reencoded <= 6


def columns_of_types(number: int) -> dict[str, pa.Array]:
    """Several columns of each type, of which every second one has nulls."""
    rng = np.random.default_rng(number)
    found: dict[str, pa.Array] = {}
    for column in range(4):
        mask = rng.random(300) < 0.2 if column % 2 else None
        words = [f"w{n}" * (n % 5) for n in rng.integers(0, 90, 300).tolist()]
        found[f"i{column}"] = pa.array(rng.integers(0, 900, 300), pa.int32(), mask=mask)
        found[f"f{column}"] = pa.array(rng.random(300), mask=mask)
        found[f"b{column}"] = pa.array(rng.random(300) < 0.5, mask=mask)
        found[f"s{column}"] = pa.array(words, mask=mask)
        found[f"k{column}"] = pa.array([bytes([column, n % 7]) for n in range(300)], pa.binary(2))
        found[f"c{column}"] = pa.array([column] * 300 if number % 2 else range(300))
        found[f"l{column}"] = pa.array([[n] * (n % 3) for n in range(300)])
    return {name: found[name] for name in sorted(found)}


@pytest.mark.parametrize(
    ("deleted", "has_views"), [("false", True), ("i0 % 3 = 1", True), ("false", False)]
)
@each_case("version", VERSIONS)
def test_alike_columns_are_decoded_together(
    tmp_path: Path, version: str, deleted: str, has_views: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStore, "has_views", has_views)
    uri = str(tmp_path / "t")
    for number in range(9):
        table = pa.table(columns_of_types(number))
        lance_core.write_dataset(table, uri, mode="append", data_storage_version=version)
    dataset = lance_core.dataset(uri)
    dataset.delete(deleted)
    expected = dataset.to_table()
    with mock.patch.object(joined_pages, "decode_field", wraps=decode_field) as decode:
        metrics = dataset.optimize.compact_files(
            compaction_mode="try_binary_copy", materialize_deletions_threshold=0.0
        )
    assert metrics.pages_copied == 0
    assert decode.call_count == len("bcfiks") + 4  # one call for each list
    assert lance_core.dataset(uri).to_table() == expected
