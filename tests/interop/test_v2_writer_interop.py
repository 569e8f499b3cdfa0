"""The structure of the 2.1 and 2.2 files that are written here: pylance reads what is in them."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from tests.interop.columns import VALUES, items, same
from tests.interop.nested_columns import table, vectors_of_structs

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

VERSIONS = ("2.1", "2.2")
FEW = frozenset(
    {"bool", "int32", "binary of 16", "string", "large_binary", "dictionary int8", "null"}
)


def check(data: pa.Table, path: Path, version: str, **options: int) -> lance.LanceDataset:
    """Whole, a range and single rows, by both libraries."""
    lance_core.write_dataset(data, str(path), data_storage_version=version, **options)
    theirs, ours = lance.dataset(str(path)), lance_core.dataset(str(path))
    rows = data.num_rows
    start, count = rows // 3, max(1, rows // 4)
    some = np.unique(np.random.default_rng(rows).integers(0, max(1, rows), 40)).tolist()
    for found in (theirs, ours):
        same(found.to_table(), data)
        if rows:
            same(found.to_table(offset=start, limit=count), data.slice(start, count))
            same(found.take(some), data.take(some))
    assert theirs.data_storage_version == version
    theirs.validate()
    return theirs


@pytest.mark.parametrize(
    ("rows", "which"),
    [(0, "no nulls"), *((n, w) for n in (2, 30) for w in ("no nulls", "some nulls", "all null"))],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_nesting_is_read_by_pylance(
    version: str, rows: int, which: str, tmp_path: Path
) -> None:
    check(table(version, which, rows, {}, FEW), tmp_path / "t", version)


@pytest.mark.parametrize("limits", [{}, {"data_cache_bytes": 30_000}, {"max_rows_per_file": 333}])
@pytest.mark.parametrize("version", VERSIONS)
def test_several_pages_and_files_are_read_by_pylance(
    version: str, limits: dict[str, int], tmp_path: Path
) -> None:
    few = frozenset({"bool", "int32", "string", "long strings", "dictionary int8"})
    check(table(version, "some nulls", 1000, {}, few), tmp_path / "t", version, **limits)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_fields_have_columns(version: str, tmp_path: Path) -> None:
    few = frozenset({"int32", "binary of 16"})
    data = table(version, "some nulls", 20, {}, few)
    packed = pa.array([{"a": i, "b": i / 2} for i in range(20)])
    field = pa.field("packed", packed.type, metadata={"lance-encoding:packed": "true"})
    data = data.append_column(field, packed)
    theirs = lance.write_dataset(data, str(tmp_path / "theirs"), data_storage_version=version)
    ours = check(data, tmp_path / "ours", version)
    (one,), (other,) = (
        next(iter(dataset.get_fragments())).data_files() for dataset in (theirs, ours)
    )
    assert one.fields == other.fields
    assert one.column_indices == other.column_indices
    assert one.file_minor_version == other.file_minor_version == int(version[-1])


@pytest.mark.parametrize("hidden", [[7, 8], [], None])
@pytest.mark.parametrize("version", VERSIONS)
def test_lists_that_null_structs_hide_are_read_by_pylance(
    version: str, hidden: list[int] | None, tmp_path: Path
) -> None:
    lists = pa.array([[1, 2], hidden, [3, 4, None], [5]], pa.list_(pa.int32()))
    mask = pa.array([False, True, False, False])
    struct = pa.StructArray.from_arrays([lists], ["l"], mask=mask)
    outer = pa.StructArray.from_arrays([struct], ["s"], mask=pa.array([False, False, False, True]))
    nested = pa.ListArray.from_arrays(pa.array([0, 2, 2, 4, 4], pa.int32()), outer)
    data = pa.table({"struct": struct, "outer": outer, "nested": nested})
    check(data, tmp_path / "t", version)


@pytest.mark.parametrize("share", [0.5, 0.01, 0.0001])
@pytest.mark.parametrize("version", VERSIONS)
def test_lists_of_which_few_have_items_are_read_by_pylance(
    version: str, share: float, tmp_path: Path
) -> None:
    rows, random = 60_000, np.random.default_rng(3)
    lengths = (random.random(rows) < share) * random.integers(1, 4, rows)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    numbers = pa.array(random.integers(0, 1 << 60, int(lengths.sum())))
    lists = pa.ListArray.from_arrays(offsets, numbers, mask=pa.array(random.random(rows) < 0.1))
    edges = np.sort(random.integers(0, rows, rows))
    long = pa.array([0, 5, rows - 7, rows, *[rows] * (rows - 3)], pa.int32())
    columns = {
        "lists": lists,
        "short": pa.ListArray.from_arrays(pa.array([0, *edges.tolist()], pa.int32()), lists),
        "long": pa.ListArray.from_arrays(long, lists),
    }
    check(pa.table(columns), tmp_path / "t", version)


@pytest.mark.parametrize("version", VERSIONS)
def test_zipped_values_are_read_by_pylance(version: str, tmp_path: Path) -> None:
    rows, random = 600, np.random.default_rng(4)
    vectors = pa.array(random.normal(size=rows * 96).astype(np.float32))
    nulls = pa.array(np.arange(rows) % 9 == 1)
    embeddings = pa.FixedSizeListArray.from_arrays(vectors, 96, mask=nulls)
    holes = pa.FixedSizeListArray.from_arrays(
        pa.array(np.arange(rows * 96), mask=np.arange(rows * 96) % 7 == 2), 96
    )
    large = pa.array([None if i % 10 == 3 else random.bytes(i * 5) for i in range(rows)])
    texts = pa.array([None if i % 13 == 4 else "word ä " * (i % 200) for i in range(rows)])
    offsets = pa.array([0, *(2 * (i // 2) for i in range(1, rows))], pa.int32())
    values = {
        "embeddings": embeddings,
        "plain": embeddings.fill_null([0.5] * 96),
        "holes": holes,
        "large": large.cast(pa.large_binary()),
        "texts": texts,
        "nothing": pa.array([[None, None]] * rows, pa.list_(pa.float32(), 2)),
    }
    lists = {
        f"lists of {name}": pa.ListArray.from_arrays(offsets, array).slice(0, rows - 1)
        for name, array in values.items()
    }
    check(pa.table(values), tmp_path / "values", version)
    check(pa.table(lists), tmp_path / "lists", version)


@pytest.mark.parametrize("version", VERSIONS)
def test_packed_structs_are_read_by_pylance(version: str, tmp_path: Path) -> None:
    kinds = {"fixed": pa.struct({"a": pa.int32(), "b": pa.float64(), "c": pa.int8()})}
    if version == "2.2":
        kinds["texts"] = pa.struct({"a": pa.int16(), "b": pa.string(), "c": pa.large_binary()})
        kinds["vectors"] = pa.struct({"a": pa.int16(), "b": pa.list_(pa.float32(), 3)})
    made = {
        pa.int32(): lambda i: i,
        pa.int16(): lambda i: i,
        pa.int8(): lambda i: i % 100,
        pa.float64(): lambda i: i / 2,
        pa.string(): lambda i: "x" * (i % 40),
        pa.large_binary(): lambda i: b"y" * (i % 3),
        pa.list_(pa.float32(), 3): lambda i: [i, i + 1, i + 2],
    }
    arrays, fields = [], []
    for name, kind in kinds.items():
        for nulls in (False, True):
            rows = [
                None if nulls and i % 5 == 2 else {m.name: made[m.type](i) for m in kind}
                for i in range(2000)
            ]
            arrays.append(pa.array(rows, kind))
            marked = {"lance-encoding:packed": "true"}
            fields.append(pa.field(f"{name} {nulls}", kind, metadata=marked))
    check(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), tmp_path / "t", version)


@pytest.mark.parametrize("which", ["no nulls", "some nulls"])
@pytest.mark.parametrize("name", ["bool", "int32", "string"])
def test_lists_of_fixed_size_of_structs_are_read_by_pylance(
    name: str, which: str, tmp_path: Path
) -> None:
    array = vectors_of_structs(items(VALUES[name], which), 3000, which)
    check(pa.table({"vectors": array}), tmp_path / "t", "2.2")


@pytest.mark.parametrize("version", VERSIONS)
def test_dictionaries_of_any_values_are_read_by_pylance(version: str, tmp_path: Path) -> None:
    keys = pa.array([0, 1, None, 1, 2] * 300, pa.int16())
    dictionaries = {
        "numbers": pa.array([1 << 40, 5, 6]),
        "flags": pa.array([True, False, True]),
        "halves": pa.array([0.5, 1.5, 2.5], pa.float16()),
        "holes": pa.array(["a", None, "c"]),
        "large": pa.array([b"a" * 300, b"", b"c"], pa.large_binary()),
    }
    columns = {
        name: pa.DictionaryArray.from_arrays(keys, values) for name, values in dictionaries.items()
    }
    data = pa.table(columns)
    lance_core.write_dataset(data, str(tmp_path / "t"), data_storage_version=version)
    for found in (lance.dataset(str(tmp_path / "t")), lance_core.dataset(str(tmp_path / "t"))):
        assert found.to_table().to_pydict() == data.to_pydict()


def test_structs_without_members_are_as_those_of_pylance(tmp_path: Path) -> None:
    # What else is in such a table pylance cannot read, even if it wrote it.
    for name, kind in {"e": pa.struct([]), "s": pa.struct({"e": pa.struct([])})}.items():
        rows = [{}] * 9 if name == "e" else [{"e": {}}] * 9
        check(pa.table({name: pa.array(rows, kind)}), tmp_path / name, "2.2")
    beside = pa.table({"e": pa.array([{}] * 9, pa.struct([])), "n": range(9)})
    theirs = lance.write_dataset(beside, str(tmp_path / "beside"))
    assert theirs.to_table()["n"].null_count == 9
    same(lance_core.dataset(theirs.uri).to_table(), beside)


@pytest.mark.parametrize("base", ["2.0", *VERSIONS])
def test_both_libraries_append_what_the_table_is_made_of(base: str, tmp_path: Path) -> None:
    data = table("2.1", "no nulls", 50, {}, frozenset({"int32"})).select(["key", "flat, int32"])
    uri = str(tmp_path / "t")
    for number, library in enumerate((lance, lance_core, lance, lance_core)):
        mode, version = ("create", base) if number == 0 else ("append", None)
        library.write_dataset(data, uri, mode=mode, data_storage_version=version)
    for library in (lance, lance_core):
        dataset = library.dataset(uri)
        assert dataset.data_storage_version == base
        minors = {f.data_files()[0].file_minor_version for f in dataset.get_fragments()}
        assert minors == {int(base[-1])}
        same(dataset.to_table(), pa.concat_tables([data] * 4))
    lance_core.dataset(uri).delete("key = 7")
    assert lance.dataset(uri).count_rows() == 196


@pytest.mark.parametrize("rows", [1, 30])
@pytest.mark.parametrize("version", VERSIONS)
def test_null_structs_may_hide_structs_whose_members_are_never_null(
    version: str, rows: int, tmp_path: Path
) -> None:
    member = pa.field("z", pa.int32(), False)
    inner = pa.StructArray.from_arrays([pa.array(range(rows), pa.int32())], fields=[member])
    outer = pa.StructArray.from_arrays([inner], ["y"], mask=pa.array(np.arange(rows) % 3 == 0))
    check(pa.table({"x": outer}), tmp_path / "t", version)
