"""Which DynamoDB table is asked, and what cannot be meant."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import lance as pylance
import pytest

import lance_core
import lance_core_s3
from lance_core.commits.handlers.checked_manifest_store import CheckedManifestStore
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.errors import InvalidInputError, PluginError
from lance_core.plugins.handler_choice import select_commit_handler
from lance_core.store.config import Secret, carrying_secrets
from lance_core.store.memory import MemoryStore
from lance_core.store.uri import parse_uri
from lance_core_dynamodb import register_session, unregister_session
from lance_core_dynamodb.options import DynamoSettings, named, settings_of
from lance_core_dynamodb.store import DynamoManifestStore, open_rows
from lance_core_remote.aws_sessions import SESSIONS
from tests.each_case import each_case

KEYS = {"aws_access_key_id": "AK", "aws_secret_access_key": "SK"}
TABLE = "s3+ddb://bucket/t.lance?ddbTableName=commits"

# --- the URL --------------------------------------------------------------------------------------

NOT_MEANT = [
    "s3+ddb://bucket/t.lance",
    "s3+ddb://bucket/t.lance?ddbTableName=",
    "s3+ddb://bucket/t.lance?ddbTableName=commits&x=1",
    "s3+ddb://bucket/t.lance?ddbtablename=commits",
    "s3+ddb://bucket/t.lance?table=commits",
]


@each_case("uri", NOT_MEANT)
def test_a_url_that_does_not_name_exactly_the_table_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInputError, match=r"ddbTableName|name of a DynamoDB table"):
        open_rows(parse_uri(uri), KEYS)
    with pytest.raises((ValueError, OSError)):
        pylance.dataset(uri, storage_options=KEYS)


@each_case("name", ["ab", "a b", "x" * 256, "a/b", "ü" * 3, "arn:aws:s3:::commits"])
def test_a_name_that_is_no_tables_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="name of a DynamoDB table"):
        named(name, KEYS)


@each_case("name", ["abc", "a.b_c-D9", "arn:aws:dynamodb:eu-west-1:123456789012:table/commits"])
def test_names_and_arns_name_a_table(name: str) -> None:
    assert settings_of(parse_uri(f"s3+ddb://b/t?ddbTableName={name}"), KEYS).table == name


def test_a_table_at_the_root_of_its_bucket_can_have_no_rows() -> None:
    with pytest.raises(InvalidInputError, match="path"):
        open_rows(parse_uri("s3+ddb://bucket?ddbTableName=commits"), KEYS)


@each_case("base_uri", ["", "x" * 2049, "data/\udcff"])
def test_a_path_that_no_key_can_have_is_refused(base_uri: str) -> None:
    rows = DynamoManifestStore(named("commits", KEYS))
    for act in (lambda: rows.get(base_uri, 1), lambda: rows.delete(base_uri)):
        with pytest.raises(InvalidInputError, match="path"):
            act()


def test_a_table_that_asks_for_the_rows_by_name_needs_the_parameter_too() -> None:
    with pytest.raises(InvalidInputError, match="ddbTableName"):
        select_commit_handler(MemoryStore(), parse_uri("memory://bucket/t"), KEYS, "ddb")
    named_so = parse_uri("memory://bucket/t?ddbTableName=commits")
    handler = select_commit_handler(MemoryStore(), named_so, KEYS, "ddb")
    assert isinstance(handler, ExternalManifestCommitHandler)
    assert isinstance(handler.rows, CheckedManifestStore)
    assert isinstance(handler.rows.inner, DynamoManifestStore)


# --- options --------------------------------------------------------------------------------------

REFUSED: list[dict[str, str]] = [
    {"aws_access_key_id": "AK"},
    {"aws_secret_access_key": "SK"},
    {"session_token": "T"},
    {**KEYS, "access_key_id": "another"},
    {**KEYS, "AWS_REGION": "eu-west-1", "region": "eu-west-2"},
    {**KEYS, "aws_region": "no region"},
    {**KEYS, "dynamodb_endpoint": "localhost:8000"},
    {**KEYS, "dynamodb_endpoint": "ftp://localhost"},
    {**KEYS, "dynamodb_endpoint": "https://user:word@localhost"},
    {**KEYS, "dynamodb_endpoint": "https://localhost:99999"},
    {**KEYS, "dynamodb_endpoint": "https://localhost?x=1"},
    {**KEYS, "dynamodb_endpoint": "http://localhost:8000"},
    {**KEYS, "dynamodb_endpoint": "http://localhost:8000", "allow_http": "no"},
    {**KEYS, "timeout": "soon"},
    {**KEYS, "client_max_retries": "-1"},
    {"aws_provider_scheme": "token"},
    {**KEYS, "aws_provider_scheme": "magic"},
]


@each_case("options", REFUSED, ids=str)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError):
        named("commits", options)


def test_an_address_of_the_environment_is_checked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNAMODB_ENDPOINT", "http://localhost:8000")
    with pytest.raises(InvalidInputError, match="allow_http"):
        named("commits", KEYS)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    assert named("commits", KEYS).access().endpoint == "http://localhost:8000"


@each_case("prefix", ["", "aws_", "AWS_"])
def test_options_have_all_names_that_pylance_knows(prefix: str) -> None:
    keys = {"access_key_id": "AK", "secret_access_key": "SK", "session_token": "T", "region": "r-1"}
    access = named("commits", {f"{prefix}{name}": text for name, text in keys.items()}).access()
    assert access.keys is not None
    assert (access.keys.access, access.keys.secret.reveal()) == ("AK", "SK")
    assert access.keys.token == Secret("T")
    assert access.region == "r-1"


def test_options_of_others_are_left_alone_here() -> None:
    one = named("commits", {**KEYS, "aws_endpoint": "http://minio", "anything": "x"})
    assert one == named("commits", KEYS)


def test_an_unknown_option_is_an_error_and_the_endpoint_is_none(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="dynamodb_endpont"):
        lance_core.dataset(TABLE, storage_options={**options, "dynamodb_endpont": "x"})


def test_a_misspelt_suffix_is_told_from_those_that_there_are(options: dict[str, str]) -> None:
    with pytest.raises(PluginError, match="ddb"):
        lance_core.dataset("s3+dbb://bucket/t.lance?ddbTableName=x", storage_options=options)


def test_what_is_opened_travels_and_leaves_secrets_behind() -> None:
    rows = open_rows(parse_uri(TABLE), {**KEYS, "aws_region": "eu-west-1"})
    assert copy.deepcopy(rows).settings == rows.settings
    with pytest.raises(InvalidInputError, match="was dropped when"):
        pickle.loads(pickle.dumps(rows)).get("t", 1)
    with carrying_secrets():
        travelled = pickle.loads(pickle.dumps(rows))
    assert travelled.settings == rows.settings
    plain = DynamoManifestStore(DynamoSettings("commits"))
    assert pickle.loads(pickle.dumps(plain)).settings == plain.settings


# --- the same table as pylance --------------------------------------------------------------------


class Recorder(ThreadingHTTPServer):
    """Answers that there is no such table, and records who asked: key/region, and with a token."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Recording)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.asked: list[tuple[str, str, bool]] = []


class _Recording(BaseHTTPRequestHandler):
    server: Recorder

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        scope = self.headers["Authorization"].partition("Credential=")[2].split("/")
        self.server.asked.append((scope[0], scope[2], "X-Amz-Security-Token" in self.headers))
        body = b'{"__type": "x#ResourceNotFoundException", "message": "none"}'
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


KEYS_OF_ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "EK", "AWS_SECRET_ACCESS_KEY": "ES"}
WAYS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "region": ({**KEYS, "aws_region": "eu-west-1"}, {}),
    "short name": ({**KEYS, "region": "eu-west-1"}, {}),
    "upper case": ({**KEYS, "AWS_REGION": "eu-west-1"}, {}),
    "option over environment": ({**KEYS, "region": "eu-west-1"}, {"AWS_REGION": "eu-north-1"}),
    "environment": (KEYS, {"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-south-1"}),
    "default region": (KEYS, {"AWS_DEFAULT_REGION": "eu-south-1"}),
    "nothing": (KEYS, {}),
    "keys of environment": ({"aws_region": "eu-west-1"}, KEYS_OF_ENVIRONMENT),
    "options before environment": ({**KEYS, "region": "eu-west-1"}, KEYS_OF_ENVIRONMENT),
    "address of environment": ({**KEYS, "region": "eu-west-1"}, {"DYNAMODB_ENDPOINT": "used"}),
    "token": ({**KEYS, "aws_session_token": "T", "region": "eu-west-1"}, {}),
    "token of environment": (
        {"region": "eu-west-1"},
        {**KEYS_OF_ENVIRONMENT, "AWS_SESSION_TOKEN": "T"},
    ),
}


@pytest.mark.parametrize(("options", "environment"), WAYS.values(), ids=WAYS)
def test_the_same_table_is_asked_by_the_same_key_as_by_pylance(
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, str],
    environment: dict[str, str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # Addresses that are configured for the SDK are those of S3, as a rule.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    given = {**options, "allow_http": "true", "dynamodb_endpoint": recorder.url}
    if "DYNAMODB_ENDPOINT" in environment:
        monkeypatch.setenv("DYNAMODB_ENDPOINT", given.pop("dynamodb_endpoint"))
    libraries: list[Any] = [pylance, lance_core]
    for library in libraries:
        with pytest.raises((OSError, ValueError)):
            library.dataset(TABLE, storage_options=given)
    theirs, ours = recorder.asked
    assert ours == theirs


# --- a session of the caller ----------------------------------------------------------------------


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.Session]:
    """A session that is registered as ``mine``; the environment names other keys and regions."""
    monkeypatch.setenv("AWS_REGION", "us-west-1")
    for name, value in KEYS_OF_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    made = boto3.Session("BK", "BS", "BT", "eu-west-3")
    register_session("mine", made)
    yield made
    unregister_session("mine")


def asked_by(rows: DynamoManifestStore, recorder: Recorder) -> tuple[str, str, bool]:
    """Key, region and whether there was a token, of a request for rows."""
    with pytest.raises(InvalidInputError, match="does not exist"):
        rows.get("t", 1)
    return recorder.asked[-1]


def test_a_registered_session_signs_requests_in_its_region(
    recorder: Recorder, session: boto3.Session
) -> None:
    given = {"aws_session": "mine", "allow_http": "true", "dynamodb_endpoint": recorder.url}
    rows = DynamoManifestStore(named("commits", given))
    assert asked_by(rows, recorder) == ("BK", "eu-west-3", True)
    elsewhere = DynamoManifestStore(named("commits", given | {"region": "sa-east-1"}))
    assert asked_by(elsewhere, recorder) == ("BK", "sa-east-1", True)
    unregister_session("mine")
    with pytest.raises(InvalidInputError, match="registered as 'mine'"):
        rows.get("t", 1)
    register_session("mine", boto3.Session("CK", "CS", region_name="eu-west-2"))
    assert asked_by(rows, recorder) == ("CK", "eu-west-2", False)


@each_case("given", [KEYS, {"aws_profile": "p"}, {"aws_provider_scheme": "ecs"}], ids=str)
def test_a_session_has_all_credentials(given: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="aws_session"):
        named("commits", {"aws_session": "mine", **given})


def test_only_sessions_are_registered_and_only_the_registered_are_used() -> None:
    with pytest.raises(InvalidInputError, match=r"must be a boto3\.Session"):
        register_session("mine", boto3)
    rows = DynamoManifestStore(named("commits", {"aws_session": "mine"}))
    with pytest.raises(InvalidInputError, match=r"aws_sessions\.register_session\('mine'"):
        rows.get("t", 1)


def test_a_session_is_known_to_the_plugin_of_s3_as_well(session: boto3.Session) -> None:
    assert lance_core_s3.register_session is register_session
    assert SESSIONS.get("mine") is session
