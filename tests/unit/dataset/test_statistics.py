"""Statistics of a version agree with what is in it."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

import lance_core as lance
from tests.unit.dataset.conftest import Sample

Rows = Callable[..., pa.Table]


def test_fragments_and_deleted_rows_are_counted(sample: Sample) -> None:
    stats = sample.dataset.stats
    assert stats.dataset_stats() == {
        "num_deleted_rows": 11,
        "num_fragments": 4,
        "num_small_files": 4,
    }
    assert stats.dataset_stats(max_rows_per_group=30)["num_small_files"] == 1


def test_the_bytes_of_columns_are_those_of_their_pages(uri: str) -> None:
    table = pa.table({"a": pa.array(range(100), pa.int32()), "b": pa.array(range(100), pa.int64())})
    dataset = lance.write_dataset(table, uri, max_rows_per_file=50, data_storage_version="2.0")
    statistics = {field.id: field.bytes_on_disk for field in dataset.stats.data_stats().fields}
    assert statistics == {0: 400, 1: 800}


def test_every_field_has_statistics_also_one_that_is_not_stored(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(5), uri, data_storage_version="2.0")
    dataset = lance.write_dataset(some_rows(5).select(["i"]), uri, mode="append")
    fields = dataset.stats.data_stats().fields
    assert [field.id for field in fields] == dataset.snapshot.schema.field_ids
    assert fields[0].bytes_on_disk == 80
