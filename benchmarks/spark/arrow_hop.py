"""Python data sources without any work: what remains is the way of Arrow batches through Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


class SampleSource(DataSource):
    """Delivers the batch of an Arrow file again and again; options ``sample rows partitions``."""

    @classmethod
    def name(cls) -> str:
        return "sample"

    def reader(self, schema: StructType) -> DataSourceReader:
        rows, partitions = int(self.options["rows"]), int(self.options["partitions"])
        return SampleReader(schema, self.options["sample"], rows, partitions)


class SampleReader(DataSourceReader):
    """``rows`` in equal ``partitions``."""

    def __init__(self, schema: StructType, path: str, rows: int, partitions: int) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._path = path
        self._ends = [rows * i // partitions for i in range(partitions + 1)]

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(i) for i in range(len(self._ends) - 1)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        left = self._ends[partition.value + 1] - self._ends[partition.value]
        with pa.memory_map(self._path) as file, pa.ipc.open_file(file) as opened:
            sample = opened.get_batch(0).select(self._schema.names).cast(self._schema)
        while left:
            batch = sample.slice(0, left)
            left -= batch.num_rows
            yield batch


class DrainSource(DataSource):
    """Accepts all batches and keeps none."""

    @classmethod
    def name(cls) -> str:
        return "drain"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return DrainWriter()


class DrainWriter(DataSourceArrowWriter):
    """Reads the batches of each task."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()
