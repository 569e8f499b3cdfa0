"""What a failing request means for the row that it was about."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import (
    InvalidInputError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core_dynamodb import store
from lance_core_dynamodb.options import named
from lance_core_dynamodb.store import DynamoManifestStore
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import (
    Answer,
    Fault,
    LateAnswer,
    Reset,
    Rule,
    Truncated,
    json_error,
)
from tests.servers.moto import Moto

RETRIES = 2


def staged(base_uri: str, version: int = 1) -> ManifestEntry:
    return ManifestEntry(version, f"{base_uri}/_versions/{version}.manifest-{uuid.uuid4()}", 7)


def in_place(entry: ManifestEntry) -> ManifestEntry:
    return ManifestEntry(entry.version, entry.path.partition("-")[0], entry.size)


@pytest.fixture(scope="module")
def proxy(moto: Moto) -> Iterator[FaultProxy]:
    with FaultProxy(moto.endpoint) as proxy:
        yield proxy


@pytest.fixture
def direct(ddb_table: str, options: dict[str, str]) -> DynamoManifestStore:
    return DynamoManifestStore(named(ddb_table, options))


@pytest.fixture
def rows(
    ddb_table: str, options: dict[str, str], proxy: FaultProxy, base_uri: str
) -> DynamoManifestStore:
    """Rows behind the proxy, whose table was already looked at."""
    through = {
        **options,
        "dynamodb_endpoint": proxy.url,
        "client_max_retries": str(RETRIES),
        "download_retry_count": "0",
    }
    rows = DynamoManifestStore(named(ddb_table, through))
    proxy.set_rules(())
    rows.get(base_uri, 1)
    return rows


def busy(code: str) -> Answer:
    return json_error(400, f"com.amazonaws.dynamodb.v20120810#{code}")


THROTTLED = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "TransactionConflictException",
]
PASSING: dict[str, Fault] = {
    **{code: busy(code) for code in THROTTLED[:1]},
    "reset before": Reset(),
    "reset after": Reset(after=True),
    "truncated": Truncated(0.0),
    "half": Truncated(0.5),
    "500 before": json_error(500, "InternalServerError"),
    "500 after": json_error(500, "InternalServerError", after=True),
    "503 of something between": Answer(503, b"<html>later</html>"),
    "nonsense": Answer(200, b"<html>hello</html>", after=True),
    "no object": Answer(200, b"[]", after=True),
    "nothing": Answer(200, b"", after=True),
    "another checksum": Answer(200, b"{}", {"x-amz-crc32": "1"}, after=True),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_a_fault_that_passes_is_not_noticed(
    rows: DynamoManifestStore, proxy: FaultProxy, base_uri: str, fault: Fault
) -> None:
    first = staged(base_uri)
    for act, result in (
        (lambda: rows.put_if_absent(base_uri, first), None),
        (lambda: rows.put_if_present(base_uri, in_place(first)), None),
        (lambda: rows.get(base_uri, 1), in_place(first)),
        (lambda: rows.get_latest(base_uri), in_place(first)),
    ):
        proxy.set_rules([Rule(fault, times=1)])
        assert act() == result
        assert proxy.struck == 1
    assert rows.get(base_uri, 1) == in_place(first)
    proxy.set_rules([Rule(fault, times=2)])
    rows.delete(base_uri)
    assert rows.get(base_uri, 1) is None


NOT_APPLIED: dict[str, Fault] = {
    **{code: busy(code) for code in THROTTLED},
    "AccessDeniedException": busy("AccessDeniedException"),
    "ResourceNotFoundException": busy("ResourceNotFoundException"),
    "ValidationException": busy("ValidationException"),
    "ExpiredTokenException": busy("ExpiredTokenException"),
    "UnrecognizedClientException": busy("UnrecognizedClientException"),
}


@pytest.mark.parametrize("fault", NOT_APPLIED.values(), ids=NOT_APPLIED)
def test_a_service_that_turns_everything_away_has_applied_nothing(
    rows: DynamoManifestStore, direct: DynamoManifestStore, proxy: FaultProxy, fault: Fault
) -> None:
    base_uri = f"t{uuid.uuid4().hex}"
    direct.put_if_absent(base_uri, staged(base_uri, 2))
    before = direct.get(base_uri, 2)
    proxy.set_rules([Rule(fault)])
    for act in (
        lambda: rows.put_if_absent(base_uri, staged(base_uri, 1)),
        lambda: rows.put_if_present(base_uri, staged(base_uri, 2)),
        lambda: rows.get(base_uri, 2),
        lambda: rows.get_latest(base_uri),
        lambda: rows.delete(base_uri),
    ):
        # A table that is not there is noticed by the first call, and looked for by the others.
        with pytest.raises((StoreError, InvalidInputError)) as caught:
            act()
        assert not isinstance(caught.value, OutcomeUnknownError)
    proxy.set_rules(())
    assert direct.get(base_uri, 1) is None
    assert direct.get(base_uri, 2) == before


def test_a_lost_answer_is_unknown_only_while_nobody_can_be_asked(
    rows: DynamoManifestStore, direct: DynamoManifestStore, proxy: FaultProxy, base_uri: str
) -> None:
    entry = staged(base_uri)
    proxy.set_rules([Rule(Reset(after=True))])
    with pytest.raises(OutcomeUnknownError):
        rows.put_if_absent(base_uri, entry)
    assert direct.get(base_uri, 1) == entry
    with pytest.raises(OutcomeUnknownError):
        rows.put_if_present(base_uri, in_place(entry))
    assert direct.get(base_uri, 1) == in_place(entry)
    with pytest.raises(StoreError):
        rows.get(base_uri, 1)


def test_no_answer_and_no_row_is_unknown(
    rows: DynamoManifestStore, proxy: FaultProxy, base_uri: str
) -> None:
    proxy.set_rules([Rule(Reset(), times=RETRIES + 1)])
    with pytest.raises(OutcomeUnknownError):
        rows.put_if_absent(base_uri, staged(base_uri))


def test_a_row_that_was_sent_twice_is_told_from_anothers(
    rows: DynamoManifestStore, direct: DynamoManifestStore, proxy: FaultProxy, base_uri: str
) -> None:
    entry = staged(base_uri)
    direct.put_if_absent(base_uri, staged(base_uri))
    proxy.set_rules([Rule(Reset(), times=1)])
    with pytest.raises(ObjectExistsError):
        rows.put_if_absent(base_uri, entry)


def test_a_row_that_another_completed_meanwhile_may_have_been_ours(
    rows: DynamoManifestStore, direct: DynamoManifestStore, proxy: FaultProxy, base_uri: str
) -> None:
    entry = staged(base_uri)
    direct.put_if_absent(base_uri, in_place(entry))
    proxy.set_rules([Rule(Reset(), times=1)])
    with pytest.raises(OutcomeUnknownError):
        rows.put_if_absent(base_uri, entry)


def test_every_attempt_is_one_request(
    rows: DynamoManifestStore, proxy: FaultProxy, base_uri: str
) -> None:
    proxy.set_rules([Rule(busy("ThrottlingException"))])
    with pytest.raises(StoreError, match=r"ThrottlingException.*3 attempts"):
        rows.get(base_uri, 1)
    assert proxy.count() == RETRIES + 1


def test_the_sdk_sends_nothing_again_whatever_the_environment_says(
    ddb_table: str,
    options: dict[str, str],
    proxy: FaultProxy,
    base_uri: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")
    monkeypatch.setenv("AWS_RETRY_MODE", "adaptive")
    # Options that no other test gives: they share no connection.
    given = {**options, "dynamodb_endpoint": proxy.url, "client_max_retries": "1"}
    rows = DynamoManifestStore(named(ddb_table, {**given, "download_retry_count": "0"}))
    proxy.set_rules([Rule(json_error(500, "InternalServerError"))])
    with pytest.raises(StoreError):
        rows.get(base_uri, 1)
    assert proxy.count() == 2


def test_removing_goes_through_all_pages(
    rows: DynamoManifestStore,
    proxy: FaultProxy,
    base_uri: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "PAGE", 4)
    for version in range(1, 12):
        rows.put_if_absent(base_uri, staged(base_uri, version))
    proxy.set_rules(())
    rows.delete(base_uri)
    assert proxy.count() == 3 + 11
    assert rows.get_latest(base_uri) is None


def test_without_faults_every_call_is_one_request(
    rows: DynamoManifestStore, proxy: FaultProxy, base_uri: str
) -> None:
    proxy.set_rules(())
    entry = staged(base_uri)
    rows.put_if_absent(base_uri, entry)
    rows.put_if_present(base_uri, in_place(entry))
    rows.get(base_uri, 1)
    rows.get_latest(base_uri)
    with pytest.raises(ObjectExistsError):
        rows.put_if_absent(base_uri, entry)
    with pytest.raises(ObjectNotFoundError):
        rows.put_if_present(base_uri, staged(base_uri, 2))
    assert proxy.count() == 6


def test_waiting_for_an_answer_is_bounded(
    ddb_table: str, options: dict[str, str], proxy: FaultProxy, base_uri: str
) -> None:
    impatient = {
        **options,
        "dynamodb_endpoint": proxy.url,
        "timeout": "200ms",
        "client_max_retries": "0",
        "download_retry_count": "0",
    }
    rows = DynamoManifestStore(named(ddb_table, impatient))
    proxy.set_rules(())
    rows.get(base_uri, 1)
    proxy.set_rules([Rule(LateAnswer(1.0))])
    with pytest.raises(StoreError):
        rows.get(base_uri, 1)
    proxy.set_rules([Rule(LateAnswer(1.0), nth=1)])
    entry = staged(base_uri)
    rows.put_if_absent(base_uri, entry)  # asked afterwards
    assert rows.get(base_uri, 1) == entry


def test_credentials_that_expired_are_asked_for_again(
    ddb_table: str,
    options: dict[str, str],
    proxy: FaultProxy,
    base_uri: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = {"aws_region": options["aws_region"], "allow_http": "true"}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", options["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", options["aws_secret_access_key"])
    rows = DynamoManifestStore(named(ddb_table, {**kept, "dynamodb_endpoint": proxy.url}))
    proxy.set_rules([Rule(busy("ExpiredTokenException"), times=1)])
    rows.put_if_absent(base_uri, staged(base_uri))
    assert proxy.struck == 1
    assert rows.get_latest(base_uri) is not None
