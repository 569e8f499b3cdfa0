"""Merging new data into a table: what each row becomes, and what is refused."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core._pb import table_pb2
from lance_core.dataset.merge_insert import MergeInsertBuilder
from lance_core.dataset.write.merge_insert import source as sources
from lance_core.errors import (
    CommitConflictError,
    InvalidInputError,
    MergeError,
    SchemaMismatchError,
    StoreError,
    UnsupportedFeatureError,
)
from tests.table_surgery import edit_manifest

VERSIONS = ["0.1", "2.0", "2.1", "2.2"]
TABLE = pa.table({"k": [1, 2, 3], "v": ["a", "b", "c"], "w": [1.0, 2.0, 3.0]})
NEW = pa.table({"k": [2, 3, 4], "v": ["x", "y", "z"], "w": [20.0, 30.0, 40.0]})


def content(dataset: lance.LanceDataset) -> dict[Any, Any]:
    """The values of ``v`` by key."""
    rows = dataset.to_table(["k", "v"]).to_pylist()
    return {row["k"]: row["v"] for row in rows}


def upsert(dataset: lance.LanceDataset, on: Any = "k") -> MergeInsertBuilder:
    return dataset.merge_insert(on).when_matched_update_all().when_not_matched_insert_all()


@pytest.fixture
def dataset(uri: str) -> lance.LanceDataset:
    return lance.write_dataset(TABLE, uri, max_rows_per_file=2)


@pytest.fixture(params=["in memory", "spilled"])
def _budget(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both ways to join: a source within the memory budget, and one beyond it."""
    if request.param == "spilled":
        monkeypatch.setenv(sources.MEMORY_VARIABLE, "1")
    yield
    left = list(Path(tempfile.gettempdir()).glob("lance-core-merge-*"))
    assert not left, "a temporary folder is left behind"


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.usefixtures("_budget")
def test_an_upsert_updates_matched_rows_and_inserts_the_others(
    uri: str, version: str, stable: bool
) -> None:
    options: dict[str, Any] = {"data_storage_version": version, "enable_stable_row_ids": stable}
    dataset = lance.write_dataset(TABLE, uri, max_rows_per_file=2, **options)
    result = upsert(dataset).execute(NEW.to_reader(max_chunksize=1))
    assert result == {"num_inserted_rows": 1, "num_updated_rows": 2, "num_deleted_rows": 0}
    assert dataset.version == 2
    assert content(dataset) == {1: "a", 2: "x", 3: "y", 4: "z"}
    dataset.validate()
    if stable:
        columns = ["k", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
        rows = sorted(map(tuple, map(dict.values, dataset.to_table(columns).to_pylist())))
        assert rows == [(1, 0, 1, 1), (2, 1, 1, 2), (3, 2, 1, 2), (4, 3, 2, 2)]


@pytest.mark.parametrize(
    ("configure", "expected", "counts"),
    [
        (lambda b: b.when_matched_update_all(), {1: "a", 2: "x", 3: "y"}, (0, 2, 0)),
        (
            lambda b: b.when_not_matched_insert_all(),
            {1: "a", 2: "b", 3: "c", 4: "z"},
            (1, 0, 0),
        ),
        (lambda b: b.when_matched_delete(), {1: "a"}, (0, 0, 2)),
        (
            lambda b: b.when_matched_delete().when_not_matched_insert_all(),
            {1: "a", 4: "z"},
            (1, 0, 2),
        ),
        (lambda b: b.when_not_matched_by_source_delete(), {2: "b", 3: "c"}, (0, 0, 1)),
        (
            lambda b: b.when_matched_update_all().when_not_matched_by_source_delete("w > 1"),
            {1: "a", 2: "x", 3: "y"},
            (0, 2, 0),
        ),
        (
            lambda b: b.when_matched_update_all("source.w > 25").when_not_matched_insert_all(),
            {1: "a", 2: "b", 3: "y", 4: "z"},
            (1, 1, 0),
        ),
        (
            lambda b: b.when_matched_update_all("target.v = 'b' AND target._rowaddr < 100"),
            {1: "a", 2: "x", 3: "c"},
            (0, 1, 0),
        ),
        (lambda b: b.when_matched_update_all("false"), {1: "a", 2: "b", 3: "c"}, (0, 0, 0)),
    ],
)
@pytest.mark.usefixtures("_budget")
def test_the_actions_are_chosen(
    dataset: lance.LanceDataset,
    configure: Callable[[MergeInsertBuilder], MergeInsertBuilder],
    expected: dict[int, str],
    counts: tuple[int, int, int],
) -> None:
    result = configure(dataset.merge_insert("k")).execute(NEW.to_reader())
    assert content(dataset) == expected
    assert tuple(result.values()) == counts
    dataset.validate()


@pytest.mark.usefixtures("_budget")
def test_a_key_with_a_null_matches_nothing(uri: str) -> None:
    table = pa.table({"k": [1, None, 3], "j": [None, 1, 3], "v": ["a", "b", "c"]})
    dataset = lance.write_dataset(table, uri)
    new = pa.table({"k": [1, None, 3], "j": [None, 1, 3], "v": ["A", "B", "C"]})
    result = upsert(dataset, ["k", "j"]).execute(new.to_reader())
    assert result == {"num_inserted_rows": 2, "num_updated_rows": 1, "num_deleted_rows": 0}
    assert sorted(dataset.to_table()["v"].to_pylist()) == ["A", "B", "C", "a", "b"]


@pytest.mark.usefixtures("_budget")
def test_every_target_row_with_the_key_is_updated(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({"k": [1, 1, 2], "v": ["a", "b", "c"]}), uri)
    result = upsert(dataset).execute(pa.table({"k": [1], "v": ["q"]}).to_reader())
    assert result["num_updated_rows"] == 2
    assert dataset.to_table()["v"].to_pylist() == ["c", "q", "q"]


@pytest.mark.usefixtures("_budget")
def test_several_source_rows_must_not_match_one_target_row(
    dataset: lance.LanceDataset, uri: str
) -> None:
    files = sorted(Path(uri).rglob("*.*"))
    twice = pa.concat_tables([NEW, NEW])
    for builder in (upsert(dataset), dataset.merge_insert("k").when_matched_delete()):
        with pytest.raises(MergeError, match=r"Ambiguous merge inserts .* \(k = [23]\)"):
            builder.execute(twice.to_reader())
    assert sorted(Path(uri).rglob("*.*")) == files
    one_of_two = dataset.merge_insert("k").when_matched_update_all("source.v = 'x'")
    two = pa.table({"k": [2, 2], "v": ["x", "q"], "w": [0.0, 0.0]})
    assert one_of_two.execute(two.to_reader())["num_updated_rows"] == 1
    assert content(dataset) == {1: "a", 2: "x", 3: "c"}
    inserts = dataset.merge_insert("k").when_not_matched_insert_all()
    assert inserts.execute(twice.to_reader())["num_inserted_rows"] == 2


def test_matches_can_be_refused(dataset: lance.LanceDataset) -> None:
    builder = dataset.merge_insert("k").when_matched_fail().when_not_matched_insert_all()
    with pytest.raises(MergeError, match="matching row with key values: k = 2"):
        builder.execute(NEW)
    assert dataset.version == 1
    assert builder.execute(NEW.slice(2))["num_inserted_rows"] == 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.usefixtures("_budget")
def test_columns_that_the_source_does_not_have_keep_their_values(uri: str, version: str) -> None:
    dataset = lance.write_dataset(TABLE, uri, max_rows_per_file=2, data_storage_version=version)
    result = upsert(dataset).execute(NEW.select(["w", "k"]).to_reader())
    assert result == {"num_inserted_rows": 1, "num_updated_rows": 2, "num_deleted_rows": 0}
    assert sorted(dataset.to_table().to_pylist(), key=lambda row: row["k"]) == [
        {"k": 1, "v": "a", "w": 1.0},
        {"k": 2, "v": "b", "w": 20.0},
        {"k": 3, "v": "c", "w": 30.0},
        {"k": 4, "v": None, "w": 40.0},
    ]


@pytest.mark.parametrize("version", ["2.0", "2.2"])
def test_members_of_a_struct_that_the_source_does_not_have_keep_their_values(
    uri: str, version: str
) -> None:
    empty = None if version == "2.2" else {"a": None, "b": {"x": None, "y": None}}
    structs = [{"a": 1, "b": {"x": 1, "y": 2}}, {"a": 2, "b": {"x": 3, "y": 4}}, empty]
    table = pa.table({"k": [1, 2, 3], "s": structs})
    dataset = lance.write_dataset(table, uri, data_storage_version=version)
    new = pa.table({"k": [2, 3, 4], "s": [{"b": {"y": 40}}, {"b": {"y": 41}}, {"b": {"y": 42}}]})
    upsert(dataset).execute(new)
    assert dataset.to_table().sort_by("k")["s"].to_pylist() == [
        {"a": 1, "b": {"x": 1, "y": 2}},
        {"a": 2, "b": {"x": 3, "y": 40}},
        {"a": None, "b": {"x": None, "y": 41}},
        {"a": None, "b": {"x": None, "y": 42}},
    ]


PAIR = pa.struct({"b": pa.int64(), "c": pa.int64()})
PART = pa.struct({"b": pa.int64()})


@pytest.mark.parametrize("mode", ["rewrite_rows", "rewrite_columns"])
def test_a_null_struct_without_all_members_keeps_the_other_members(uri: str, mode: str) -> None:
    old = pa.array([{"b": 1, "c": 2}, None, {"b": 3, "c": 4}], PAIR)
    dataset = lance.write_dataset(pa.table({"k": [1, 2, 3], "s": old, "w": [0, 0, 0]}), uri)
    hidden = pa.array([{"b": 9}] * 3, PART).field(0)
    mask = pa.array([True, True, False])
    new = pa.StructArray.from_arrays([hidden], fields=list(PART), mask=mask)
    merge = dataset.merge_insert("k").when_matched_update_all().write_mode(mode)
    merge.execute(pa.table({"k": [1, 2, 3], "s": new}))
    found = dataset.to_table().sort_by("k")["s"].to_pylist()
    assert found == [{"b": None, "c": 2}, None, {"b": 9, "c": 4}]
    merge.execute(pa.table({"k": [1], "s": pa.array([None], PAIR)}))
    assert dataset.to_table(filter="k = 1")["s"].to_pylist() == [None]


@pytest.mark.parametrize("mode", ["rewrite_rows", "rewrite_columns"])
def test_structs_in_a_struct_without_all_members_keep_the_others(uri: str, mode: str) -> None:
    kind = pa.struct({"m": PAIR, "y": pa.int64()})
    old = pa.array([{"m": {"b": 1, "c": 2}, "y": 3}, {"m": None, "y": 4}, None], kind)
    dataset = lance.write_dataset(pa.table({"k": [1, 2, 3], "s": old}), uri)
    part = pa.struct({"m": PART, "y": pa.int64()})
    new = pa.array([{"m": {"b": 7}, "y": 8}, None, {"m": None, "y": 9}], part)
    merge = dataset.merge_insert("k").when_matched_update_all().write_mode(mode)
    merge.execute(pa.table({"k": [1, 2, 3], "s": new}))
    assert dataset.to_table().sort_by("k")["s"].to_pylist() == [
        {"m": {"b": 7, "c": 2}, "y": 8},
        {"m": None, "y": None},
        {"m": None, "y": 9},
    ]


@pytest.mark.parametrize("make", [pa.list_, lambda kind: pa.map_(pa.string(), kind)])
def test_structs_in_lists_must_have_all_members(
    uri: str, make: Callable[[pa.DataType], pa.DataType]
) -> None:
    table = pa.table({"k": [1], "s": pa.array([None], pa.struct({"l": make(PAIR)}))})
    dataset = lance.write_dataset(table, uri, data_storage_version="2.2")
    partial = pa.table({"k": [1], "s": pa.array([None], pa.struct({"l": make(PART)}))})
    with pytest.raises(SchemaMismatchError, match=r"lists or maps \['s.l'\] .* lack members"):
        upsert(dataset).execute(partial)
    assert dataset.latest_version == 1


@pytest.mark.usefixtures("_budget")
def test_columns_can_be_rewritten_in_place(dataset: lance.LanceDataset) -> None:
    builder = dataset.merge_insert("k").when_matched_update_all().write_mode("rewrite_columns")
    result = builder.execute(NEW.select(["k", "w"]).to_reader())
    assert result == {"num_inserted_rows": 0, "num_updated_rows": 2, "num_deleted_rows": 0}
    assert dataset.to_table()["w"].to_pylist() == [1.0, 20.0, 30.0]
    assert [len(one.metadata.files) for one in dataset.get_fragments()] == [2, 2]
    nothing = pa.table({"k": [77], "w": [0.0]})
    assert builder.execute(nothing.to_reader())["num_updated_rows"] == 0
    assert content(dataset) == {1: "a", 2: "b", 3: "c"}
    dataset.validate()


@pytest.mark.parametrize(
    ("configure", "columns", "reason"),
    [
        (lambda b: b, ["k", "v", "w"], "has every column"),
        (lambda b: b.when_not_matched_insert_all(), ["k", "w"], "inserting rows"),
        (lambda b: b.when_not_matched_by_source_delete(), ["k", "w"], "source does not have"),
        (lambda b: b.when_matched_delete(), ["k", "w"], "deleting matched rows"),
        (lambda b: b, ["k"], "no column besides the keys"),
    ],
)
def test_not_every_merge_can_rewrite_columns(
    dataset: lance.LanceDataset,
    configure: Callable[[MergeInsertBuilder], MergeInsertBuilder],
    columns: list[str],
    reason: str,
) -> None:
    builder = dataset.merge_insert("k").when_matched_update_all().write_mode("rewrite_columns")
    with pytest.raises(MergeError, match=reason):
        configure(builder).execute(NEW.select(columns))
    assert dataset.latest_version == 1


def test_a_missing_column_must_be_nullable_to_insert(uri: str) -> None:
    fields = [pa.field("k", pa.int64(), False), pa.field("v", pa.string(), False)]
    schema = pa.schema([*fields, pa.field("w", pa.float64())])
    dataset = lance.write_dataset(TABLE.cast(schema), uri)
    new = NEW.select(["k", "w"])
    with pytest.raises(SchemaMismatchError, match=r"without the columns \['v'\]"):
        upsert(dataset).execute(new)
    assert dataset.merge_insert("k").when_matched_update_all().execute(new)["num_updated_rows"] == 2
    assert content(dataset) == {1: "a", 2: "b", 3: "c"}
    with pytest.raises(InvalidInputError, match="v is not nullable"):
        upsert(dataset).execute(pa.table({"k": [1], "v": pa.array([None], pa.string())}))
    assert dataset.version == 2


def test_the_primary_key_is_the_default(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="requires join keys"):
        lance.write_dataset(TABLE, uri).merge_insert()
    position = b"lance-schema:unenforced-primary-key:position"
    fields = [
        pa.field("k", pa.int64(), False, {position: b"2"}),
        pa.field("v", pa.string(), False, {position: b"1"}),
        pa.field("w", pa.float64()),
    ]
    table = TABLE.cast(pa.schema(fields))
    dataset = lance.write_dataset(table, uri, mode="overwrite")
    new = pa.table({"k": [1, 1], "v": ["a", "b"], "w": [7.0, 8.0]})
    result = upsert(dataset, None).execute(new)
    assert result == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}


@pytest.mark.parametrize("name", ["K", "`k`", "k"])
def test_names_of_keys_may_differ_in_case_and_be_quoted(
    dataset: lance.LanceDataset, name: str
) -> None:
    assert upsert(dataset, [name]).execute(NEW)["num_updated_rows"] == 2


@pytest.mark.parametrize("name", ["é 😀", 'd"q', "with `tick", "source"])
@pytest.mark.usefixtures("_budget")
def test_columns_may_have_any_name(uri: str, name: str) -> None:
    dataset = lance.write_dataset(pa.table({name: ["x", "y"], "v": [1, 2]}), uri)
    result = upsert(dataset, name).execute(pa.table({name: ["y", "z"], "v": [3, 4]}).to_reader())
    assert (result["num_inserted_rows"], result["num_updated_rows"]) == (1, 1)
    assert dataset.to_table().sort_by("v")[name].to_pylist() == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: d.merge_insert("kk"), InvalidInputError, "did you mean 'k'"),
        (lambda d: d.merge_insert(5), TypeError, "must be str"),
        (lambda d: d.merge_insert([5]), TypeError, "must be str"),
        (lambda d: d.merge_insert([]), InvalidInputError, "requires join keys"),
        (lambda d: d.merge_insert("k").execute(NEW), InvalidInputError, "not configured"),
        (lambda d: upsert(d).execute(NEW.select(["v"])), SchemaMismatchError, "no key column 'k'"),
        (
            lambda d: upsert(d).execute(NEW.append_column("z", NEW["k"])),
            SchemaMismatchError,
            "field z is not in the table",
        ),
        (
            lambda d: upsert(d).execute(NEW.set_column(0, "k", NEW["v"])),
            SchemaMismatchError,
            "field k: expected int64, got string",
        ),
        (lambda d: upsert(d).when_matched_update_all(5), TypeError, "condition must be a str"),
        (
            lambda d: upsert(d).when_matched_update_all("w > 1").execute(NEW),
            MergeError,
            "columns are named source.x and target.x",
        ),
        (
            lambda d: upsert(d).when_matched_update_all("source.zz > 1").execute(NEW),
            MergeError,
            "No field named zz in source",
        ),
        (
            lambda d: upsert(d).when_matched_update_all("source.w").execute(NEW),
            MergeError,
            "does not return a boolean",
        ),
        (
            lambda d: upsert(d).when_not_matched_by_source_delete("zz > 1"),
            InvalidInputError,
            "No field named zz",
        ),
        (lambda d: upsert(d).when_not_matched_by_source_delete(5), TypeError, "must be a str"),
        (lambda d: upsert(d).conflict_retries(-1), InvalidInputError, "conflict_retries"),
        (lambda d: upsert(d).conflict_retries("x"), TypeError, "whole number"),
        (lambda d: upsert(d).retry_timeout(5), TypeError, "timedelta"),
        (lambda d: upsert(d).use_index("x"), TypeError, "bool"),
        (lambda d: upsert(d).write_mode("zz"), InvalidInputError, "Invalid write_mode: zz"),
        (lambda d: upsert(d).data_storage_version("0.1"), InvalidInputError, "cannot be added"),
        (lambda d: upsert(d).data_storage_version("9"), InvalidInputError, "unknown file version"),
        (lambda d: upsert(d).target_bases("x"), InvalidInputError, "target_bases"),
        (lambda d: upsert(d).explain_plan(5), TypeError, "pyarrow.Schema"),
        (lambda d: upsert(d).execute(None), InvalidInputError, "NoneType"),
    ],
)
def test_bad_input_is_refused(
    dataset: lance.LanceDataset,
    uri: str,
    call: Callable[[lance.LanceDataset], object],
    error: type[Exception],
    message: str,
) -> None:
    files = sorted(Path(uri).rglob("*.*"))
    with pytest.raises(error, match=message):
        call(dataset)
    assert sorted(Path(uri).rglob("*.*")) == files
    assert dataset.version == dataset.latest_version == 1


@pytest.mark.parametrize(
    "data",
    [
        NEW.to_batches()[0],
        NEW.to_pylist(),
        NEW.to_pydict(),
        NEW.to_reader(),
        iter(NEW.to_batches(max_chunksize=2)),
    ],
    ids=lambda data: type(data).__name__,
)
def test_a_source_may_have_any_form(dataset: lance.LanceDataset, data: object) -> None:
    builder = upsert(dataset).conflict_retries(3).retry_timeout(timedelta(seconds=5))
    result = builder.use_index(False).target_all_bases().execute(data)
    assert result == {"num_inserted_rows": 1, "num_updated_rows": 2, "num_deleted_rows": 0}
    assert content(dataset) == {1: "a", 2: "x", 3: "y", 4: "z"}


def test_another_table_may_be_the_source(dataset: lance.LanceDataset, tmp_path: Path) -> None:
    other = lance.write_dataset(NEW, str(tmp_path / "other"))
    assert upsert(dataset).execute(other)["num_updated_rows"] == 2
    assert upsert(dataset).execute(other.scanner(filter="k = 4"))["num_updated_rows"] == 1


@pytest.mark.usefixtures("_budget")
def test_without_rows_a_version_without_changes_is_made(dataset: lance.LanceDataset) -> None:
    result = upsert(dataset).execute(NEW.slice(0, 0).to_reader())
    assert result == {"num_inserted_rows": 0, "num_updated_rows": 0, "num_deleted_rows": 0}
    assert dataset.version == 2
    emptied = dataset.merge_insert("k").when_not_matched_by_source_delete()
    assert emptied.execute(NEW.slice(0, 0).to_reader())["num_deleted_rows"] == 3
    assert dataset.count_rows() == 0
    assert upsert(dataset).execute(NEW.to_reader())["num_inserted_rows"] == 3


@pytest.mark.usefixtures("_budget")
def test_rows_of_every_type_are_merged(uri: str, some_rows: Callable[..., pa.Table]) -> None:
    dataset = lance.write_dataset(some_rows(100), uri, max_rows_per_file=30)
    dataset.delete("i % 10 = 3")
    new = some_rows(60, 70)
    result = upsert(dataset, "i").execute(new.to_reader(max_chunksize=7))
    assert result == {"num_inserted_rows": 33, "num_updated_rows": 27, "num_deleted_rows": 0}
    kept = some_rows(70).filter(pa.array([n % 10 != 3 for n in range(70)]))
    expected = pa.concat_tables([kept, new]).sort_by("i")
    assert dataset.to_table().sort_by("i").equals(expected)


def test_a_transaction_can_be_committed_later(dataset: lance.LanceDataset) -> None:
    transaction, result = upsert(dataset).execute_uncommitted(NEW)
    assert result == {"num_inserted_rows": 1, "num_updated_rows": 2, "num_deleted_rows": 0}
    assert dataset.latest_version == 1
    made = lance.LanceDataset.commit(dataset, transaction)
    assert content(made) == {1: "a", 2: "x", 3: "y", 4: "z"}


def test_the_commit_of_a_transaction_finds_a_merge_of_the_same_keys(uri: str) -> None:
    key = pa.field("k", pa.int64(), False, {b"lance-schema:unenforced-primary-key": b"true"})
    primary = lance.write_dataset(TABLE.cast(TABLE.schema.set(0, key)), uri)
    insert = primary.merge_insert("k").when_not_matched_insert_all()
    first, _ = insert.execute_uncommitted(NEW.slice(2))
    same, _ = insert.execute_uncommitted(NEW.slice(2))
    other, _ = insert.execute_uncommitted(NEW.slice(2).set_column(0, "k", [[5]]))
    assert len(repr(first)) < 2000
    lance.LanceDataset.commit(primary, pickle.loads(pickle.dumps(first)))
    lance.LanceDataset.commit(primary, other)
    with pytest.raises(CommitConflictError):
        lance.LanceDataset.commit(primary, same)
    assert sorted(primary.to_table()["k"].to_pylist()) == [1, 2, 3]
    assert lance.dataset(primary.uri).count_rows("k = 4") == 1


def test_a_plan_names_the_steps(dataset: lance.LanceDataset, uri: str) -> None:
    builder = upsert(dataset).when_not_matched_by_source_delete("w > 1")
    plan = builder.explain_plan()
    assert plan.startswith(
        "MergeInsert: on=[k], when_matched=UpdateAll, when_not_matched=InsertAll, "
        "when_not_matched_by_source=DeleteIf\n  HashJoin"
    )
    assert "HashJoin: join_type=Left, on=[k]" in plan
    assert "HashJoin: join_type=Right, on=[k]" in upsert(dataset).explain_plan()
    assert "LanceTake: projection=[v]" in builder.explain_plan(NEW.select(["k", "w"]).schema)
    files = sorted(Path(uri).rglob("*.*"))
    analysis = builder.analyze_plan(NEW)
    for part in ("elapsed=", "num_updated_rows=2", "bytes_written=", "rows_scanned=3"):
        assert part in analysis
    assert sorted(Path(uri).rglob("*.*")) == files
    assert dataset.latest_version == 1


def test_indices_find_the_rows_of_few_keys_unless_they_must_not(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({"k": range(1000), "v": range(1000)}), uri)
    dataset.create_scalar_index("k", "BTREE")
    new = pa.table({"k": [7, 1000], "v": [1, 2]})
    for uses_index, text in ((True, "indices=[k_idx]"), (False, "rows_scanned=1001")):
        builder = upsert(dataset).use_index(uses_index)
        assert "HashJoin" in builder.explain_plan()
        assert text in builder.analyze_plan(new)
        assert builder.execute(new)["num_updated_rows"] == 1 + (not uses_index)
    assert dataset.to_table(filter="k IN (7, 1000)")["v"].to_pylist() == [1, 2]


def test_new_files_may_have_another_version(dataset: lance.LanceDataset) -> None:
    upsert(dataset).data_storage_version("2.0").execute(NEW)
    versions = {f.metadata.files[0].file_minor_version for f in dataset.get_fragments()}
    assert versions == {0, 2}


def test_a_table_of_the_caller_is_not_written_to_disk(
    dataset: lance.LanceDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sources.MEMORY_VARIABLE, "1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert upsert(dataset).execute(NEW)["num_updated_rows"] == 2
    with pytest.raises(StoreError, match="cannot be written to the temporary folder"):
        upsert(dataset).execute(NEW.to_reader())
    assert dataset.latest_version == 2
    monkeypatch.setenv(sources.MEMORY_VARIABLE, "lots")
    with pytest.raises(InvalidInputError, match="number of bytes"):
        upsert(dataset).execute(NEW)


def test_a_full_disk_is_an_error_and_leaves_no_files(
    dataset: lance.LanceDataset, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv(sources.MEMORY_VARIABLE, "1")
    monkeypatch.setattr(pa, "OSFile", full)
    files = sorted(Path(uri).rglob("*.*"))
    with pytest.raises(StoreError, match="No space left on device"):
        upsert(dataset).execute(NEW.to_reader())
    assert sorted(Path(uri).rglob("*.*")) == files
    assert not list(Path(tempfile.gettempdir()).iterdir())


def test_addresses_of_rows_are_not_taken_from_a_stored_column(uri: str) -> None:
    def rename(manifest: table_pb2.Manifest) -> None:
        manifest.fields[1].name = "_rowaddr"

    table = pa.table({"k": [1, 2], "v": pa.array([7, 8], pa.uint64())})
    dataset = edit_manifest(lance.write_dataset(table, uri), rename)
    with pytest.raises(UnsupportedFeatureError, match="_rowaddr"):
        upsert(dataset).execute(table.rename_columns(["k", "_rowaddr"]))


def test_a_source_that_fails_changes_nothing(dataset: lance.LanceDataset, uri: str) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from NEW.to_batches()
        raise RuntimeError("no more")

    files = sorted(Path(uri).rglob("*.*"))
    with pytest.raises(RuntimeError, match="no more"):
        upsert(dataset).execute(failing(), schema=NEW.schema)
    assert sorted(Path(uri).rglob("*.*")) == files
    assert dataset.latest_version == 1


def test_a_source_of_many_partitions_is_merged_like_one_in_memory(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    table = pa.table({"k": np.arange(5000), "v": rng.random(5000)})
    new = pa.table({"k": rng.permutation(6000)[:3000], "v": rng.random(3000)})
    found = []
    for budget in ("1000000000", "20000"):
        path = f"{uri}-{budget}"
        monkeypatch.setenv(sources.MEMORY_VARIABLE, budget)
        dataset = lance.write_dataset(table, path, enable_stable_row_ids=True)
        builder = upsert(dataset).when_not_matched_by_source_delete("k > 4000")
        result = builder.execute(new.to_reader(max_chunksize=100))
        rows = dataset.to_table(with_row_id=True).sort_by("k")
        old = rows.filter(pa.compute.less(rows["k"], 5000))
        assert old["_rowid"].to_pylist() == old["k"].to_pylist()
        found.append((result, rows.select(["k", "v"])))
    assert found[0][0] == found[1][0]
    assert found[0][1].equals(found[1][1])
