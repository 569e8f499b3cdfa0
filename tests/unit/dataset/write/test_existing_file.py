"""Fragments from data files that somebody else has written into the table's folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import ObjectNotFoundError, SchemaMismatchError
from lance_core.file import LanceFileWriter

ROWS = pa.table({"a": range(10), "s": [{"x": n, "y": f"y{n}"} for n in range(10)]})


def written(dataset: lance.LanceDataset, rows: pa.Table, version: str) -> str:
    path = Path(dataset.uri, "data", "made.lance")
    with LanceFileWriter(str(path), schema=rows.schema, version=version) as writer:
        writer.write_batch(rows)
    return path.name


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_columns_are_matched_by_name(uri: str, version: str) -> None:
    table = lance.write_dataset(ROWS, uri, data_storage_version=version)
    table.add_columns({"b": "a"})
    table.drop_columns(["a"])
    given = pa.table({"b": range(3), "s": [{"y": "q", "x": 7}] * 3})
    fragment = lance.LanceFragment.create_from_file(written(table, given, version), table, 0)
    operation = lance.LanceOperation.Append([fragment])
    table = lance.LanceDataset.commit(uri, operation, read_version=table.version)
    assert table.to_table()["b"].to_pylist() == [*range(10), 0, 1, 2]
    assert table.to_table()["s"].to_pylist()[-1] == {"x": 7, "y": "q"}
    for one in table.get_fragments():
        one.validate()


def test_files_that_do_not_fit_are_refused(uri: str) -> None:
    table = lance.write_dataset(ROWS, uri)
    name = written(table, pa.table({"nope": [1]}), "2.2")
    with pytest.raises(SchemaMismatchError):
        lance.LanceFragment.create_from_file(name, table, 0)
    with pytest.raises(ObjectNotFoundError):
        lance.LanceFragment.create_from_file("missing.lance", table, 0)


def test_a_session_takes_the_same_columns_again(uri: str) -> None:
    table = lance.write_dataset(ROWS, uri)
    table.delete("a = 1")
    (fragment,) = table.get_fragments()
    session = fragment.open_session(["a"], with_row_address=True)
    assert session.take([1, 0]).to_pydict() == {"a": [2, 0], "_rowaddr": [2, 0]}
    assert fragment.open_session().take([3]) == fragment.take([3])
