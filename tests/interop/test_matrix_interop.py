"""Every type, nesting, kind of nulls, size and metadata key, from pylance to us and the reverse.

`tox -e matrix` goes around once, so that everything meets everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import lance.file
import numpy as np
import pyarrow as pa
import pytest

import lance_core
import lance_core.file
from tests.each_case import each_case
from tests.examples import IS_FULL_RUN
from tests.interop.columns import same
from tests.interop.matrix import (
    METADATA,
    NULLS,
    TURNS,
    VECTOR_OF_STRUCTS,
    VERSIONS,
    Column,
    columns,
    refused_by_pylance,
    table,
)

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

SIZES = {0: 8, 1: 4, 37: 1, 1500: 4} if IS_FULL_RUN else {0: 8, 1: 8, 37: 6, 1500: 8}
"""Numbers of rows, and which part of all types and shapes a table of as many has."""
PAGES = 4


def _cases() -> Iterator[tuple[str, int, int]]:
    """Version, rows and turn."""
    for version in VERSIONS:
        for number, rows in enumerate(SIZES):
            for turn in range(TURNS) if IS_FULL_RUN else (7 * number + int(version[-1]),):
                yield version, rows, turn


CASES = list(_cases())


def written_by(library: Any, data: pa.Table, path: Path, version: str) -> str:
    library.write_dataset(data, str(path), data_storage_version=version)
    return str(path)


def check(mine: Any, data: pa.Table) -> None:
    """Whole, a range, single rows and under a filter: what was written."""
    same(mine.to_table(), data)
    rows = data.num_rows
    if not rows:
        return
    start, count = rows // 3, max(1, rows // 4)
    same(mine.to_table(offset=start, limit=count), data.slice(start, count))
    chosen = sorted({0, rows // 5, rows // 2, rows - 1})
    same(mine.take(chosen), data.take(chosen))
    for row in chosen[1:3]:
        same(mine.take([row]), data.slice(row, 1))
    passing = pa.array(np.arange(rows) % 7 == 3)
    same(mine.to_table(filter="key % 7 = 3"), data.filter(passing))


@pytest.mark.parametrize(("version", "rows", "turn"), CASES)
def test_what_pylance_writes_is_read(version: str, rows: int, turn: int, tmp_path: Path) -> None:
    chosen = [c for c in columns(version, turn, SIZES[rows]) if not refused_by_pylance(c)]
    data = table(chosen, rows)
    check(lance_core.dataset(written_by(lance, data, tmp_path / "t", version)), data)


@pytest.mark.parametrize(("version", "rows", "turn"), CASES)
def test_what_is_written_is_read_by_pylance(
    version: str, rows: int, turn: int, tmp_path: Path
) -> None:
    data = table(columns(version, turn + 1, SIZES[rows]), rows)
    uri = written_by(lance_core, data, tmp_path / "t", version)
    check(lance.dataset(uri), data)
    same(lance_core.dataset(uri).to_table(), data)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("writer", "reader"),
    [(lance.file, lance_core.file), (lance_core.file, lance.file)],
    ids=["from pylance", "to pylance"],
)
def test_pages_that_end_in_the_same_rows_are_read(
    writer: Any, reader: Any, version: str, tmp_path: Path
) -> None:
    rows = 90
    chosen = [c for c in columns(version, 3, SIZES[1500]) if not refused_by_pylance(c)]
    data = table(chosen, rows)
    path = str(tmp_path / "pages.lance")
    with writer.LanceFileWriter(path, data.schema, version=version, data_cache_bytes=1) as open_:
        for page in np.array_split(np.arange(rows), PAGES):
            # pylance panics on some slices of arrays.
            open_.write_batch(data.take(pa.array(page)))
    found = reader.LanceFileReader(path)
    assert len(found.metadata().columns[0].pages) == PAGES
    same(found.read_all().to_table(), data)
    same(found.read_range(20, 50).to_table(), data.slice(20, 50))
    same(found.take_rows([1, 22, 23, 89]).to_table(), data.take([1, 22, 23, 89]))


@each_case("nulls", NULLS)
@each_case("name", ["bool", "int32", "string"])
@each_case("library", [lance, lance_core], ids=["from pylance", "to pylance"])
def test_lists_of_fixed_size_of_structs_are_exchanged(
    library: Any, name: str, nulls: str, tmp_path: Path
) -> None:
    # pylance writes no more than such a column by itself so that it can read it again.
    data = pa.table({"vectors": VECTOR_OF_STRUCTS(name, 3001, nulls)})
    uri = written_by(library, data, tmp_path / "t", "2.2")
    for mine in (lance.dataset(uri), lance_core.dataset(uri)):
        same(mine.to_table(), data)
        same(mine.to_table(offset=1000, limit=7), data.slice(1000, 7))
        same(mine.take([1, 4, 2999]), data.take([1, 4, 2999]))


@pytest.mark.parametrize(
    "column",
    [
        Column("int32", "vector", "all", "chunks"),
        Column("bool", "vector", "none", "zipped"),
        Column("bool", "vector", "some", "zipped zstd"),
    ],
    ids=lambda column: column.name,
)
def test_what_pylance_does_not_write_is_written_and_read_by_it(
    column: Column, tmp_path: Path
) -> None:
    assert refused_by_pylance(column)
    data = table([column], 37)
    with pytest.raises(BaseException, match=r"panick|unreachable|byte aligned|out of range"):
        written_by(lance, data, tmp_path / "theirs", "2.2")
    same(lance.dataset(written_by(lance_core, data, tmp_path / "ours", "2.2")).to_table(), data)


def test_the_tables_of_all_turns_have_everything() -> None:
    seen: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for turn in range(TURNS):
        for column in columns("2.2", turn):
            seen.setdefault(column[:2], set()).add(column[2:])
    everything = {(nulls, keys) for nulls in NULLS for keys in METADATA}
    assert all(found == everything for found in seen.values())
