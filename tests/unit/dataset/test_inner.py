"""`_ds` has what libraries call on the dataset of pylance's compiled module."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError


def test_rows_are_taken_by_ranges_of_positions(uri: str) -> None:
    dataset = lance.write_dataset(
        pa.table({"a": range(10), "b": ["x"] * 10}), uri, max_rows_per_file=4
    )
    reader = dataset._ds.take_scan([(6, 9), (0, 2)], columns=["a"])
    assert [batch.to_pydict() for batch in reader] == [{"a": [6, 7, 8]}, {"a": [0, 1]}]
    assert reader.schema.names == ["a"]
    with pytest.raises(InvalidInputError):
        dataset._ds.take_scan([(9, 11)]).read_all()


def test_counts_and_versions_are_those_of_the_dataset(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({"a": range(10)}), uri, max_rows_per_file=4)
    dataset.delete("a = 3")
    inner = dataset._ds
    assert (inner.version(), inner.latest_version(), inner.count_fragments()) == (2, 2, 3)
    assert inner.count_deleted_rows() == 1
    assert inner.count_rows() == 9
