"""Appending where there is no table makes one; of several that do so at once, none loses rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import DatasetExistsError, SchemaMismatchError

WRITERS = 8


def race(uri: str, tables: list[pa.Table], mode: str) -> list[BaseException | None]:
    """Write all tables at once; the error of each writer."""
    barrier = Barrier(len(tables))

    def write(table: pa.Table) -> None:
        barrier.wait()
        lance.write_dataset(table, uri, mode=mode)

    with ThreadPoolExecutor(len(tables)) as pool:
        return [future.exception() for future in [pool.submit(write, t) for t in tables]]


def test_rows_of_all_first_appends_are_kept(uri: str) -> None:
    errors = race(uri, [pa.table({"i": [number]}) for number in range(WRITERS)], "append")
    assert errors == [None] * WRITERS
    dataset = lance.dataset(uri)
    assert sorted(dataset.to_table()["i"].to_pylist()) == list(range(WRITERS))
    assert dataset.version == WRITERS


def test_exactly_one_create_succeeds(uri: str) -> None:
    errors = race(uri, [pa.table({"i": [number]}) for number in range(WRITERS)], "create")
    assert errors.count(None) == 1
    assert all(isinstance(error, DatasetExistsError) for error in errors if error is not None)
    assert lance.dataset(uri).count_rows() == 1


def test_a_first_append_of_another_schema_is_refused(uri: str) -> None:
    tables = [pa.table({"i": [1]}), pa.table({"other": ["x"]})]
    errors = race(uri, tables, "append")
    failed = [error for error in errors if error is not None]
    assert len(failed) == 1
    assert isinstance(failed[0], SchemaMismatchError)
    with pytest.raises(SchemaMismatchError):
        lance.write_dataset(tables[errors.index(failed[0])], uri, mode="append")
