"""Changes of rows that several workers write and one process commits."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.write.merge_insert import target
from lance_core.errors import (
    InvalidInputError,
    MergeError,
    RetryableCommitConflictError,
    SchemaMismatchError,
)
from lance_core.fragment import RowChangeCommit, RowChanges
from lance_core.table.transactions.operations import Update
from lance_core.table.transactions.transaction import Transaction
from tests.each_case import each_case

UPDATE_I, UPDATE_S, DELETE, INSERT = range(4)
ACTIONS: list[Collection[str] | None] = [{"i"}, ["s"], None, ("i", "s")]


def table_of(path: Path, **options: Any) -> lance.LanceDataset:
    """The numbers 0 to 29 in fragments of 10, with a text and a list each."""
    numbers = range(30)
    rows = pa.table(
        {"i": numbers, "s": [f"text {n}" for n in numbers], "l": [[n, None] for n in numbers]}
    )
    return lance.write_dataset(rows, str(path), max_rows_per_file=10, **options)


def batch(*rows: tuple[int | None, int, int, str]) -> pa.RecordBatch:
    """Rows of address (the number of a row of `table_of`), action, and values of i and s."""
    address = [None if row[0] is None else (row[0] // 10 << 32) + row[0] % 10 for row in rows]
    return pa.record_batch(
        {
            "_rowaddr": pa.array(address, pa.int64()),
            "_action": pa.array([row[1] for row in rows], pa.int32()),
            "i": pa.array([row[2] for row in rows], pa.int64()),
            "s": [row[3] for row in rows],
        }
    )


ONE = [batch((3, UPDATE_I, 300, "-"), (4, DELETE, 0, "-")), batch((5, UPDATE_S, -1, "five"))]
TWO = [batch((25, UPDATE_S, -1, "25"), (None, INSERT, 1000, "new"), (None, INSERT, 1001, "new"))]


def work(*parts: Iterable[pa.RecordBatch]) -> Callable[[lance.LanceDataset], list[RowChanges]]:
    """Each part in a worker of its own."""

    def write(dataset: lance.LanceDataset) -> list[RowChanges]:
        done = [dataset.write_row_changes(part, ACTIONS) for part in parts]
        sent = [pickle.loads(pickle.dumps(one)) for one in done]
        return [RowChanges.from_json(one.to_json()) for one in sent]

    return write


def files(path: Path) -> set[str]:
    return {file.name for kind in ("data", "_deletions") for file in (path / kind).glob("*")}


def contents(dataset: Any) -> dict[int, tuple[str, list[int | None] | None]]:
    rows = dataset.to_table().to_pylist()
    assert len({row["i"] for row in rows}) == len(rows)
    return {row["i"]: (row["s"], row["l"]) for row in rows}


@pytest.mark.parametrize("version", ["0.1", "2.0", "2.2"])
@pytest.mark.parametrize("stable", [False, True])
def test_the_changes_of_workers_are_one_version(tmp_path: Path, version: str, stable: bool) -> None:
    path = tmp_path / "t.lance"
    table = table_of(path, data_storage_version=version, enable_stable_row_ids=stable)
    expected = contents(table)
    ids = {row["i"]: row["_rowid"] for row in table.to_table(with_row_id=True).to_pylist()}
    counts = table.change_rows(work(ONE, TWO))
    assert counts == {"num_inserted_rows": 2, "num_updated_rows": 3, "num_deleted_rows": 1}
    assert table.version == table.latest_version == 2
    del expected[4]
    expected[300] = expected.pop(3)
    expected[5] = ("five", expected[5][1])
    expected[25] = ("25", expected[25][1])
    none = [] if version == "0.1" else None  # Files of version 0.1 have no null lists.
    expected[1000] = expected[1001] = ("new", none)
    assert contents(table) == expected
    table.validate()
    if stable:
        after = {row["i"]: row["_rowid"] for row in table.to_table(with_row_id=True).to_pylist()}
        assert after[300] == ids[3]
        assert {n: after[n] for n in (5, 6, 25)} == {n: ids[n] for n in (5, 6, 25)}
        assert {after[1000], after[1001]} == {30, 31}
        columns = ["i", "_row_created_at_version", "_row_last_updated_at_version"]
        versions = {row["i"]: row for row in table.to_table(columns=columns).to_pylist()}
        assert [versions[n][columns[1]] for n in (300, 5, 1000)] == [1, 1, 2]
        assert [versions[n][columns[2]] for n in (300, 6, 1000)] == [2, 1, 2]


def test_a_fragment_without_rows_is_removed(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t.lance")
    rows = batch(*((n, DELETE, 0, "") for n in (*range(10, 20), 12)))
    counts = table.change_rows(work([rows]), RowChangeCommit("delete", "i >= 10 AND i < 20"))
    assert counts["num_deleted_rows"] == 10
    assert [fragment.fragment_id for fragment in table.get_fragments()] == [0, 2]
    operation = table.get_transactions(1)[0].operation  # type: ignore[union-attr]
    assert isinstance(operation, lance.LanceOperation.Delete)
    assert operation.predicate == "i >= 10 AND i < 20"


def test_without_changes_nothing_is_committed(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t.lance")
    counts = table.change_rows(work([], [batch()]))
    assert set(counts.values()) == {0}
    assert table.latest_version == 1


BAD: list[tuple[list[pa.RecordBatch], type[Exception], str]] = [
    ([batch((3, UPDATE_I, 1, ""), (3, UPDATE_S, 1, ""))], MergeError, "several rows"),
    ([batch((3, UPDATE_I, 1, "")), batch((3, DELETE, 1, ""))], MergeError, "several rows"),
    ([batch((15, DELETE, 1, ""), (15, UPDATE_S, 1, ""))], MergeError, "row 5 of fragment 1:"),
    ([batch((None, INSERT, 1, "")), batch((3, UPDATE_I, 1, ""))], InvalidInputError, "come after"),
    ([batch((None, DELETE, 1, ""))], InvalidInputError, "has no address"),
    ([batch((3, 4, 1, ""))], InvalidInputError, "_action"),
    ([batch((3, -1, 1, ""))], InvalidInputError, "_action"),
    ([batch((8, UPDATE_I, 1, ""))], InvalidInputError, "fragment 0"),
    ([batch((8, DELETE, 1, ""))], InvalidInputError, "fragment 0"),
    ([batch((990, DELETE, 1, ""))], InvalidInputError, "99"),
    (
        [batch((3, DELETE, 1, "")).set_column(0, "_rowaddr", pa.array([10]))],
        InvalidInputError,
        "no row at an address",
    ),
    ([batch((3, UPDATE_I, 1, "")).drop_columns(["i"])], InvalidInputError, "'i'"),
    (
        [batch((3, UPDATE_I, 1, "")).set_column(2, "i", pa.array(["x"]))],
        SchemaMismatchError,
        "field i",
    ),
    (
        [
            batch((3, UPDATE_I, 1, ""), (4, UPDATE_S, 1, "")).set_column(
                2, "i", pa.array(["1", "2"])
            )
        ],
        SchemaMismatchError,
        "field i",
    ),
    ([batch((3, UPDATE_I, 1, "")).drop_columns(["_rowaddr"])], InvalidInputError, "'_rowaddr'"),
    ([batch((3, UPDATE_I, 1, "")).drop_columns(["_action"])], InvalidInputError, "'_action'"),
    ([batch((-1, UPDATE_I, 1, ""))], InvalidInputError, "'_rowaddr'"),
    (
        [batch((3, UPDATE_I, 1, "")).set_column(1, "_action", pa.array([0.5]))],
        InvalidInputError,
        "'_action'.*double",
    ),
]


@pytest.mark.parametrize(("rows", "error", "match"), BAD)
def test_bad_changes_leave_nothing(
    tmp_path: Path, rows: list[pa.RecordBatch], error: type[Exception], match: str
) -> None:
    path = tmp_path / "t.lance"
    table = table_of(path)
    table.delete("i = 8")
    before = files(path)
    with pytest.raises(error, match=match):
        table.change_rows(work(rows))
    assert (table.latest_version, files(path)) == (2, before)


@each_case("text", ["", "{}", "[]", '{"new_fragments": 3}', "null"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="changes of rows"):
        RowChanges.from_json(text)


@each_case("size", [1, (1 << 15) - 1, (1 << 15) + 1, 1 << 24])
def test_a_key_filter_of_another_size_is_refused(size: int) -> None:
    text = RowChanges(1, (), (), (), {}, 0, 0, 0, inserted_keys=bytes(size)).to_json()
    with pytest.raises(InvalidInputError, match="filter of keys must have 32768 bytes"):
        RowChanges.from_json(text)


@each_case("size", [0, 1 << 15])
def test_a_key_filter_that_is_cut_is_refused(size: int) -> None:
    changes = RowChanges(1, (), (), (), {}, 0, 0, 0, inserted_keys=bytes(size))
    tree = json.loads(changes.to_json())
    assert RowChanges.from_json(json.dumps(tree)) == changes
    packed = base64.b64decode(tree["inserted_keys"])
    for kept in (0, 2, len(packed) - 1):
        tree["inserted_keys"] = base64.b64encode(packed[:kept]).decode()
        with pytest.raises(InvalidInputError, match="not the JSON form"):
            RowChanges.from_json(json.dumps(tree))


def test_unknown_columns_are_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t.lance")
    with pytest.raises(InvalidInputError, match=r"'colour'.*'l'|no column 'colour'"):
        table.write_row_changes([], [["colour"]])
    with pytest.raises(TypeError, match="not a string"):
        table.write_row_changes([], ["i"])


def test_a_change_with_a_predicate_must_not_write_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = table_of(path)
    with pytest.raises(InvalidInputError, match="only delete"):
        table.change_rows(work(ONE), RowChangeCommit("delete", "i = 4"))
    assert (len(files(path)), table.latest_version) == (3, 1)


def test_a_result_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = table_of(path)
    with pytest.raises(InvalidInputError, match="twice"):
        table.change_rows(lambda one: 2 * work([batch((None, INSERT, 1000, "new"))])(one))
    assert (len(files(path)), table.latest_version) == (3, 1)


def test_results_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = table_of(path)
    first = lance.dataset(str(path))
    with pytest.raises(InvalidInputError, match="fragment 0"):
        table.change_rows(work(ONE, [batch((9, DELETE, 0, ""))]))
    assert len(files(path)) == 3
    table.delete("i = 20")
    with pytest.raises(InvalidInputError, match="version 1, not 2"):
        table.change_rows(lambda _: work(ONE)(first))
    assert (len(files(path)), table.latest_version) == (4, 2)


def test_a_conflict_computes_the_change_again(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table, attempts = table_of(path), []

    def compute(dataset: lance.LanceDataset) -> list[RowChanges]:
        attempts.append(dataset.version)
        done = work(ONE if len(attempts) % 2 else ONE[1:])(dataset)
        if len(attempts) % 2:
            lance.dataset(str(path)).delete("i = 3")
        return done

    with pytest.raises(RetryableCommitConflictError, match=r"my verb.*1 attempts"):
        table.change_rows(compute, RowChangeCommit("my verb"), conflict_retries=0)
    table = table_of(tmp_path / "u.lance")
    path = tmp_path / "u.lance"
    attempts.clear()
    table.change_rows(compute)
    assert attempts == [1, 2]
    assert table.version == 3
    assert contents(table)[5][0] == "five"
    assert 3 not in contents(table)
    # Data of the table and of the update, the deletion file of the delete, and that of the update.
    assert len(files(path)) == 3 + 1 + 2


def test_deletes_of_other_rows_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = table_of(path)

    def compute(dataset: lance.LanceDataset) -> list[RowChanges]:
        done = work(ONE)(dataset)
        lance.dataset(str(path)).delete("i = 7")
        return done

    table.change_rows(compute)
    assert table.version == 3
    assert not {3, 4, 7} & contents(table).keys()


@pytest.mark.parametrize("rejects", [False, True, "new rows", "other rows"])
def test_added_rows_are_a_conflict_if_the_caller_says_so(
    tmp_path: Path, rejects: bool | str
) -> None:
    path = tmp_path / "t.lance"
    table, attempts = table_of(path), []

    def has_rows(newer: lance.LanceDataset, ids: list[int]) -> bool:
        assert (newer.version, ids) == (2, [3])
        found = [one for one in newer.get_fragments() if one.fragment_id in ids]
        assert newer.to_table(columns=["i"], fragments=found)["i"].to_pylist() == [50]
        return rejects == "new rows"

    def compute(dataset: lance.LanceDataset) -> list[RowChanges]:
        attempts.append(dataset.version)
        done = work(TWO)(dataset)
        if len(attempts) == 1:
            rows = pa.table({"i": [50], "s": ["x"], "l": pa.array([None], pa.list_(pa.int64()))})
            lance.write_dataset(rows, str(path), mode="append")
        return done

    how = has_rows if isinstance(rejects, str) else rejects
    table.change_rows(compute, RowChangeCommit(rejects_added_rows=how))
    assert attempts == ([1, 2] if rejects in (True, "new rows") else [1])
    assert table.count_rows() == 33


def test_primary_keys_of_new_rows_are_listed_as_by_a_merge(tmp_path: Path) -> None:
    key = {b"lance-schema:unenforced-primary-key": b"true"}
    schema = pa.schema([pa.field("s", pa.string(), False, key), ("i", pa.int64())])
    filters = []
    for name in ("workers", "merge"):
        table = lance.write_dataset(pa.table({"s": ["a"], "i": [1]}, schema), tmp_path / name)
        if name == "merge":
            new = pa.table({"s": ["b", "c"], "i": [2, 3]}, schema)
            table.merge_insert("s").when_not_matched_insert_all().execute(new)
        else:
            parts = [batch((None, INSERT, n, text)) for n, text in ((2, "b"), (3, "c"))]
            table.change_rows(work(*([part] for part in parts), [batch((0, UPDATE_I, 5, "-"))]))
        stored = table.snapshot.file.transaction
        assert stored is not None
        operation = Transaction.from_bytes(stored).operation
        assert isinstance(operation, Update)
        filters.append(operation.inserted_rows)
    assert filters[0] == filters[1] is not None
    changes = lance.dataset(tmp_path / "merge").write_row_changes(
        [batch((0, DELETE, 0, ""))], ACTIONS
    )
    assert changes.inserted_keys == b""


@pytest.mark.parametrize(
    ("modified", "expected"),
    [(None, (0, 1, 2, 3)), (("s",), (1,)), (("l", "i"), (0, 2, 3)), ((), ())],
)
def test_the_fields_with_new_values_are_recorded_for_the_indices_of_the_others(
    tmp_path: Path, modified: tuple[str, ...] | None, expected: tuple[int, ...]
) -> None:
    table = table_of(tmp_path / "t.lance")
    table.change_rows(work(ONE), RowChangeCommit(modified=modified))
    stored = table.snapshot.file.transaction
    assert stored is not None
    operation = Transaction.from_bytes(stored).operation
    assert isinstance(operation, Update)
    assert operation.fields_for_preserving_frag_bitmap == expected


def test_dense_updates_of_many_rows_keep_the_order(tmp_path: Path) -> None:
    path, rows = tmp_path / "t.lance", 200_000
    data = pa.table({"k": np.arange(rows), "v": np.arange(rows) * 0.5})
    table = lance.write_dataset(data, str(path))
    keys = np.arange(0, rows, 2)
    new = pa.table({"_rowaddr": keys, "_action": np.zeros(len(keys), np.int8), "v": keys * -1.0})
    table.change_rows(lambda one: [one.write_row_changes(new.to_batches(1000), [["v"]])])
    found = table.to_table().sort_by("k")
    expected = np.where(np.arange(rows) % 2 == 0, np.arange(rows) * -1.0, np.arange(rows) * 0.5)
    assert (found["v"].to_numpy() == expected).all()
    assert (found["k"].to_numpy() == np.arange(rows)).all()


def test_blobs_keep_their_kind(tmp_path: Path) -> None:
    other = tmp_path / "external.bin"
    other.write_bytes(b"external")
    schema = pa.schema([pa.field("i", pa.int64()), lance.blob_field("b")])
    blobs = lance.blob_array([b"one", lance.Blob.from_uri(other.as_uri()), b"three", None])
    table = lance.write_dataset(
        pa.table([pa.array(range(4)), blobs], schema=schema),
        tmp_path / "t.lance",
        allow_external_blob_outside_bases=True,
    )
    new = pa.RecordBatch.from_arrays(
        [pa.array(values) for values in ([0, 1, 2], [0, 0, 1], [10, 11, 12])]
        + [lance.blob_array([None, None, b"new"])],
        names=["_rowaddr", "_action", "i", "b"],
    )
    table.change_rows(lambda one: [one.write_row_changes([new], [["i"], ["b"]])])
    found = table.to_table().sort_by("i").to_pylist()
    assert [row["i"] for row in found] == [2, 3, 10, 11]
    assert found[3]["b"]["blob_uri"] == other.as_uri()
    chosen = table.to_table(columns=["i"], with_row_address=True).sort_by("i")
    addresses = chosen["_rowaddr"].to_pylist()
    held = table.take_blobs("b", addresses=[addresses[0], addresses[2]])
    assert [blob.readall() for blob in held if blob is not None] == [b"new", b"one"]


@pytest.mark.parametrize("kind", ["vectors", "blobs"])
def test_kept_columns_are_read_in_pieces(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 5000
    wide = pa.FixedSizeListArray.from_arrays(np.zeros(count * 512, dtype=np.int64), 512)
    field = pa.field("wide", wide.type)
    if kind == "blobs":
        field = lance.blob_field("wide")
        wide = lance.blob_array([bytes(10 if n < 4300 else 30_000) for n in range(count)])
    schema = pa.schema([pa.field("i", pa.int64()), field])
    table = lance.write_dataset(
        pa.table([pa.array(range(count)), wide], schema=schema), tmp_path / "t.lance"
    )
    sizes, read = [], target._read_at

    def measured(*given: Any) -> pa.Table:
        rows = read(*given)
        sizes.append(rows.nbytes)
        return rows

    monkeypatch.setattr(target, "_read_at", measured)
    keys = np.arange(count)
    new = pa.table({"_rowaddr": keys, "_action": np.zeros(count, np.int8), "i": keys + 1})
    table.change_rows(lambda one: [one.write_row_changes(new.to_batches(1000), [["i"]])])
    assert sum(sizes) > 18 << 20
    assert max(sizes) <= 14 << 20
    assert table.to_table(columns=["i"]).sort_by("i")["i"].to_pylist() == list(range(1, count + 1))


@pytest.mark.parametrize("version", ["0.1", "2.2"])
def test_views_of_text_are_values(tmp_path: Path, version: str) -> None:
    words = {
        "w": pa.array(["a", "b"]),
        "l": pa.array([["a"], ["b"]]),
        "s": pa.array([{"t": "a", "b": b"1"}, {"t": "b", "b": b"2"}]),
    }
    path = str(tmp_path / "t.lance")
    table = lance.write_dataset(
        pa.table({"i": [1, 2], **words}), path, data_storage_version=version
    )
    view = pa.string_view()
    kinds = {"w": view, "l": pa.list_(view), "s": pa.struct({"t": view, "b": pa.binary_view()})}
    new = {name: pa.array(words[name].to_pylist()[::-1], kind) for name, kind in kinds.items()}
    rows = pa.record_batch(
        {"_rowaddr": pa.array([0, None], pa.uint64()), "_action": [0, 1], "i": [5, 6], **new}
    )
    actions = [set(words), {"i", *words}]
    table.change_rows(lambda one: [one.write_row_changes([rows], actions)])
    expected = {1: "b", 2: "b", 6: "a"}
    for row in table.to_table().to_pylist():
        word = expected[row["i"]]
        assert (row["w"], row["l"], row["s"]["t"]) == (word, [word], word)


VIEWS = pa.DictionaryArray.from_arrays(
    pa.array([1, 0], pa.int8()), pa.array(["b", "a"], pa.string_view())
)


WORDS = (
    pa.array(["a", "b"]),
    pa.array(["a", "b"], pa.string_view()),
    pa.array(["a", "b"]).dictionary_encode(),
    VIEWS,
)


@pytest.mark.parametrize("given", WORDS, ids=lambda given: str(given.type)[:24])
def test_new_values_get_keys_of_the_dictionary_of_a_0_1_table(
    tmp_path: Path, given: pa.Array
) -> None:
    table = with_changed_words(tmp_path, given)
    assert words(table) == [(1, "b"), (3, "b"), (20, "a"), (30, "b")]


def with_changed_words(folder: Path, new_words: pa.Array) -> lance.LanceDataset:
    """One word of a table of version 0.1 is changed, and a row is inserted."""
    table = _with_words(folder)
    rows = pa.record_batch(
        {
            "_rowaddr": pa.array([1, None], pa.uint64()),
            "_action": [0, 0],
            "i": [20, 30],
            "word": new_words,
        }
    )
    table.change_rows(lambda one: [one.write_row_changes([rows], [{"i", "word"}])])
    return table


def words(dataset: Any) -> list[tuple[int, str]]:
    both = dataset.to_table().to_pydict()
    return sorted(zip(both["i"], both["word"], strict=True))


def test_rows_without_a_dictionary_column_are_inserted_into_a_0_1_table(tmp_path: Path) -> None:
    table = _with_words(tmp_path)
    rows = pa.record_batch({"_rowaddr": pa.array([None], pa.uint64()), "_action": [0], "i": [9]})
    table.change_rows(lambda one: [one.write_row_changes([rows], [{"i"}])])
    # The first value of the dictionary stands for null, as in every file of version 0.1.
    assert table.to_table(filter="i = 9")["word"].to_pylist() == ["b"]
    merge = table.merge_insert("i").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(pa.table({"i": [2, 7]}))
    assert table.to_table(filter="i in (2, 7)")["word"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("given", [pa.array(["c"]), pa.array([7])], ids=["unknown", "type"])
def test_values_outside_of_the_dictionary_of_a_0_1_table_are_refused(
    tmp_path: Path, given: pa.Array
) -> None:
    table = _with_words(tmp_path)
    before = files(Path(table.uri))
    columns = {"_rowaddr": pa.array([0], pa.uint64()), "_action": [0], "word": given}
    rows = pa.record_batch(columns)
    with pytest.raises(SchemaMismatchError, match="column 'word'"):
        table.change_rows(lambda one: [one.write_row_changes([rows], [{"word"}])])
    assert files(Path(table.uri)) == before


def _with_words(folder: Path) -> lance.LanceDataset:
    words = pa.array(["b", "a", "b"]).dictionary_encode()
    rows = pa.table({"i": [1, 2, 3], "word": words})
    return lance.write_dataset(rows, str(folder / "t.lance"), data_storage_version="0.1")
