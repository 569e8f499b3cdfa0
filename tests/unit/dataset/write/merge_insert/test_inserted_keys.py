"""Merges beside other writers: no key is inserted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.merge_insert import MergeInsertBuilder
from lance_core.dataset.write.merge_insert import source as sources
from lance_core.errors import CommitConflictError, RetryableCommitConflictError
from lance_core.table.transactions.operations import Update
from lance_core.table.transactions.operations.key_filter import BloomKeys
from lance_core.table.transactions.transaction import Transaction
from tests.forked import forking

TABLE = pa.table({"k": range(10), "v": ["old"] * 10})
KEY = {b"lance-schema:unenforced-primary-key": b"true"}


def upsert(dataset: lance.LanceDataset) -> MergeInsertBuilder:
    return dataset.merge_insert("k").when_matched_update_all().when_not_matched_insert_all()


def rows(keys: Any, value: str) -> pa.Table:
    keys = list(keys)
    return pa.table({"k": pa.array(keys, pa.int64()), "v": [value] * len(keys)})


def counts(uri: str) -> Counter[int]:
    return Counter(lance.dataset(uri).to_table(["k"])["k"].to_pylist())


@pytest.fixture(params=["undeclared", "declared"])
def late(request: pytest.FixtureRequest, uri: str) -> lance.LanceDataset:
    """A dataset at a version that other writers have left behind in each test."""
    metadata = KEY if request.param == "declared" else None
    schema = pa.schema([pa.field("k", pa.int64(), False, metadata), ("v", pa.string())])
    lance.write_dataset(TABLE.cast(schema), uri, max_rows_per_file=4)
    return lance.dataset(uri)


OTHERS: dict[str, Callable[[lance.LanceDataset], object]] = {
    "merge": lambda d: upsert(d).execute(rows([3, 20, 21], "first")),
    "append": lambda d: lance.write_dataset(rows([20], "first"), d, mode="append"),
    "update": lambda d: d.update({"k": "k + 13"}, where="k = 7"),
}


@pytest.mark.parametrize("budget", ["1000000", "1"])
@pytest.mark.parametrize("other", OTHERS)
def test_keys_that_another_writer_has_added_are_updated(
    late: lance.LanceDataset, uri: str, other: str, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sources.MEMORY_VARIABLE, budget)
    OTHERS[other](lance.dataset(uri))
    result = upsert(late).execute(rows([20, 22], "second").to_reader())
    assert result == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}
    assert max(counts(uri).values()) == 1
    second = late.to_table(["k"], filter="v = 'second'")["k"].to_pylist()
    assert sorted(second) == [20, 22]
    late.validate()


@pytest.mark.parametrize("other", OTHERS)
def test_without_retries_it_is_a_conflict_and_the_files_are_removed(
    late: lance.LanceDataset, uri: str, other: str
) -> None:
    OTHERS[other](lance.dataset(uri))
    files = sorted(Path(uri).rglob("*.*"))
    with pytest.raises(RetryableCommitConflictError, match="given up after 1 attempts"):
        upsert(late).conflict_retries(0).execute(rows([20], "second"))
    assert sorted(Path(uri).rglob("*.*")) == files
    assert late.version == 1


@pytest.mark.parametrize("other", OTHERS)
def test_other_keys_are_no_conflict(late: lance.LanceDataset, uri: str, other: str) -> None:
    OTHERS[other](lance.dataset(uri))
    result = upsert(late).conflict_retries(0).execute(rows([1, 30], "second"))
    assert result == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}
    assert late.version == 3
    assert max(counts(uri).values()) == 1


def test_a_merge_that_inserts_nothing_does_not_compare_keys(
    late: lance.LanceDataset, uri: str
) -> None:
    lance.write_dataset(rows([5], "first"), uri, mode="append")
    updates = late.merge_insert("k").when_matched_update_all().conflict_retries(0)
    assert updates.execute(rows([5], "second"))["num_updated_rows"] == 1
    assert sorted(late.to_table(["v"], filter="k = 5")["v"].to_pylist()) == ["first", "second"]


def test_rows_that_both_update_are_updated_again(late: lance.LanceDataset, uri: str) -> None:
    upsert(lance.dataset(uri)).execute(rows([1, 2, 11], "first"))
    assert upsert(late).execute(rows([2, 3, 12], "second"))["num_updated_rows"] == 2
    assert counts(uri) == Counter([*range(10), 11, 12])
    assert late.count_rows("v = 'second'") == 3


@pytest.mark.parametrize("given", [["k", "v"], ["k"]])
def test_columns_that_another_writer_has_added_keep_their_values(
    late: lance.LanceDataset, uri: str, given: list[str]
) -> None:
    lance.dataset(uri).merge(pa.table({"k": [1, 2], "more": [10, 20]}), "k")
    upsert(late).execute(rows([2, 11], "second").select(given))
    found = late.to_table(["k", "more"], filter="more > 0 OR k = 11").to_pylist()
    assert sorted(found, key=lambda row: row["k"]) == [
        {"k": 1, "more": 10},
        {"k": 2, "more": 20},
        {"k": 11, "more": None},
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.alter_columns({"path": "v", "data_type": pa.large_string()}),
        lambda d: d.drop_columns(["v"]),
        lambda d: d.add_columns({"required": "1"}),
    ],
)
def test_rows_that_no_longer_fit_the_table_are_refused(
    late: lance.LanceDataset, uri: str, change: Callable[[lance.LanceDataset], object]
) -> None:
    upsert(lance.dataset(uri)).execute(rows([20], "first"))
    change(lance.dataset(uri))
    files = sorted(Path(uri).rglob("*.*"))
    with pytest.raises(CommitConflictError, match=r"another writer has (changed|added the) column"):
        upsert(late).execute(rows([20], "second"))
    assert sorted(Path(uri).rglob("*.*")) == files


def test_members_that_another_writer_has_added_to_structs_in_lists_are_a_conflict(uri: str) -> None:
    def table(keys: list[int]) -> pa.Table:
        return pa.table({"k": keys, "l": [[{"a": key}] for key in keys]})

    late = lance.write_dataset(table([1]), uri, data_storage_version="2.2")
    upsert(lance.dataset(uri)).execute(table([1, 2]))
    more = pa.field("l", pa.list_(pa.struct({"b": pa.int64()})))
    lance.dataset(uri).add_columns(more)
    with pytest.raises(CommitConflictError, match="added members to the structs"):
        upsert(late).execute(table([1, 2]))
    assert lance.dataset(uri).version == 3


@pytest.mark.parametrize("names", [{"k": "kk"}, {"k": "kk", "v": "k"}], ids=["one", "both"])
def test_a_renamed_key_column_is_a_conflict(uri: str, names: dict[str, str]) -> None:
    late = lance.write_dataset(pa.table({"k": [1, 2], "v": [10, 20]}), uri)
    for old, new in names.items():
        lance.dataset(uri).alter_columns({"path": old, "name": new})
    appended = pa.table({"k": [9], "v": [1]}).rename_columns([names.get(n, n) for n in "kv"])
    lance.write_dataset(appended, uri, mode="append")
    before = lance.dataset(uri).to_table()
    new_rows = pa.table({"k": [1, 9], "v": [11, 99]})
    with pytest.raises(CommitConflictError, match="another writer has changed columns"):
        upsert(late).execute(new_rows)
    with pytest.raises(RetryableCommitConflictError, match="no longer has the key column 'k'"):
        upsert(late).conflict_retries(0).execute(new_rows)
    assert lance.dataset(uri).to_table().equals(before)


def test_a_dropped_key_column_is_a_conflict(late: lance.LanceDataset, uri: str) -> None:
    lance.dataset(uri).drop_columns(["k"])
    lance.write_dataset(pa.table({"v": ["first"]}), uri, mode="append")
    with pytest.raises(CommitConflictError, match="another writer has changed columns"):
        upsert(late).execute(rows([20], "second"))
    assert lance.dataset(uri).count_rows() == 11


def test_only_keys_of_the_primary_key_are_listed(late: lance.LanceDataset) -> None:
    upsert(late).execute(rows([1, 20, 21], "new"))
    stored = late.snapshot.file.transaction
    assert stored is not None
    operation = Transaction.from_bytes(stored).operation
    assert isinstance(operation, Update)
    inserted = operation.inserted_rows
    if not late.snapshot.schema.fields[0].unenforced_primary_key:
        assert inserted is None
        return
    assert inserted is not None
    assert inserted.field_ids == (0,)
    keys = inserted.keys
    assert isinstance(keys, BloomKeys)
    assert (len(keys.bitmap), keys.num_bits, keys.number_of_items) == (32768, 262144, 8192)
    assert sum(byte.bit_count() for byte in keys.bitmap) == 16


def merge_in_process(uri: str, writer: str) -> None:
    for _ in range(3):
        upsert(lance.dataset(uri)).conflict_retries(200).execute(rows(range(5, 25), writer))


IMPORT = f"from {__name__} import merge_in_process"


def test_processes_that_upsert_the_same_keys_insert_each_once(uri: str) -> None:
    lance.write_dataset(TABLE, uri)
    work = f"import sys\n{IMPORT}\nmerge_in_process(*sys.argv[1:])"
    with forking(f"{IMPORT}\nimport lance_core.dataset.write.merge_insert.merge") as forks:
        assert forks.run(work, *((uri, writer) for writer in range(3))) == [0, 0, 0]
    assert counts(uri) == Counter(range(25))


def test_threads_that_upsert_new_keys_insert_each_once(uri: str) -> None:
    lance.write_dataset(TABLE, uri)

    def work(writer: int) -> None:
        keys = range(100 + writer % 2, 130, 2)
        upsert(lance.dataset(uri)).conflict_retries(200).execute(rows(keys, str(writer)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    assert counts(uri) == Counter([*range(10), *range(100, 130)])


def test_a_key_that_another_writer_has_rewritten_in_place_is_found(
    late: lance.LanceDataset, uri: str
) -> None:
    other = lance.dataset(uri)
    fragment = other.get_fragments()[1]
    address = fragment.to_table(with_row_address=True)["_rowaddr"][0].as_py()
    written, fields = fragment.update_columns(
        pa.table({"_rowaddr": pa.array([address], pa.uint64()), "k": [20]}), left_on="_rowaddr"
    )
    operation = lance.LanceOperation.Update(
        updated_fragments=[written], fields_modified=fields, update_mode="rewrite_columns"
    )
    lance.LanceDataset.commit(other, operation, read_version=other.version)
    assert counts(uri)[20] == 1
    result = upsert(late).execute(rows([20, 22], "second"))
    assert result == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}
    assert max(counts(uri).values()) == 1


def test_a_rewrite_of_other_columns_is_no_new_key(late: lance.LanceDataset, uri: str) -> None:
    lance.dataset(uri).add_columns(pa.field("more", pa.int64()))
    in_place = lance.dataset(uri).merge_insert("k").when_matched_update_all()
    in_place.write_mode("rewrite_columns").execute(pa.table({"k": [1, 2], "more": [5, 6]}))
    result = upsert(lance.dataset(uri, version=1)).execute(rows([20], "second"))
    assert result["num_inserted_rows"] == 1


def test_a_key_that_was_rewritten_in_a_file_of_its_own_is_found(uri: str) -> None:
    lance.write_dataset(pa.table({"v": ["old"] * 4}), uri)
    lance.dataset(uri).add_columns(pa.table({"k": range(4)}))
    late = lance.dataset(uri)
    other = lance.dataset(uri)
    (fragment,) = other.get_fragments()
    written, fields = fragment.update_columns(
        pa.table({"_rowaddr": pa.array(range(4), pa.uint64()), "k": [0, 1, 2, 20]}),
        left_on="_rowaddr",
    )
    operation = lance.LanceOperation.Update(
        updated_fragments=[written], fields_modified=fields, update_mode="rewrite_columns"
    )
    lance.LanceDataset.commit(other, operation, read_version=other.version)
    assert upsert(late).execute(rows([20, 22], "second"))["num_inserted_rows"] == 1
    assert max(counts(uri).values()) == 1


def test_a_renamed_key_column_does_not_matter_if_no_row_is_inserted(
    late: lance.LanceDataset, uri: str
) -> None:
    lance.write_dataset(rows([30], "first"), uri, mode="append")
    lance.dataset(uri).alter_columns({"path": "k", "name": "key"})
    merge = late.merge_insert("k").when_matched_delete().conflict_retries(0)
    result = merge.when_not_matched_insert_all().execute(rows([5], "second"))
    assert (result["num_deleted_rows"], result["num_inserted_rows"]) == (1, 0)


@pytest.mark.parametrize("inserts", [False, True])
def test_a_renamed_key_column_matters_only_to_rows_that_are_inserted(
    late: lance.LanceDataset, uri: str, inserts: bool
) -> None:
    lance.write_dataset(rows([5], "first"), uri, mode="append")
    lance.dataset(uri).alter_columns({"path": "k", "name": "key"})
    merge = late.merge_insert("k").when_matched_delete().conflict_retries(0)
    if inserts:
        with pytest.raises(CommitConflictError, match="no longer has the key column 'k'"):
            merge.when_not_matched_insert_all().execute(rows([5, 40], "second"))
    else:
        assert merge.execute(rows([5, 40], "second"))["num_deleted_rows"] == 1
