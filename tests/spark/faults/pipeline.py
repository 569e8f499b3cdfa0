"""A stream, an upsert stream and a batch job with a fault; what they must have done in the end."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.readwriter import DataStreamWriter

import lance_core
from lance_core_spark import upsert_batches
from tests.spark.faults.faulty_source import SOURCE_POINTS, Fault, FaultySource

ROWS = 40
"""In each version of the source."""

KINDS = ("append", "complete", "upsert", "batch")


@dataclass(frozen=True)
class Pipeline:
    """A job of one of `KINDS` that copies the table ``source``, in a folder, with a fault."""

    kind: str
    folder: str
    point: str
    victim: str = "worker"
    versions: int = 3
    """Of the source."""

    @property
    def source(self) -> Path:
        return Path(self.folder, "source.lance")

    @property
    def target(self) -> Path:
        return Path(self.folder, "target.lance")

    @property
    def marker(self) -> Path:
        """The file that exists if the fault has struck."""
        return Path(self.folder, "struck")

    def prepare(self) -> None:
        """Make the source, and the target of upserts."""
        for version in range(self.versions):
            ids = list(range(version * ROWS, (version + 1) * ROWS))
            lance_core.write_dataset(_rows(ids), self.source, mode="append", max_rows_per_file=15)
        if self.kind in ("upsert", "batch"):
            lance_core.write_dataset(_rows([-1]), self.target)

    def run(self, spark: SparkSession) -> None:
        """Run the job to its end, unless the fault ends it."""
        spark.dataSource.register(FaultySource)
        at_source = self.point in SOURCE_POINTS
        if self.kind == "batch":
            if lance_core.dataset(self.target).version > 1:
                return  # the driver was killed after its commit
            frame = spark.read.format("faulty-lance").options(**self._options(at_source))
            rows = frame.option("rows_per_partition", ROWS).load(str(self.source))
            writer = rows.write.format("faulty-lance").options(**self._options(not at_source))
            writer.mode("append").save(str(self.target))
            return
        stream = spark.readStream.format("faulty-lance").options(**self._options(at_source))
        stream = stream.option("starting_version", 1).option("max_versions_per_trigger", 1)
        rows = stream.option("rows_per_partition", 10).load(str(self.source))
        if self.kind == "complete":
            rows = rows.groupBy("id").agg(sf.max("value").alias("value"))
        query = self._sink(rows.writeStream, at_source).trigger(availableNow=True)
        checkpoint = Path(self.folder, "checkpoint")
        query.option("checkpointLocation", str(checkpoint)).start().awaitTermination()

    def _sink(self, writer: DataStreamWriter, at_source: bool) -> DataStreamWriter:
        if self.kind == "upsert":
            if not at_source:
                Fault(self.point, str(self.marker), self.victim).strike_while_publishing()
            return writer.foreachBatch(upsert_batches(self.target, "id", query_id="upsert"))
        options = self._options(not at_source)
        writer = writer.format("faulty-lance").options(**options).outputMode(self.kind)
        return writer.option("path", str(self.target))

    def _options(self, is_faulty: bool) -> dict[str, str]:
        if not is_faulty:
            return {}
        marker = str(self.marker)
        return {"fault_point": self.point, "fault_marker": marker, "fault_victim": self.victim}

    def wrong(self) -> list[str]:
        """What is wrong with the target; then removes its orphans, and looks again."""
        found = [] if self.marker.exists() else ["the fault did not strike"]
        dataset = lance_core.dataset(self.target)
        found += self._differences(dataset)
        dataset.cleanup_old_versions(timedelta(0), delete_unverified=True)
        dataset = lance_core.dataset(self.target)
        found += self._differences(dataset)
        named = {file.path for one in dataset.get_fragments() for file in one.data_files()}
        orphans = {path.name for path in Path(self.target, "data").iterdir()} - named
        return found + [f"orphans stay: {sorted(orphans)}"] * bool(orphans)

    def _differences(self, dataset: lance_core.LanceDataset) -> list[str]:
        ids = Counter(dataset.to_table(["id"])["id"].to_pylist())
        expected = Counter(range(self.versions * ROWS))
        expected[-1] = int(self.kind in ("upsert", "batch"))
        lost, more = expected - ids, ids - expected
        return [f"lost: {sorted(lost)}"] * bool(lost) + [f"too many: {sorted(more)}"] * bool(more)


def _rows(ids: list[int]) -> pa.Table:
    return pa.table({"id": ids, "value": [0] * len(ids)})


def session(master: str) -> SparkSession:
    """A session that gives up a task after two attempts."""
    return (
        SparkSession.builder.master(master)
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.task.maxFailures", "3")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )


def main() -> None:
    """Run the pipeline in ``sys.argv``: the master, and the fields of a `Pipeline` as JSON."""
    spark = session(sys.argv[1])
    spark.sparkContext.setLogLevel("OFF")
    Pipeline(**json.loads(sys.argv[2])).run(spark)
    spark.stop()


def arguments(pipeline: Pipeline) -> str:
    """The pipeline for the command line."""
    return json.dumps(asdict(pipeline))


if __name__ == "__main__":
    main()
