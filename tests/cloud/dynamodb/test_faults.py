"""Commits over a network that fails: every append succeeds, and is there once."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import NoSafeCommitHandlerError
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import (
    Answer,
    Delay,
    Reset,
    Rule,
    Truncated,
    Without,
    json_error,
)
from tests.servers.moto import Moto

WRITERS = 2
APPENDS = 5

MIX = [
    Rule(Reset(), probability=0.06),
    Rule(Reset(after=True), probability=0.06),
    Rule(json_error(500, "InternalServerError", after=True), probability=0.06),
    Rule(json_error(400, "ProvisionedThroughputExceededException"), probability=0.06),
    Rule(Answer(503, b"<html>later</html>"), probability=0.06),
    Rule(Truncated(), probability=0.03),
    Rule(Delay(0.05), probability=0.06),
]


@pytest.fixture
def faulty(moto: Moto) -> Iterator[FaultProxy]:
    with FaultProxy(moto.endpoint, seed=7) as proxy:
        yield proxy


def append_together(uri: str, options: dict[str, str]) -> None:
    failed: list[BaseException] = []

    def append(writer: int) -> None:
        try:
            for number in range(APPENDS):
                data = table_of(10 * writer + number)
                lance_core.write_dataset(data, uri, mode="append", storage_options=options)
        except BaseException as error:  # to be told by the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=append, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def check_all_appended(uri: str, options: dict[str, str]) -> None:
    expected = [-1] + [10 * w + number for w in range(WRITERS) for number in range(APPENDS)]
    for library in (lance_core, pylance):
        dataset = library.dataset(uri, storage_options=options)
        assert sorted(dataset.to_table()["number"].to_pylist()) == expected
        assert dataset.version == len(expected)


def test_no_append_is_lost_or_doubled_by_a_third_of_all_requests_failing(
    faulty: FaultProxy, bucket: str, ddb_table: str, options: dict[str, str], base_uri: str
) -> None:
    uri = f"s3+ddb://{bucket}/{base_uri}?ddbTableName={ddb_table}"
    given = {**options, "dynamodb_endpoint": faulty.url}
    lance_core.write_dataset(table_of(-1), uri, storage_options=given)
    faulty.set_rules(MIX)
    append_together(uri, given)
    assert faulty.struck > 10
    check_all_appended(uri, options)


def test_a_server_that_ignores_conditions_is_safe_with_rows_and_refused_without(
    faulty: FaultProxy, bucket: str, ddb_table: str, options: dict[str, str], base_uri: str
) -> None:
    faulty.set_rules([Rule(Without(frozenset({"if-none-match"})))])
    given = {**options, "aws_endpoint": faulty.url}
    with pytest.raises(NoSafeCommitHandlerError, match=r"s3\+ddb"):
        lance_core.write_dataset(table_of(-1), f"s3://{bucket}/{base_uri}", storage_options=given)
    uri = f"s3+ddb://{bucket}/{base_uri}?ddbTableName={ddb_table}"
    lance_core.write_dataset(table_of(-1), uri, storage_options=given)
    append_together(uri, given)
    check_all_appended(uri, options)


def table_of(number: int) -> pa.Table:
    return pa.table({"number": pa.array([number], pa.int64())})
