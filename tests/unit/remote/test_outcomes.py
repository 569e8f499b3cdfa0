"""How every failure of a request ends for the caller of the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import ObjectStore, PutMode
from lance_core_remote.client import Failure
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from tests.unit.remote.scripted import TEXT, Fails, ScriptedClient, Time

RETRIES, DOWNLOADS = 4, 2
SETTINGS = RemoteSettings(
    max_retries=RETRIES, download_retries=DOWNLOADS, part_size=100, max_single_put=100
)
RESENT = {Failure.BUSY, Failure.UNSENT, Failure.UNKNOWN}


@pytest.fixture
def client() -> ScriptedClient:
    return ScriptedClient()


@pytest.fixture
def store(client: ScriptedClient) -> ObjectStore:
    store = RemoteStore(client, "root", SETTINGS, Time().waiting)
    store.put("old", b"0123456789")
    client.sent.clear()
    return store


def _write(store: ObjectStore, length: int) -> None:
    with store.open_writer("new") as writer:
        writer.write(b"x" * length)


CALLS: dict[str, tuple[str, Callable[[ObjectStore], object]]] = {
    "get_ranges": ("get", lambda store: store.get_ranges("old", [ByteRange(1, 4)])),
    "get": ("get", lambda store: store.get("old")),
    "head": ("head", lambda store: store.head("old")),
    "list": ("list_page", lambda store: list(store.list("folder"))),
    "list_names": ("list_page", lambda store: list(store.list_names("folder"))),
    "put": ("put", lambda store: store.put("new", b"1")),
    "create": ("put", lambda store: store.put("new", b"1", PutMode.create)),
    "delete": ("delete", lambda store: store.delete("old")),
    "copy": ("copy", lambda store: store.copy("old", "new")),
    "copy, create": ("copy", lambda store: store.copy("old", "new", PutMode.create)),
    "writer": ("put", lambda store: _write(store, 5)),
    "start": ("start_upload", lambda store: _write(store, 500)),
    "part": ("upload_part", lambda store: _write(store, 500)),
    "finish": ("finish_upload", lambda store: _write(store, 500)),
    "long put": ("finish_upload", lambda store: store.put("new", b"1" * 500)),
    "long create": ("finish_upload", lambda s: s.put("new", b"1" * 500, PutMode.create)),
}
"""A request, and a call of the store that sends it."""

READS = ("get_ranges", "get", "head", "list", "list_names")
HIDDEN = ("start", "part")


def _expected(call: str, failure: Failure) -> type[LanceError] | None:
    """The error of a call whose requests all fail so, None for success."""
    if failure is Failure.UNSUPPORTED:
        return UnsupportedFeatureError
    if failure is Failure.CHANGED:
        return CorruptFileError
    if failure is Failure.EXISTS:
        return ObjectExistsError
    if failure is Failure.UNKNOWN and call not in READS and call not in HIDDEN:
        return OutcomeUnknownError
    if failure is Failure.MISSING and call.startswith("copy"):
        return ObjectNotFoundError
    if failure is Failure.MISSING and call in READS:
        return StoreError if call.startswith("list") else ObjectNotFoundError
    if failure is Failure.MISSING and call == "delete":
        return None
    if failure is Failure.RANGE and call == "get_ranges":
        return CorruptFileError
    if failure is Failure.RANGE and call == "get":
        return None
    return StoreError


@pytest.mark.parametrize("failure", Failure)
@pytest.mark.parametrize("call", CALLS)
def test_a_failure_that_lasts_ends_as_the_contract_says(
    store: ObjectStore, client: ScriptedClient, call: str, failure: Failure
) -> None:
    method, run = CALLS[call]
    client.fail_always(method, Fails(failure))
    expected = _expected(call, failure)
    if expected is None:
        run(store)
    else:
        with pytest.raises(LanceError) as caught:
            run(store)
        assert type(caught.value) is expected
        assert caught.value.__cause__ is caught.value.__context__ is None
        if isinstance(caught.value, StoreError):
            assert "memory://service" in str(caught.value)
            assert TEXT in str(caught.value)
    retries = RETRIES + (DOWNLOADS if call in READS else 0) if failure in RESENT else 0
    if failure is Failure.EXPIRED:
        retries = 2
    if call == "part":
        assert client.sent[method] >= 1 + retries
    else:
        assert client.sent[method] == 1 + retries
    client.recover()
    assert bytes(store.get("old")) == b"0123456789"
    assert client.unfinished_uploads == (
        1 if method == "finish_upload" and expected is OutcomeUnknownError else 0
    )


@pytest.mark.parametrize("failure", sorted(RESENT, key=str))
@pytest.mark.parametrize("call", CALLS)
def test_a_request_that_was_turned_away_is_sent_again(
    store: ObjectStore, client: ScriptedClient, call: str, failure: Failure
) -> None:
    method, run = CALLS[call]
    client.fail(method, *[Fails(failure)] * RETRIES)
    run(store)
    client.recover()
    if call in ("put", "create", "copy", "copy, create", "writer"):
        assert client.sent[method] == RETRIES + 1
        assert store.head("new").size in (1, 5, 10)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # The first attempt was applied, or may have been, and the second one cannot tell.
        ([Fails(Failure.UNKNOWN, applied=True)], OutcomeUnknownError),
        ([Fails(Failure.UNKNOWN), Fails(Failure.EXISTS)], OutcomeUnknownError),
        ([Fails(Failure.UNKNOWN), Fails(Failure.REFUSED)], OutcomeUnknownError),
        ([Fails(Failure.UNKNOWN), Fails(Failure.UNSUPPORTED)], OutcomeUnknownError),
        ([Fails(Failure.UNKNOWN), *[Fails(Failure.BUSY)] * 9], OutcomeUnknownError),
        # The second one was applied: then no other was.
        ([Fails(Failure.UNKNOWN)], None),
        ([Fails(Failure.UNKNOWN), Fails(Failure.BUSY)], None),
        # No attempt was applied.
        ([Fails(Failure.BUSY), Fails(Failure.EXISTS)], ObjectExistsError),
        ([Fails(Failure.UNSENT), Fails(Failure.REFUSED)], StoreError),
        ([Fails(Failure.BUSY)] * 9, StoreError),
        ([Fails(Failure.EXPIRED), Fails(Failure.EXISTS)], ObjectExistsError),
    ],
)
@pytest.mark.parametrize("length", [1, 500])
def test_a_conditional_write_is_never_called_a_failure_that_may_have_been_applied(
    store: ObjectStore,
    client: ScriptedClient,
    steps: list[Fails],
    expected: type[LanceError] | None,
    length: int,
) -> None:
    client.fail("put" if length == 1 else "finish_upload", *steps)
    create = partial(store.put, "new", b"1" * length, PutMode.create)
    if expected is None:
        create()
        assert store.head("new").size == length
    else:
        with pytest.raises(LanceError) as caught:
            create()
        assert type(caught.value) is expected


def test_an_overwrite_whose_answer_was_lost_is_sent_again(
    store: ObjectStore, client: ScriptedClient
) -> None:
    client.fail("put", Fails(Failure.UNKNOWN, applied=True), None)
    store.put("old", b"new")
    assert bytes(store.get("old")) == b"new"
    assert client.sent["put"] == 2


def test_a_deletion_whose_answer_was_lost_is_sent_again(
    store: ObjectStore, client: ScriptedClient
) -> None:
    client.fail("delete", Fails(Failure.UNKNOWN, applied=True), Fails(Failure.MISSING))
    store.delete("old")
    with pytest.raises(ObjectNotFoundError):
        store.head("old")


def test_errors_name_the_container_and_count_attempts(
    store: ObjectStore, client: ScriptedClient
) -> None:
    client.fail_always("put", Fails(Failure.BUSY))
    with pytest.raises(StoreError) as caught:
        store.put("new", b"1")
    text = (
        "writing 'new' in memory://service: 500 Odd: how it ended (after 5 attempts in 0.8 seconds)"
    )
    assert str(caught.value) == text
    client.fail_always("head", Fails(Failure.MISSING))
    with pytest.raises(ObjectNotFoundError) as missing:
        store.head("old")
    assert (missing.value.path, missing.value.where) == ("old", "memory://service")


def test_credentials_that_cannot_be_had_leave_a_write_unknown(
    store: ObjectStore, client: ScriptedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        raise InvalidInputError("no such profile")

    monkeypatch.setattr(client, "renew_credentials", fail)
    client.fail("put", Fails(Failure.UNKNOWN, applied=True), Fails(Failure.EXPIRED))
    with pytest.raises(OutcomeUnknownError, match="no such profile"):
        store.put("new", b"1", PutMode.create)
    client.fail("get", Fails(Failure.EXPIRED))
    with pytest.raises(StoreError, match="no such profile"):
        store.get("old")


@pytest.mark.parametrize("failure", [Failure.BUSY, Failure.UNSENT, Failure.MISSING])
def test_only_a_copy_that_is_refused_asks_for_the_size(
    store: ObjectStore, client: ScriptedClient, failure: Failure
) -> None:
    client.fail_always("copy", Fails(failure))
    with pytest.raises(LanceError):
        store.copy("old", "new")
    assert client.sent["head"] == 0


def test_a_copy_that_is_refused_says_why_itself(store: ObjectStore, client: ScriptedClient) -> None:
    client.fail_always("copy", Fails(Failure.REFUSED))
    client.fail_always("head", Fails(Failure.REFUSED))
    with pytest.raises(StoreError, match="copying") as refused:
        store.copy("old", "new")
    assert refused.value.__context__ is None
