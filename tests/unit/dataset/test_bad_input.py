"""Tables whose files contradict each other or the format give an error that says so."""

from __future__ import annotations

import re
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    LanceError,
    ObjectNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.table.fragments.deletion import encode_deletions
from tests.fuzz.unsealed import without_checksums
from tests.table_surgery import delete_rows, edit_fragment, edit_manifest, replace_deletion_file
from tests.unit.dataset.conftest import rows

Rows = Callable[..., pa.Table]

SECONDS = 2.0
MEMORY = 64 << 20


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two fragments of 30 and 10 rows, some of the first deleted; not to be changed."""
    path = tmp_path_factory.mktemp("written") / "table"
    delete_rows(lance.write_dataset(rows(40), path, max_rows_per_file=30), {0: [3, 5]})
    return path


@pytest.fixture
def table(uri: str, written: Path) -> lance.LanceDataset:
    """A copy of `written`, to be spoilt."""
    shutil.copytree(written, uri)
    return lance.dataset(uri)


def content(uri: str) -> dict[str, bytes]:
    root = Path(uri)
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def uses(uri: str) -> Iterator[Callable[[], object]]:
    """What users do with a table; each opens it anew."""
    yield lambda: lance.dataset(uri).to_table()
    yield lambda: list(lance.dataset(uri).to_batches(batch_size=7))
    yield lambda: lance.dataset(uri).to_table(["s"], filter="i > 3 AND p.x < 1000")
    yield lambda: lance.dataset(uri).scanner().to_reader().read_all()
    yield lambda: lance.dataset(uri).take([0, 30, 37])
    yield lambda: lance.dataset(uri).slice(20, 35)
    yield lambda: lance.dataset(uri).get_fragments()[0].head(9)
    yield lambda: lance.dataset(uri).validate()


def refused_by_all(uri: str) -> set[type[LanceError]]:
    """The errors of all uses; each is typed, quick, frugal and writes nothing."""
    before = content(uri)
    kinds = set()
    for number, use in enumerate(uses(uri)):
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()  # what else the machine does must not count
        with pytest.raises(LanceError) as error:
            use()
        assert time.process_time() - start < SECONDS, number
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        assert used * 1024 < MEMORY, number
        assert str(error.value)
        kinds.add(type(error.value))
    assert content(uri) == before
    return kinds


def test_the_uses_are_fine_with_a_good_table(table: lance.LanceDataset) -> None:
    for use in uses(table.uri):
        use()


def newest(uri: str) -> Path:
    return min(Path(uri, "_versions").glob("*.manifest"))


@pytest.mark.parametrize("keep", [0, 1, 15, 16, 20, 0.5, -1])
def test_a_truncated_manifest_is_corrupt(table: lance.LanceDataset, keep: float) -> None:
    path = newest(table.uri)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep) if 0 < keep < 1 else int(keep)])
    assert refused_by_all(table.uri) == {CorruptFileError}
    with pytest.raises(CorruptFileError, match=re.escape(path.name)):
        lance.dataset(table.uri)


@pytest.mark.parametrize("data", [b"garbage" * 100, bytes(500), b"LANC", b"\xff" * 100])
def test_a_garbled_manifest_is_corrupt(table: lance.LanceDataset, data: bytes) -> None:
    newest(table.uri).write_bytes(data)
    assert refused_by_all(table.uri) == {CorruptFileError}
    # Older versions are not concerned.
    assert lance.dataset(table.uri, version=1).to_table().num_rows == 40


def test_a_manifest_of_a_future_format_is_unsupported(table: lance.LanceDataset) -> None:
    path = newest(table.uri)
    data = bytearray(path.read_bytes())
    data[-8] = 1
    path.write_bytes(data)
    assert refused_by_all(table.uri) == {UnsupportedFeatureError}


@pytest.mark.parametrize("bit", [6, 9, 12, 17, 40, 63])
def test_unknown_features_of_readers_are_unsupported(table: lance.LanceDataset, bit: int) -> None:
    def ask_for_more(manifest: Any) -> None:
        manifest.reader_feature_flags |= 1 << bit

    with pytest.raises(UnsupportedFeatureError, match=f"bit {bit}"):
        edit_manifest(table, ask_for_more)
    assert refused_by_all(table.uri) == {UnsupportedFeatureError}


@pytest.mark.parametrize("bit", [6, 12, 17, 63])
def test_unknown_features_of_writers_do_not_concern_readers(
    table: lance.LanceDataset, some_rows: Rows, bit: int
) -> None:
    def ask_for_more(manifest: Any) -> None:
        manifest.writer_feature_flags |= 1 << bit

    dataset = edit_manifest(table, ask_for_more)
    assert dataset.to_table().num_rows == 38
    before = content(table.uri)
    with pytest.raises(UnsupportedFeatureError, match=f"bit {bit}"):
        lance.write_dataset(some_rows(1), table.uri, mode="append")
    with pytest.raises(UnsupportedFeatureError, match=f"bit {bit}"):
        lance.LanceDataset.commit(table.uri, lance.LanceOperation.Append([]), 2)
    assert {name for name in content(table.uri) if "_transactions" not in name} == {
        name for name in before if "_transactions" not in name
    }


@pytest.mark.parametrize("rows", [1, 29])
def test_more_rows_than_the_manifest_counts_are_corrupt(
    table: lance.LanceDataset, rows: int
) -> None:
    def change(fragment: Any) -> None:
        fragment.physical_rows = rows
        fragment.ClearField("deletion_file")

    dataset = edit_fragment(table, change)
    for columns in (None, ["i"], ["p.x"]):
        with pytest.raises(CorruptFileError, match="has 30 rows"):
            dataset.to_table(columns)
    with pytest.raises(CorruptFileError, match="has 30 rows"):
        dataset.take([0])
    with pytest.raises(CorruptFileError, match="has 30 rows"):
        dataset.validate()


@pytest.mark.parametrize("rows", [0, 31, 10**6, 2**40, 2**63 - 1])
def test_fewer_rows_than_the_manifest_counts_are_corrupt(
    table: lance.LanceDataset, rows: int
) -> None:
    def change(fragment: Any) -> None:
        fragment.physical_rows = rows
        fragment.ClearField("deletion_file")

    dataset = edit_fragment(table, change)
    if rows == 0:  # which means that it is not known
        assert dataset.to_table().num_rows == 40
        return
    assert refused_by_all(table.uri) == {CorruptFileError}
    with pytest.raises(CorruptFileError, match=r"fragment 0 has|has 30 rows"):
        dataset.to_table(["i"])


@pytest.mark.parametrize("size", [1, 39, 40, 100, -1, +1, +1000, 2**40, 2**63])
def test_a_wrong_size_of_a_file_is_corrupt(table: lance.LanceDataset, size: int) -> None:
    def change(fragment: Any) -> None:
        file = fragment.files[0]
        file.file_size_bytes = file.file_size_bytes + size if size in (-1, 1, 1000) else size

    edit_fragment(table, change)
    assert refused_by_all(table.uri) <= {CorruptFileError, ObjectNotFoundError}


def test_an_unknown_size_of_a_file_is_looked_up(table: lance.LanceDataset) -> None:
    def forget(fragment: Any) -> None:
        fragment.files[0].file_size_bytes = 0

    assert edit_fragment(table, forget).to_table().num_rows == 38


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: [],
        lambda columns: columns[:1],
        lambda columns: columns[:-1],
        lambda columns: [*columns, 11],
        lambda columns: [0, 0, *columns[2:]],
        lambda columns: [-5, *columns[1:]],
        lambda columns: [99, *columns[1:]],
        lambda columns: [2**31 - 1, *columns[1:]],
        lambda columns: columns[::-1],
        lambda columns: [1, 0, *columns[2:]],
    ],
)
def test_wrong_columns_are_corrupt(
    table: lance.LanceDataset, change: Callable[[list[int]], list[int]]
) -> None:
    def apply(fragment: Any) -> None:
        columns = fragment.files[0].column_indices
        columns[:] = change(list(columns))

    edit_fragment(table, apply)
    before = content(table.uri)
    for use in list(uses(table.uri))[:3]:
        with pytest.raises(CorruptFileError):
            use()
    assert content(table.uri) == before


@pytest.mark.parametrize("kind", ["data", "_deletions"])
def test_a_missing_file_is_not_found(table: lance.LanceDataset, kind: str) -> None:
    gone = table.get_fragment(0).deletion_file()
    if kind == "data":
        gone = f"data/{table.get_fragment(0).data_files()[0].path}"
    Path(table.uri, str(gone)).unlink()
    assert refused_by_all(table.uri) == {ObjectNotFoundError}
    with pytest.raises(ObjectNotFoundError, match=re.escape(str(gone))):
        lance.dataset(table.uri).to_table()
    # What does not need the file is still there.
    assert lance.dataset(table.uri).get_fragment(1).to_table().num_rows == 10


def test_a_fragment_that_no_row_address_can_name_is_corrupt(table: lance.LanceDataset) -> None:
    def move(fragment: Any) -> None:
        fragment.id = 1 << 63

    last = len(table.get_fragments()) - 1
    edit_fragment(table, move, last)
    before = content(table.uri)
    changes: list[Callable[[lance.LanceDataset], object]] = [
        lambda dataset: dataset.delete("true"),
        lambda dataset: dataset.restore(),
        lambda dataset: dataset.update_config({"a": "b"}),
        lambda dataset: dataset.to_table(with_row_id=True),
    ]
    for change in changes:
        with pytest.raises(CorruptFileError, match="fragment id 9223372036854775808"):
            change(lance.dataset(table.uri))
    assert content(table.uri) == before


def test_a_missing_manifest_is_no_version(table: lance.LanceDataset) -> None:
    newest(table.uri).unlink()
    assert lance.dataset(table.uri).version == 1
    with pytest.raises(DatasetNotFoundError):
        table.checkout_version(2)


@pytest.mark.parametrize("data", [b"", b"x", b"garbage" * 100, bytes(1000)])
@pytest.mark.parametrize("kind", ["data", "_deletions"])
def test_a_garbled_file_is_corrupt(table: lance.LanceDataset, kind: str, data: bytes) -> None:
    for path in Path(table.uri, kind).iterdir():
        path.write_bytes(data)
    assert refused_by_all(table.uri) == {CorruptFileError}


@pytest.mark.parametrize("offset", [-40, -32, -24, -16, -12, -8, -4])
@pytest.mark.parametrize("value", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x03\0\0\1"])
def test_offsets_past_the_end_are_corrupt(
    table: lance.LanceDataset, offset: int, value: bytes
) -> None:
    for path in Path(table.uri, "data").iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) + offset : len(data) + offset + 4] = value
        path.write_bytes(data)
    assert refused_by_all(table.uri) <= {CorruptFileError, UnsupportedFeatureError}


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@without_checksums
def test_buffers_that_are_not_aligned_are_read_if_they_need_not_be(uri: str, version: str) -> None:
    """Only the pages of other writers are not aligned, and Arrow wants them to be."""
    table = pa.table(
        {"n": pa.array(range(1000), pa.int64()), "s": ["x" * (n % 9) for n in range(1000)]}
    )
    dataset = lance.write_dataset(table, uri, data_storage_version=version)
    (path,) = Path(uri, "data").iterdir()
    path.write_bytes(shifted(path.read_bytes()))

    def grow(fragment: Any) -> None:
        fragment.files[0].file_size_bytes = path.stat().st_size

    edited = edit_fragment(dataset, grow)
    if version != "2.0":
        with pytest.raises(CorruptFileError, match="not a multiple of 64") as whole:
            edited.to_table()
        with pytest.raises(CorruptFileError) as one_row:
            edited.take([7])
        assert str(one_row.value) == str(whole.value)
        return
    found = edited.to_table()
    found.validate(full=True)
    assert found.equals(table)
    assert lance.dataset(uri).take([7, 3]).equals(table.take([7, 3]))


def shifted(data: bytes) -> bytes:
    """A data file with one more byte in front of everything, and all positions corrected."""
    from lance_core._pb.file2_pb2 import ColumnMetadata

    footer = np.frombuffer(data[-40:-16], "<u8")
    columns, buffers = int(footer[1]), int(footer[2])
    tables = np.frombuffer(data[columns:-40], "<u8").reshape(-1, 2).copy()
    num_columns = (buffers - columns) // 16
    out = bytearray(b"?" + data[: int(footer[0])])
    for row in range(num_columns):
        start, length = (int(value) for value in tables[row])
        message = ColumnMetadata.FromString(data[start : start + length])
        for page in message.pages:
            page.buffer_offsets[:] = [one + 1 for one in page.buffer_offsets]
        tables[row] = len(out), message.ByteSize()
        out += message.SerializeToString()
    tables[num_columns:, 0] += 1
    positions = np.array([footer[0] + 1, len(out), len(out) + 16 * num_columns], "<u8")
    return bytes(out + tables.tobytes() + positions.tobytes() + data[-16:])


@pytest.mark.parametrize(
    "path",
    ["../outside.lance", "a/../../outside.lance", "/etc/passwd", "", ".", "..", "a//b", "C:x",
     "a\\..\\b", "%2e%2e/x", "s3://bucket/x", "x\0y", "x" * 5000],
)  # fmt: skip
def test_paths_that_leave_the_table_are_corrupt(table: lance.LanceDataset, path: str) -> None:
    Path(table.uri).parent.joinpath("outside.lance").write_bytes(b"secret")

    def change(fragment: Any) -> None:
        fragment.files[0].path = path

    edit_fragment(table, change)
    assert refused_by_all(table.uri) <= {CorruptFileError, ObjectNotFoundError}


def test_files_of_bases_that_are_not_listed_are_corrupt(table: lance.LanceDataset) -> None:
    def change(fragment: Any) -> None:
        fragment.files[0].base_id = 1

    edit_fragment(table, change)
    assert refused_by_all(table.uri) == {CorruptFileError}


@pytest.mark.parametrize(
    ("offsets", "error"),
    [
        ([30, 31], CorruptFileError),
        ([3, 2**32 - 1], CorruptFileError),
        ([3], CorruptFileError),
        ([3, 5, 7], CorruptFileError),
        (range(10_000), CorruptFileError),
    ],
)
def test_deletions_that_do_not_fit_the_fragment_are_corrupt(
    table: lance.LanceDataset, offsets: Any, error: type[LanceError]
) -> None:
    _, data = encode_deletions(np.array(offsets, np.uint32))
    replace_deletion_file(table, 0, data)
    assert refused_by_all(table.uri) == {error}


def test_more_deletions_than_rows_are_corrupt(table: lance.LanceDataset) -> None:
    def change(fragment: Any) -> None:
        fragment.deletion_file.num_deleted_rows = 31

    with pytest.raises(CorruptFileError):
        edit_fragment(table, change).count_rows()
    assert refused_by_all(table.uri) == {CorruptFileError}


def test_an_unknown_kind_of_deletions_is_unsupported(table: lance.LanceDataset) -> None:
    def change(fragment: Any) -> None:
        fragment.deletion_file.file_type = 7

    edit_fragment(table, change)
    assert UnsupportedFeatureError in refused_by_all(table.uri)


def test_two_fragments_of_one_id_are_corrupt(table: lance.LanceDataset) -> None:
    def change(fragment: Any) -> None:
        fragment.id = 0

    dataset = edit_fragment(table, change, 1)
    with pytest.raises(CorruptFileError, match="same id"):
        dataset.get_fragment(0)
    with pytest.raises(CorruptFileError, match="same id"):
        dataset.to_table(["_rowoffset"])


def first_field(change: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda manifest: change(manifest.fields[0])


def again(manifest: Any) -> None:
    manifest.fields.append(manifest.fields[0])


def set_to(**values: Any) -> Callable[[Any], None]:
    def change(field: Any) -> None:
        for name, value in values.items():
            setattr(field, name, value)

    return change


@pytest.mark.parametrize(
    "change",
    [
        again,
        first_field(set_to(name="s")),
        first_field(set_to(logical_type="nonsense")),
        first_field(set_to(logical_type="")),
        first_field(set_to(logical_type="struct")),
        first_field(set_to(logical_type="decimal:128:99:1")),
        first_field(set_to(logical_type="fixed_size_list:float:99999999999")),
        first_field(set_to(logical_type="fixed_size_list:" * 5000 + "float:1")),
        first_field(set_to(logical_type="string")),
        first_field(set_to(logical_type="int32")),
        first_field(set_to(logical_type="double", id=1)),
        first_field(set_to(parent_id=0)),
        first_field(set_to(parent_id=77)),
        lambda manifest: set_to(id=0)(manifest.fields[1]),
        lambda manifest: set_to(nanos=-1)(manifest.timestamp),
    ],
)
def test_schemas_that_contradict_themselves_or_the_files_are_refused(
    table: lance.LanceDataset, change: Callable[[Any], object]
) -> None:
    def use() -> None:
        edited = edit_manifest(table, change)
        edited.to_table()

    with pytest.raises(LanceError):
        use()
    before = content(table.uri)
    with pytest.raises(LanceError):
        lance.write_dataset({"z": [1]}, table.uri, mode="append")
    assert content(table.uri) == before


@pytest.mark.parametrize(
    "change",
    [
        first_field(set_to(name="")),
        lambda manifest: set_to(version="9.9")(manifest.data_format),
        lambda manifest: set_to(file_format="other", version="2.9")(manifest.data_format),
    ],
)
def test_nothing_is_written_to_tables_that_cannot_be_described(
    table: lance.LanceDataset, change: Callable[[Any], object]
) -> None:
    """Their files say themselves what they hold, and can be read."""
    found = edit_manifest(table, change).to_table()
    assert found.num_rows == 38
    before = content(table.uri)
    with pytest.raises(LanceError):
        lance.write_dataset(found, table.uri, mode="append")
    assert content(table.uri) == before


def test_a_field_of_another_type_of_the_same_width_is_not_noticed(
    table: lance.LanceDataset,
) -> None:
    """Files of 2.0 store no types with their values: it is the schema that says what they are."""
    found = edit_manifest(table, first_field(set_to(logical_type="uint64")))
    assert found.schema.field("i").type == pa.uint64()
    assert found.to_table(["i"])["i"].to_pylist()[:3] == [0, 1, 2]


def test_reading_writes_nothing(table: lance.LanceDataset) -> None:
    before = content(table.uri)
    for use in uses(table.uri):
        use()
    dataset = lance.dataset(table.uri)
    dataset.versions()
    dataset.stats.data_stats()
    dataset.get_transactions()
    assert content(table.uri) == before
