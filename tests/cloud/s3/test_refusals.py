"""What goes wrong at a server is one clear error, in time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.byte_ranges import ByteRange
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    LanceError,
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import PutMode
from lance_core_remote.store import RemoteStore
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import (
    Answer,
    LateAnswer,
    Reset,
    Rule,
    SlowBody,
    Truncated,
    xml_error,
)
from tests.cloud.s3.places import opened
from tests.patience import LASTING, ends_within
from tests.servers.moto import Moto, running_moto

SOON = {"client_retry_timeout": "1s", "timeout": "1s", "client_max_retries": "1000"}


@pytest.fixture
def store(moto: Moto, bucket: str, proxy: FaultProxy) -> Iterator[RemoteStore]:
    options = moto.options | {"aws_endpoint": proxy.url}
    with opened(f"s3://{bucket}/t", options) as one:
        yield one


@pytest.fixture
def impatient(moto: Moto, bucket: str, proxy: FaultProxy) -> Iterator[RemoteStore]:
    options = moto.options | SOON | {"aws_endpoint": proxy.url}
    with opened(f"s3://{bucket}/t", options) as one:
        yield one


CALLS: dict[str, Callable[[RemoteStore], object]] = {
    "get": lambda store: store.get("a"),
    "ranges": lambda store: store.get_ranges("a", [ByteRange(0, 1)]),
    "head": lambda store: store.head("a"),
    "put": lambda store: store.put("a", b"1"),
    "create": lambda store: store.put("a", b"1", PutMode.create),
    "list": lambda store: list(store.list("")),
    "delete": lambda store: store.delete("a"),
    "copy": lambda store: store.copy("a", "b"),
}
ASKING_HEAD = {"head", "copy"}
"""Calls whose first answer has no body that could say more than its status."""


@pytest.mark.parametrize("call", CALLS)
def test_a_missing_bucket_is_named(moto: Moto, call: str) -> None:
    missing = pytest.raises(LanceError, match="nobody-made-this")
    with opened("s3://nobody-made-this/t", moto.options) as store, missing as failed:
        CALLS[call](store)
    if call not in ASKING_HEAD:
        assert isinstance(failed.value, StoreError)
        assert "bucket does not exist" in str(failed.value)


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[Moto, dict[str, dict[str, str]]]]:
    """A server that checks keys and rights, with keys of different rights on its one bucket."""
    # Actions until it starts to check: making the bucket, and five for each of the users.
    with running_moto(INITIAL_NO_AUTH_ACTION_COUNT="7") as server:
        server.client("s3").create_bucket(Bucket="guarded")
        users = server.client("iam")
        keys = {}
        for user, actions in {"writer": "s3:*", "nobody": "iam:ListUsers"}.items():
            users.create_user(UserName=user)
            allowed = {"Effect": "Allow", "Action": actions, "Resource": "*"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
            users.put_user_policy(UserName=user, PolicyName="all", PolicyDocument=policy)
            made = users.create_access_key(UserName=user)["AccessKey"]
            keys[user] = {
                "aws_access_key_id": made["AccessKeyId"],
                "aws_secret_access_key": made["SecretAccessKey"],
            }
        yield server, keys


def test_who_has_the_right_may_write(guarded: tuple[Moto, dict[str, dict[str, str]]]) -> None:
    server, keys = guarded
    with opened("s3://guarded/t", server.options | keys["writer"]) as store:
        store.put("a", b"1")
        assert bytes(store.get("a")) == b"1"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("user", "changed", "code"),
    [
        ("nobody", {}, "AccessDenied"),
        ("writer", {"aws_access_key_id": "AKIANOBODYHASTHIS000"}, "InvalidAccessKeyId"),
        ("writer", {"aws_secret_access_key": "hidden-canary"}, "SignatureDoesNotMatch"),
    ],
)
def test_wrong_keys_and_missing_rights_are_refused_at_once(
    guarded: tuple[Moto, dict[str, dict[str, str]]],
    call: str,
    user: str,
    changed: dict[str, str],
    code: str,
) -> None:
    server, keys = guarded
    with (
        ends_within(1),
        opened("s3://guarded/t", server.options | keys[user] | changed) as store,
        pytest.raises(StoreError) as failed,
    ):
        CALLS[call](store)
    assert "403" in str(failed.value)
    assert call in ASKING_HEAD or code in str(failed.value)
    assert "hidden" not in str(failed.value)
    assert failed.value.__cause__ is failed.value.__context__ is None


@pytest.mark.parametrize("call", CALLS)
def test_a_server_that_is_down_is_given_up_within_the_deadline(moto: Moto, call: str) -> None:
    options = moto.options | SOON | {"aws_endpoint": "http://127.0.0.1:9"}
    with opened("s3://bucket/t", options) as store:
        refused = "no connection to http://127.0.0.1:9: Connection refused"
        with ends_within(1), pytest.raises(StoreError, match=refused) as failed:
            CALLS[call](store)
    assert not isinstance(failed.value, OutcomeUnknownError)


def test_a_server_that_does_not_answer_is_given_up_within_the_deadline(
    impatient: RemoteStore, proxy: FaultProxy
) -> None:
    proxy.set_rules([Rule(LateAnswer(LASTING))])
    with ends_within(2), pytest.raises(StoreError, match="no complete response"):
        impatient.get("a")


def test_a_write_without_an_answer_may_have_been_applied(
    impatient: RemoteStore, proxy: FaultProxy
) -> None:
    proxy.set_rules([Rule(Reset(after=True), "PUT")])
    with pytest.raises(OutcomeUnknownError):
        impatient.put("a", b"1", PutMode.create)


def test_a_body_that_breaks_off_is_read_again(store: RemoteStore, proxy: FaultProxy) -> None:
    store.put("a", bytes(100_000))
    proxy.set_rules([Rule(Truncated(), "GET", times=2)])
    assert store.get("a").size == 100_000
    assert proxy.struck == 2


def test_a_body_that_never_ends_is_given_up_within_the_deadline(
    store: RemoteStore, impatient: RemoteStore, proxy: FaultProxy
) -> None:
    store.put("a", bytes(2_000_000))
    proxy.set_rules([Rule(SlowBody(LASTING, pieces=1500), "GET")])
    with ends_within(2), pytest.raises(StoreError, match="no complete response"):
        impatient.get("a")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (503, "SlowDown"),
        (429, "TooManyRequests"),
        (409, "ConditionalRequestConflict"),
        (500, "InternalError"),
    ],
)
@pytest.mark.parametrize("call", CALLS)
def test_what_passes_is_waited_for(
    store: RemoteStore, proxy: FaultProxy, call: str, status: int, code: str
) -> None:
    if call != "create":
        store.put("a", b"1")
    proxy.set_rules([Rule(xml_error(status, code), times=1)])
    CALLS[call](store)
    assert proxy.struck == 1


def test_what_is_there_is_not_replaced(store: RemoteStore) -> None:
    store.put("a", b"1")
    with pytest.raises(ObjectExistsError):
        store.put("a", b"2", PutMode.create)


def test_a_wrong_clock_is_said_so(store: RemoteStore, proxy: FaultProxy) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    skewed = xml_error(403, "RequestTimeTooSkewed")
    proxy.set_rules([Rule(Answer(403, skewed.body, {**skewed.headers, "Date": later}))])
    with pytest.raises(StoreError, match=r"clock of this machine is 7\d\d\d s behind"):
        store.get("a")
    assert proxy.struck == 1


def test_expired_keys_that_nobody_renews_are_said_so(store: RemoteStore, proxy: FaultProxy) -> None:
    proxy.set_rules([Rule(xml_error(400, "ExpiredToken"))])
    with pytest.raises(StoreError, match="ExpiredToken"):
        store.get("a")
    assert proxy.struck == 1


def test_an_object_that_is_replaced_while_it_is_read_is_said_so(store: RemoteStore) -> None:
    store.put("a", b"1")
    etag = store.head("a").etag
    store.put("a", b"2")
    ask = lambda: store.client.get("t/a", None, etag)  # noqa: E731 (a request of the store's)
    with pytest.raises(CorruptFileError, match="replaced"):
        store._sender.read("reading", "a", ask)


def test_tls_is_not_spoken_with_a_server_that_does_not(moto: Moto) -> None:
    endpoint = moto.endpoint.replace("http://", "https://")
    refused = pytest.raises(StoreError, match="does not speak TLS")
    with opened("s3://bucket/t", moto.options | {"aws_endpoint": endpoint}) as store, refused:
        store.get("a")


def test_data_is_not_sent_in_the_clear_unasked(moto: Moto, bucket: str) -> None:
    options = moto.options | {"allow_http": "false"}
    with pytest.raises(InvalidInputError, match="allow_http"):
        lance.write_dataset(pa.table({"a": [1]}), f"s3://{bucket}/t", storage_options=options)


def test_an_option_that_nobody_knows_is_an_error_with_the_nearest(moto: Moto) -> None:
    with pytest.raises(InvalidInputError, match="aws_region"):
        lance.dataset("s3://bucket/t", storage_options=moto.options | {"aws_regoin": "r"})
