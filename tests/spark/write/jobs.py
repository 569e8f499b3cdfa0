"""What Spark does with a writer, without a session."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
from pyspark.sql import types as st

import lance_core
from lance_core_spark.source import LanceSource
from lance_core_spark.write.writer import LanceWriter, WrittenFragments

SCHEMA = st.StructType().add("id", "long").add("day", "string")


def rows(day: str | None, *ids: int) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(ids, pa.int64()), "day": pa.array(len(ids) * [day])})


def planned(
    uri: str | Path, overwrite: bool = False, schema: st.StructType = SCHEMA, **options: str
) -> LanceWriter:
    return LanceSource({"path": str(uri), **options}).writer(schema, overwrite)


def copied(job: LanceWriter) -> LanceWriter:
    """What Spark does with a writer before each use."""
    copy: LanceWriter = pickle.loads(pickle.dumps(job))
    return copy


def written(job: LanceWriter, *batches: pa.RecordBatch) -> WrittenFragments:
    return copied(job).write(iter(batches))


def run(job: LanceWriter, *batches: pa.RecordBatch) -> None:
    """A job with one task for each batch."""
    copied(job).commit([written(job, batch) for batch in batches])


def data_files(table: Path) -> set[str]:
    return {file.name for file in (table / "data").glob("*")}


def named_files(table: Path) -> set[str]:
    """The data files that a version references."""
    dataset = lance_core.dataset(table)
    return {
        file.path
        for ref in dataset.version_refs()
        for fragment in dataset.checkout_version(ref["version"]).get_fragments()
        for file in fragment.data_files()
    }
