"""DynamoDB tables: made, found, and refused where their key does not decide."""

from __future__ import annotations

import subprocess
import sys
import uuid
from typing import Any

import pyarrow as pa
import pytest

import lance_core
import lance_core_dynamodb
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import InvalidInputError, OutcomeUnknownError, StoreError
from lance_core_dynamodb.options import named
from lance_core_dynamodb.store import DynamoManifestStore
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Reset, Rule
from tests.servers.moto import Moto

PK = ("base_uri", "HASH", "S")
SK = ("version", "RANGE", "N")

DATA = pa.table({"number": [1]})
ENTRY = ManifestEntry(1, "t/_versions/1.manifest", 1)


@pytest.fixture
def name() -> str:
    return f"t{uuid.uuid4().hex}"


def make(moto: Moto, name: str, *keys: tuple[str, str, str]) -> None:
    client = moto.client("dynamodb")
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": role} for key, role, _ in keys],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": t} for key, _, t in keys],
        BillingMode="PAY_PER_REQUEST",
    )
    client.close()


def described(moto: Moto, name: str) -> dict[str, Any]:
    client = moto.client("dynamodb")
    table: dict[str, Any] = client.describe_table(TableName=name)["Table"]
    client.close()
    return table


def calls(rows: DynamoManifestStore) -> list[Any]:
    return [
        lambda: rows.get("t", 1),
        lambda: rows.get_latest("t"),
        lambda: rows.put_if_absent("t", ENTRY),
        lambda: rows.put_if_present("t", ENTRY),
        lambda: rows.delete("t"),
    ]


def test_a_table_is_made_once_and_billed_by_request(
    moto: Moto, options: dict[str, str], name: str
) -> None:
    lance_core_dynamodb.create_table(name, options)
    DynamoManifestStore(named(name, options)).put_if_absent("t", ENTRY)
    lance_core_dynamodb.create_table(name, options)
    assert DynamoManifestStore(named(name, options)).get("t", 1) == ENTRY
    table = described(moto, name)
    assert table["TableStatus"] == "ACTIVE"
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_making_a_table_survives_lost_answers(
    moto: Moto, options: dict[str, str], name: str
) -> None:
    with FaultProxy(moto.endpoint) as proxy:
        proxy.set_rules([Rule(Reset(after=True), times=2)])
        lance_core_dynamodb.create_table(name, {**options, "dynamodb_endpoint": proxy.url})
    assert described(moto, name)["TableStatus"] == "ACTIVE"


def test_a_table_that_nobody_made_is_an_error_that_names_the_helper(
    moto: Moto, bucket: str, options: dict[str, str], name: str
) -> None:
    for call in calls(DynamoManifestStore(named(name, options))):
        with pytest.raises(InvalidInputError, match=r"lance_core_dynamodb\.create_table") as caught:
            call()
        assert name in str(caught.value)
    uri = f"s3+ddb://{bucket}/t.lance?ddbTableName={name}"
    for act in (lance_core.dataset, lambda *a, **k: lance_core.write_dataset(DATA, *a, **k)):
        with pytest.raises(InvalidInputError, match="create_table"):
            act(uri, storage_options=options)
    lance_core_dynamodb.create_table(name, options)
    lance_core.write_dataset(DATA, uri, storage_options=options)  # noticed


WRONG: dict[str, tuple[tuple[str, str, str], ...]] = {
    "one key": (PK,),
    "other names": (("path", "HASH", "S"), ("number", "RANGE", "N")),
    "swapped": (("version", "HASH", "N"), ("base_uri", "RANGE", "S")),
    "version is text": (PK, ("version", "RANGE", "S")),
    "base_uri is bytes": (("base_uri", "HASH", "B"), SK),
}


@pytest.mark.parametrize("keys", WRONG.values(), ids=WRONG)
def test_a_table_whose_key_does_not_decide_is_refused(
    moto: Moto, options: dict[str, str], name: str, keys: tuple[tuple[str, str, str], ...]
) -> None:
    make(moto, name, *keys)
    for call in calls(DynamoManifestStore(named(name, options))):
        with pytest.raises(InvalidInputError, match=r"base_uri \(HASH, S\)"):
            call()
    with pytest.raises(InvalidInputError, match=r"base_uri \(HASH, S\)"):
        lance_core_dynamodb.create_table(name, options)


def test_a_table_is_looked_at_once(
    moto: Moto, ddb_table: str, options: dict[str, str], base_uri: str
) -> None:
    with FaultProxy(moto.endpoint) as proxy:
        for _ in range(3):
            rows = DynamoManifestStore(
                named(ddb_table, {**options, "dynamodb_endpoint": proxy.url})
            )
            rows.get(base_uri, 1)
        assert proxy.count() == 4


def test_a_table_that_vanished_is_an_error_and_looked_for_again(
    moto: Moto, options: dict[str, str], name: str
) -> None:
    lance_core_dynamodb.create_table(name, options)
    rows = DynamoManifestStore(named(name, options))
    rows.put_if_absent("t", ENTRY)
    client = moto.client("dynamodb")
    client.delete_table(TableName=name)
    client.close()
    with pytest.raises(StoreError, match="create_table") as caught:
        rows.put_if_absent("t", ENTRY)
    assert not isinstance(caught.value, OutcomeUnknownError)
    make(moto, name, PK)
    with pytest.raises(InvalidInputError, match="HASH"):
        rows.put_if_absent("t", ENTRY)


def test_looking_up_plugins_does_not_import_the_sdk() -> None:
    code = (
        "import sys, lance_core_dynamodb.plugin\n"
        "(spec,) = lance_core_dynamodb.plugin.lance_manifest_stores()\n"
        "print(spec.url_suffix, 'botocore' in sys.modules, lance_core_dynamodb.create_table)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert told[:2] == ["ddb", "False"]
