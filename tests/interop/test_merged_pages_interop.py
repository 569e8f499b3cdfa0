"""Copied pages that become one page: both libraries read what they read before, as few pages."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import CorruptFileError
from lance_core.store.local.store import LocalStore
from tests.each_case import each_case

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

VERSIONS = ("2.0", "2.1", "2.2")
WRITTEN = list(itertools.product(VERSIONS, (lance, lance_core)))
ROWS = (5_003, 4_099, 6_000, 5_001, 4_100)
"""Rows of fragments: above those of pages that are always encoded again, some not whole bytes."""

NUMBERS = ("i64", "i32", "i16", "u8", "f64", "f32", "flag", "day", "n_i64", "n_flag")
PACKED = (*NUMBERS, "mixed", "hex", "n_hex")
"""Columns of later files whose pages become one."""

JOINED_2_0 = (*NUMBERS, "hex", "n_hex", "money", "fixed", "text", "n_text", "large", "none")
"""Columns of 2.0 files whose pages become one without decoding."""


def table_of(number: int, rows: int, version: str) -> pa.Table:
    """Rows of columns whose pages merge, and of some whose pages do not."""
    rng = np.random.default_rng(number)
    few, many = rng.integers(0, 1000, rows), rng.integers(0, 2**40, rows)
    no_value = pa.array(rng.random(rows) < 0.1)
    words = pa.array([f"{'x' * (n % 40)}{n}" for n in many.tolist()])
    # Of short strings, codes take enough space to merge. Some need escapes.
    hexes = pa.array([f"{n % 2**36:09x}" + "\u00e9" * (n % 997 == 0) for n in many.tolist()])
    null = pa.scalar(None)

    def nullable(values: pa.Array) -> pa.Array:
        return pa.compute.if_else(no_value, null.cast(values.type), values)

    columns: dict[str, Any] = {
        "i64": pa.array(many),
        "i32": pa.array(few.astype(np.int32)),
        "i16": pa.array((few - 500).astype(np.int16)),
        "u8": pa.array((few % 256).astype(np.uint8)),
        "f64": pa.array(rng.random(rows)),
        "f32": pa.array(rng.random(rows, np.float32)),
        "flag": pa.array(few % 3 == 0),
        "day": pa.array((few % 100).astype(np.int32), pa.date32()),
        "n_i64": nullable(pa.array(many)),
        "n_flag": nullable(pa.array(few % 2 == 0)),
        "money": pa.array([Decimal(n) / 100 for n in few.tolist()], pa.decimal128(12, 2)),
        "fixed": pa.array([n.to_bytes(8, "big") for n in many.tolist()], pa.binary(8)),
        "mixed": nullable(pa.array(many)) if number % 2 else pa.array(many),
        "hex": hexes,
        "n_hex": nullable(hexes),
        "text": words,
        "n_text": nullable(words),
        "large": words.cast(pa.large_string()),
        "none": pa.nulls(rows, pa.int32()),
        "bits": pa.FixedSizeListArray.from_arrays(pa.array(np.repeat(few % 2 == 0, 3)), 3),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(rows * 4)), 4),
        "city": pa.array([f"city {n % 7 + number}" for n in few.tolist()]),
        "dict": pa.array([f"item {n % 5}" for n in few.tolist()]).dictionary_encode(),
        "point": pa.array([{"x": n, "y": str(n)} for n in few.tolist()]),
        "list": pa.array([[n] * (n % 3) for n in few.tolist()]),
    }
    if version == "2.1":
        del columns["none"]
    return pa.table(columns)


def write(uri: str, by: ModuleType, version: str, rows: Sequence[int] = ROWS) -> None:
    for number, count in enumerate(rows):
        table = table_of(number, count, version)
        by.write_dataset(table, uri, mode="append", data_storage_version=version)


def pages_of(uri: str) -> dict[str, list[int]]:
    """The rows of the pages of each column that is a top-level field of the only file."""
    snapshot = lance_core.dataset(uri).snapshot
    (fragment,) = snapshot.manifest.fragments
    (file,) = fragment.files
    found = snapshot.reader(file).metadata.columns
    columns = file.columns()
    return {
        field.name: [page.num_rows for page in found[columns[field.id]].pages]
        for field in snapshot.schema.fields
        if field.id in columns
    }


def plain(table: pa.Table) -> pa.Table:
    number = table.column_names.index("dict")
    return table.set_column(number, "dict", table["dict"].cast(pa.string()))


def check(uri: str, expected: pa.Table) -> None:
    """Both libraries read, take and filter the ``expected`` rows."""
    expected = plain(expected)
    for library in (lance, lance_core):
        ds = library.dataset(uri)
        ds.validate()
        assert plain(ds.to_table()).equals(expected), library
        rows = np.random.default_rng(1).integers(0, len(expected), 200)
        assert plain(ds.take(rows.tolist())).equals(expected.take(rows)), library
        found = plain(ds.to_table(filter="i32 = 7"))
        assert found.equals(expected.filter(pa.compute.equal(expected["i32"], 7))), library


@each_case("version, by", WRITTEN)
def test_pages_merge(tmp_path: Path, version: str, by: ModuleType) -> None:
    uri = str(tmp_path / "t")
    write(uri, by, version)
    expected = lance.dataset(uri).to_table()
    metrics = lance_core.dataset(uri).optimize.compact_files(compaction_mode="try_binary_copy")
    pages = pages_of(uri)
    merged = JOINED_2_0 if version == "2.0" else PACKED
    assert {name: pages[name] for name in merged if name in pages} == {
        name: [sum(ROWS)] for name in merged if name in pages
    }
    assert pages["city"] == list(ROWS)
    assert all(sum(rows) == sum(ROWS) for rows in pages.values())
    packed = 0 if version == "2.0" else len(PACKED) * len(ROWS)
    assert metrics.pages_reencoded >= packed
    assert metrics.pages_copied > 0
    check(uri, expected)


@each_case("version", VERSIONS)
def test_strict_copies_keep_all_pages(tmp_path: Path, version: str) -> None:
    uri = str(tmp_path / "t")
    write(uri, lance, version)
    expected = lance.dataset(uri).to_table()
    metrics = lance_core.dataset(uri).optimize.compact_files(compaction_mode="force_binary_copy")
    assert metrics.pages_reencoded == 0
    assert pages_of(uri)["i64"] == list(ROWS)
    check(uri, expected)


@each_case("version", VERSIONS)
def test_pages_merge_around_deleted_rows(tmp_path: Path, version: str) -> None:
    uri = str(tmp_path / "t")
    write(uri, lance, version, (*ROWS, 5_000))
    gone = sum(ROWS[:2]) + 17
    with_offsets = lance.dataset(uri).to_table(with_row_address=True)["_rowaddr"]
    lance.dataset(uri).delete(f"_rowaddr = {with_offsets[gone].as_py()}")
    expected = lance.dataset(uri).to_table()
    lance_core.dataset(uri).optimize.compact_files(compaction_mode="try_binary_copy")
    assert pages_of(uri)["i64"] == [sum(ROWS[:2]), ROWS[2] - 1, sum(ROWS[3:]) + 5_000]
    check(uri, expected)


@each_case("version", VERSIONS)
def test_small_pages_of_files_that_must_be_read_stay(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = str(tmp_path / "t")
    write(uri, lance, version)
    expected = lance.dataset(uri).to_table()
    monkeypatch.setattr(LocalStore, "has_views", False)
    lance_core.dataset(uri).optimize.compact_files(compaction_mode="try_binary_copy")
    assert pages_of(uri)["i64"] == list(ROWS)
    check(uri, expected)


@each_case("version, column", [("2.0", "text"), ("2.2", "i32"), ("2.1", "n_i64"), ("2.2", "hex")])
def test_a_page_that_is_damaged_is_not_merged_into_wrong_values(
    tmp_path: Path, version: str, column: str
) -> None:
    uri = str(tmp_path / "t")
    write(uri, lance, version)
    snapshot = lance_core.dataset(uri).snapshot
    (file,) = snapshot.manifest.fragments[1].files
    field = next(one for one in snapshot.schema.fields if one.name == column)
    number = file.columns()[field.id]
    place = snapshot.reader(file).metadata.columns[number].pages[0].buffers[0]
    path = tmp_path / "t" / "data" / file.path
    content = bytearray(path.read_bytes())
    content[place.start : place.start + 32] = b"\x11" * 32
    path.write_bytes(content)
    before = set((tmp_path / "t" / "data").iterdir())
    with pytest.raises(CorruptFileError, match=file.path):
        lance_core.dataset(uri).optimize.compact_files(compaction_mode="try_binary_copy")
    assert set((tmp_path / "t" / "data").iterdir()) == before
