"""Tables are the same to pylance and to us: every type, nullability and shape, by either writer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance as pylance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.checksums.seal import MARK, SEAL_BYTES
from lance_core.errors import InvalidInputError
from tests.interop.columns import NULLS, ROWS, same, table_of_everything, table_of_most

pytestmark = pytest.mark.usefixtures("fast_module")


@pytest.fixture(scope="module")
def fast_module() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANCE_CORE_DURABILITY", "fast")
        yield


@dataclass(frozen=True)
class Case:
    """What was given to the writers, and where each of them put it."""

    given: pa.Table
    theirs: str
    ours: str


@pytest.fixture(scope="module", params=NULLS)
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, fast_module: None
) -> Case:
    """Tables of three fragments. Files of all of everything are in `test_datafile_interop`."""
    given = table_of_most(request.param)
    folder = tmp_path_factory.mktemp("tables")
    theirs, ours = str(folder / "theirs"), str(folder / "ours")
    pylance.write_dataset(given, theirs, data_storage_version="2.0", max_rows_per_file=25)
    lance_core.write_dataset(given, ours, data_storage_version="2.0", max_rows_per_file=25)
    return Case(given, theirs, ours)


def some_of(names: list[str]) -> list[str]:
    """Columns of each shape, in another order than in the table."""
    return list(dict.fromkeys([*names[7::11], *names[::13]]))


def check_reads(dataset: Any, given: pa.Table) -> None:
    """Scans, filtered scans, ranges and takes, by either library."""
    rows = given.num_rows
    same(dataset.to_table(), given)
    names = some_of(given.column_names)
    same(dataset.to_table(columns=names), given.select(names))
    if rows == 0:
        same(dataset.to_table(filter="key > 3"), given)
        return
    chosen = np.flatnonzero(np.arange(rows) % 7 == 3)
    same(dataset.to_table(filter="key % 7 = 3"), given.take(chosen))
    same(dataset.to_table(columns=names, filter="key = 41"), given.select(names).take([41]))
    same(dataset.to_table(offset=20, limit=30), given.slice(20, 30))
    for wanted in ([59, 0, 25, 24, 25], [rows - 1], list(range(0, rows, 3))):
        same(dataset.take(wanted), given.take(wanted))
    same(dataset.take([50, 2], columns=names), given.select(names).take([50, 2]))
    batches = list(dataset.to_batches(batch_size=10))
    assert [batch.num_rows for batch in batches] == [10, 10, 5, 10, 10, 5, 10]
    same(pa.Table.from_batches(batches), given)


def test_we_read_what_pylance_wrote(case: Case) -> None:
    dataset = lance_core.dataset(case.theirs)
    check_reads(dataset, case.given)
    dataset.validate()
    if case.given.num_rows:
        found = dataset.to_table(row_ranges=[(2, 3, 7), (0, 20, 25)])
        same(found, case.given.take([53, 54, 55, 56, 20, 21, 22, 23, 24]))


def test_pylance_reads_what_we_wrote(case: Case) -> None:
    dataset = pylance.dataset(case.ours)
    check_reads(dataset, case.given)
    dataset.validate()
    for fragment in dataset.get_fragments():
        fragment.validate()


def test_both_write_the_same_manifest_but_for_names_and_times(case: Case) -> None:
    ours, theirs = lance_core.dataset(case.ours), lance_core.dataset(case.theirs)
    if case.given.num_rows:  # pylance leaves out an empty part of dictionaries without any value
        assert ours.lance_schema == theirs.lance_schema
    for one, other in zip(ours.get_fragments(), theirs.get_fragments(), strict=True):
        mine, given = one.metadata.to_json(), other.metadata.to_json()
        for file in (*mine["files"], *given["files"]):
            del file["path"]
        for file in mine["files"]:  # pylance does not seal metadata
            file["file_size_bytes"] -= len(MARK) + SEAL_BYTES
        assert mine == given
    manifests = [dataset.snapshot.manifest for dataset in (ours, theirs)]
    flags = {(manifest.reader_flags, manifest.writer_flags) for manifest in manifests}
    assert flags == {(0, 0)}
    assert manifests[0].data_format == manifests[1].data_format
    assert manifests[0].max_fragment_id == manifests[1].max_fragment_id


def test_both_append_to_one_table(case: Case, tmp_path: Path) -> None:
    uri = str(tmp_path / "table")
    expected = []
    for turn in range(4):
        # Copied: slices of nested arrays are more than pylance can write.
        part = case.given.slice(turn * 7, 20)
        part = part.take(pa.array(np.arange(part.num_rows)))
        writer: Any = (pylance, lance_core)[turn % 2]
        # An existing table keeps its file version.
        options = {"data_storage_version": "2.0"} if turn == 0 else {}
        writer.write_dataset(part, uri, mode="append", **options)
        expected.append(part)
    whole = pa.concat_tables(expected)
    for library in (pylance, lance_core):
        dataset = library.dataset(uri)
        same(dataset.to_table(), whole)
        dataset.validate()
        if whole.num_rows:
            order = [79, 0, 40, 41]
            same(dataset.take(order), whole.take(order))


def test_both_overwrite_one_table(tmp_path: Path) -> None:
    uri = str(tmp_path / "table")
    tables = [pa.table({name: pa.array([n])}) for n, name in enumerate("abcd")]
    for turn, table in enumerate(tables):
        writer: Any = (lance_core, pylance)[turn % 2]
        writer.write_dataset(table, uri, mode="overwrite", data_storage_version="2.0")
    for library in (pylance, lance_core):
        for number, table in enumerate(tables, start=1):
            assert library.dataset(uri, version=number).to_table().equals(table)
        ids = [fragment.fragment_id for fragment in library.dataset(uri).get_fragments()]
        assert ids == [3]


def test_columns_left_out_of_an_append_are_null_to_both(tmp_path: Path) -> None:
    table = table_of_everything("some nulls").select([*range(0, 333, 10)])
    parts = [table, table.select(table.column_names[::2]), table.select(table.column_names[1:5])]
    for number, (first, second) in enumerate([(pylance, lance_core), (lance_core, pylance)]):
        uri = str(tmp_path / f"table{number}")
        first.write_dataset(parts[0], uri, data_storage_version="2.0")
        second.write_dataset(parts[1], uri, mode="append")
        first.write_dataset(parts[2], uri, mode="append")
        found = lance_core.dataset(uri).to_table()
        same(found, pylance.dataset(uri).to_table())
        same(found.slice(0, ROWS), table)
        for place, part in ((ROWS, parts[1]), (2 * ROWS, parts[2])):
            same(found.slice(place, ROWS).select(part.column_names), part)
            missing = set(table.column_names) - set(part.column_names)
            assert all(found[name].slice(place, ROWS).null_count == ROWS for name in missing)


def decorated() -> pa.Table:
    """Metadata and extension types, at the top and inside."""
    uuids = pa.array([bytes([n]) * 16 for n in range(5)], pa.binary(16))
    inner = pa.field("x", pa.int64(), False, {"unit": "m"})
    fields = [
        pa.field("plain", pa.int32(), False, {"a": "b", "ä": "€"}),
        pa.field("p", pa.struct([inner]), True, {"deep": "yes"}),
        pa.field("json", pa.json_(), True, {"k": "v"}),
        pa.field("uuid", pa.uuid()),
        pa.field(
            "unknown",
            pa.int64(),
            metadata={"ARROW:extension:name": "made.up", "ARROW:extension:metadata": "v=1"},
        ),
        pa.field("items", pa.list_(pa.field("item", pa.string(), True, {"in": "list"}))),
        pa.field("packed", pa.struct([pa.field("n", pa.int16())]), metadata={"packed": "true"}),
        pa.field("zstd", pa.string(), metadata={"lance-encoding:compression": "zstd"}),
    ]
    arrays = [
        pa.array(range(5), pa.int32()),
        pa.array([{"x": n} for n in range(5)], pa.struct([inner])),
        pa.array(['{"a":1}', "[]", None, "null", '"text"']).cast(pa.json_()),
        pa.ExtensionArray.from_storage(pa.uuid(), uuids),
        pa.array([1, None, 3, 4, 5]),
        pa.array([["a"], [], None, ["b", None], ["c"]], fields[5].type),
        pa.array([{"n": n} for n in range(5)], fields[6].type),
        pa.array(["z" * n * 100 for n in range(5)]),
    ]
    return pa.table(arrays, schema=pa.schema(fields, {"table": "metadata", "ä": "€"}))


@pytest.mark.parametrize("writer", [pylance, lance_core])
def test_metadata_and_extension_types_survive(tmp_path: Path, writer: Any) -> None:
    uri, given = str(tmp_path / "table"), decorated()
    writer.write_dataset(given, uri, data_storage_version="2.0")
    theirs, ours = pylance.dataset(uri), lance_core.dataset(uri)
    assert ours.schema.equals(theirs.schema, check_metadata=True)
    for options in ({}, {"columns": ["json", "p"]}, {"columns": {"a": "uuid", "b": "unknown"}}):
        found, expected = ours.to_table(**options), theirs.to_table(**options)
        assert found.schema.equals(expected.schema, check_metadata=True)
        assert found.to_pylist() == expected.to_pylist()
    assert ours.take([3, 0]).to_pylist() == theirs.take([3, 0]).to_pylist()
    for one, library in ((ours, pylance), (theirs, lance_core)):
        library.write_dataset(one.to_table(), uri, mode="append")
    assert pylance.dataset(uri).to_table().equals(lance_core.dataset(uri).to_table())
    assert json.loads(lance_core.dataset(uri).take([5])["json"][0].as_py()) == {"a": 1}


BLOBS = [b"", b"x" * 10, None, b"y" * 100_000, b"\0"]


@pytest.mark.parametrize("writer", [pylance, lance_core])
def test_blobs_are_described_and_read_by_both(tmp_path: Path, writer: Any) -> None:
    field = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = pa.table(
        [pa.array(range(5)), pa.array(BLOBS, pa.large_binary())],
        schema=pa.schema([pa.field("i", pa.int64()), field]),
    )
    uri = str(tmp_path / "table")
    for _ in range(2):
        writer.write_dataset(table, uri, mode="append", data_storage_version="2.0")
    theirs, ours = pylance.dataset(uri), lance_core.dataset(uri)
    assert ours.schema.equals(theirs.schema, check_metadata=True)
    readings: list[Callable[[Any], pa.Table]] = [
        lambda dataset: dataset.to_table(),
        lambda dataset: dataset.to_table(columns=["blob"], filter="i > 2"),
        lambda dataset: dataset.to_table(blob_handling="all_descriptions"),
        lambda dataset: dataset.to_table(blob_handling="all_binary"),
        lambda dataset: dataset.to_table(["blob"], "i = 3", blob_handling="all_binary"),
        lambda dataset: dataset.take([9, 3, 0]),
    ]
    for reading in readings:
        found, expected = reading(ours), reading(theirs)
        assert found.schema.equals(expected.schema, check_metadata=True)
        assert found.to_pylist() == expected.to_pylist()
    whole = ours.to_table(blob_handling="all_binary")
    assert whole["blob"].to_pylist() == BLOBS * 2
    files = theirs.take_blobs("blob", indices=[8])
    assert [file.readall() for file in files] == [BLOBS[3]]


@pytest.mark.parametrize("v2", [True, False])
@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("writer", [pylance, lance_core])
def test_naming_and_row_ids_of_a_table_are_kept(
    tmp_path: Path, writer: Any, stable: bool, v2: bool
) -> None:
    uri = str(tmp_path / "table")
    table = pa.table({"i": range(10)})
    options = {"enable_stable_row_ids": stable, "enable_v2_manifest_paths": v2}
    writer.write_dataset(table, uri, data_storage_version="2.0", max_rows_per_file=4, **options)
    for library in (pylance, lance_core, pylance):
        library.write_dataset(table, uri, mode="append", max_rows_per_file=4)
    names = {len(path.stem) for path in Path(uri, "_versions").glob("*.manifest")}
    assert names == ({20} if v2 else {1})
    theirs, ours = pylance.dataset(uri), lance_core.dataset(uri)
    assert theirs.has_stable_row_ids == ours.has_stable_row_ids == stable
    meta = {"with_row_id": True, "with_row_address": True}
    assert ours.to_table(**meta).equals(theirs.to_table(**meta))
    if stable:
        assert ours.to_table(["_rowid"])["_rowid"].to_pylist() == list(range(40))


def test_tables_of_a_file_version_to_come_are_opened_and_not_touched(
    tmp_path: Path,
) -> None:
    uri = str(tmp_path / "table")
    table = pa.table({"i": range(5), "s": list("abcde")})
    pylance.write_dataset(table, uri, data_storage_version="2.3")
    files = sorted(path for path in Path(uri).rglob("*") if path.is_file())
    ours = lance_core.dataset(uri)
    assert (ours.count_rows(), ours.schema.names) == (5, ["i", "s"])
    uses: list[Callable[[], object]] = [
        ours.to_table,
        lambda: ours.take([1]),
        ours.validate,
        lambda: lance_core.write_dataset(table, uri, mode="append"),
    ]
    for use in uses:
        with pytest.raises(NotImplementedError, match=r"2\.3"):
            use()
    assert sorted(path for path in Path(uri).rglob("*") if path.is_file()) == files
    lance_core.write_dataset(table, uri, mode="overwrite", data_storage_version="2.0")
    assert pylance.dataset(uri).to_table().equals(table)


@pytest.mark.parametrize("library", [pylance, lance_core])
def test_rows_without_columns_are_refused_by_both(library: Any, tmp_path: Path) -> None:
    data = pa.table({"a": range(5)})
    rows, uri = data.select([]), str(tmp_path / "t")
    for version in ("2.0", "2.1", "2.2"):
        with pytest.raises(OSError, match=r"without columns|not contain any fields"):
            library.write_dataset(rows, uri, data_storage_version=version)
    library.write_dataset(data, uri)
    for mode in ("append", "overwrite"):
        with pytest.raises(OSError, match=r"without columns|not contain any fields"):
            library.write_dataset(rows, uri, mode=mode)
    assert library.dataset(uri).version == 1
    # pylance writes fragments of such rows, which no commit takes.
    if library is pylance:
        written = pylance.fragment.write_fragments(rows, uri, mode="append")
        theirs = json.dumps(written[0].to_json())
        stored = lance_core.fragment.FragmentMetadata.from_json(theirs)
        with pytest.raises(InvalidInputError, match="not contain any fields"):
            lance_core.LanceDataset.commit(
                uri, lance_core.LanceOperation.Append([stored]), read_version=1
            )
    assert library.dataset(uri).count_rows() == 5
