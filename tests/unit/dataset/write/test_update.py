"""Updating rows: new values, what is written for them, what happens beside other writers."""

from __future__ import annotations

import dataclasses
import datetime
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lance_core as lance
from lance_core.dataset.write import discard_on_failure as discarding
from lance_core.dataset.write.commit_change import commit_change
from lance_core.dataset.write.retry_on_conflict import ConflictRetries
from lance_core.dataset.write.update import update
from lance_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    InvalidInputError,
    RetryableCommitConflictError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.table.row_ids.row_versions import RowVersions
from lance_core.table.transactions.operations import Project, Update
from tests.unit.dataset.blobs import blob_tables
from tests.virtual_time import VirtualTime

Rows = Callable[..., pa.Table]
VERSIONS = ["0.1", "2.0", "2.1", "2.2"]


def made_by(dataset: lance.LanceDataset) -> Update:
    """The operation that made the open version."""
    transaction = dataset.read_transaction(dataset.version)
    assert transaction is not None
    operation = transaction.operation.to_stored()
    assert isinstance(operation, Update)
    return operation


def files_of(uri: str) -> list[str]:
    return sorted(str(path) for path in Path(uri).rglob("*") if path.is_file())


def values(dataset: lance.LanceDataset, column: str) -> list[Any]:
    """The values of a column by ``i``, which never changes."""
    found: list[Any] = dataset.to_table(["i", column]).sort_by("i")[column].to_pylist()
    return found


@pytest.fixture
def dataset(uri: str) -> lance.LanceDataset:
    """The numbers 0 to 99 twice, with a text, in fragments of 30."""
    rows = pa.table({"i": range(100), "n": range(100), "s": [f"text {n}" for n in range(100)]})
    return lance.write_dataset(rows, uri, max_rows_per_file=30)


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_get_new_values_and_the_dataset_moves_to_the_new_version(
    uri: str, version: str, some_rows: Rows
) -> None:
    before = some_rows(50).drop_columns(["b"] if version == "0.1" else [])
    dataset = lance.write_dataset(before, uri, max_rows_per_file=20, data_storage_version=version)
    result = dataset.update({"f": "f + 100", "s": "'new'"}, "i % 10 = 3")
    assert result == {"num_rows_updated": 5}
    assert dataset.version == 2
    after = dataset.to_table().sort_by("i")
    expected = {row["i"]: row for row in before.to_pylist()}
    for n in range(3, 50, 10):
        expected[n] |= {"f": expected[n]["f"] + 100, "s": "new"}
    assert after.to_pylist() == list(expected.values())
    assert after.schema == dataset.checkout_version(1).to_table().schema
    dataset.validate()


def test_rows_move_to_one_fragment_at_the_end(dataset: lance.LanceDataset) -> None:
    dataset.update({"n": "-1"}, "i IN (2, 31) OR i >= 90")
    operation = made_by(dataset)
    assert operation.removed_fragment_ids == (3,)
    assert [fragment.id for fragment in operation.updated_fragments] == [0, 1]
    assert [fragment.physical_rows for fragment in operation.new_fragments] == [12]
    assert operation.fields_modified == ()
    assert operation.fields_for_preserving_frag_bitmap == (1,)
    assert dataset.to_table()["i"].to_pylist()[-12:] == [2, 31, *range(90, 100)]


def test_without_a_condition_all_rows_change(dataset: lance.LanceDataset) -> None:
    assert dataset.update({"n": "n * 2"}) == {"num_rows_updated": 100}
    assert values(dataset, "n") == list(range(0, 200, 2))
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [4]


@pytest.mark.parametrize("where", ["i > 1000", "false", "s = 'nowhere'"])
def test_a_condition_that_holds_nowhere_makes_a_version_with_the_same_rows(
    dataset: lance.LanceDataset, uri: str, where: str
) -> None:
    files = len(list(Path(uri, "data").iterdir()))
    assert dataset.update({"n": "0"}, where) == {"num_rows_updated": 0}
    assert dataset.version == 2
    assert values(dataset, "n") == list(range(100))
    assert len(list(Path(uri, "data").iterdir())) == files


@pytest.mark.parametrize(
    "where", [pc.field("i") < 10, "_rowaddr < 10", "_rowoffset < 10", "s < 'text 18' AND i < 11"]
)
def test_conditions_are_those_of_scans(dataset: lance.LanceDataset, where: Any) -> None:
    expected = dataset.to_table(["i"], filter=where)["i"].to_pylist()
    assert dataset.update({"n": "-1"}, where) == {"num_rows_updated": len(expected)}
    assert dataset.to_table(["i"], filter="n = -1")["i"].to_pylist() == expected


def test_values_are_computed_from_the_old_row(dataset: lance.LanceDataset) -> None:
    dataset.update({"n": "i + 1", "s": "cast(n AS string)"}, "i = 7")
    assert (values(dataset, "n")[7], values(dataset, "s")[7]) == (8, "7")


def test_rows_where_the_condition_is_null_stay(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({"i": [0, 1, 2], "n": [1, None, 3]}), uri)
    assert dataset.update({"n": "n * 10"}, "n <> 3") == {"num_rows_updated": 1}
    assert values(dataset, "n") == [10, None, 3]


CASTS: list[tuple[pa.DataType, str, object]] = [
    (pa.int32(), "1.7", 1),
    (pa.int32(), "'12'", 12),
    (pa.int32(), "true", 1),
    (pa.uint8(), "i", 5),
    (pa.float32(), "i", 5.0),
    (pa.float16(), "1.5", 1.5),
    (pa.bool_(), "1", True),
    (pa.string(), "i", "5"),
    (pa.large_string(), "'x'", "x"),
    (pa.binary(), "X'00ff'", b"\x00\xff"),
    (pa.binary(3), "'abc'", b"abc"),
    (pa.date32(), "'2021-02-03'", datetime.date(2021, 2, 3)),
    (pa.time64("us"), "'01:02:03'", datetime.time(1, 2, 3)),
    (pa.timestamp("us"), "date '2021-02-03'", datetime.datetime(2021, 2, 3)),
    (pa.decimal128(10, 2), "1.239", Decimal("1.24")),
    (pa.decimal128(10, 2), "i", Decimal("5.00")),
    (pa.list_(pa.int64()), "[5, 6]", [5, 6]),
    (pa.list_(pa.float32(), 2), "[5.0, 6.0]", [5.0, 6.0]),
    (pa.struct([("x", pa.int64())]), "NULL", None),
    (pa.dictionary(pa.int8(), pa.string()), "'x'", "x"),
    (pa.json_(), "'{\"a\": 1}'", '{"a":1}'),
    (pa.uuid(), f"X'{'00' * 16}'", b"\x00" * 16),
]


@pytest.mark.parametrize(("kind", "sql", "expected"), CASTS, ids=str)
def test_values_are_cast_to_the_columns_type(
    uri: str, kind: pa.DataType, sql: str, expected: object
) -> None:
    rows = pa.table({"i": [4, 5], "v": pa.nulls(2, kind)})
    dataset = lance.write_dataset(rows, uri)
    dataset.update({"v": sql}, "i = 5")
    column = dataset.to_table()["v"]
    assert column.type.equals(kind)
    storage = column.combine_chunks()
    storage = storage.storage if isinstance(storage, pa.ExtensionArray) else storage
    assert storage.to_pylist() == [None, expected]


@pytest.mark.parametrize(
    "sql", ["timestamp '2020-07-01 00:00:00'", "date '2020-07-01'", "'2020-07-01'", "n", "d"]
)
def test_times_without_a_zone_are_local_times_of_the_columns_zone(uri: str, sql: str) -> None:
    midnight = datetime.datetime(2020, 7, 1)
    columns = {
        "a": pa.array([0], pa.timestamp("us", "Europe/Berlin")),
        "n": pa.array([midnight], pa.timestamp("ns")),
        "d": pa.array([midnight.date()]),
    }
    dataset = lance.write_dataset(pa.table(columns), uri)
    dataset.update({"a": sql})
    assert dataset.count_rows("a = timestamp '2020-07-01 00:00:00'") == 1
    assert dataset.count_rows("a = '2020-06-30T22:00:00Z'") == 1


def test_times_with_a_zone_stay_instants(uri: str) -> None:
    columns = {
        "a": pa.array([0], pa.timestamp("us", "Europe/Berlin")),
        "z": pa.array([7], pa.timestamp("s", "America/New_York")),
    }
    dataset = lance.write_dataset(pa.table(columns), uri)
    dataset.update({"a": "z"})
    assert dataset.to_table()["a"].cast(pa.int64()).to_pylist() == [7_000_000]


WRONG: list[tuple[Any, type[Exception], str]] = [
    ({}, InvalidInputError, "No updates provided"),
    ({"n": 1}, TypeError, "'n': 1"),
    ({1: "1"}, TypeError, "1: '1'"),
    ({"n": pc.field("i")}, TypeError, "SQL text"),
    (["n"], TypeError, "list"),
    ({"m": "1"}, InvalidInputError, "Column 'm' does not exist in the table"),
    ({"N": "1"}, InvalidInputError, "did you mean 'n'"),
    ({"_rowid": "1"}, InvalidInputError, "_rowid"),
    ({"p.x": "1"}, InvalidInputError, "update the whole column 'p'"),
    ({"n": "m"}, InvalidInputError, "column 'n': .*No field named m"),
    ({"n": "_rowid"}, InvalidInputError, "No field named _rowid"),
    ({"n": ""}, InvalidInputError, "it is empty"),
    ({"n": "1 +"}, InvalidInputError, "cannot parse"),
    ({"n": "'x'"}, InvalidInputError, "column 'n'"),
    ({"n": "3000000000"}, InvalidInputError, "3000000000"),
    ({"n": "p"}, InvalidInputError, "cannot be cast to int32"),
    ({"p": "1"}, InvalidInputError, "cannot be cast to struct"),
    ({"n": "no_such_function(1)"}, UnsupportedFeatureError, "no_such_function"),
    ({"n": "s"}, SchemaMismatchError, "column 'n'.*'text"),
    ({"n": "n / (i - 1)"}, SchemaMismatchError, "column 'n'.*divide by zero"),
    ({"n": "i * 1000000000"}, SchemaMismatchError, "column 'n'"),
    ({"i": "nullif(i, 1)"}, SchemaMismatchError, "field i is not nullable"),
    ({"i": "NULL"}, SchemaMismatchError, "field i is not nullable"),
    ({"j": "s"}, SchemaMismatchError, "field j, row 0 of its batch: not valid JSON"),
]


@pytest.mark.parametrize(("updates", "kind", "match"), WRONG, ids=str)
def test_wrong_updates_are_refused_and_change_nothing(
    uri: str, updates: Any, kind: type[Exception], match: str
) -> None:
    schema = pa.schema(
        [
            pa.field("i", pa.int64(), nullable=False),
            ("n", pa.int32()),
            ("s", pa.string()),
            ("p", pa.struct([("x", pa.int64())])),
            ("j", pa.json_()),
        ]
    )
    rows = [{"i": n, "n": n, "s": f"text {n}", "p": {"x": n}, "j": "{}"} for n in range(50)]
    dataset = lance.write_dataset(pa.Table.from_pylist(rows, schema), uri, max_rows_per_file=20)
    before = files_of(uri)
    with pytest.raises(kind, match=match):
        dataset.update(updates)
    assert files_of(uri) == before
    assert dataset.version == dataset.latest_version == 1


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"where": "s"}, InvalidInputError),
        ({"where": ""}, InvalidInputError),
        ({"where": 5}, InvalidInputError),
        ({"conflict_retries": -1}, InvalidInputError),
        ({"retry_timeout": 5}, InvalidInputError),
        ({"data_storage_version": "0.1"}, InvalidInputError),
        ({"data_storage_version": "9.9"}, InvalidInputError),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(
    dataset: lance.LanceDataset, arguments: Any, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        dataset.update({"n": "1"}, **arguments)
    assert dataset.latest_version == 1


def test_new_files_may_have_another_version(uri: str) -> None:
    rows = pa.table({"i": [1, 2], "n": [1, 2]})
    dataset = lance.write_dataset(rows, uri, data_storage_version="2.1")
    dataset.update({"n": "0"}, "i = 1", data_storage_version="2.2")
    versions = [f.metadata.files[0].file_minor_version for f in dataset.get_fragments()]
    assert versions == [1, 2]
    assert dataset.data_storage_version == "2.1"


@pytest.mark.parametrize("version", VERSIONS)
def test_dictionaries_and_nested_columns_keep_their_values(uri: str, version: str) -> None:
    texts = pa.array(["x", "y", "x", "y"]).dictionary_encode()
    rows = pa.table({"i": range(4), "d": texts, "l": [[1], [], [2], [3, 4]]})
    dataset = lance.write_dataset(rows, uri, data_storage_version=version)
    dataset.update({"i": "i + 10"}, "i > 0")
    assert dataset.to_table().to_pylist()[1:] == [
        {"i": 11, "d": "y", "l": []},
        {"i": 12, "d": "x", "l": [2]},
        {"i": 13, "d": "y", "l": [3, 4]},
    ]
    dataset.update({"d": "'y'"}, "i = 12")
    assert dataset.to_table()["d"].to_pylist() == ["x", "y", "y", "y"]


@pytest.mark.parametrize(
    ("version", "match"),
    [("0.1", "'d'.*not in the dictionary"), ("2.2", "'d'.*more different values.*int8")],
)
def test_more_new_values_than_a_dictionary_has_keys_are_refused(
    uri: str, version: str, match: str
) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    rows = pa.table({"i": range(300), "d": pa.array(["x"] * 300, kind)})
    dataset = lance.write_dataset(rows, uri, data_storage_version=version)
    before = files_of(uri)
    with pytest.raises(SchemaMismatchError, match=match):
        dataset.update({"d": "CAST(i AS VARCHAR)"})
    assert files_of(uri) == before


def test_a_dictionary_of_0_1_files_gets_no_new_values(uri: str) -> None:
    rows = pa.table({"i": range(2), "d": pa.array(["x", "y"]).dictionary_encode()})
    dataset = lance.write_dataset(rows, uri, data_storage_version="0.1")
    with pytest.raises(SchemaMismatchError, match=r"column 'd'.*not in the dictionary"):
        dataset.update({"d": "'z'"})


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_version_1_blobs_keep_their_bytes_and_get_new_ones(uri: str, version: str) -> None:
    blobs = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([("i", pa.int64()), blobs])
    rows = pa.table([range(3), [b"a", b"b" * 100, None]], schema=schema)
    dataset = lance.write_dataset(rows, uri, data_storage_version=version)
    dataset.update({"i": "i + 10"}, "i > 0")
    dataset.update({"b": "X'ff'"}, "i = 0")
    found = dataset.to_table(blob_handling="all_binary").sort_by("i")
    assert found["b"].to_pylist() == [b"\xff", b"b" * 100, None]


@pytest.mark.parametrize("with_bases", [False, True])
def test_version_2_blobs_stay_what_they_are(uri: str, tmp_path: Path, with_bases: bool) -> None:
    """Inline, empty, packed and null blobs, and URIs, one of a part of an object."""
    folder = tmp_path / "media"
    (folder / "a b").mkdir(parents=True)
    (folder / "a b" / "one").write_bytes(b"0123456789")
    place = f"{folder.as_uri()}/a%20b/one"
    given = [b"own", b"", b"x" * 70_000, None, place, lance.Blob.from_uri(place, 3, 5)]
    data = blob_tables.v2(given)
    nested = pa.StructArray.from_arrays([data["b"].combine_chunks()], fields=[data.field("b")])
    data = data.append_column("p", nested)
    bases = [lance.DatasetBasePath(str(folder), name="media", is_dataset_root=False)]
    lance.write_dataset(
        data,
        uri,
        initial_bases=bases if with_bases else None,
        allow_external_blob_outside_bases=not with_bases,
    )
    dataset = lance.dataset(uri, allow_base_paths=str(folder))
    before = dataset.to_table(blob_handling="all_binary").drop_columns(["i"])
    uris = [blob and blob["blob_uri"] for blob in blob_tables.described(dataset)]
    (folder / "a b").rename(folder / "elsewhere")  # external blobs are not read
    assert dataset.update({"i": "i + 10"}, "i <> 2") == {"num_rows_updated": 5}
    assert dataset.update({"i": "i + 10"}, "i = 2") == {"num_rows_updated": 1}
    (folder / "elsewhere").rename(folder / "a b")
    after = dataset.to_table(blob_handling="all_binary").sort_by("i")
    assert after.drop_columns(["i"]) == before
    assert after["b"].to_pylist() == [b"own", b"", b"x" * 70_000, None, b"0123456789", b"34567"]
    order = np.argsort(dataset.to_table(["i"])["i"].to_numpy())
    found = blob_tables.described(dataset)
    assert [found[row] and found[row]["blob_uri"] for row in order] == uris
    dataset.validate()


@pytest.mark.parametrize(
    ("column", "sql"), [("b", "X'00'"), ("b", "NULL"), ("i", "octet_length(b)")]
)
def test_version_2_blobs_are_not_computed(uri: str, column: str, sql: str) -> None:
    dataset = lance.write_dataset(blob_tables.v2([b"a"]), uri)
    with pytest.raises(UnsupportedFeatureError, match="blobs"):
        dataset.update({column: sql})


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sets(st.integers(0, 39), max_size=20), st.booleans()), max_size=5))
def test_any_sequence_of_updates_and_deletes_leaves_what_a_dict_leaves(
    steps: list[tuple[set[int], bool]],
) -> None:
    table = pa.table({"i": range(40), "n": range(40)})
    uri = f"memory://updates/{uuid.uuid4()}"
    dataset = lance.write_dataset(table, uri, max_rows_per_file=7, enable_stable_row_ids=True)
    left = {n: n for n in range(40)}
    for chosen, is_update in steps:
        where = pc.field("i").isin(sorted(chosen))
        if is_update:
            dataset.update({"n": "n + 100"}, where)
            left = {i: n + 100 * (i in chosen) for i, n in left.items()}
        else:
            dataset.delete(where)
            left = {i: n for i, n in left.items() if i not in chosen}
        found = dataset.to_table(with_row_id=True).sort_by("i")
        assert dict(zip(found["i"].to_pylist(), found["n"].to_pylist(), strict=True)) == left
        assert found["_rowid"].to_pylist() == found["i"].to_pylist()


def test_stable_row_ids_and_creation_versions_stay(uri: str) -> None:
    rows = pa.table({"i": range(20)})
    dataset = lance.write_dataset(rows, uri, max_rows_per_file=10, enable_stable_row_ids=True)
    dataset = lance.write_dataset(pa.table({"i": [20, 21]}), uri, mode="append")
    dataset.update({"i": "i"}, "i IN (3, 4, 15, 21)")
    found = dataset.to_table(with_row_id=True)
    assert found["_rowid"].to_pylist() == found["i"].to_pylist()
    last = dataset.snapshot.manifest.fragments[-1]
    assert isinstance(last.created_at_versions, bytes)
    assert isinstance(last.last_updated_at_versions, bytes)
    created = RowVersions.from_bytes(last.created_at_versions, 4)
    updated = RowVersions.from_bytes(last.last_updated_at_versions, 4)
    assert created.take(np.arange(4)).tolist() == [1, 1, 1, 2]
    assert updated.take(np.arange(4)).tolist() == [3] * 4


def test_an_empty_table_is_updated(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({"i": pa.array([], pa.int64())}), uri)
    assert dataset.update({"i": "1"}) == {"num_rows_updated": 0}


# Other writers -----------------------------------------------------------------------------------


def test_disjoint_rows_of_one_fragment_are_changed_by_three_that_read_the_same_version(
    dataset: lance.LanceDataset, uri: str
) -> None:
    other, third = lance.dataset(uri), lance.dataset(uri)
    assert dataset.update({"n": "-1"}, "i < 3") == {"num_rows_updated": 3}
    assert other.delete("i >= 3 AND i < 6") == {"num_deleted_rows": 3}
    assert third.update({"n": "-2"}, "i >= 6 AND i < 33") == {"num_rows_updated": 27}
    assert third.version == 4
    assert values(third, "n") == [-1] * 3 + [-2] * 27 + list(range(33, 100))
    third.validate()


def test_rows_that_another_has_changed_meanwhile_are_updated_from_the_new_values(
    dataset: lance.LanceDataset, uri: str
) -> None:
    other, third = lance.dataset(uri), lance.dataset(uri)
    dataset.update({"n": "n + 1000"}, "i < 10")
    assert other.update({"n": "n + 5"}, "i < 15") == {"num_rows_updated": 15}
    assert values(other, "n")[:16] == [*range(1005, 1015), *range(15, 20), 15]
    assert third.update({"n": "0"}, "n >= 1000") == {"num_rows_updated": 0}
    data = {
        file.path
        for version in (1, 2, 3, 4)
        for fragment in lance.dataset(uri, version=version).get_fragments()
        for file in fragment.metadata.files
    }
    assert {path.name for path in Path(uri, "data").iterdir()} == data


def test_rows_appended_meanwhile_stay(dataset: lance.LanceDataset, uri: str) -> None:
    other = lance.dataset(uri)
    lance.write_dataset(pa.table({"i": [100], "n": [100], "s": ["x"]}), uri, mode="append")
    assert other.update({"n": "0"}) == {"num_rows_updated": 100}
    assert values(other, "n") == [0] * 100 + [100]


def test_an_overwrite_meanwhile_refuses_the_update_and_nothing_is_left_of_it(
    dataset: lance.LanceDataset, uri: str
) -> None:
    other = lance.dataset(uri)
    lance.write_dataset(pa.table({"i": [1]}), uri, mode="overwrite")
    before = files_of(uri)
    with pytest.raises(CommitConflictError):
        other.update({"n": "0"}, "i = 1")
    assert files_of(uri) == before


def test_a_column_that_another_has_dropped_meanwhile_is_unknown(
    dataset: lance.LanceDataset, uri: str
) -> None:
    other = lance.dataset(uri)
    schema = dataset.snapshot.schema
    fields = tuple(field for field in schema.fields if field.name != "n")
    commit_change(dataset.snapshot, Project(dataclasses.replace(schema, fields=fields)))
    with pytest.raises(InvalidInputError, match="Column 'n' does not exist"):
        other.update({"n": "0"})
    assert other.update({"s": "'x'"}, "i = 1") == {"num_rows_updated": 1}
    assert other.to_table().column_names == ["i", "s"]


def test_an_unknown_outcome_keeps_the_files(
    dataset: lance.LanceDataset, uri: str, lose_outcomes: Callable[[], None]
) -> None:
    lose_outcomes()
    before = len(files_of(uri))
    with pytest.raises(CommitUnknownError):
        dataset.update({"n": "0"}, "i = 1")
    assert len(files_of(uri)) == before + 2
    assert dataset.version == 1


def test_an_update_gives_up_after_so_many_retries(
    dataset: lance.LanceDataset, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise RetryableCommitConflictError("busy")

    monkeypatch.setattr(discarding, "commit", busy)
    before = files_of(uri)
    time = VirtualTime().environment
    with pytest.raises(RetryableCommitConflictError, match=r"the update.*after 4 attempts: busy"):
        update(dataset.snapshot, {"n": "0"}, None, ConflictRetries(3, 30.0), environment=time)
    assert files_of(uri) == before


@pytest.mark.parametrize("place", ["memory", "file"])
def test_threads_that_update_the_same_row_lose_no_update(uri: str, place: str) -> None:
    target = uri if place == "file" else "memory://threads/updates"
    threads, each = 4, 4
    lance.write_dataset(pa.table({"i": range(100), "n": [0] * 100}), target, mode="overwrite")
    barrier = Barrier(threads)

    def work(thread: int) -> None:
        mine = lance.dataset(target)
        barrier.wait()
        for _ in range(each):
            mine.update({"n": "n + 1"}, f"i = 7 OR i = {thread + 50}", conflict_retries=100)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    dataset = lance.dataset(target)
    expected = [0] * 100
    expected[7] = threads * each
    expected[50 : 50 + threads] = [each] * threads
    assert values(dataset, "n") == expected
    dataset.validate()


def test_updates_on_a_branch_leave_the_table_alone(dataset: lance.LanceDataset, uri: str) -> None:
    branch = dataset.create_branch("try")
    assert branch.update({"n": "-1"}, "i < 8") == {"num_rows_updated": 8}
    assert values(branch, "n")[:9] == [-1] * 8 + [8]
    assert values(lance.dataset(uri), "n") == list(range(100))
