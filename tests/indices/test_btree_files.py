"""BTREE files of old releases, of other layouts, and damaged ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_core.datafile.file_output import FileOptions
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, LanceError
from lance_core.index.base import OpenIndex
from lance_core.index.queries import InRange, IsIn, IsNull
from lance_core.schema import Schema, align_batch
from lance_core_indices.btree import BTree
from lance_core_legacy.writer import LegacyFileWriter
from tests.each_case import each_case
from tests.indices.bitmap_folders import Folder, new_folder

VALUES = [None] * 6 + [value // 2 for value in range(30)]
"""Pages of 4 rows: one of nulls, one with nulls, and seven others; a short one at the end."""


def data_table(values: list[Any] = VALUES) -> pa.Table:
    ids = np.random.default_rng(6).permutation(len(values)).astype(np.uint64)
    return pa.table({"values": pa.array(values, pa.int64()), "ids": ids})


def lookup_table(values: list[Any] = VALUES, size: int = 4) -> pa.Table:
    starts = range(0, len(values), size)
    pages = [values[start : start + size] for start in starts]
    return pa.table(
        {
            "min": pa.array([page[0] for page in pages], pa.int64()),
            "max": pa.array([page[-1] for page in pages], pa.int64()),
            "null_count": pa.array([page.count(None) for page in pages], pa.uint32()),
            "page_idx": pa.array(range(len(pages)), pa.uint32()),
        }
    )


def stored(files: dict[str, pa.Table], version: FileVersion = FileVersion.V2_1) -> Folder:
    """A folder with ``files``, which have the metadata of the schemas of their tables."""
    folder = new_folder(version)
    for name, table in files.items():
        with folder.output.create(name, table.schema) as file:
            file.write(table)
    return folder


def both(data: pa.Table, lookup: pa.Table, **metadata: str) -> Folder:
    lookup = lookup.replace_schema_metadata({"batch_size": "4"} | metadata)
    return stored({"page_data.lance": data, "page_lookup.lance": lookup})


def search_all(index: OpenIndex, data: pa.Table) -> None:
    """All searches find what a scan of the rows finds."""
    values, ids = data.column(0).combine_chunks(), np.asarray(data.column(1))

    def rows(mask: pa.Array) -> list[int]:
        chosen: list[int] = np.sort(ids[np.asarray(pc.fill_null(mask, False))]).tolist()
        return chosen

    for value in range(-1, 17):
        scalar = pa.scalar(value)
        equal = index.search(IsIn(pa.array([value])), with_nulls=True)
        assert equal.rows.numbers().tolist() == rows(pc.equal(values, scalar))
        assert equal.nulls is not None
        assert equal.nulls.numbers().tolist() == rows(values.is_null())
        below = index.search(InRange(None, scalar)).rows.numbers().tolist()
        assert below == rows(pc.less_equal(values, scalar))
        inside = index.search(InRange(scalar, pa.scalar(value + 5))).rows.numbers().tolist()
        between = pc.and_(pc.greater_equal(values, scalar), pc.less_equal(values, value + 5))
        assert inside == rows(between)
    many = pa.array([3, 14, 7])
    found = index.search(IsIn(many)).rows.numbers().tolist()
    assert found == rows(pc.is_in(values, many))
    assert index.search(IsNull()).rows.numbers().tolist() == rows(values.is_null())


def test_files_need_no_metadata_but_the_size_of_pages() -> None:
    data = data_table()
    search_all(both(data, lookup_table()).open(BTree(), pa.int64()), data)
    default = stored({"page_data.lance": data, "page_lookup.lance": lookup_table(size=4096)})
    search_all(default.open(BTree(), pa.int64()), data)


def test_columns_are_found_by_their_names() -> None:
    data, lookup = data_table(), lookup_table()
    folder = both(
        data.select(["ids", "values"]), lookup.select(["page_idx", "max", "null_count", "min"])
    )
    search_all(folder.open(BTree(), pa.int64()), data)


def test_files_of_the_first_releases_are_read() -> None:
    values = VALUES[6:]  # these files store no null numbers
    data, folder = data_table(values), new_folder()
    tables = {"page_data.lance": data.rename_columns(["values", "row_ids"])}
    tables["page_lookup.lance"] = lookup_table(values)
    for name, table in tables.items():
        schema = Schema.from_arrow(table.schema.with_metadata({"batch_size": "4"}))
        options = FileOptions(FileVersion.V0_1, max_rows_per_group=4)
        writer = LegacyFileWriter(folder.store.open_writer(f"i/{name}"), schema, options)
        for batch in table.to_batches():
            writer.write_batch(align_batch(batch, schema))
        writer.finish()
    search_all(folder.open(BTree(), pa.int64()), data)


def _partitions(values: list[Any], cut: int) -> tuple[pa.Table, pa.Table, pa.Table, pa.Table]:
    data = data_table(values)
    first, second = lookup_table(values[:cut]), lookup_table(values[cut:])
    number = pa.array(np.arange(first.num_rows, first.num_rows + second.num_rows, dtype=np.uint32))
    second = second.set_column(3, "page_idx", number)
    return data, data.slice(0, cut), data.slice(cut), pa.concat_tables([first, second])


@each_case("cut", [1, 3, 7, 13, 20, 35])
def test_partitions_of_ranges_are_read(cut: int) -> None:
    data, first, second, lookup = _partitions(VALUES, cut)
    pages = [[0, -(-cut // 4)], [5, -(-(36 - cut) // 4)]]
    lookup = lookup.replace_schema_metadata(
        {"batch_size": "4", "range_partitioned": "true", "page_num_per_range_partition": str(pages)}
    )
    names = ("part_0_page_data.lance", "part_5_page_data.lance", "page_lookup.lance")
    folder = stored(dict(zip(names, (first, second, lookup), strict=True)))
    if cut >= 6 or cut in (1, 3):
        try:
            index = folder.open(BTree(), pa.int64())
        except CorruptFileError:
            assert cut < 6  # the nulls are in two partitions, with a short page between
        else:
            search_all(index, data)


def test_a_single_partition_is_an_index() -> None:
    data = data_table()
    lookup = lookup_table().replace_schema_metadata({"batch_size": "4"})
    names = ("part_7_page_data.lance", "part_7_page_lookup.lance")
    folder = stored(dict(zip(names, (data, lookup), strict=True)))
    search_all(folder.open(BTree(), pa.int64()), data)


def _swap(table: pa.Table, *names: str) -> pa.Table:
    """``table`` with two neighbouring rows of some columns exchanged."""
    for name in names:
        column = table.column(name).take(pa.array([0, 1, 2, 4, 3, 5, 6, 7, 8]))
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _cast(table: pa.Table, name: str, kind: pa.DataType) -> pa.Table:
    index = table.column_names.index(name)
    return table.set_column(index, name, table.column(name).cast(kind))


DAMAGES: dict[str, Callable[[pa.Table, pa.Table], tuple[pa.Table, pa.Table]]] = {
    "unsorted lookup": lambda data, lookup: (data, _swap(lookup, "min", "max")),
    "unsorted numbers": lambda data, lookup: (data, _swap(lookup, "page_idx")),
    "unsorted rows": lambda data, lookup: (data, lookup.take([1, 0, *range(2, 9)])),
    "nulls last": lambda data, lookup: (data, lookup.take([*range(1, 9), 0])),
    "minima of other pages": lambda data, lookup: (data, _swap(lookup, "min")),
    "wide page numbers": lambda data, lookup: (data, _cast(lookup, "page_idx", pa.uint64())),
    "wide null counts": lambda data, lookup: (data, _cast(lookup, "null_count", pa.uint64())),
    "no minima": lambda data, lookup: (data, lookup.drop_columns(["min"])),
    "bounds of another type": lambda data, lookup: (data, _cast(lookup, "min", pa.int32())),
    "a page less": lambda data, lookup: (data, lookup.slice(0, 8)),
    "rows are missing": lambda data, lookup: (data.slice(0, 20), lookup),
    "no values": lambda data, lookup: (data.drop_columns(["values"]), lookup),
    "values of another type": lambda data, lookup: (_cast(data, "values", pa.int32()), lookup),
    "signed row numbers": lambda data, lookup: (_cast(data, "ids", pa.int64()), lookup),
    "values of other pages": lambda data, lookup: (
        data.take([*range(8), *range(12, 36), *range(8, 12)]),
        lookup,
    ),
    "values not in order": lambda data, lookup: (
        data.take([*range(9), 9 + 1, 9, *range(11, 36)]),
        lookup.set_column(0, "min", lookup.column("min")),
    ),
}


@each_case("damage", DAMAGES)
def test_damaged_files_are_found_and_give_no_wrong_rows(damage: str) -> None:
    data, lookup = DAMAGES[damage](data_table(), lookup_table())
    with pytest.raises(CorruptFileError):
        search_all(both(data, lookup).open(BTree(), pa.int64()), data_table())


def test_numbers_of_pages_matter_only_for_pages_without_bounds() -> None:
    """Pages whose values are compared with the lookup are found to be those that it means."""
    data, lookup = DAMAGES["unsorted numbers"](data_table(), lookup_table())
    index = both(data, lookup).open(BTree(), pa.int64())
    found = index.search(IsIn(pa.array([7]))).rows.numbers().tolist()
    is_found = np.asarray(pc.fill_null(pc.equal(data.column("values"), 7), False))
    assert found == np.sort(np.asarray(data.column("ids"))[is_found]).tolist()
    with pytest.raises(CorruptFileError, match="not numbered in ascending order"):
        index.search(IsNull())


@each_case("size", ["0", "-4", "four", "", "3", "5", "99999999999999"])
def test_another_size_of_pages_is_found(size: str) -> None:
    with pytest.raises(CorruptFileError):
        search_all(
            both(data_table(), lookup_table(), batch_size=size).open(BTree(), pa.int64()),
            data_table(),
        )


@each_case("pages", ["", "[]", "[[0, 9]", "{}", "[[0]]", "[[0, -9]]", '[["../x", 9]]', "[[0, 8]]"])
def test_damaged_numbers_of_partitions_are_found(pages: str) -> None:
    names = {"range_partitioned": "true", "page_num_per_range_partition": pages}
    with pytest.raises(CorruptFileError):
        both(data_table(), lookup_table(), **names).open(BTree(), pa.int64())


def test_rows_that_are_missing_give_right_rows_or_an_error() -> None:
    """The bounds themselves have no checksum, so these tests only change which rows there are."""
    random, data, lookup = np.random.default_rng(8), data_table(), lookup_table()
    for number in range(24):
        changed, kept = lookup, np.arange(36)
        if number % 2:
            rows = random.permutation(9)[: random.integers(1, 10)]
            changed = lookup.take(pa.array(rows if number % 3 else np.sort(rows)))
            numbers = pa.array(np.arange(len(rows), dtype=np.uint32))
            changed = changed.set_column(3, "page_idx", numbers)
        else:
            kept = np.sort(random.permutation(36)[: random.integers(30, 37)])
        try:
            search_all(both(data.take(pa.array(kept)), changed).open(BTree(), pa.int64()), data)
        except LanceError as error:
            assert isinstance(error, CorruptFileError)  # noqa: PT017 (either outcome is right)
