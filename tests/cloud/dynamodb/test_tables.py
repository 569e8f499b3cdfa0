"""Tables on S3 whose commits DynamoDB decides, with this project and pylance at work on them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.errors import CorruptFileError, DatasetNotFoundError
from lance_core.store.config import carrying_secrets
from tests.servers.moto import Moto

BOTH = [lance_core, pylance]
EACH_FIRST = [(lance_core, pylance), (pylance, lance_core)]


def name_of(library: Any) -> str:
    return str(library.__name__)


each = pytest.mark.parametrize("library", BOTH, ids=name_of)
each_first = pytest.mark.parametrize(("first", "other"), EACH_FIRST, ids=name_of)


@dataclass(frozen=True, slots=True)
class Place:
    """A table, and what is in S3 and DynamoDB about it."""

    moto: Moto
    bucket: str
    path: str
    ddb_table: str
    options: dict[str, str]

    @property
    def uri(self) -> str:
        return f"s3+ddb://{self.bucket}/{self.path}?ddbTableName={self.ddb_table}"

    def write(self, library: Any, number: int, mode: str = "append") -> Any:
        data = pa.table({"number": pa.array([number], pa.int64())})
        return library.write_dataset(data, self.uri, mode=mode, storage_options=self.options)

    def open(self, library: Any, version: int | None = None) -> Any:
        return library.dataset(self.uri, version=version, storage_options=self.options)

    def numbers(self, library: Any, version: int | None = None) -> list[int]:
        return sorted(self.open(library, version).to_table()["number"].to_pylist())

    def rows(self, below: str = "") -> list[dict[str, dict[str, str]]]:
        client = self.moto.client("dynamodb")
        found = client.query(
            TableName=self.ddb_table,
            KeyConditionExpression="base_uri = :b",
            ExpressionAttributeValues={":b": {"S": self.path + below}},
        )["Items"]
        client.close()
        return list(found)

    def manifests(self) -> dict[str, int]:
        client = self.moto.client("s3")
        found = client.list_objects_v2(Bucket=self.bucket, Prefix=f"{self.path}/_versions/")
        client.close()
        return {one["Key"]: one["Size"] for one in found.get("Contents", ())}

    def half_finish(self) -> str:
        """Take the newest commit back to the moment after its row was added."""
        row = self.rows()[-1]
        final, staged = row["path"]["S"], f"{row['path']['S']}-{uuid.uuid4()}"
        s3, dynamodb = self.moto.client("s3"), self.moto.client("dynamodb")
        s3.copy_object(
            Bucket=self.bucket, Key=staged, CopySource={"Bucket": self.bucket, "Key": final}
        )
        s3.delete_object(Bucket=self.bucket, Key=final)
        dynamodb.put_item(TableName=self.ddb_table, Item={**row, "path": {"S": staged}})
        s3.close()
        dynamodb.close()
        return staged


@pytest.fixture
def place(moto: Moto, bucket: str, base_uri: str, ddb_table: str, options: dict[str, str]) -> Place:
    return Place(moto, bucket, base_uri, ddb_table, options)


def check_rows(place: Place, versions: int, first: int = 1) -> None:
    """Attribute by attribute: what pylance writes, and nothing else."""
    sizes = place.manifests()
    expected = []
    for version in range(first, versions + 1):
        path = f"{place.path}/_versions/{(1 << 64) - 1 - version:020}.manifest"
        expected.append(
            {
                "base_uri": {"S": place.path},
                "version": {"N": str(version)},
                "path": {"S": path},
                "committer": {"S": "lancedb"},
                "size": {"N": str(sizes[path])},
            }
        )
    assert place.rows() == expected
    assert len(sizes) == versions


@each_first
def test_both_libraries_write_the_same_rows(place: Place, first: Any, other: Any) -> None:
    place.write(first, 0, "create")
    check_rows(place, 1)
    for number, library in enumerate((other, first, other), start=1):
        place.write(library, number)
        check_rows(place, number + 1)
    place.open(first).delete("number = 0")
    place.open(other).delete("number = 1")
    check_rows(place, 6)
    assert place.numbers(lance_core) == place.numbers(pylance) == [2, 3]
    place.write(other, 9, "overwrite")
    check_rows(place, 7)
    assert place.numbers(first) == [9]


@pytest.mark.parametrize("folder", ["a%20b", "50%25", "%C3%BC", "表-🚀", "x=1&y"])
def test_both_libraries_name_a_table_of_any_characters_alike(place: Place, folder: str) -> None:
    uri = f"s3+ddb://{place.bucket}/{place.path}/{folder}?ddbTableName={place.ddb_table}"
    data = pa.table({"number": [1]})
    for number, library in enumerate((lance_core, pylance, lance_core), start=1):
        mode = "append" if number > 1 else "create"
        library.write_dataset(data, uri, mode=mode, storage_options=place.options)
        opened: Any = library.dataset(uri, storage_options=place.options)
        assert opened.version == opened.count_rows() == number


WRITER = """
import json, sys, pyarrow as pa
library, uri, writer, count, options = sys.argv[1:]
lance = __import__(library)
for number in range(int(count)):
    data = pa.table({"number": pa.array([int(writer) * 100 + number], pa.int64())})
    for attempt in range(30):
        try:
            lance.write_dataset(data, uri, mode="append", storage_options=json.loads(options))
            break
        except OSError as error:  # pylance gives up after some conflicts, without having written
            if "conflict" not in str(error).lower():
                raise
    else:
        sys.exit(3)
"""


def test_no_append_of_any_process_of_either_library_is_lost(place: Place) -> None:
    appends, libraries = 4, (lance_core, pylance, lance_core)
    place.write(lance_core, -1, "create")
    running = [
        subprocess.Popen(
            [
                *(sys.executable, "-W", "ignore", "-c", WRITER, name_of(library), place.uri),
                *(str(writer), str(appends), json.dumps(place.options)),
            ]
        )
        for writer, library in enumerate(libraries)
    ]
    assert [process.wait(120) for process in running] == [0] * len(libraries)
    expected = [
        -1,
        *(100 * writer + number for writer in range(len(libraries)) for number in range(appends)),
    ]
    assert place.numbers(lance_core) == place.numbers(pylance) == expected
    check_rows(place, len(expected))


@each_first
@pytest.mark.parametrize("next_one", ["reader", "writer"])
def test_what_one_library_left_half_finished_the_other_completes(
    place: Place, first: Any, other: Any, next_one: str
) -> None:
    place.write(first, 0, "create")
    place.write(first, 1)
    staged = place.half_finish()
    assert staged in place.manifests()
    expected = [0, 1]
    if next_one == "writer":
        place.write(other, 2)
        expected.append(2)
    assert place.numbers(other) == expected
    check_rows(place, len(expected))
    assert place.numbers(first) == expected


def clean(dataset: Any) -> None:
    dataset.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)


@each_first
def test_rows_outlive_cleanup_and_tables_go_on(place: Place, first: Any, other: Any) -> None:
    place.write(first, 0, "create")
    for number in (1, 2):
        place.write(other, number)
    clean(place.open(first))
    assert len(place.manifests()) == 1
    assert [row["version"]["N"] for row in place.rows()] == ["1", "2", "3"]
    assert place.numbers(other) == [0, 1, 2]
    with pytest.raises(DatasetNotFoundError):
        place.open(lance_core, 1)
    place.write(other, 3)
    place.write(first, 4)
    assert place.numbers(lance_core) == place.numbers(pylance) == [0, 1, 2, 3, 4]


@each
def test_a_table_from_before_goes_on_with_the_rows(place: Place, library: Any) -> None:
    plain = f"s3://{place.bucket}/{place.path}"
    data = pa.table({"number": pa.array([0], pa.int64())})
    library.write_dataset(data, plain, storage_options=place.options)
    place.write(lance_core, 1)
    place.write(pylance, 2)
    assert place.numbers(lance_core) == [0, 1, 2]
    check_rows(place, 3, first=2)
    assert place.numbers(lance_core, 1) == [0]
    check_rows(place, 3)
    # Readers need no rows.
    for reader in BOTH:
        opened: Any = reader.dataset(plain, storage_options=place.options)
        assert opened.count_rows() == 3


def test_dropping_removes_the_rows_those_of_branches_included(place: Place) -> None:
    for _ in range(2):
        dataset = place.write(lance_core, 0, "create")
        branch = dataset.create_branch("b")
        lance_core.write_dataset(pa.table({"number": [1]}), branch, mode="append")
        assert len(place.rows("/tree/b")) == 2
        assert place.open(pylance).checkout_version(("b", None)).count_rows() == 2
        lance_core.LanceDataset.drop(place.uri, storage_options=place.options)
        assert [*place.rows(), *place.rows("/tree/b"), *place.manifests()] == []


def test_a_dataset_travels_without_its_secrets(place: Place) -> None:
    dataset = place.write(lance_core, 0, "create")
    assert place.options["aws_secret_access_key"].encode() not in pickle.dumps(dataset)
    with carrying_secrets():
        travelled = pickle.loads(pickle.dumps(dataset))
    lance_core.write_dataset(pa.table({"number": [1]}), travelled, mode="append")
    assert place.numbers(pylance) == [0, 1]
    check_rows(place, 2)


def test_rows_without_a_table_are_an_error_until_they_are_dropped(place: Place) -> None:
    """pylance leaves rows behind when it drops a table."""
    place.write(pylance, 0, "create")
    pylance.LanceDataset.drop(place.uri, storage_options=place.options)
    assert len(place.rows()) == 1
    for act in (lambda: place.open(lance_core), lambda: place.write(lance_core, 1, "create")):
        with pytest.raises(CorruptFileError, match="ignore_not_found"):
            act()
    lance_core.LanceDataset.drop(place.uri, ignore_not_found=True, storage_options=place.options)
    assert place.rows() == []
    place.write(lance_core, 1, "create")
    assert place.numbers(pylance) == [1]


# --- one DynamoDB table, two buckets --------------------------------------------------------------


@pytest.fixture
def elsewhere(place: Place) -> Place:
    """The same path in another bucket."""
    return Place(place.moto, place.moto.new_bucket(), place.path, place.ddb_table, place.options)


def no_table(place: Place) -> None:
    assert place.manifests() == {}


def an_older_table(place: Place) -> None:
    """Made without rows in DynamoDB."""
    data = pa.table({"another name, a long one": [1, 2]})
    lance_core.write_dataset(
        data,
        f"s3://{place.bucket}/{place.path}",
        mode="overwrite",
        storage_options=place.options,
    )


def a_table_of_as_many_versions(place: Place) -> None:
    an_older_table(place)
    an_older_table(place)


def a_table_of_more_versions(place: Place) -> None:
    a_table_of_as_many_versions(place)
    an_older_table(place)


@pytest.mark.parametrize(
    "prepare",
    [no_table, an_older_table, a_table_of_as_many_versions, a_table_of_more_versions],
)
def test_rows_of_another_buckets_table_are_never_followed(
    place: Place, elsewhere: Place, prepare: Callable[[Place], None]
) -> None:
    place.write(lance_core, 0, "create")
    place.write(lance_core, 1)
    prepare(elsewhere)
    before = elsewhere.manifests()
    for act in (lambda: elsewhere.open(lance_core), lambda: elsewhere.write(lance_core, 5)):
        with pytest.raises(CorruptFileError, match="bucket"):
            act()
    assert elsewhere.manifests() == before
    assert place.numbers(lance_core) == [0, 1]
    check_rows(place, 2)
