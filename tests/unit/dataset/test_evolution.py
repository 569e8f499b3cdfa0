"""Tables whose columns came, went and moved: in several files of a fragment, or in none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.fragment import DataFile, write_fragments
from tests.table_surgery import delete_rows, edit_manifest

ROWS = 20
BASE = pa.table(
    {
        "a": pa.array(range(ROWS), pa.int64()),
        "b": [f"b{n}" for n in range(ROWS)],
        "p": pa.array([{"x": n, "y": f"y{n}"} for n in range(ROWS)]),
    }
)
"""Field ids: a 0, b 1, p 2, p.x 3, p.y 4."""


def extra_files(uri: str, table: pa.Table, rows_per_file: int) -> list[DataFile]:
    """Files with other columns for the fragments of a table."""
    made = write_fragments(table, uri, mode="overwrite", max_rows_per_file=rows_per_file)
    assert isinstance(made, list)
    return [fragment.files[0] for fragment in made]


def add_file(fragment: Any, file: DataFile, fields: list[int]) -> None:
    fragment.files.add(
        path=file.path,
        fields=fields,
        column_indices=list(range(len(fields))),
        file_major_version=2,
        file_minor_version=file.file_minor_version,
        file_size_bytes=file.file_size_bytes,
    )


@pytest.fixture(params=["2.0", "2.2"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def base(uri: str, version: str) -> lance.LanceDataset:
    return lance.write_dataset(BASE, uri, max_rows_per_file=8, data_storage_version=version)


@pytest.fixture
def widened(base: lance.LanceDataset, version: str) -> lance.LanceDataset:
    """With ``c`` and ``p.z`` in second files, but not in the last fragment; with deleted rows."""
    texts = pa.array([f"z{n}" for n in range(ROWS)])
    # From 2.1 on a column holds what is around its values, too.
    last = texts if version == "2.0" else pa.StructArray.from_arrays([texts], ["z"])
    more = pa.table({"c": [n * 0.5 for n in range(ROWS)], "z": last})
    files = extra_files(base.uri, more, 8)

    def change(manifest: Any) -> None:
        manifest.fields.add(
            name="c", id=5, parent_id=-1, logical_type="double", nullable=True, encoding=1
        )
        place = next(n for n, field in enumerate(manifest.fields) if field.id == 4)
        child = type(manifest.fields[0])(
            name="z", id=6, parent_id=2, logical_type="string", nullable=True, encoding=2
        )
        fields = list(manifest.fields)
        fields.insert(place + 1, child)
        del manifest.fields[:]
        manifest.fields.extend(fields)
        for fragment, file in zip(list(manifest.fragments)[:2], files, strict=False):
            add_file(fragment, file, [5, 6])

    return delete_rows(edit_manifest(base, change), {0: [1, 7], 1: range(4)})


def expected(table: pa.Table) -> pa.Table:
    """What `widened` has, from the rows of `BASE`."""
    numbers = table["a"].to_pylist()
    c = pa.array([n * 0.5 if n < 16 else None for n in numbers], pa.float64())
    struct = table["p"].combine_chunks()
    z = pa.array([f"z{n}" if n < 16 else None for n in numbers], pa.string())
    p = pa.StructArray.from_arrays([*struct.flatten(), z], ["x", "y", "z"])
    return table.set_column(2, "p", p).append_column("c", c)


LIVE = [n for n in range(ROWS) if n not in (1, 7, 8, 9, 10, 11)]


def test_columns_in_several_files_are_put_together(widened: lance.LanceDataset) -> None:
    full = expected(BASE.take(LIVE))
    found = widened.to_table()
    found.validate(full=True)
    assert found.equals(full)
    for columns in (["c"], ["c", "a"], ["p"], ["b", "p", "c"]):
        assert widened.to_table(columns).equals(full.select(columns))
    struct = full["p"]
    assert widened.to_table(["p.z", "p.x"]).equals(
        pa.table({"p.z": pc.struct_field(struct, "z"), "p.x": pc.struct_field(struct, "x")})
    )
    assert widened.take([13, 0, 5]).equals(full.take([13, 0, 5]))
    assert widened.take([8, 2], ["p.z"])["p"].to_pylist() == [{"z": "z14"}, {"z": "z3"}]
    assert widened.to_table(["a"], filter="c > 6 OR p.z = 'z0'")["a"].to_pylist() == [0, 13, 14, 15]
    assert widened.to_table(["a"], filter="p.z IS NULL")["a"].to_pylist() == [16, 17, 18, 19]
    assert widened.count_rows("c IS NULL") == 4
    assert widened.slice(3, 9).equals(full.slice(3, 6))
    widened.validate()


def test_fragments_tell_which_columns_they_have(widened: lance.LanceDataset, version: str) -> None:
    first, _, last = widened.get_fragments()
    assert [len(fragment.data_files()) for fragment in (first, last)] == [2, 1]
    assert first.physical_schema == widened.schema
    assert last.physical_schema.names == ["a", "b", "p"]
    assert last.physical_schema.field("p").type.num_fields == 2
    sizes = {field.id: field.bytes_on_disk for field in widened.stats.data_stats().fields}
    around = {"2.0": 0, "2.2": 12}[version]  # of each page: a chunk's word and its header
    assert sizes[5] == 2 * (8 * 8 + around)


def test_rows_appended_to_a_widened_table_have_all_columns(widened: lance.LanceDataset) -> None:
    more = expected(BASE.slice(0, 2))
    widened.insert(more)
    assert widened.to_table().slice(len(LIVE)).equals(more)
    widened.insert(BASE.select(["b", "a"]).slice(0, 1))
    assert widened.to_table()["c"].to_pylist()[-1] is None


def test_a_dropped_column_is_gone_and_its_file_stays(base: lance.LanceDataset) -> None:
    def drop(manifest: Any) -> None:
        keep = [field for field in manifest.fields if field.name not in ("b", "x")]
        del manifest.fields[:]
        manifest.fields.extend(keep)

    dropped = edit_manifest(base, drop)
    assert dropped.schema.names == ["a", "p"]
    assert dropped.to_table()["p"].to_pylist()[3] == {"y": "y3"}
    assert dropped.to_table(filter="p.y = 'y5'")["a"].to_pylist() == [5]
    with pytest.raises(ValueError, match="b"):
        dropped.to_table(["b"])
    dropped.insert(pa.table({"a": [99], "p": pa.array([{"y": "new"}])}))
    assert dropped.take([ROWS])["p"].to_pylist() == [{"y": "new"}]
    dropped.validate()


def test_a_tombstone_hides_the_column_of_an_older_file(base: lance.LanceDataset) -> None:
    newer = pa.table({"b": [f"new{n}" for n in range(ROWS)]})
    files = extra_files(base.uri, newer, 8)

    def replace_column(manifest: Any) -> None:
        for fragment, file in zip(manifest.fragments, files, strict=True):
            fragment.files[0].fields[1] = -2
            add_file(fragment, file, [1])

    replaced = edit_manifest(base, replace_column)
    assert replaced.to_table(["b"]).equals(newer)
    assert replaced.to_table(["a", "b"], filter="b = 'new9'")["a"].to_pylist() == [9]
    replaced.validate()


def test_of_two_files_with_a_column_the_later_one_counts(base: lance.LanceDataset) -> None:
    newer = pa.table({"b": [f"new{n}" for n in range(ROWS)]})
    files = extra_files(base.uri, newer, 8)

    def add_column(manifest: Any) -> None:
        for fragment, file in zip(manifest.fragments, files, strict=True):
            add_file(fragment, file, [1])

    assert edit_manifest(base, add_column).to_table(["b"]).equals(newer)


def test_a_renamed_column_has_the_same_values(base: lance.LanceDataset) -> None:
    def rename(manifest: Any) -> None:
        for field in manifest.fields:
            field.name = {"a": "key", "y": "why"}.get(field.name, field.name)

    renamed = edit_manifest(base, rename)
    assert renamed.to_table(["key"])["key"].equals(BASE["a"])
    assert renamed.to_table(["p.why"], filter="key = 3").to_pydict() == {"p.why": ["y3"]}
    renamed.insert(renamed.to_table())
    assert renamed.count_rows("p.why = 'y3'") == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda kind, number: kind(name="n", id=number, parent_id=-1, logical_type="null"),
        lambda kind, number: kind(name="n", id=number, parent_id=-1, logical_type="bool"),
        lambda kind, number: kind(name="n", id=number, parent_id=-1, logical_type="string"),
        lambda kind, number: kind(
            name="n", id=number, parent_id=-1, logical_type="fixed_size_list:float:3"
        ),
        lambda kind, number: kind(
            name="n", id=number, parent_id=-1, logical_type="dict:string:int32:false"
        ),
    ],
)
def test_a_column_that_no_file_has_is_null(
    base: lance.LanceDataset, make: Callable[..., Any]
) -> None:
    def add(manifest: Any) -> None:
        field = make(type(manifest.fields[0]), 9)
        field.nullable = True
        manifest.fields.append(field)

    dataset = edit_manifest(base, add)
    found = dataset.to_table()
    found.validate(full=True)
    assert found["n"].null_count == ROWS
    assert dataset.to_table(["n"]).num_rows == ROWS
    assert dataset.take([3, 3, 1], ["n"])["n"].to_pylist() == [None] * 3
    assert dataset.count_rows("n IS NULL AND a < 5") == 5
    assert [batch.num_rows for batch in dataset.to_batches(["n"], batch_size=6)][:2] == [6, 2]


def with_items_in_two_files(uri: str, version: str, other: Any) -> lance.LanceDataset:
    """A list of structs, whose member ``y`` is in another file with the lists ``other``."""
    table = pa.table({"l": [[{"x": 1, "y": 2}]]})
    dataset = lance.write_dataset(table, uri, data_storage_version=version)
    (file,) = extra_files(uri, pa.table({"y": [other]}), 8)
    moved, fields = (3, [-2, -2, 3]) if version == "2.0" else (1, [3])

    def move(manifest: Any) -> None:
        manifest.fragments[0].files[0].fields[moved] = -2
        add_file(manifest.fragments[0], file, fields)

    return edit_manifest(dataset, move)


def test_items_of_lists_in_other_files_are_not_supported_in_version_2_0(uri: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="several data files"):
        with_items_in_two_files(uri, "2.0", [{"y": 3}]).to_table()


def test_structs_in_lists_may_be_in_several_files_with_lists_of_the_same_lengths(uri: str) -> None:
    found = with_items_in_two_files(uri, "2.2", [{"y": 3}]).to_table()
    assert found["l"].to_pylist() == [[{"x": 1, "y": 3}]]


def test_lists_of_different_lengths_in_several_files_are_an_error(uri: str) -> None:
    dataset = with_items_in_two_files(uri, "2.2", [{"y": 3}, {"y": 4}])
    with pytest.raises(CorruptFileError, match="lists of different lengths"):
        dataset.to_table()


def test_structs_within_structs_may_be_in_several_files(uri: str) -> None:
    rows = [{"q": {"x": 1, "y": "a"}, "r": 7}, None, {"q": None, "r": 8}]
    dataset = lance.write_dataset(pa.table({"p": rows}), uri)
    moved = [{"q": {"y": "b"}}, None, {"q": None}]
    (file,) = extra_files(uri, pa.table({"p": moved}), 8)

    def move(manifest: Any) -> None:
        assert manifest.fragments[0].files[0].fields == [2, 3, 4]
        manifest.fragments[0].files[0].fields[1] = -2
        add_file(manifest.fragments[0], file, [3])

    found = edit_manifest(dataset, move)
    assert found.to_table()["p"].to_pylist() == [{"q": {"x": 1, "y": "b"}, "r": 7}, *rows[1:]]
    assert found.to_table(["p.q.y"])["p.q.y"].to_pylist() == ["b", None, None]
    assert found.take([2, 0], ["p.q"])["p"].to_pylist() == [{"q": None}, {"q": {"x": 1, "y": "b"}}]
