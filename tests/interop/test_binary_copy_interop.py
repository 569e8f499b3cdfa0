"""Fragments compacted by copying pages: pylance reads, takes, filters and updates the result."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core_compaction.copied_fragments import (
    CopyOptions,
    RewrittenFragments,
    copy_fragments,
)
from lance_core_compaction.page_copy import merge_groups, pieces
from lance_core_compaction.page_copy.binary_copy import (
    why_not,
)
from tests.each_case import each_case
from tests.examples import IS_FULL_RUN

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

VERSIONS = ("2.0", "2.1", "2.2")
WRITTEN = [
    (version, by)
    for version, by in itertools.product(VERSIONS, (lance, lance_core))
    if IS_FULL_RUN or (version, by) not in (("2.1", lance_core), ("2.2", lance))
]
"""Versions of files, and who writes them. Pages of 2.1 and 2.2 are copied by the same code."""
ROWS = 400
PAGE_BYTES = 1 << 11
"""Small pages, so that most columns have several in each file."""

POINT = pa.struct([("x", pa.int32()), ("y", pa.string())])
PACKED = pa.field(
    "packed",
    pa.struct([("u", pa.int32()), ("v", pa.float32())]),
    metadata={"packed": "true", "lance-encoding:packed": "true"},
)


def table_of(version: str, start: int, rows: int = ROWS) -> pa.Table:
    """Rows of all kinds of columns, different for each ``start``."""
    numbers = list(range(start, start + rows))
    rng = np.random.default_rng(start)
    words = [f"word{n % 300}" for n in numbers]
    has_nulls = start % 2 == 0
    columns: dict[str, Any] = {
        "id": pa.array(numbers, pa.int64()),
        "i32": pa.array([None if n % 4 == 0 and has_nulls else n for n in numbers], pa.int32()),
        "u8": pa.array([n % 256 for n in numbers], pa.uint8()),
        "f": pa.array(rng.random(rows)),
        "half": pa.array(rng.random(rows).astype(np.float16)),
        "b": pa.array([(True, False, None)[n % 3] for n in numbers]),
        "nulls": pa.nulls(rows, pa.int32()),
        "same": pa.array([7] * rows, pa.int16()),
        "s": pa.array([None if n % 7 == 0 else f"{n}:{'x' * (n % 11)}" for n in numbers]),
        "text": pa.array([" ".join(words[n - start - 9 : n - start]) for n in numbers]),
        "few": pa.array([("red", "green", "blue")[n % 3] for n in numbers]),
        "large": pa.array([f"large {n}" for n in numbers], pa.large_string()),
        "bin": pa.array([bytes([n % 256]) * (n % 5) for n in numbers], pa.binary()),
        "dict": pa.array([f"item {n % 5}" for n in numbers]).dictionary_encode(),
        "day": pa.array([date(2000, 1, 1) + timedelta(n) for n in numbers]),
        "at": pa.array([datetime(2001, 1, 1) + timedelta(seconds=n) for n in numbers]),
        "money": pa.array([Decimal(n) / 100 for n in numbers], pa.decimal128(12, 2)),
        "fixed": pa.array([f"{n:08}".encode() for n in numbers], pa.binary(8)),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * 8)), 8),
        "p": pa.array([{"x": n, "y": f"y{n}"} for n in numbers], POINT),
        "l": pa.array([[] if n % 8 == 0 else list(range(n % 4)) for n in numbers]),
        "ls": pa.array([[f"{n}-{k}" for k in range(n % 3)] for n in numbers]),
        "lp": pa.array(
            [[{"x": k, "y": str(n)}] * (n % 3) for k, n in enumerate(numbers)], pa.list_(POINT)
        ),
        "deep": pa.array([{"a": {"b": [n]}, "c": n} for n in numbers]),
        "uuid": pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([bytes([n % 256]) * 16 for n in numbers], pa.binary(16))
        ),
    }
    if version != "2.0":
        columns["np"] = pa.array(
            [None if n % 5 == 0 else {"x": n, "y": None} for n in numbers], POINT
        )
        columns["nl"] = pa.array([None if n % 6 == 0 else [n, None] for n in numbers])
    if version == "2.2":
        columns["map"] = pa.array(
            [[(f"k{n}", n)] * (n % 3) for n in numbers], pa.map_(pa.string(), pa.int32())
        )
    found = pa.table(columns)
    packed = pa.array([{"u": n, "v": n / 2} for n in numbers], PACKED.type)
    return found.append_column(PACKED, packed)


def write(
    uri: str, by: ModuleType, version: str, starts: Sequence[int] = (0, 1000, 2001), **options: Any
) -> None:
    for start in starts:
        table = table_of(version, start)
        by.write_dataset(table, uri, mode="append", data_storage_version=version, **options)


def compact(uri: str, *, target: int = 1 << 40, **options: Any) -> RewrittenFragments:
    """Copy all fragments, and commit the result in place of them."""
    ds = lance_core.dataset(uri)
    snapshot = ds.snapshot
    old = list(snapshot.manifest.fragments)
    writing = CopyOptions(target, 1 << 40, snapshot.storage_version, **options)
    copied = copy_fragments(snapshot, old, writing)
    operation = lance_core.LanceOperation
    group = operation.RewriteGroup(
        [FragmentMetadata.of(one, snapshot.live_rows(one)) for one in old],
        [FragmentMetadata.of(one, one.physical_rows or 0) for one in copied.fragments],
    )
    lance_core.LanceDataset.commit(uri, operation.Rewrite([group], []), read_version=ds.version)
    return copied


def plain(table: pa.Table) -> pa.Table:
    """The table with the values of its dictionaries, which may have another order."""
    if "dict" not in table.column_names:
        return table
    number = table.column_names.index("dict")
    return table.set_column(number, "dict", table["dict"].cast(pa.string()))


def check_rows(uri: str, expected: pa.Table) -> None:
    """Both libraries read ``expected``, whole and by row."""
    for library in (lance, lance_core):
        ds = library.dataset(uri)
        ds.validate()
        assert plain(ds.to_table()).equals(expected), library
        rows = np.random.default_rng(1).integers(0, len(expected), 40)
        assert plain(ds.take(rows.tolist())).equals(expected.take(rows)), library


def check(uri: str, expected: pa.Table) -> None:
    """Both libraries read ``expected``, whole, by row, under filters and after an update."""
    expected = plain(expected)
    check_rows(uri, expected)
    ids, present = np.asarray(expected["id"]), np.asarray(expected["i32"].is_valid())
    for library in (lance, lance_core):
        found = library.dataset(uri).to_table(filter="id % 97 = 3 AND i32 IS NOT NULL")
        assert plain(found).equals(expected.filter(pa.array((ids % 97 == 3) & present))), library
    lance.dataset(uri).update({"same": "same + 1"}, where="id % 10 = 4")
    lance.dataset(uri).delete("id % 10 = 5")
    ours, theirs = plain(lance_core.dataset(uri).to_table()), plain(lance.dataset(uri).to_table())
    assert ours.equals(theirs)
    assert len(ours) == sum(n % 10 != 5 for n in expected["id"].to_pylist())


@each_case("version, by", WRITTEN)
def test_files_are_copied_strictly(tmp_path: Path, version: str, by: ModuleType) -> None:
    uri = str(tmp_path / "t")
    write(uri, by, version)
    expected = lance.dataset(uri).to_table()
    snapshot = lance_core.dataset(uri).snapshot
    assert why_not(snapshot, list(snapshot.manifest.fragments), snapshot.storage_version) is None
    copied = compact(uri, is_strict=True, verify_pages=True)
    assert copied.counts.pages_reencoded == 0
    assert copied.counts.pages_copied >= 3 * len(expected.column_names)
    assert len(lance.dataset(uri).get_fragments()) == 1
    check(uri, expected)


@each_case("version, by", WRITTEN)
def test_small_pages_are_merged(tmp_path: Path, version: str, by: ModuleType) -> None:
    uri = str(tmp_path / "t")
    write(uri, by, version, range(0, 4000, 1001))
    expected = lance.dataset(uri).to_table()
    copied = compact(uri)
    assert copied.counts.pages_copied <= 2 * 4  # of texts and vectors
    assert copied.counts.pages_reencoded >= 4 * len(expected.column_names)
    check(uri, expected)


@each_case("version, by", WRITTEN)
def test_only_pages_with_deleted_rows_are_encoded_again(
    tmp_path: Path, version: str, by: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = str(tmp_path / "t")
    monkeypatch.setattr(pieces, "MERGE_BYTES", 0)
    monkeypatch.setattr(merge_groups, "MAX_NUMBER_BYTES", 0)
    with monkeypatch.context() as patched:
        patched.setenv("LANCE_FILE_WRITER_MAX_PAGE_BYTES", str(PAGE_BYTES))
        write(uri, by, version)
    lance.dataset(uri).delete("id = 3 OR id = 1011 OR (id >= 2600 AND id < 2605)")
    expected = lance.dataset(uri).to_table()
    copied = compact(uri)
    if by is lance_core or version == "2.0":
        assert copied.counts.pages_copied > copied.counts.pages_reencoded > 0
    check(uri, expected)


@each_case("version, by", WRITTEN)
def test_pages_of_vectors_become_one_page_without_decoding(
    tmp_path: Path, version: str, by: ModuleType
) -> None:
    uri, rows = str(tmp_path / "t"), 401
    for number in range(6):
        rng = np.random.default_rng(number)
        columns: dict[str, Any] = {"id": np.arange(rows) + number * rows}
        for size in (96, 95):  # buffers of the latter have padding between them
            values = pa.array(rng.random(rows * size, np.float32))
            columns[f"v{size}"] = pa.FixedSizeListArray.from_arrays(values, size)
        table = pa.table(columns)
        by.write_dataset(table, uri, mode="append", data_storage_version=version)
    lance.dataset(uri).delete(f"id = {2 * rows + 7}")  # in the third of six fragments
    expected = lance.dataset(uri).to_table()
    copied = compact(uri)
    assert copied.counts.pages_copied >= 2 * 5
    (file,) = copied.fragments[0].files
    columns_of_file = lance_core.dataset(uri).snapshot.reader(file).metadata.columns
    _, even, odd = (columns_of_file[number] for number in range(3))
    assert len(even.pages) == len(odd.pages) == 3
    check_rows(uri, expected)


@each_case("version, by", WRITTEN)
def test_numbers_with_nulls_and_codes_of_strings_merge(
    tmp_path: Path, version: str, by: ModuleType
) -> None:
    uri, rows = str(tmp_path / "t"), 5000
    for number in range(4):
        rng = np.random.default_rng(number)
        texts = pa.array(rng.integers(0, 1 << 40, rows)).cast(pa.string())
        columns = {"id": pa.array(np.arange(rows) + number * rows), "s": texts}
        for name, values in (("i", rng.integers(0, 1 << 40, rows)), ("f", rng.random(rows))):
            columns[name] = pa.array(values, mask=rng.random(rows) < 0.1)
        by.write_dataset(pa.table(columns), uri, mode="append", data_storage_version=version)
    expected = lance.dataset(uri).to_table()
    copied = compact(uri)
    (file,) = copied.fragments[0].files
    pages = [
        len(one.pages) for one in lance_core.dataset(uri).snapshot.reader(file).metadata.columns
    ]
    # The symbols that we find differ so much that codes of one table would take more space.
    stay = version != "2.0" and by is lance_core
    assert pages == [1, 4 if stay else 1, 1, 1]
    assert copied.counts.pages_copied == (4 * 4 if version == "2.0" else 4 * stay)
    check_rows(uri, expected)


@each_case("version", VERSIONS)
def test_columns_in_several_files_are_stitched(tmp_path: Path, version: str) -> None:
    uri = str(tmp_path / "t")
    write(uri, lance, version, (0, 1000))
    lance.dataset(uri).add_columns({"double": "id * 2", "name": "concat('n', s)"})
    lance.dataset(uri).drop_columns(["f", "text", "l"])
    lance.dataset(uri).alter_columns({"path": "u8", "data_type": pa.int32()})
    table = table_of(version, 3000).drop_columns(["f", "text", "l"])
    lance.dataset(uri).add_columns(pa.field("empty", pa.int32()))
    table = table.append_column("double", table["id"]).append_column("name", table["s"])
    lance.write_dataset(table.set_column(2, "u8", table["u8"].cast(pa.int32())), uri, mode="append")
    lance.dataset(uri).delete("id = 650")
    expected = lance.dataset(uri).to_table()
    copied = compact(uri)
    assert copied.counts.pages_copied or copied.counts.pages_reencoded
    check(uri, expected)


@each_case("version", VERSIONS)
def test_a_file_ends_after_the_target_rows(tmp_path: Path, version: str) -> None:
    uri = str(tmp_path / "t")
    write(uri, lance, version, range(0, 5000, 1001))
    expected = lance.dataset(uri).to_table()
    compact(uri, target=2 * ROWS, is_strict=True)
    counts = [one.count_rows() for one in lance.dataset(uri).get_fragments()]
    assert counts == [2 * ROWS, 2 * ROWS, ROWS]
    check(uri, expected)


@each_case("version", ["2.1", "2.2"])
@each_case("first, second", [(True, False), (False, True), (True, True), (False, False)])
def test_pages_that_differ_in_which_structs_may_be_null_are_not_copied_side_by_side(
    tmp_path: Path, version: str, first: bool, second: bool
) -> None:
    uri = str(tmp_path / "t")
    for has_nulls in (first, second):
        values = [
            None if has_nulls and n % 5 == 0 else {"l": [n] * (n % 3), "z": n} for n in range(200)
        ]
        kind = pa.struct({"l": pa.list_(pa.int32()), "z": pa.int64()})
        table = pa.table({"s": pa.array(values, kind), "same": range(200)})
        lance.write_dataset(table, uri, mode="append", data_storage_version=version)
    expected = lance.dataset(uri).to_table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MERGE_BYTES", 0)
        patch.setattr(merge_groups, "MAX_NUMBER_BYTES", 0)
        copied = compact(uri)
    assert (copied.counts.pages_reencoded > 0) == (first != second)
    check_rows(uri, expected)
