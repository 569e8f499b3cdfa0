"""A name in backticks is the same name in every argument of every verb."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core import blob_array, blob_field
from lance_core.errors import InvalidInputError
from tests.each_case import each_case

NAMES = ("a b", "select", "a`b", 'q"t', "Änd", "1-a")
MEMBERS = ("x y", "x.y", "x`y", "z")


def quoted(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def table() -> pa.Table:
    """The numbers 1 to 3 in the column ``id``, in all `NAMES`, and in `MEMBERS` of a struct."""
    numbers = pa.array([1, 2, 3])
    columns = {"id": numbers, **dict.fromkeys(NAMES, numbers)}
    members = pa.StructArray.from_arrays([numbers] * len(MEMBERS), names=list(MEMBERS))
    return pa.table({**columns, "s t": members})


@pytest.fixture
def dataset(tmp_path: Path) -> lance.LanceDataset:
    return lance.write_dataset(table(), tmp_path / "t")


PATHS = [(name,) for name in NAMES] + [("s t", name) for name in MEMBERS]


@each_case("path", PATHS)
def test_reads_take_a_quoted_name(path: tuple[str, ...], dataset: lance.LanceDataset) -> None:
    text = quoted(*path)
    assert dataset.to_table(columns=[text]).to_pydict() == {text: [1, 2, 3]}
    assert dataset.to_table(columns={"v": text})["v"].to_pylist() == [1, 2, 3]
    assert next(dataset.to_batches(columns=[text])).num_columns == 1
    assert dataset.get_fragments()[0].to_table(columns=[text]).num_rows == 3
    assert dataset.to_table(order_by=[text], columns=["id"])["id"].to_pylist() == [1, 2, 3]
    assert dataset.count_rows(f"{text} > 1") == 2
    assert dataset.take([1], columns={"v": text}).to_pydict() == {"v": [2]}
    assert dataset.take([1], columns=[text]).column_names == [path[0]]
    assert dataset.sample(2, columns=[text]).column_names == [path[0]]
    assert dataset.lance_schema.field(text).name() == path[-1]


Change = Callable[[lance.LanceDataset, str], Any]


def merged(dataset: lance.LanceDataset, on: Any) -> Any:
    merge = dataset.merge_insert(on).when_matched_update_all().when_not_matched_insert_all()
    return merge.execute(table())


CHANGES: dict[str, tuple[Change, Callable[[lance.LanceDataset, str], object], object]] = {
    "update": (
        lambda dataset, text: dataset.update({text: "7"}),
        lambda dataset, name: dataset.to_table([quoted(name)])[0].to_pylist(),
        [7, 7, 7],
    ),
    "update from": (
        lambda dataset, text: dataset.update({"id": f"{text} + 1"}),
        lambda dataset, _: dataset.to_table(["id"])["id"].to_pylist(),
        [2, 3, 4],
    ),
    "merge_insert": (merged, lambda dataset, _: dataset.count_rows(), 3),
    "merge_insert on two": (
        lambda dataset, text: merged(dataset, ["id", text]),
        lambda dataset, _: dataset.count_rows(),
        3,
    ),
    "merge condition": (
        lambda dataset, text: (
            dataset.merge_insert("id")
            .when_matched_update_all(f"source.{text} > 1 AND target.{text} > 2")
            .execute(table().set_column(0, "id", pa.array([1, 2, 3])))
        ),
        lambda dataset, _: dataset.count_rows(),
        3,
    ),
    "drop_columns": (
        lambda dataset, text: dataset.drop_columns([text]),
        lambda dataset, name: name in dataset.schema.names,
        False,
    ),
    "rename": (
        lambda dataset, text: dataset.alter_columns({"path": text, "name": "`n u`"}),
        lambda dataset, name: (name in dataset.schema.names, "n u" in dataset.schema.names),
        (False, True),
    ),
    "cast": (
        lambda dataset, text: dataset.alter_columns({"path": text, "data_type": pa.int32()}),
        lambda dataset, name: dataset.schema.field(name).type,
        pa.int32(),
    ),
    "add_columns": (
        lambda dataset, text: dataset.add_columns({"`n u`": f"{text} * 2"}),
        lambda dataset, _: dataset.to_table(["n u"])["n u"].to_pylist(),
        [2, 4, 6],
    ),
    "add_columns by a function": (
        lambda dataset, text: dataset.add_columns(
            lambda batch: pa.record_batch({"n": batch.column(0)}), read_columns=[text]
        ),
        lambda dataset, _: dataset.to_table(["n"])["n"].to_pylist(),
        [1, 2, 3],
    ),
    "merge": (
        lambda dataset, text: dataset.merge(
            table().select([NAMES.index(unquoted(text)) + 1]).append_column("n", [[4, 5, 6]]), text
        ),
        lambda dataset, _: dataset.to_table(["n"])["n"].to_pylist(),
        [4, 5, 6],
    ),
    "delete": (
        lambda dataset, text: dataset.delete(f"{text} = 1"),
        lambda dataset, _: dataset.count_rows(),
        2,
    ),
}


def unquoted(text: str) -> str:
    return text.strip("`").replace("``", "`")


@each_case("change", CHANGES.values())
@each_case("name", NAMES)
def test_changes_take_a_quoted_name(change: Any, name: str, tmp_path: Path) -> None:
    run, result, expected = change
    dataset = lance.write_dataset(table(), tmp_path / "t")
    run(dataset, quoted(name))
    assert result(lance.dataset(tmp_path / "t"), name) == expected


@each_case(
    ("path", "index", "field"),
    [
        (("a b",), "a b_idx", "a b"),
        (("select",), "select_idx", "select"),
        (("a`b",), "a`b_idx", "`a``b`"),
        (("s t", "x y"), "s t.x y_idx", "s t.x y"),
        (("s t", "x.y"), "`s t`.`x.y`_idx", "s t.`x.y`"),
    ],
)
def test_an_index_of_a_quoted_column_has_the_plain_name(
    path: tuple[str, ...], index: str, field: str, tmp_path: Path
) -> None:
    dataset = lance.write_dataset(table(), tmp_path / "t")
    dataset.create_scalar_index(quoted(*path), "BTREE")
    assert [one["name"] for one in dataset.list_indices()] == [index]
    assert [one["fields"] for one in dataset.list_indices()] == [[field]]
    assert dataset.describe_indices()[0].field_names == [field]
    plan = dataset.scanner(filter=f"{quoted(*path)} = 2").explain_plan()
    assert "ScalarIndexQuery" in plan
    dataset.prewarm_index(index)
    assert dataset.stats.index_stats(index)["num_indexed_rows"] == 3
    dataset.create_scalar_index(quoted(*path), "BTREE")
    dataset.drop_index(index)
    assert not dataset.list_indices()


def test_a_name_that_is_given_twice_is_refused(dataset: lance.LanceDataset) -> None:
    with pytest.raises(InvalidInputError, match="updated twice"):
        dataset.update({"a b": "1", "`a b`": "2"})
    with pytest.raises(InvalidInputError, match="named twice"):
        dataset.add_columns({"n": "1", "`n`": "2"})


def test_columns_of_merge_conditions_may_differ_in_case(dataset: lance.LanceDataset) -> None:
    merge = dataset.merge_insert("id").when_matched_update_all("target.`A B` > 1 OR source.ID > 2")
    assert merge.execute(table())["num_updated_rows"] == 2


def test_blobs_are_found_by_a_quoted_name(tmp_path: Path) -> None:
    data = pa.table([blob_array([b"x", b"yz"])], pa.schema([blob_field("b c")]))
    dataset = lance.write_dataset(data, tmp_path / "t", data_storage_version="2.2")
    for name in ("b c", "`b c`"):
        assert [blob.read() for blob in dataset.take_blobs(name, indices=[1, 0])] == [b"yz", b"x"]


def test_text_that_is_no_path_is_no_field(dataset: lance.LanceDataset) -> None:
    assert [dataset.lance_schema.field(text) for text in ("`a b", "", "a.")] == [None] * 3
