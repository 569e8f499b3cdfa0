"""The history, the description and the indices of a table as data frames."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

import lance_core
from lance_core import LanceOperation
from lance_core.dataset import LANCE_COMMIT_MESSAGE_KEY
from lance_core.errors import InvalidInputError
from lance_core_spark.table.commit_info import METRIC, PARAMETER

_TEXTS = st.MapType(st.StringType(), st.StringType())

HISTORY = st.StructType(
    [
        st.StructField("version", st.LongType(), False),
        st.StructField("timestamp", st.TimestampType()),
        st.StructField("operation", st.StringType()),
        st.StructField("operationParameters", _TEXTS),
        st.StructField("readVersion", st.LongType()),
        st.StructField("operationMetrics", _TEXTS),
        st.StructField("userMetadata", st.StringType()),
    ]
)

DETAIL = st.StructType(
    [
        st.StructField("format", st.StringType(), False),
        st.StructField("location", st.StringType(), False),
        st.StructField("version", st.LongType(), False),
        st.StructField("lastModified", st.TimestampType()),
        st.StructField("numRows", st.LongType(), False),
        st.StructField("numDeletedRows", st.LongType(), False),
        st.StructField("numFragments", st.LongType(), False),
        st.StructField("numFiles", st.LongType(), False),
        st.StructField("sizeInBytes", st.LongType(), False),
        st.StructField("dataStorageVersion", st.StringType(), False),
        st.StructField("hasStableRowIds", st.BooleanType(), False),
        st.StructField("properties", _TEXTS),
    ]
)

INDICES = st.StructType(
    [
        st.StructField("name", st.StringType(), False),
        st.StructField("type", st.StringType(), False),
        st.StructField("columns", st.ArrayType(st.StringType(), False), False),
        st.StructField("numSegments", st.LongType(), False),
        st.StructField("numIndexedFragments", st.LongType(), False),
        st.StructField("numIndexedRows", st.LongType(), False),
        st.StructField("sizeInBytes", st.LongType()),
    ]
)

TAGS = st.StructType(
    [
        st.StructField("tag", st.StringType(), False),
        st.StructField("version", st.LongType(), False),
        st.StructField("branch", st.StringType()),
    ]
)


def history(spark: SparkSession, dataset: lance_core.LanceDataset, limit: int | None) -> DataFrame:
    """A frame of the newest ``limit`` versions up to that of ``dataset``, newest first; None: all.

    Raises `InvalidInputError` unless ``limit`` is a positive integer.
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise InvalidInputError(f"limit must be a whole number from 1 on, not {limit!r}")
    numbers = [version["version"] for version in reversed(dataset.version_refs())]
    numbers = [number for number in numbers if number <= dataset.version][:limit]
    made_by = dataset.get_transactions(len(numbers))
    rows = [
        _version(dataset.checkout_version(number), transaction)
        for number, transaction in zip(numbers, made_by, strict=True)
    ]
    return spark.createDataFrame(rows, HISTORY)


def _version(
    dataset: lance_core.LanceDataset, transaction: lance_core.Transaction | None
) -> tuple[Any, ...]:
    described = dataset.get_version()
    totals = {name: str(value) for name, value in described["metadata"].items()}
    start = (dataset.version, _moment(described["timestamp"]))
    if transaction is None:
        return (*start, None, None, None, totals, None)
    operation, properties = transaction.operation, dict(transaction.transaction_properties or {})
    message = properties.pop(LANCE_COMMIT_MESSAGE_KEY, None)
    counted = {name: properties.pop(name) for name in [*properties] if name.startswith(METRIC)}
    recorded = {name.removeprefix(PARAMETER): text for name, text in properties.items()}
    parameters = {**dict(_parameters(operation)), **recorded}
    metrics = {
        **dict(_metrics(operation)),
        **totals,
        **{_metric(name): count for name, count in counted.items()},
    }
    read = transaction.read_version
    return (*start, _name(operation), parameters, read, metrics, message)


def _metric(name: str) -> str:
    """``num_updated_rows`` as ``numUpdatedRows``."""
    first, *others = name.removeprefix(METRIC).split("_")
    return first + "".join(map(str.capitalize, others))


def _name(operation: LanceOperation.BaseOperation) -> str:
    """The kind of change, such as ``Append``."""
    if isinstance(operation, LanceOperation.Stored):
        return type(operation.operation).__name__
    return type(operation).__name__


_PARAMETERS = ("predicate", "update_mode", "version", "is_shallow", "ref_path", "ref_version")


def _parameters(operation: LanceOperation.BaseOperation) -> Iterator[tuple[str, str]]:
    for name in _PARAMETERS:
        value = getattr(operation, name, None)
        if value is not None:
            yield name, str(value)


_FRAGMENTS = {
    "fragments": "numFragments",
    "new_fragments": "numAddedFragments",
    "updated_fragments": "numUpdatedFragments",
    "removed_fragment_ids": "numRemovedFragments",
    "deleted_fragment_ids": "numRemovedFragments",
}


def _metrics(operation: LanceOperation.BaseOperation) -> Iterator[tuple[str, str]]:
    for attribute, name in _FRAGMENTS.items():
        value = getattr(operation, attribute, None)
        if value is not None:
            yield name, str(len(list(value)))
    new = getattr(operation, "new_fragments", None)
    if new is None and isinstance(operation, LanceOperation.Append | LanceOperation.Overwrite):
        new = operation.fragments
    if new is not None:
        yield "numOutputRows", str(sum(fragment.physical_rows for fragment in new))


def detail(spark: SparkSession, dataset: lance_core.LanceDataset, location: str) -> DataFrame:
    """One row with the size and the properties of the version of ``dataset``."""
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    files = [file for fragment in fragments for file in fragment.files]
    row = (
        "lance",
        location,
        dataset.version,
        _moment(dataset.get_version()["timestamp"]),
        sum(fragment.num_rows for fragment in fragments),
        sum(fragment.num_deletions for fragment in fragments),
        len(fragments),
        len(files),
        sum(file.file_size_bytes or 0 for file in files),
        dataset.data_storage_version,
        dataset.has_stable_row_ids,
        dataset.config(),
    )
    return spark.createDataFrame([row], DETAIL)


def _moment(local: datetime) -> datetime:
    """The instant of a local time without a zone."""
    return local.astimezone(UTC)


def indices(spark: SparkSession, dataset: lance_core.LanceDataset) -> DataFrame:
    """The indices of the version of ``dataset``, one row for each."""
    rows = [
        (
            index.name,
            index.index_type,
            index.field_names,
            len(index.segments),
            len({id_ for segment in index.segments for id_ in segment.fragment_ids}),
            index.num_rows_indexed,
            index.total_size_bytes,
        )
        for index in dataset.describe_indices()
    ]
    return spark.createDataFrame(rows, INDICES)


def tags(spark: SparkSession, dataset: lance_core.LanceDataset) -> DataFrame:
    """The tags of a table, one row for each."""
    rows = [(name, tag["version"], tag["branch"]) for name, tag in dataset.tags.list().items()]
    return spark.createDataFrame(rows, TAGS)
