"""What Spark's processes ask of S3, counted."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lance_core
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Delay, Rule
from tests.servers.moto import Moto
from tests.spark.conftest import read, write

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

FRAGMENTS = 4
ROWS = 25_000
"""Of a fragment."""

VOUCHED = {"put_if_absent": "yes", "multipart_if_absent": "yes"}


@pytest.fixture
def options(moto: Moto, proxy: FaultProxy) -> dict[str, str]:
    return moto.options | VOUCHED | {"aws_endpoint": proxy.url}


@pytest.fixture
def uri(bucket: str, options: dict[str, str], proxy: FaultProxy) -> str:
    """A table of some fragments, each with a narrow column and a wide one."""
    place = f"s3://{bucket}/t.lance"
    rows = pa.table(
        {"id": range(FRAGMENTS * ROWS), "text": [f"{i:032}" for i in range(FRAGMENTS * ROWS)]}
    )
    lance_core.write_dataset(rows, place, max_rows_per_file=ROWS, storage_options=options)
    proxy.set_rules([])
    return place


def asked(proxy: FaultProxy) -> list[str]:
    """The requests since this was last called, in short."""
    kinds = {"*/_versions/*": "manifest", "*/data/*": "data", "*/_transactions/*": "transaction"}
    found = []
    for request in proxy.requests:
        kind = [kind for pattern, kind in kinds.items() if fnmatchcase(request.path, pattern)]
        found.append(f"{request.method} {kind[0] if kind else 'list'}")
    proxy.set_rules([])
    return found


def test_planning_reads_the_manifest_and_no_data(
    spark: SparkSession, uri: str, options: dict[str, str], proxy: FaultProxy
) -> None:
    frame = read(spark, uri, **options, rows_per_partition=ROWS)
    assert asked(proxy) == ["GET list", "GET manifest"]
    assert frame.rdd.getNumPartitions() == FRAGMENTS
    # Spark plans in another process, which opens the version that the first one found.
    assert set(asked(proxy)) <= {"HEAD manifest", "GET manifest"}
    frame.explain()
    assert frame.schema.names == ["id", "text"]
    assert asked(proxy) == []


def test_tasks_ask_twice_for_a_fragment_and_read_only_the_columns_asked_for(
    spark: SparkSession, uri: str, options: dict[str, str], proxy: FaultProxy
) -> None:
    stored = sum(
        fragment.metadata.files[0].file_size_bytes or 0
        for fragment in lance_core.dataset(uri, storage_options=options).get_fragments()
    )
    proxy.set_rules([])
    frame = read(spark, uri, **options, columns="id", filter=f"id < {ROWS + 10}")
    assert frame.count() == ROWS + 10
    received = sum(one.received for one in proxy.requests if "/data/" in one.path)
    assert received < stored / 2
    requests = Counter(asked(proxy))
    # The end of each file, then the pages of the column.
    assert requests.pop("GET data") == 2 * FRAGMENTS
    # The version is opened by the process that loads it, one that plans, and the one of the tasks.
    assert requests.pop("GET list") == 1
    assert requests.pop("GET manifest") <= 3
    assert requests.pop("HEAD manifest", 0) <= 2
    assert not requests


def append(spark: SparkSession, uri: str, options: dict[str, str], proxy: FaultProxy) -> list[str]:
    """The requests of the driver after the task of an append has written its file."""
    rows = spark.range(2).selectExpr("id", "'more' AS text").coalesce(1)
    write(rows, uri, **options)
    found = asked(proxy)
    planning, task = ["GET list", "GET manifest"], ["GET list", "GET manifest", "PUT data"]
    assert found[:5] == planning + task
    return found[5:]


SECOND_LOOK = ["GET list", "GET list", "GET manifest", "HEAD data"]
"""After an attempt of more than a second the driver looks at the version and its file again."""

FIRST_LOOK = ["GET list", "HEAD data"]
"""After a shorter one that was slow beside its lookup, that its version is the newest is proof."""


def test_an_append_reads_the_table_once_on_the_driver(
    spark: SparkSession, uri: str, options: dict[str, str], proxy: FaultProxy
) -> None:
    commit = append(spark, uri, options, proxy)
    end = commit.index("PUT manifest") + 1
    after = commit[end:]
    assert after in ([], FIRST_LOOK, SECOND_LOOK)
    if after and commit[end - 2] == "GET list":  # it was slow before it published, too
        del commit[end - 2]
        end -= 1
    # How old the file is that a task has written, the driver does not know: it looks for it once.
    assert commit[end - 3 : end] == ["PUT transaction", "HEAD data", "PUT manifest"]
    assert end <= 6


def test_a_slow_append_looks_at_the_table_a_second_time(
    spark: SparkSession, uri: str, options: dict[str, str], proxy: FaultProxy
) -> None:
    proxy.set_rules([Rule(Delay(1.1), "PUT", "*/_versions/*")])
    commit = append(spark, uri, options, proxy)
    assert commit[commit.index("PUT manifest") + 1 :] == SECOND_LOOK
