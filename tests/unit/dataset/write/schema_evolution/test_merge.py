"""Joining columns to a table, and to one fragment; new values for columns of a fragment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

import lance_core as lance
from lance_core.dataset.write.schema_evolution import join
from lance_core.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from tests.each_case import each_case

ROWS = 20
TABLE = pa.table(
    {
        "a": pa.array(range(ROWS), pa.int64()),
        "t": [f"text {n}" for n in range(ROWS)],
        "s": pa.array([{"x": n, "y": f"y{n}"} for n in range(ROWS)]),
    }
)
OTHER = pa.table({"k": pa.array([3, 5, 5, 18, 99]), "z": ["p", "q", "r", "s", "t"]})


@pytest.fixture(params=["0.1", "2.0", "2.1", "2.2"])
def table(request: pytest.FixtureRequest, uri: str) -> lance.LanceDataset:
    version = str(request.param)
    made = lance.write_dataset(TABLE, uri, max_rows_per_file=8, data_storage_version=version)
    made.delete("a IN (0, 9, 19)")
    return made


def by_key(dataset: lance.LanceDataset, name: str) -> dict[Any, Any]:
    rows = dataset.to_table(["a", name])
    return {
        key: value
        for key, value in zip(*(column.to_pylist() for column in rows.columns), strict=True)
        if value is not None
    }


def test_the_last_match_counts_and_rows_without_one_get_null(table: lance.LanceDataset) -> None:
    table.merge(OTHER, "a", "k")
    assert by_key(table, "z") == {3: "p", 5: "r", 18: "s"}
    assert table.schema.names == ["a", "t", "s", "z"]


def test_keys_may_be_text_members_of_structs_and_addresses(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri, max_rows_per_file=8)
    table.merge(pa.table({"t": ["text 3", "text 19"], "b": [1, 2]}), "t")
    table.merge(pa.table({"k": [3, 4], "c": [1, 2]}), "s.x", "k")
    addresses = pa.array([7, (1 << 32) + 1], pa.uint64())
    table.merge(pa.table({"_rowaddr": addresses, "d": [1, 2]}), "_rowaddr")
    assert by_key(table, "b") == {3: 1, 19: 2}
    assert by_key(table, "c") == {3: 1, 4: 2}
    assert by_key(table, "d") == {7: 1, 9: 2}


def test_stable_row_ids_are_keys(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri, max_rows_per_file=8, enable_stable_row_ids=True)
    table.delete("a = 2")
    table.merge(pa.table({"_rowid": pa.array([2, 3, 17], pa.uint64()), "b": [1, 2, 3]}), "_rowid")
    assert by_key(table, "b") == {3: 2, 17: 3}


def test_a_null_key_matches_null(uri: str) -> None:
    table = lance.write_dataset(pa.table({"a": [1, None]}), uri)
    table.merge(pa.table({"a": pa.array([None, 7]), "z": ["p", "q"]}), "a")
    assert table.to_table()["z"].to_pylist() == [None, "p"]


def test_many_small_fragments_share_look_ups(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join, "KEY_ROWS", 5)
    table = lance.write_dataset(TABLE, uri, max_rows_per_file=3)
    table.merge(OTHER, "a", "k")
    assert by_key(table, "z") == {3: "p", 5: "r", 18: "s"}


@each_case(
    "other, left_on, right_on, error",
    [
        (OTHER, "nope", "k", SchemaMismatchError),
        (OTHER, "a", "nope", SchemaMismatchError),
        (OTHER, "a", None, SchemaMismatchError),
        (OTHER, "t", "k", SchemaMismatchError),
        (OTHER.rename_columns(["k", "t"]), "a", "k", SchemaMismatchError),
        (OTHER.select(["k"]), "a", "k", SchemaMismatchError),
        (OTHER.slice(0, 0), "a", "k", SchemaMismatchError),
        (3, "a", "k", TypeError),
        (
            OTHER.cast(pa.schema([("k", pa.int64()), pa.field("z", pa.string(), nullable=False)])),
            "a",
            "k",
            InvalidInputError,
        ),
    ],
)
def test_joins_that_are_impossible_change_nothing(
    tmp_path: Path, other: Any, left_on: str, right_on: str | None, error: type
) -> None:
    table = lance.write_dataset(TABLE, str(tmp_path / "t"), max_rows_per_file=8)
    with pytest.raises(error):
        table.merge(other, left_on, right_on)
    assert lance.dataset(table.uri).version == 1
    assert len(list((tmp_path / "t" / "data").iterdir())) == 3


@each_case(
    "version, column",
    [("0.1", pa.array([1])), ("0.1", pa.array([[1]])), ("2.0", pa.array([{"q": 1}]))],
)
def test_nulls_that_a_file_version_cannot_store_are_refused(
    tmp_path: Path, version: str, column: pa.Array
) -> None:
    table = lance.write_dataset(TABLE, str(tmp_path / "t"), data_storage_version=version)
    with pytest.raises(SchemaMismatchError, match="cannot store"):
        table.merge(pa.table({"a": [1], "z": column}), "a")


@settings(max_examples=30, deadline=None)
@given(
    left=st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=12),
    right=st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=8),
)
def test_a_join_is_a_look_up_in_a_dict(
    tmp_path_factory: pytest.TempPathFactory, left: list[int | None], right: list[int | None]
) -> None:
    uri = str(tmp_path_factory.mktemp("join") / "t")
    table = lance.write_dataset(
        pa.table({"a": pa.array(left, pa.int8())}), uri, max_rows_per_file=5
    )
    table.merge(pa.table({"a": pa.array(right, pa.int8()), "z": range(len(right))}), "a")
    last = {key: number for number, key in enumerate(right)}
    assert table.to_table()["z"].to_pylist() == [last.get(key) for key in left]


def test_columns_of_fragments_are_committed_together(table: lance.LanceDataset) -> None:
    made = [fragment.merge(OTHER, "a", "k") for fragment in table.get_fragments()]
    assert lance.dataset(table.uri).version == 2
    operation = lance.LanceOperation.Merge([fragment for fragment, _ in made], made[0][1])
    table = lance.LanceDataset.commit(table.uri, operation, read_version=2)
    more = [
        table.get_fragments()[0].merge_columns({"b": "a + 1"}),
        table.get_fragments()[1].merge_columns(
            lambda batch: pa.record_batch({"b": pa.array(np.asarray(batch["a"]) + 1)}), ["a"]
        ),
        table.get_fragments()[2].merge_columns(pa.table({"b": [17, 18, 19]})),
    ]
    operation = lance.LanceOperation.Merge([fragment for fragment, _ in more], more[0][1])
    table = lance.LanceDataset.commit(table.uri, operation, read_version=3)
    assert by_key(table, "z") == {3: "p", 5: "r", 18: "s"}
    assert by_key(table, "b") == {n: n + 1 for n in range(ROWS) if n not in (0, 9, 19)}


def test_a_fragment_takes_no_checkpoint_and_its_own_rows_only(
    table: lance.LanceDataset, tmp_path: Path
) -> None:
    fragment = table.get_fragments()[0]
    with pytest.raises(InvalidInputError, match="checkpoint"):
        fragment.merge_columns(
            lance.batch_udf(pa.schema([("b", pa.int8())]), tmp_path / "file")(lambda batch: batch)
        )
    for count in (6, 8):
        with pytest.raises(SchemaMismatchError):
            fragment.merge_columns(pa.table({"b": range(count)}))


def update(table: lance.LanceDataset, data: pa.Table, *keys: str) -> lance.LanceDataset:
    fragment, fields, offsets = table.get_fragments()[1].update_columns(
        data, *keys, with_offsets=True
    )
    operation = lance.LanceOperation.Update(
        updated_fragments=[fragment],
        fields_modified=fields,
        update_mode="rewrite_columns",
        updated_fragment_offsets={1: offsets},
    )
    return lance.LanceDataset.commit(table.uri, operation, read_version=table.version)


def test_matching_rows_get_new_values_and_others_keep_theirs(table: lance.LanceDataset) -> None:
    data = pa.table({"k": [8, 9, 10, 3], "t": ["new"] * 4, "s": [{"x": -1, "y": ""}] * 4})
    if table.data_storage_version == "0.1":
        with pytest.raises(UnsupportedFeatureError):
            update(table, data, "a", "k")
        return
    *_, offsets = table.get_fragments()[1].update_columns(data, "a", "k", with_offsets=True)
    assert BitMap.deserialize(offsets) == BitMap([0, 2])
    before = table.to_table()
    table = update(table, data, "a", "k")
    assert {key for key, text in by_key(table, "t").items() if text == "new"} == {8, 10}
    after = table.to_table()
    assert after.filter(~np.isin(after["a"], [8, 10])) == before.filter(
        ~np.isin(before["a"], [8, 10])
    )
    tombstones = table.get_fragments()[1].data_files()[0].fields
    assert -2 in tombstones
    table.delete("a = 11")
    assert table.get_fragments()[1].count_rows() == 6


def test_rows_are_found_by_row_id_and_null_is_a_value(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri, max_rows_per_file=8, enable_stable_row_ids=True)
    data = pa.table({"_rowid": pa.array([9], pa.uint64()), "t": pa.nulls(1, pa.string())})
    table = update(table, data)
    assert 9 not in by_key(table, "t")
    versions = table.to_table(["_row_last_updated_at_version"]).column(0).to_pylist()
    assert versions == [2 if n == 9 else 1 for n in range(ROWS)]


@each_case(
    "data",
    [
        pa.table({"a": [1], "nope": [1]}),
        pa.table({"a": [1], "t": [1]}),
        pa.table({"a": [1], "s": [{"x": 1}]}),
        pa.table({"a": [1], "_rowaddr": pa.array([1], pa.uint64())}),
        pa.table({"a": [1]}),
    ],
)
def test_updates_that_do_not_fit_are_refused(tmp_path: Path, data: pa.Table) -> None:
    table = lance.write_dataset(TABLE, str(tmp_path / "t"))
    with pytest.raises(SchemaMismatchError):
        table.get_fragments()[0].update_columns(data, "a")
    assert len(list((tmp_path / "t" / "data").iterdir())) == 1
