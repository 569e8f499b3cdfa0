"""Everything that can go wrong on the way ends in one clear error, in time."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial

import pytest
from azure.storage.blob import ContainerSasPermissions, generate_container_sas

from lance_core.byte_ranges import ByteRange
from lance_core.errors import (
    InvalidInputError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import ObjectStore, PutMode
from lance_core.store.uri import parse_uri
from lance_core_azure.store import open_store
from lance_core_remote.client import Failure, RequestError
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Reset, Rule, SlowBody, Truncated, xml_error
from tests.cloud.azure.conftest import Open
from tests.patience import LASTING, ends_within
from tests.servers.azurite import ACCOUNT, KEY, Azurite

OPERATIONS: dict[str, Callable[[ObjectStore], object]] = {
    "get": lambda store: store.get("a/file"),
    "get_ranges": lambda store: store.get_ranges("a/file", [ByteRange(0, 9)]),
    "head": lambda store: store.head("a/file"),
    "put": lambda store: store.put("a/file", b"content"),
    "create": lambda store: store.put("a/file", b"content", PutMode.create),
    "delete": lambda store: store.delete("a/file"),
    "copy": lambda store: store.copy("a/file", "b"),
    "list": lambda store: list(store.list("")),
    "list_names": lambda store: list(store.list_names("")),
}
SOON = {"client_retry_timeout": "400ms", "client_max_retries": "1000"}
"""The deadline of a call; the number of its retries is no limit."""

each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())

OTHER_KEY = "b3RoZXIga2V5IG9mIG5vYm9keSBhdCBhbGw="


def signature(container: str, permission: str, hours: float = 1.0) -> str:
    """A shared access signature that ends in some hours."""
    now = datetime.now(UTC)
    return generate_container_sas(
        ACCOUNT,
        container,
        KEY,
        permission=ContainerSasPermissions.from_string(permission),
        start=now - timedelta(hours=3),
        expiry=now + timedelta(hours=hours),
    )


@pytest.fixture
def through(opened: Open, container: str, proxy: FaultProxy) -> ObjectStore:
    store = opened(f"az://{container}/t", endpoint=f"{proxy.url}/{ACCOUNT}")
    store.put("file", b"0123456789" * 100)
    return store


@pytest.fixture
def signed(azurite: Azurite) -> Callable[..., ObjectStore]:
    """Opens stores that have a shared access signature instead of a key."""

    def make(container: str, permission: str, hours: float = 1.0) -> ObjectStore:
        options = azurite.options | {"sas_token": signature(container, permission, hours)}
        del options["account_key"]
        return open_store(parse_uri(f"az://{container}/t"), options)

    return make


@each_operation
def test_a_wrong_key_is_refused(
    operation: Callable[[ObjectStore], object], opened: Open, container: str
) -> None:
    store = opened(f"az://{container}/t", account_key=OTHER_KEY)
    with pytest.raises(StoreError, match="status 403, AuthorizationFailure") as caught:
        operation(store)
    assert OTHER_KEY not in str(caught.value)
    assert not isinstance(caught.value, OutcomeUnknownError)


@each_operation
def test_a_missing_container_is_named(
    operation: Callable[[ObjectStore], object], opened: Open
) -> None:
    with pytest.raises(StoreError, match="there is no container 'not-there'"):
        operation(opened("az://not-there/t"))


@each_operation
def test_an_endpoint_that_is_down_is_an_error_within_the_deadline(
    operation: Callable[[ObjectStore], object], opened: Open
) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{listening.getsockname()[1]}/{ACCOUNT}"
        store = opened("az://container/t", endpoint=endpoint, **SOON)
        refused = r"no connection to http://127\.0\.0\.1:\d+: Connection refused"
        with ends_within(0.4), pytest.raises(StoreError, match=refused):
            operation(store)


def test_a_server_that_never_answers_is_an_error_within_the_deadline(opened: Open) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(20)
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}/{ACCOUNT}"
        store = opened("az://container/t", endpoint=endpoint, timeout="200ms", **SOON)
        with ends_within(0.6), pytest.raises(StoreError, match="did not respond in time"):
            store.get("file")
        with ends_within(0.6), pytest.raises(OutcomeUnknownError):
            store.put("file", b"content", PutMode.create)


def test_a_body_that_trickles_is_given_up(
    opened: Open, container: str, proxy: FaultProxy, through: ObjectStore
) -> None:
    store = opened(
        f"az://{container}/t", endpoint=f"{proxy.url}/{ACCOUNT}", timeout="300ms", **SOON
    )
    proxy.set_rules([Rule(SlowBody(LASTING, pieces=3000), "GET")])
    with ends_within(0.7), pytest.raises(StoreError, match="in time"):
        store.get("file")


def test_a_body_that_breaks_off_is_asked_for_again(proxy: FaultProxy, through: ObjectStore) -> None:
    proxy.set_rules([Rule(Truncated(), "GET", times=2)])
    assert bytes(through.get("file")) == b"0123456789" * 100
    assert proxy.struck == 2
    assert proxy.count("GET") == 3


def test_the_sdk_sends_nothing_again(proxy: FaultProxy, opened: Open, container: str) -> None:
    store = opened(
        f"az://{container}/t",
        endpoint=f"{proxy.url}/{ACCOUNT}",
        client_max_retries="0",
        download_retry_count="0",
    )
    faults = {
        "busy": xml_error(503, "ServerBusy"),
        "failed": xml_error(500, "InternalError"),
        "reset": Reset(),
        "truncated": Truncated(),
    }
    # Of a copy that failed, the store asks whether it was too long.
    copy = partial(store.client.copy, "t/a/file", "t/b", if_absent=False)
    operations = [partial(one, store) for name, one in OPERATIONS.items() if name != "copy"]
    for fault in faults.values():
        proxy.set_rules([Rule(fault)])
        for operation in (*operations, copy):
            before = proxy.count()
            with contextlib.suppress(StoreError, ObjectNotFoundError, RequestError):
                operation()
            assert proxy.count() - before <= 1


def test_a_write_whose_answer_was_lost_is_unknown(proxy: FaultProxy, through: ObjectStore) -> None:
    proxy.set_rules([Rule(Reset(after=True), "PUT", times=1)])
    with pytest.raises(OutcomeUnknownError):
        through.put("new", b"content", PutMode.create)
    assert bytes(through.get("new")) == b"content"


def test_a_write_that_was_turned_away_is_sent_again(
    proxy: FaultProxy, through: ObjectStore
) -> None:
    proxy.set_rules([Rule(xml_error(503, "ServerBusy"), "PUT", times=2)])
    through.put("new", b"content", PutMode.create)
    assert proxy.count("PUT") == 3
    with pytest.raises(ObjectExistsError):
        through.put("new", b"other", PutMode.create)


def test_a_wrong_clock_is_told(proxy: FaultProxy, through: ObjectStore) -> None:
    then = format_datetime(datetime.now(UTC) - timedelta(hours=2), usegmt=True)
    body = (
        b"<Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate the "
        b"request.\nTime:1</Message><AuthenticationErrorDetail>Request date header too old: "
        b"'now'</AuthenticationErrorDetail></Error>"
    )
    headers = {"Date": then, "x-ms-error-code": "AuthenticationFailed"}
    proxy.set_rules([Rule(Answer(403, body, headers))])
    for operation in (OPERATIONS["get"], OPERATIONS["head"], OPERATIONS["put"]):
        with pytest.raises(StoreError, match="clock is 120 minutes ahead of that of the service"):
            operation(through)


def test_an_object_that_was_replaced_is_told(opened: Open, container: str) -> None:
    store = opened(f"az://{container}/t")
    store.put("file", b"0123456789")
    before = store.head("file").etag
    store.put("file", b"9876543210")
    with pytest.raises(RequestError) as caught:
        store.client.get("t/file", ByteRange(0, 4), before)
    assert caught.value.failure is Failure.CHANGED


def test_a_signature_that_ended_is_told(signed: Callable[..., ObjectStore], container: str) -> None:
    store = signed(container, "rwdl", hours=-1)
    for operation in OPERATIONS.values():
        with pytest.raises(StoreError, match="the shared access signature ended") as caught:
            operation(store)
        assert "sig=" not in str(caught.value)


def test_a_signature_of_the_environment_is_looked_for_again(
    azurite: Azurite, container: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = azurite.options.copy()
    del options["account_key"]
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", signature(container, "rwdl", hours=-1))
    store = open_store(parse_uri(f"az://{container}/t"), options)
    with pytest.raises(StoreError, match="ended"):
        store.put("file", b"content")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", signature(container, "rwdl"))
    store.put("file", b"content", PutMode.create)
    assert bytes(store.get("file")) == b"content"


def test_a_signature_suffices_for_everything(
    signed: Callable[..., ObjectStore], container: str
) -> None:
    store = signed(container, "rwdl")
    store.put("a/file", b"content", PutMode.create)
    with pytest.raises(ObjectExistsError):
        store.put("a/file", b"other", PutMode.create)
    store.copy("a/file", "b", PutMode.create)
    with pytest.raises(ObjectExistsError):
        store.copy("a/file", "b", PutMode.create)
    with store.open_writer("c") as writer:
        writer.write(bytes(9 << 20))
    assert bytes(store.get("b")) == b"content"
    assert sorted(store.list_names("")) == ["b", "c"]
    store.delete("b")


def test_what_a_signature_does_not_allow_is_refused(
    signed: Callable[..., ObjectStore], container: str
) -> None:
    signed(container, "rwdl").put("a/file", b"content")
    store = signed(container, "rl")
    assert bytes(store.get("a/file")) == b"content"
    for name in ("put", "create", "delete"):
        with pytest.raises(StoreError, match="status 403") as caught:
            OPERATIONS[name](store)
        assert not isinstance(caught.value, OutcomeUnknownError)


def test_an_endpoint_without_tls_must_be_allowed(opened: Open, container: str) -> None:
    with pytest.raises(InvalidInputError, match=r"does not use TLS.*allow_http=true"):
        opened(f"az://{container}/t", allow_http="false")


def test_a_server_without_tls_at_an_endpoint_with_it_is_told(
    opened: Open, azurite: Azurite, container: str
) -> None:
    endpoint = azurite.endpoint.replace("http:", "https:")
    store = opened(f"az://{container}/t", endpoint=endpoint)
    with pytest.raises(StoreError, match="does not speak TLS"):
        store.get("file")
