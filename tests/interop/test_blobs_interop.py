"""Blobs of pylance are read here as there, and the reverse, byte for byte where it counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk", "without_checksums")

Maker = Callable[[], pa.Table]

MARK = {"lance-encoding:blob": "true"}
INLINE, DEDICATED = 64 << 10, 4 << 20
SIZES = [10, None, 0, 1, INLINE - 1, INLINE, INLINE + 1, DEDICATED, DEDICATED + 1, 70_000, None]
MANY = [None if i % 7 == 0 else 0 if i % 11 == 0 else i * 37 % 140_000 for i in range(300)]


def values(sizes: list[int | None]) -> list[bytes | None]:
    return [None if n is None else (b"%d " % place * n)[:n] for place, n in enumerate(sizes)]


def v1(sizes: list[int | None], type_: pa.DataType | None = None) -> pa.Table:
    field = pa.field("b", type_ or pa.large_binary(), metadata=MARK)
    return pa.table([pa.array(values(sizes), field.type)], schema=pa.schema([field]))


def v2(sizes: list[int | None], **thresholds: int) -> pa.Table:
    schema = pa.schema([lance.blob_field("b", **thresholds)])
    return pa.table([lance.blob_array(values(sizes))], schema=schema)


def two_columns() -> pa.Table:
    schema = pa.schema([lance.blob_field("b"), lance.blob_field("c")])
    sizes = [[70_000, 80_000, DEDICATED + 1], [90_000, DEDICATED + 2, 66_000]]
    return pa.table([lance.blob_array(values(one)) for one in sizes], schema=schema)


def in_struct(null: bool) -> pa.Table:
    members = [pa.array(values([3, None, 0, 70_000]), pa.large_binary()), pa.array([1, 2, 3, 4])]
    fields = [pa.field("b", pa.large_binary(), metadata=MARK), pa.field("n", pa.int64())]
    mask = pa.array([False, False, True, False]) if null else None
    return pa.table({"s": pa.StructArray.from_arrays(members, fields=fields, mask=mask)})


def in_list(kind: Callable[[pa.Field], pa.DataType]) -> pa.Table:
    item = pa.field("item", pa.large_binary(), metadata=MARK)
    rows = [[b"abc", None], None, [], [b"", b"x" * 70_000], [None]]
    return pa.table({"l": pa.array(rows, kind(item))})


CASES: dict[str, tuple[Maker, str]] = {
    "v1": (lambda: v1(SIZES), "2.0 2.1 2.2"),
    "v1 many": (lambda: v1(MANY), "2.0 2.1 2.2"),
    "v1 null": (lambda: v1([None] * 5), "2.0 2.1 2.2"),
    "v1 empty": (lambda: v1([0] * 5), "2.0 2.1 2.2"),
    "v1 no nulls": (lambda: v1([5, 6, 7]), "2.0 2.1 2.2"),
    "v1 binary": (lambda: v1([5, None, 70_000], pa.binary()), "2.2"),
    "v1 in struct": (lambda: in_struct(False), "2.0 2.1 2.2"),
    "v1 in null struct": (lambda: in_struct(True), "2.1 2.2"),
    "v1 in list": (lambda: in_list(pa.list_), "2.0 2.2"),
    "v1 in large list": (lambda: in_list(pa.large_list), "2.0 2.2"),
    "v2": (lambda: v2(SIZES), "2.2"),
    "v2 many": (lambda: v2(MANY), "2.2"),
    "v2 two columns": (two_columns, "2.2"),
    "v2 thresholds": (
        lambda: v2(
            [5, 10, 11, 20, 21, 15, 15, 15],
            inline_size_threshold=10,
            dedicated_size_threshold=20,
            pack_file_size_threshold=40,
        ),
        "2.2",
    ),
    "v2 nothing inline": (lambda: v2([0, 1, None, 9], inline_size_threshold=0), "2.2"),
}
ALL = [(name, version) for name, (_, versions) in CASES.items() for version in versions.split()]
HANDLINGS = ("all_binary", "blobs_descriptions", "all_descriptions")


@each_case(("name", "version"), ALL)
def test_blobs_of_pylance_are_read_as_pylance_does(name: str, version: str, tmp_path: Path) -> None:
    theirs = lance.write_dataset(CASES[name][0](), tmp_path / "t", data_storage_version=version)
    ours = lance_core.dataset(tmp_path / "t")
    for handling in HANDLINGS:
        same(ours.to_table(blob_handling=handling), theirs.to_table(blob_handling=handling))
    for column in ("b", "s.b"):
        if column.split(".")[0] in theirs.schema.names:
            rows = range(theirs.count_rows())
            wanted = theirs.take_blobs(column, indices=rows)
            found = ours.take_blobs(column, indices=rows)
            assert list(map(read, found)) == list(map(read, wanted))
            assert ours.read_blobs(column, indices=rows) == theirs.read_blobs(column, indices=rows)


@each_case(("name", "version"), ALL)
def test_pylance_reads_blobs_that_are_written_as_its_own(
    name: str, version: str, tmp_path: Path
) -> None:
    data = CASES[name][0]()
    own = lance.write_dataset(data, tmp_path / "own", data_storage_version=version)
    lance_core.write_dataset(data, tmp_path / "t", data_storage_version=version)
    theirs = lance.dataset(tmp_path / "t")
    for handling in ("all_binary", "all_descriptions"):
        found, wanted = (
            theirs.to_table(blob_handling=handling),
            own.to_table(blob_handling=handling),
        )
        same(without_empty_places(found), without_empty_places(wanted))
    assert theirs.schema.equals(own.schema, check_metadata=True)
    fields = [fragment.data_files()[0].fields for fragment in theirs.get_fragments()]
    assert fields == [fragment.data_files()[0].fields for fragment in own.get_fragments()]
    assert side_files(tmp_path / "t") == side_files(tmp_path / "own")
    sizes = [data_bytes(tmp_path / folder) for folder in ("t", "own")]
    assert abs(sizes[0] - sizes[1]) <= 0.03 * sizes[1]


@pytest.mark.parametrize("writer", [lance, lance_core])
def test_external_blobs_mean_the_same_to_both(writer: Any, tmp_path: Path) -> None:
    media = tmp_path / "media"
    (media / "a b").mkdir(parents=True)
    (media / "one").write_bytes(b"0123456789")
    (media / "a b" / "two").write_bytes(b"two")
    own = [f"file://{media}/one", lance.Blob.from_uri(f"{media}/one", 3, 4), f"{media}/a b/two"]
    data = pa.table([lance.blob_array([*own, None])], schema=pa.schema([lance.blob_field("b")]))
    bases = [writer.DatasetBasePath(str(media), name="media", is_dataset_root=False)]
    writer.write_dataset(data, str(tmp_path / "t"), initial_bases=bases, data_storage_version="2.2")
    theirs = lance.dataset(str(tmp_path / "t"))
    ours = lance_core.dataset(tmp_path / "t", allow_base_paths=str(media))
    for handling in HANDLINGS:
        same(ours.to_table(blob_handling=handling), theirs.to_table(blob_handling=handling))
    expected = [b"0123456789", b"3456", b"two", None]
    assert list(map(read, ours.take_blobs("b", indices=range(4)))) == expected
    assert list(map(read, theirs.take_blobs("b", indices=range(4)))) == expected


def test_ingested_objects_are_kept_as_pylance_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"0123456789" * 7000)
    whole = f"file://{tmp_path}/large"
    given = [whole, b"own", lance.Blob.from_uri(whole, 3, 4), None]
    data = pa.table([lance.blob_array(given)], schema=pa.schema([lance.blob_field("b")]))
    options = {"external_blob_mode": "ingest", "data_storage_version": "2.2"}
    own = lance.write_dataset(data, str(tmp_path / "own"), **options)
    lance_core.write_dataset(data, str(tmp_path / "t"), **options)
    theirs = lance.dataset(str(tmp_path / "t"))
    for handling in ("all_binary", "all_descriptions"):
        same(theirs.to_table(blob_handling=handling), own.to_table(blob_handling=handling))
    assert side_files(tmp_path / "t") == side_files(tmp_path / "own")


@pytest.mark.parametrize("first", [lance, lance_core])
def test_appends_of_both_make_one_table(first: Any, tmp_path: Path) -> None:
    second = lance if first is lance_core else lance_core
    uri = str(tmp_path / "t")
    first.write_dataset(v2([5, 70_000], inline_size_threshold=4), uri, data_storage_version="2.2")
    second.write_dataset(v1([6, None]), uri, mode="append")
    first.write_dataset(v2([7, 0]), uri, mode="append")
    theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
    same(ours.to_table(blob_handling="all_binary"), theirs.to_table(blob_handling="all_binary"))
    kinds = [one and one["kind"] for one in theirs.to_table()["b"].to_pylist()]
    assert kinds == [1, 1, 1, None, 1, 0]


@pytest.mark.parametrize("cleaner", [lance, lance_core])
@pytest.mark.parametrize("writer", [lance, lance_core])
def test_cleanup_takes_side_files_of_dead_data_files_only(
    writer: Any, cleaner: Any, tmp_path: Path
) -> None:
    uri = str(tmp_path / "t")
    writer.write_dataset(v2([70_000]), uri, data_storage_version="2.2")
    dead = set((tmp_path / "t" / "data").glob("*/*.blob"))
    writer.write_dataset(v2([80_000]), uri, mode="overwrite")
    live = set((tmp_path / "t" / "data").glob("*/*.blob")) - dead
    assert (len(dead), len(live)) == (1, 1)
    cleaner.dataset(uri).cleanup_old_versions(retain_versions=1, delete_unverified=True)
    assert set((tmp_path / "t" / "data").glob("*/*.blob")) == live
    assert read(lance.dataset(uri).take_blobs("b", indices=[0])[0]) == values([80_000])[0]


@pytest.mark.parametrize("kind", ["shallow_clone", "deep_clone"])
def test_clones_have_the_blobs_of_their_source(kind: str, tmp_path: Path) -> None:
    made = lance.write_dataset(v2(SIZES), str(tmp_path / "t"), data_storage_version="2.2")
    getattr(lance_core.dataset(tmp_path / "t"), kind)(str(tmp_path / "ours"), None)
    getattr(made, kind)(str(tmp_path / "theirs"), made.version)
    wanted = made.to_table(blob_handling="all_binary")
    for folder in ("ours", "theirs"):
        ours = lance_core.dataset(tmp_path / folder, allow_base_paths=str(tmp_path / "t"))
        same(ours.to_table(blob_handling="all_binary"), wanted)
        theirs = lance.dataset(str(tmp_path / folder))
        same(theirs.to_table(blob_handling="all_binary"), wanted)


def test_files_behave_as_those_of_pylance(tmp_path: Path) -> None:
    lance.write_dataset(v2([1000]), str(tmp_path / "t"), data_storage_version="2.2")
    (theirs,) = lance.dataset(str(tmp_path / "t")).take_blobs("b", indices=[0])
    (ours,) = lance_core.dataset(tmp_path / "t").take_blobs("b", indices=[0])
    assert ours is not None
    assert (ours.size(), repr(ours)) == (theirs.size(), repr(theirs))
    random = np.random.default_rng(5)
    for _ in range(100):
        place, size = int(random.integers(0, 1100)), int(random.integers(-1, 300))
        for call in (
            lambda file, p=place: file.seek(p),
            lambda file, s=size: file.read(s),
            lambda file, s=size: file.read1(s),
            lambda file: file.tell(),
            lambda file, p=place: file.seek(-min(p, 1000), 2),
            lambda file, s=size: filled(file, max(s, 0)),
        ):
            assert call(ours) == call(theirs)
    for file in (ours, theirs):
        file.close()
        assert file.closed
        assert file.size() == 1000


def filled(file: Any, size: int) -> bytes:
    target = bytearray(size)
    file.readinto(target)
    return bytes(target)


def read(file: Any) -> bytes | None:
    return None if file is None else file.read()


def same(found: pa.Table, wanted: pa.Table) -> None:
    assert found.schema.equals(wanted.schema, check_metadata=True), (found.schema, wanted.schema)
    assert found.to_pylist() == wanted.to_pylist()


def without_empty_places(table: pa.Table) -> pa.Table:
    """Descriptions without where empty blobs are: nothing is there, and any place will do."""

    def cleaned(value: Any) -> Any:
        if isinstance(value, list):
            return [cleaned(one) for one in value]
        if not isinstance(value, dict):
            return value
        if value.get("kind") == 0 and value["size"] == 0:
            return {**value, "position": 0}
        return {name: cleaned(one) for name, one in value.items()}

    columns = [
        pa.array([cleaned(one) for one in table[field.name].to_pylist()], field.type)
        for field in table.schema
    ]
    return pa.table(columns, schema=table.schema)


def side_files(folder: Path) -> list[tuple[str, bytes]]:
    return sorted((path.name, path.read_bytes()) for path in folder.glob("data/*/*.blob"))


def data_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("data/*.lance"))
