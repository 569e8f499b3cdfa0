"""Keys that a namespace vends are renewed before they expire, and nothing shows them."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import lance_namespace as names
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import StoreError
from lance_core.namespace import DirectoryNamespace, RestAdapter, RestNamespace
from lance_core_namespace import provider
from tests.servers.expiring_s3 import ExpiringS3, expiring_s3
from tests.servers.moto import Moto

ROWS = pa.table({"x": [1, 2, 3]})
HOUR = 3600.0
NAMED: Any = {"table_id": ["n", "t"]}


@dataclass
class Clock:
    """The time, which a test moves on."""

    passed: float = 0.0

    def __call__(self) -> float:
        return time.time() + self.passed


@dataclass
class Vendor:
    """Vends keys for an hour, and remembers what was never to be seen."""

    door: ExpiringS3
    fails: bool = False
    texts: list[str] = field(default_factory=list)

    def vend(self, location: str) -> Mapping[str, str]:
        if self.fails:
            raise names.PermissionDeniedError("not today")
        keys = self.door.new_keys(HOUR)
        self.texts += [keys["aws_secret_access_key"], keys["aws_session_token"]]
        return keys


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr(provider, "_clock", moved)
    return moved


@pytest.fixture
def door(moto: Moto, clock: Clock) -> Iterator[ExpiringS3]:
    with expiring_s3(moto.endpoint, clock) as opened:
        yield opened


@pytest.fixture
def vendor(door: ExpiringS3) -> Vendor:
    return Vendor(door)


@pytest.fixture
def root(moto: Moto) -> str:
    return f"s3://{moto.new_bucket()}/tables"


@pytest.fixture
def client(moto: Moto, root: str, vendor: Vendor) -> Iterator[RestNamespace]:
    """A client of a server that has keys of its own, and vends others."""
    own: Any = {f"storage.{name}": value for name, value in moto.options.items()}
    served = DirectoryNamespace(root=root, credential_vendor=vendor, **own)
    served.create_namespace(names.CreateNamespaceRequest(id=["n"]))
    with RestAdapter(served, port=0) as server:
        yield RestNamespace(uri=f"http://127.0.0.1:{server.port}")


def test_an_open_table_gets_new_keys_before_the_old_ones_expire(
    client: RestNamespace, door: ExpiringS3, clock: Clock
) -> None:
    lance.write_dataset(ROWS, namespace_client=client, **NAMED)
    dataset = lance.dataset(namespace_client=client, **NAMED)
    accessor = dataset.storage_options_accessor
    assert accessor is not None
    assert accessor.has_provider()
    first = dataset.initial_storage_options
    for hours in range(1, 4):
        clock.passed = hours * HOUR + 1
        assert dataset.to_table() == ROWS
        dataset.insert(ROWS.slice(0, 0), mode="append")
    assert not door.refused
    latest = dataset.latest_storage_options()
    assert first is not None
    assert latest is not None
    assert latest["aws_access_key_id"] != first["aws_access_key_id"]
    assert dataset.initial_storage_options == first
    assert latest == accessor.get_storage_options()
    session = dataset.new_file_session()
    clock.passed += HOUR
    assert len(session.list("_versions")) >= 4
    assert not door.refused


def test_files_are_read_and_written_with_keys_of_a_namespace(
    client: RestNamespace, door: ExpiringS3, clock: Clock, root: str
) -> None:
    made = lance.write_dataset(ROWS, namespace_client=client, **NAMED)
    session = lance.file.LanceFileSession(made.uri, namespace_client=client, **NAMED)
    clock.passed = HOUR + 1
    (name,) = session.list("data")
    path = f"{made.uri}/{name}"
    reader = lance.file.LanceFileReader(path, namespace_client=client, **NAMED)
    assert reader.read_all().to_table() == ROWS
    (fragment,) = lance.fragment.write_fragments(ROWS, made.uri, namespace_client=client, **NAMED)
    append = lance.LanceOperation.Append([fragment])
    committed = lance.LanceDataset.commit(made.uri, append, 1, namespace_client=client, **NAMED)
    assert committed.count_rows() == 6
    assert not door.refused


def test_old_keys_serve_until_their_end_if_the_namespace_fails(
    client: RestNamespace, vendor: Vendor, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    lance.write_dataset(ROWS, namespace_client=client, **NAMED)
    dataset = lance.dataset(namespace_client=client, **NAMED)
    vendor.fails = True
    clock.passed = HOUR - 10
    assert dataset.count_rows("x > 1") == 2
    clock.passed = HOUR + 10
    with pytest.raises(StoreError, match=r"no new storage options for table \['n', 't'\]: .*not"):
        dataset.checkout_latest()
    vendor.fails = False
    dataset.checkout_latest()
    assert dataset.to_table() == ROWS


def test_vended_keys_are_shown_by_nothing(
    client: RestNamespace,
    vendor: Vendor,
    clock: Clock,
    moto: Moto,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        made = lance.write_dataset(ROWS, namespace_client=client, **NAMED)
        dataset = lance.dataset(namespace_client=client, **NAMED)
        texts = [dataset.scanner(filter="x > 1").explain_plan(verbose=True), dataset.uri]
        vendor.fails, clock.passed = True, HOUR + 10
        with pytest.raises(StoreError) as error:
            lance.dataset(made.uri, session=None).to_table()
        texts += [repr(error.value)]
        with pytest.raises(StoreError) as error:
            dataset.to_table()
        vendor.fails = False
    cause: BaseException | None = error.value
    while cause is not None:
        texts += [repr(cause)]
        cause = cause.__cause__ or cause.__context__
    for value in (client, dataset, dataset.storage_options_accessor, dataset.snapshot.root.config):
        texts += [repr(value), str(value), pickle.dumps(value).decode("latin-1")]
    texts += [record.getMessage() for record in caplog.records]
    bucket = dataset.uri.split("/")[2]
    store = moto.client("s3")
    for stored in store.list_objects_v2(Bucket=bucket)["Contents"]:
        body = store.get_object(Bucket=bucket, Key=stored["Key"])["Body"].read()
        texts.append(body.decode("latin-1"))
    assert vendor.texts
    shown = [text[:300] for text in texts for secret in vendor.texts if secret in text]
    assert shown == []


def test_a_pickled_table_asks_for_keys_of_its_own(client: RestNamespace, door: ExpiringS3) -> None:
    lance.write_dataset(ROWS, namespace_client=client, **NAMED)
    dataset = lance.dataset(namespace_client=client, **NAMED)
    sent = pickle.dumps(dataset)
    before = len(door.ends)
    assert pickle.loads(sent).to_table() == ROWS
    assert len(door.ends) > before
    assert not door.refused


def test_a_role_of_aws_gives_keys_for_one_table(moto: Moto, root: str) -> None:
    own: Any = {f"storage.{name}": value for name, value in moto.options.items()}
    properties: Any = {
        "credential_vendor.enabled": "true",
        "credential_vendor.aws_role_arn": "arn:aws:iam::123456789012:role/tables",
        "credential_vendor.permission": "admin",
    }
    namespace = DirectoryNamespace(root=root, **properties, **own)
    lance.write_dataset(ROWS, namespace_client=namespace, table_id=["t"])
    request = names.DescribeTableRequest(id=["t"])
    vended = namespace.describe_table(request).storage_options
    assert vended["aws_access_key_id"].startswith("ASIA")
    left = int(vended["expires_at_millis"]) / 1000 - time.time()
    assert 3000 < left <= 3610
    assert namespace.describe_table(request).storage_options == vended
    not_vended = names.DescribeTableRequest(id=["t"], vend_credentials=False)
    assert namespace.describe_table(not_vended).storage_options is None
    dataset = lance.dataset(namespace_client=namespace, table_id=["t"])
    assert dataset.to_table() == ROWS
    assert dataset.latest_storage_options() == vended
