"""`Session`: which datasets share caches, and their limits."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.datafile import column_metadata
from lance_core.encodings.page import Column
from lance_core.errors import InvalidInputError, InvalidTypeError

ROWS = pa.table({"x": range(1000)})


def written(uri: str) -> lance.LanceDataset:
    lance.write_dataset(ROWS, uri, max_rows_per_file=250)
    return lance.dataset(uri)


def test_a_scan_fills_the_caches(uri: str) -> None:
    dataset = written(uri)
    before = dataset.session().size_bytes()
    dataset.to_table()
    assert dataset.session().size_bytes() > before
    assert not dataset.session().is_same_as(lance.dataset(uri).session())


def test_datasets_of_one_session_share_open_files(uri: str) -> None:
    dataset = written(uri)
    dataset.to_table()
    session = dataset.session()
    other = lance.dataset(uri, session=session)
    size = session.size_bytes()
    assert other.to_table() == ROWS
    assert other.session().is_same_as(session)
    assert session.size_bytes() == size
    (first, *_), (same, *_) = (
        [one.snapshot.reader(f.files[0]) for f in one.snapshot.manifest.fragments]
        for one in (dataset, other)
    )
    assert first is same


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_metadata_is_freed_with_its_dataset(
    uri: str, version: str, some_rows: Callable[..., pa.Table]
) -> None:
    """And not when Python searches for garbage, until which it would pile up.

    Few small columns stay in a cache of the process.
    """
    lance.write_dataset(some_rows(100), uri, max_rows_per_file=30, data_storage_version=version)
    lance.dataset(uri).to_table()  # makes what is made once, for example classes

    def columns() -> int:
        column_metadata._column.cache_clear()
        return sum(isinstance(one, Column) for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before, dataset = columns(), lance.dataset(uri)
        dataset.to_table()
        dataset.take([7, 50])
        assert columns() > before
        del dataset
        assert columns() == before
    finally:
        gc.enable()


def test_tables_of_one_session_do_not_mix(uri: str) -> None:
    session = lance.Session()
    tables = [pa.table({"x": [n]}) for n in range(3)]
    uris = [f"{uri}{n}" for n in range(3)]
    for table, one in zip(tables, uris, strict=True):
        dataset = lance.write_dataset(table, one, session=session)
        dataset.delete("x > 5")
        assert dataset.session() is session
    assert [lance.dataset(one, session=session).to_table() for one in uris] == tables


def test_branches_have_the_session_of_their_table(uri: str) -> None:
    dataset = written(uri)
    branch = dataset.create_branch("b")
    assert branch.session() is dataset.session()


def test_a_cache_of_no_bytes_keeps_nothing(uri: str) -> None:
    written(uri)
    dataset = lance.dataset(uri, metadata_cache_size_bytes=0, index_cache_size_bytes=0)
    dataset.create_scalar_index("x", "BTREE")
    assert dataset.count_rows("x < 10") == 10
    assert dataset.to_table() == ROWS
    assert dataset.session().size_bytes() == 0


def test_datasets_of_one_session_share_open_indices(uri: str) -> None:
    written(uri).create_scalar_index("x", "BTREE")
    parts: list[int] = []

    def search(dataset: lance.LanceDataset) -> int:
        """The parts of the index that a search reads."""
        scanner = dataset.scanner(
            filter="x = 7", scan_stats_callback=lambda one: parts.append(one.parts_loaded)
        )
        assert scanner.to_table()["x"].to_pylist() == [7]
        return parts.pop()

    dataset = lance.dataset(uri)
    size = dataset.session().size_bytes()
    assert search(dataset) > 0 == search(dataset)
    assert dataset.session().size_bytes() > size
    assert search(lance.dataset(uri)) > 0
    assert search(lance.dataset(uri, session=dataset.session())) == 0
    dataset.insert(pa.table({"x": [1000]}))
    for version in (1, 2, 3):
        assert search(dataset.checkout_version(version)) == 0


def test_other_values_are_refused(uri: str) -> None:
    written(uri)
    with pytest.raises(InvalidTypeError, match="a session is a Session"):
        lance.dataset(uri, session=5)
    for size in (-1, "1GB"):
        with pytest.raises(InvalidInputError, match="number of bytes"):
            lance.dataset(uri, metadata_cache_size_bytes=size)
