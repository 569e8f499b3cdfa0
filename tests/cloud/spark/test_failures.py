"""What S3 refuses is one error that says so, soon and without secrets."""

from __future__ import annotations

import time

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Rule, xml_error
from tests.servers.moto import Moto
from tests.spark.conftest import read, write

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

CANARY = "canary5f0c"
SOON = 90
"""Seconds, on a busy machine; retries alone would take longer."""

WRONG = xml_error(403, "InvalidAccessKeyId")


@pytest.fixture
def options(moto: Moto, proxy: FaultProxy) -> dict[str, str]:
    return moto.options | {"aws_endpoint": proxy.url, "aws_secret_access_key": CANARY}


def test_wrong_credentials_are_found_out_by_one_request(
    spark: SparkSession, bucket: str, options: dict[str, str], proxy: FaultProxy
) -> None:
    proxy.set_rules([Rule(WRONG)])
    with pytest.raises(PySparkException, match=r"StoreError: .*403 InvalidAccessKeyId") as refused:
        read(spark, f"s3://{bucket}/t.lance", **options)
    assert proxy.struck == 1
    assert CANARY not in str(refused.value)


def test_what_tasks_may_not_write_fails_the_job_soon_and_commits_nothing(
    spark: SparkSession, bucket: str, options: dict[str, str], proxy: FaultProxy
) -> None:
    proxy.set_rules([Rule(WRONG, "PUT")])
    started = time.monotonic()
    with pytest.raises(PySparkException, match=r"StoreError: .*403 InvalidAccessKeyId") as refused:
        write(spark.range(2).coalesce(1), f"s3://{bucket}/t.lance", **options)
    assert time.monotonic() - started < SOON
    assert proxy.struck == proxy.count("PUT", "*/data/*") == 2  # attempts of the task
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize(
    ("uri", "changed", "reason"),
    [
        ("s3://no-such-bucket-5f0c/t", {}, "StoreError: .*NoSuchBucket"),
        ("s3://bucket/t", {"allow_http": "false"}, "InvalidInputError: .*allow_http"),
        ("s3://bucket/t", {"aws_secret": CANARY}, "InvalidInputError: .*aws_secret"),
        ("s3+nobody://bucket/t", {}, "PluginNotFoundError: .*'nobody'.* in process"),
    ],
    ids=["a bucket that is not there", "no TLS", "an unknown option", "an unknown way to commit"],
)
def test_mistakes_are_explained(
    spark: SparkSession, options: dict[str, str], uri: str, changed: dict[str, str], reason: str
) -> None:
    with pytest.raises(PySparkException, match=reason) as refused:
        read(spark, uri, **options | changed)
    assert CANARY not in str(refused.value)
