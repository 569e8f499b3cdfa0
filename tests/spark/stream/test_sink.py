"""Streaming writes, without Spark: each micro-batch is committed exactly once."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import LongType, StringType, StructField, StructType

import lance_core
from lance_core.errors import InvalidInputError, RetryableCommitConflictError, SchemaMismatchError
from lance_core_spark.stream.sink import LanceStreamWriter
from pyspark_lance import DefaultSource

SCHEMA = StructType([StructField("id", LongType())])
QUERY = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    return tmp_path / "t.lance"


def sink(
    uri: Path, overwrite: bool = False, schema: StructType = SCHEMA, **options: str
) -> LanceStreamWriter:
    given = {"path": str(uri), "streamingQueryId": QUERY, **options}
    return DefaultSource(given).streamWriter(schema, overwrite)  # type: ignore[return-value]


def write(writer: LanceStreamWriter, *tasks: list[int]) -> list[WriterCommitMessage | None]:
    """The messages of tasks that write these ids."""
    writers = [pickle.loads(pickle.dumps(writer)) for _ in tasks]
    batches = [[pa.record_batch({"id": pa.array(ids, pa.int64())})] for ids in tasks]
    messages = [one.write(iter(rows)) for one, rows in zip(writers, batches, strict=True)]
    return pickle.loads(pickle.dumps(messages))


def ids(uri: Path) -> list[int]:
    return sorted(lance_core.dataset(uri).to_table()["id"].to_pylist())


def files(uri: Path) -> int:
    return len(list(Path(uri, "data").iterdir()))


def test_a_batch_is_one_version_that_records_its_number(uri: Path) -> None:
    for number, tasks in enumerate([([1, 2], [3]), ([4], [])]):
        messages = write(sink(uri), *tasks)
        sink(uri).commit(messages, number)
    dataset = lance_core.dataset(uri)
    assert ids(uri) == [1, 2, 3, 4]
    assert dataset.version == 2
    found = [one and one.transaction_properties for one in dataset.get_transactions()]
    names = "lance.streaming.queryId", "lance.streaming.epochId"
    assert found == [dict(zip(names, (QUERY, number), strict=True)) for number in "10"]


def test_a_batch_that_is_repeated_is_committed_once(uri: Path) -> None:
    for number in (0, 1):
        sink(uri).commit(write(sink(uri), [number]), number)
    for _ in range(20):  # other writers
        lance_core.write_dataset(pa.table({"id": [9]}), uri, mode="append")
    kept = files(uri)
    for number in (0, 1):
        sink(uri).commit(write(sink(uri), [number]), number)
    assert ids(uri)[:3] == [0, 1, 9]
    assert files(uri) == kept
    sink(uri, streamingQueryId="another").commit(write(sink(uri), [0]), 0)
    sink(uri, streaming_look_back="5").commit(write(sink(uri), [1]), 1)
    assert ids(uri)[:5] == [0, 0, 1, 1, 9]


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_drivers_of_one_query_commit_a_batch_once(
    uri: Path, overwrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second driver looks for the batch before the first one commits it."""
    sink(uri).commit(write(sink(uri), [0]), 0)
    zombie, current = sink(uri, overwrite), sink(uri, overwrite)
    messages, others = write(zombie, [1]), write(current, [1])
    commit = lance_core.LanceDataset.commit

    def late(*args: object, **options: object) -> lance_core.LanceDataset:
        monkeypatch.setattr(lance_core.LanceDataset, "commit", commit)
        current.commit(others, 1)
        return commit(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(lance_core.LanceDataset, "commit", late)
    zombie.commit(messages, 1)
    assert ids(uri) == ([1] if overwrite else [0, 1])
    assert lance_core.dataset(uri).version == 2
    assert files(uri) == 2


def test_a_late_driver_does_not_undo_a_newer_complete_batch(uri: Path) -> None:
    zombie = write(sink(uri, True), [0])
    for number in (0, 1):
        sink(uri, True).commit(write(sink(uri, True), [10 + number]), number)
    sink(uri, True).commit(zombie, 0)
    assert ids(uri) == [11]


def test_the_version_of_the_tasks_decides_about_conflicts(uri: Path) -> None:
    sink(uri).commit(write(sink(uri), [0]), 0)
    append, complete = write(sink(uri), [1]), write(sink(uri, True), [2])
    lance_core.write_dataset(pa.table({"id": [5]}), uri, mode="append")
    sink(uri).commit(append, 1)
    assert ids(uri) == [0, 1, 5]
    lance_core.write_dataset(pa.table({"id": [6]}), uri, mode="overwrite")
    with pytest.raises(RetryableCommitConflictError):
        sink(uri, True).commit(complete, 2)
    assert ids(uri) == [6]


def test_an_append_without_rows_makes_no_version(uri: Path) -> None:
    sink(uri).commit(write(sink(uri), []), 0)
    assert ids(uri) == []
    sink(uri).commit(write(sink(uri), []), 1)
    assert lance_core.dataset(uri).version == 1
    sink(uri).commit(write(sink(uri), [1]), 2)
    sink(uri, True).commit(write(sink(uri, True), []), 3)
    assert ids(uri) == []


def test_a_failed_batch_leaves_no_files_of_finished_tasks(uri: Path) -> None:
    sink(uri).commit(write(sink(uri), [0]), 0)
    messages = write(sink(uri), [1], [2])
    sink(uri).abort([messages[0], None], 1)
    assert files(uri) == 2
    sink(uri).abort([messages[1]], 1)  # after a commit, whose outcome may be unknown
    assert files(uri) == 2


def test_what_cannot_be_written_is_an_error(uri: Path) -> None:
    sink(uri).commit(write(sink(uri), [0]), 0)
    text = StructType([StructField("id", StringType())])
    with pytest.raises(SchemaMismatchError, match="column 'id' is string"):
        sink(uri, schema=text)
    with pytest.raises(InvalidInputError, match=r"option 'if_exists'.*stream"):
        sink(uri, if_exists="error")
    with pytest.raises(InvalidInputError, match="'replace_where' is not supported by streams"):
        sink(uri, overwrite=True, replace_where="id = 0")
    with pytest.raises(InvalidInputError, match=r"'txn_app_id'.* for one write"):
        sink(uri, txn_app_id="job", txn_version="1")
    with pytest.raises(InvalidInputError, match="'streaming_look_back' must be a whole number"):
        sink(uri, streaming_look_back="0")
    messages = write(sink(uri, streamingQueryId=""), [1])
    with pytest.raises(InvalidInputError, match="set the option 'streamingQueryId'"):
        sink(uri, streamingQueryId="").commit(messages, 1)
