"""Plans of reads of very many fragments, by what the manifest has; without a session."""

from __future__ import annotations

import pickle
import time

import pyarrow as pa
import pytest

import lance_core
from lance_core import LanceOperation
from lance_core_spark import LanceSource
from lance_core_spark.scan.partitions import LancePartition
from tests.examples import IS_FULL_RUN

FRAGMENTS = 100_000 if IS_FULL_RUN else 5_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a table whose fragments all have the same file, of two rows."""
    path = str(tmp_path_factory.mktemp("planning") / "t.lance")
    rows = pa.table({"id": pa.array([1, 2]), "text": ["a", "b"]})
    dataset = lance_core.write_dataset(rows, path)
    fragment = dataset.get_fragments()[0].metadata
    operation = LanceOperation.Overwrite(dataset.lance_schema, [fragment] * FRAGMENTS)
    lance_core.LanceDataset.commit(path, operation, dataset.version)
    return path


def planned(path: str, **options: str) -> tuple[list[LancePartition], float]:
    """The partitions of a read, and the processor seconds that they took."""
    source = LanceSource({"path": path, **options})
    reader = source.reader(source.schema())
    start = time.process_time()
    partitions = reader.partitions()
    seconds = time.process_time() - start
    return partitions, seconds  # type: ignore[return-value]  # those of our reader


def test_very_many_fragments_are_planned_in_seconds(table: str) -> None:
    few, seconds = planned(table, min_partitions="7")
    assert len(few) == 7
    assert sum(len(partition.ranges) for partition in few) == FRAGMENTS
    assert len(pickle.dumps(few)) < 12 * FRAGMENTS
    assert seconds < 10  # 2.5 seconds for 100,000
    many, seconds = planned(table, rows_per_partition="2")
    assert len(many) == FRAGMENTS
    assert max(len(pickle.dumps(partition)) for partition in many[-10:]) <= 130
    assert seconds < 15  # 1.6 seconds for 100,000
