"""Both libraries make the same tables of the same changes of columns, and read each other's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_core
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case
from tests.examples import share

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

ROWS = 20
TABLE = pa.table(
    {
        "a": pa.array(range(ROWS), pa.int64()),
        "f": pa.array([n / 2 for n in range(ROWS)], pa.float32()),
        "t": pa.array([f"text {n}" for n in range(ROWS)]),
        "l": pa.array([[*range(n % 4)] for n in range(ROWS)]),
        "s": pa.array([{"x": n, "y": f"y{n}"} for n in range(ROWS)]),
        "ls": pa.array([[{"p": n}] * (n % 3) for n in range(ROWS)]),
    }
).cast(
    pa.schema(
        [
            pa.field("a", pa.int64()),
            pa.field("f", pa.float32(), nullable=False),
            pa.field("t", pa.string(), metadata={"k": "v"}),
            pa.field("l", pa.list_(pa.int64())),
            pa.field("s", pa.struct([("x", pa.int64()), ("y", pa.string())])),
            pa.field("ls", pa.list_(pa.struct([("p", pa.int64())]))),
        ],
        metadata={"own": "1"},
    )
)
LIVE = 17
VERSIONS = ["0.1", "2.0", "2.1", "2.2"]

Change = Callable[[Any, ModuleType], object]


def base(path: Path, version: str, stable: bool) -> str:
    """A table of pylance with three fragments and deleted rows."""
    made = lance.write_dataset(
        TABLE,
        str(path),
        data_storage_version=version,
        max_rows_per_file=8,
        max_rows_per_group=3,
        enable_stable_row_ids=stable,
    )
    made.delete("a IN (0, 9, 19)")
    return str(path)


def files_of(fragment: Fragment) -> tuple[Any, ...]:
    files = tuple((file.fields, file.column_indices, file.file_version) for file in fragment.files)
    return fragment.id, fragment.physical_rows, files


def manifest(uri: str) -> Any:
    """What a commit of either library says about columns."""
    file = lance_core.dataset(uri).snapshot.file
    assert file.transaction is not None
    operation = Transaction.from_bytes(file.transaction).operation
    safe = getattr(operation, "preserves_nullability", None)
    return (
        file.manifest.schema,
        [files_of(fragment) for fragment in file.manifest.fragments],
        type(operation).__name__,
        safe,
    )


def both(tmp_path: Path, version: str, change: Change, stable: bool = False) -> tuple[str, str]:
    """The change by each library, of copies of one table."""
    first = base(tmp_path / "pylance", version, stable)
    second = shutil.copytree(first, tmp_path / "ours")
    change(lance.dataset(first), lance)
    change(lance_core.dataset(str(second)), lance_core)
    return first, str(second)


def read_by_both(uri: str) -> pa.Table:
    """The rows, after checks that both libraries read the same, also by filters and takes."""
    theirs, ours = lance.dataset(uri), lance_core.dataset(uri)
    rows = theirs.to_table()
    assert ours.to_table() == rows
    assert ours.schema == theirs.schema
    taken = [ours.take([3, 0, 16]).to_pylist(), theirs.take([3, 0, 16]).to_pylist()]
    assert taken[0] == taken[1]
    # pylance does not find nulls of text in files of version 0.1.
    columns = [] if ours.data_storage_version == "0.1" else rows.column_names
    if columns:
        there = {column: f"{column} IS NOT NULL" for column in columns}
        assert ours.to_table(there) == theirs.to_table(there)
        condition = " AND ".join(there.values())
        assert ours.count_rows(condition) == theirs.count_rows(condition)
    theirs.validate()
    for fragment in ours.get_fragments():
        fragment.validate()
    return rows


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"u": pa.array([2 * value.as_py() for value in batch["a"]])})


KEYS = pa.table({"k": pa.array([1, 4, 4, 30]), "z": ["p", "q", "r", "s"]})

CHANGES: dict[str, Change] = {
    "sql": lambda d, _: d.add_columns({"b": "a * 2", "c": "cast(a as string)", "one": "1"}),
    "struct": lambda d, _: d.add_columns({"st": "s", "sx": "s.x", "l2": "l"}),
    "function": lambda d, m: d.add_columns(m.batch_udf()(doubled), ["a"], batch_size=4),
    "rows": lambda d, _: d.add_columns(pa.table({"r": range(LIVE)}).to_reader()),
    "merge": lambda d, _: d.merge(KEYS, "a", "k"),
    "merge by address": lambda d, _: d.merge(
        pa.table({"_rowaddr": pa.array([1, 1 << 32], pa.uint64()), "z": ["1", "2"]}), "_rowaddr"
    ),
    "rename": lambda d, _: d.alter_columns({"path": "a", "name": "b"}),
    "rename member": lambda d, _: d.alter_columns({"path": "s.x", "name": "b"}),
    "swap": lambda d, _: d.alter_columns({"path": "a", "name": "t"}, {"path": "t", "name": "a"}),
    "nullable": lambda d, _: d.alter_columns({"path": "f", "nullable": True}),
    "not nullable": lambda d, _: d.alter_columns({"path": "s.x", "nullable": False}),
    "cast": lambda d, _: d.alter_columns({"path": "a", "data_type": pa.int8(), "name": "b"}),
    "cast required": lambda d, _: d.alter_columns({"path": "f", "data_type": pa.float64()}),
    "cast list": lambda d, _: d.alter_columns({"path": "l", "data_type": pa.large_list(pa.int8())}),
    "drop": lambda d, _: d.drop_columns(["a", "l"]),
    "drop member": lambda d, _: d.drop_columns(["s.x"]),
    "drop all members": lambda d, _: d.drop_columns(["s.x", "s.y"]),
    "drop item": lambda d, _: d.drop_columns(["l.item"]),
}

OF_2_0: dict[str, Change] = {
    "null expression": lambda d, _: d.add_columns({"n": "cast(NULL as int)"}),
    "no columns": lambda d, _: d.add_columns(pa.schema([])),
    "fields": lambda d, _: d.add_columns([pa.field("n", pa.int8()), pa.field("m", pa.json_())]),
    "json": lambda d, _: d.add_columns(
        pa.table({"j": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}'] * LIVE))})
    ),
    "dictionary": lambda d, _: d.alter_columns(
        {"path": "t", "data_type": pa.dictionary(pa.int8(), pa.string())}
    ),
}

OF_2_2: dict[str, Change] = {
    "member rows": lambda d, _: d.add_columns(pa.table({"s": [{"w": n} for n in range(LIVE)]})),
    "member field": lambda d, _: d.add_columns(
        [pa.field("q", pa.int8()), pa.field("s", pa.struct([("v", pa.struct([("k", "int8")]))]))]
    ),
    "list member field": lambda d, _: d.add_columns(
        pa.field("ls", pa.list_(pa.struct([("q", pa.int8())])))
    ),
    "list member rows": lambda d, _: d.add_columns(
        pa.table({"ls": [[{"q": n}] * (n % 3) for n in range(ROWS) if n not in (0, 9, 19)]})
    ),
    "cast member": lambda d, _: d.alter_columns({"path": "s.x", "data_type": pa.int8()}),
    "cast item": lambda d, _: d.alter_columns({"path": "l.item", "data_type": pa.int8()}),
}

CASES = [
    *(
        (version, name, change)
        for number, (name, change) in enumerate(CHANGES.items())
        for version in share(VERSIONS, 4, turn=number)
    ),
    *(
        (version, name, change)
        for number, (name, change) in enumerate(OF_2_0.items())
        for version in share(VERSIONS[1:], 2, turn=number)
    ),
    *(("2.2", name, change) for name, change in OF_2_2.items()),
]
"""In a full run, each change in all versions that have it."""


@each_case("version, name, change", CASES)
def test_both_libraries_commit_the_same_change(
    tmp_path: Path, version: str, name: str, change: Change
) -> None:
    theirs, ours = both(tmp_path, version, change)
    assert manifest(ours)[1:] == manifest(theirs)[1:]
    if not name.startswith("cast") and name != "dictionary":  # pylance drops metadata in casts
        assert manifest(ours)[0] == manifest(theirs)[0]
    assert read_by_both(ours).to_pylist() == read_by_both(theirs).to_pylist()


@each_case("version, path", [("2.0", "s.x"), ("2.0", "l.item"), ("2.1", "s.x"), ("0.1", "s.x")])
def test_pylance_reads_members_that_we_cast_in_older_versions(
    tmp_path: Path, version: str, path: str
) -> None:
    uri = base(tmp_path / "table", version, stable=False)
    before = lance.dataset(uri).to_table().to_pylist()
    lance_core.dataset(uri).alter_columns({"path": path, "data_type": pa.int8()})
    assert read_by_both(uri).to_pylist() == before


def in_turns(first: ModuleType, second: ModuleType, uri: str) -> pa.Table:
    """Several changes, by the libraries in turn."""
    first.dataset(uri).add_columns({"b": "a + 1"})
    second.dataset(uri).add_columns({"c": "b + 1"})
    first.dataset(uri).alter_columns({"path": "c", "data_type": pa.int16()})
    second.dataset(uri).drop_columns(["b"])
    first.dataset(uri).add_columns({"d": "c * 2"})
    first.write_dataset(first.dataset(uri).to_table().slice(0, 2), uri, mode="append")
    second.dataset(uri).delete("a = 5")
    first.dataset(uri).merge(KEYS, "a", "k")
    second.dataset(uri).add_columns(pa.table({"r": range(18)}).to_reader())
    return read_by_both(uri)


@each_case(
    "version, stable", [(v, stable) for v in VERSIONS for stable in (False, True) if v != "0.1"]
)
def test_changes_of_both_libraries_follow_each_other(
    tmp_path: Path, version: str, stable: bool
) -> None:
    first = base(tmp_path / "first", version, stable)
    second = str(shutil.copytree(first, tmp_path / "second"))
    assert in_turns(lance, lance_core, first) == in_turns(lance_core, lance, second)
    assert manifest(first)[:2] == manifest(second)[:2]


def update_fragment(dataset: Any, module: ModuleType) -> Any:
    keys = pa.table({"a": pa.array([2, 3, 77]), "s": [{"x": -n, "y": "new"} for n in range(3)]})
    fragment, fields, offsets = dataset.get_fragments()[0].update_columns(
        keys, "a", with_offsets=True
    )
    operation = module.LanceOperation.Update(
        updated_fragments=[fragment],
        fields_modified=fields,
        update_mode="rewrite_columns",
        updated_fragment_offsets={0: offsets},
    )
    return module.LanceDataset.commit(dataset.uri, operation, read_version=dataset.version)


def merge_fragments(dataset: Any, module: ModuleType) -> Any:
    made = [fragment.merge_columns({"z": "a + 1"}) for fragment in dataset.get_fragments()]
    operation = module.LanceOperation.Merge([fragment for fragment, _ in made], made[0][1])
    return module.LanceDataset.commit(dataset.uri, operation, read_version=dataset.version)


def join_fragments(dataset: Any, module: ModuleType) -> Any:
    made = [fragment.merge(KEYS, "a", "k") for fragment in dataset.get_fragments()]
    operation = module.LanceOperation.Merge([fragment for fragment, _ in made], made[0][1])
    return module.LanceDataset.commit(dataset.uri, operation, read_version=dataset.version)


@each_case(
    "version, stable, change",
    [
        (version, stable, change)
        for version in VERSIONS[1:]
        for stable in (False, True)
        for change in (update_fragment, merge_fragments, join_fragments)
    ],
)
def test_columns_of_fragments_are_committed_alike(
    tmp_path: Path, version: str, stable: bool, change: Change
) -> None:
    theirs, ours = both(tmp_path, version, change, stable)
    assert manifest(ours) == manifest(theirs)
    assert read_by_both(ours) == read_by_both(theirs)
    if stable:
        columns = ["a", "_rowid", "_row_last_updated_at_version", "_row_created_at_version"]
        expected = lance.dataset(theirs).to_table(columns)
        assert lance.dataset(ours).to_table(columns) == expected


@each_case("version", VERSIONS[1:])
def test_rows_without_nullable_columns_are_appended_alike(tmp_path: Path, version: str) -> None:
    def append(dataset: Any, module: ModuleType) -> None:
        rows = pa.table({"a": [77], "f": pa.array([1.0], pa.float32())}, schema=PART)
        module.write_dataset(rows, dataset.uri, mode="append")

    theirs, ours = both(tmp_path, version, append)
    assert manifest(ours) == manifest(theirs)
    assert read_by_both(ours) == read_by_both(theirs)


PART = pa.schema([pa.field("a", pa.int64()), pa.field("f", pa.float32(), nullable=False)])


def test_blob_columns_are_kept_by_both(tmp_path: Path) -> None:
    uri = str(tmp_path / "table")
    schema = pa.schema([lance.blob_field("b"), pa.field("a", pa.int64())])
    rows = pa.table({"b": lance.blob_array([b"1", b"2" * 100_000]), "a": [1, 2]}, schema=schema)
    lance.write_dataset(rows, uri, data_storage_version="2.2")
    ours = lance_core.dataset(uri)
    ours.add_columns({"c": "a"})
    ours.alter_columns({"path": "b", "name": "kept"}, {"path": "a", "data_type": pa.int8()})
    ours.add_columns(
        pa.table(
            {"more": lance_core.blob_array([b"x", None])},
            schema=pa.schema([lance_core.blob_field("more")]),
        )
    )
    theirs = lance.dataset(uri)
    assert theirs.take_blobs("kept", indices=[1])[0].read() == b"2" * 100_000
    assert theirs.take_blobs("more", indices=[0])[0].read() == b"x"
    assert ours.take_blobs("more", indices=[0])[0].read() == b"x"


@each_case("version", VERSIONS[1:])
def test_pylance_reads_columns_that_we_replace(tmp_path: Path, version: str) -> None:
    uri = base(tmp_path / "table", version, stable=False)
    table = lance_core.dataset(uri)
    table.alter_columns({"path": "f", "nullable": True})  # files may then lack it
    table.add_columns(pa.field("n", pa.int64()))
    operations = lance_core.LanceOperation
    for number, column in ((0, "n"), (1, "a"), (0, "a")):
        rows = pa.table({column: range(100, 108)})
        (file,) = lance_core.LanceFragment.create(uri, rows).files
        group = operations.DataReplacementGroup(number, file)
        replacement = operations.DataReplacement([group])
        version_now = lance_core.dataset(uri).version
        lance_core.LanceDataset.commit(uri, replacement, read_version=version_now)
    found = read_by_both(uri)
    assert found["n"].to_pylist() == [*range(101, 108)] + [None] * 10
    assert found["a"].to_pylist()[:14] == [*range(101, 108), 100, *range(102, 108)]
