"""Every option that pylance knows is honoured or refused by name; nothing is passed over."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import lance_core
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.plugins.store_cache import open_store as open_by_scheme
from lance_core.store.base import Guarantee
from lance_core.store.config import Secret
from lance_core.store.uri import parse_uri
from lance_core_gcs.options import (
    ALIASES,
    OPTIONS,
    Ambient,
    Anonymous,
    CredentialsFile,
    GcsOptions,
    ServiceAccount,
    Token,
    read_options,
)
from lance_core_gcs.plugin import lance_object_stores
from lance_core_remote import settings as shared
from tests.each_case import each_case

(SPEC,) = lance_object_stores()
KEY = json.dumps({"client_email": "me@example.com", "private_key": "key", "private_key_id": "1"})
OF_EMULATOR = '{"gcs_base_url": "http://a:1", "disable_oauth": true}'

HONOURED = {
    "google_service_account_key": KEY,
    "service_account_key": KEY,
    "google_application_credentials": "credentials.json",
    "application_credentials": "credentials.json",
    "google_storage_token": "token",
    "google_bearer_token": "token",
    "bearer_token": "token",
    "google_skip_signature": "true",
    "skip_signature": "false",
    "google_base_url": "https://storage.example.com",
    "base_url": "https://storage.example.com",
    "google_bucket": "bucket",
    "google_bucket_name": "bucket",
    "bucket": "bucket",
    "bucket_name": "bucket",
    "use_opendal": "false",
    "allow_http": "true",
    "google_allow_http": "true",
    "allow_invalid_certificates": "false",
    "google_timeout": "10s",
    "timeout": "30 seconds",
    "request_timeout": "30",
    "google_request_timeout": "30",
    "connect_timeout": "5s",
    "client_max_retries": "3",
    "client_retry_timeout": "60",
    "download_retry_count": "2",
    "user_agent": "me",
    "proxy_url": "http://proxy.example.com:3128",
    "proxy_excludes": "localhost",
}


def read(uri: str = "gs://bucket/a/b", **given: str) -> GcsOptions:
    return read_options(parse_uri(uri), SPEC.canonical_options(given), {})


@each_case(("name", "value"), HONOURED.items())
@each_case("spelled", [str.lower, str.upper])
def test_an_option_of_pylance_is_understood_in_any_case(
    name: str, value: str, spelled: Callable[[str], str]
) -> None:
    assert read(**{spelled(name): value}).bucket == "bucket"


def test_every_name_is_in_the_table() -> None:
    paths = {name for name, option in ALIASES.items() if option == "google_service_account"}
    prefixed = {f"google_{name}" for name in OPTIONS} | shared.OPTIONS
    rest = {"google_service_account", "google_client", "proxy_ca_certificate", *paths} | prefixed
    assert (OPTIONS | set(ALIASES)) - rest == set(HONOURED) - rest
    assert shared.OPTIONS <= OPTIONS


def test_what_only_pylance_has_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="use_opendal"):
        read(use_opendal="true")


@each_case("name", ["google_service_acount", "aws_region", "google_storage_endpoint"])
def test_an_unknown_option_is_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        lance_core.dataset("gs://bucket/table", storage_options={name: "value"})
    with pytest.raises(InvalidInputError, match=name):
        read(**{name: "value"})


@each_case(
    ("given", "who"),
    [
        ({}, Ambient()),
        ({"google_storage_token": "t"}, Token(Secret("t"))),
        ({"google_service_account_key": KEY}, ServiceAccount),
        ({"google_application_credentials": "f"}, CredentialsFile("f")),
        ({"google_skip_signature": "1", "google_service_account_key": KEY}, Anonymous()),
        ({"google_storage_token": "t", "google_service_account_key": KEY}, Token(Secret("t"))),
        ({"google_service_account_key": '{"disable_oauth": true}'}, Anonymous()),
    ],
)
def test_the_options_say_who_asks(given: dict[str, str], who: object) -> None:
    identity = read(**given).identity
    assert identity == who or (isinstance(who, type) and isinstance(identity, who))


@each_case(
    ("given", "endpoint"),
    [
        ({}, "https://storage.googleapis.com"),
        ({"google_base_url": "https://a.example:8443/"}, "https://a.example:8443"),
        ({"google_base_url": "http://[::1]:80", "allow_http": "true"}, "http://[::1]:80"),
        (
            {"google_service_account_key": OF_EMULATOR, "allow_http": "true"},
            "http://a:1",
        ),
        (
            {"google_service_account_key": OF_EMULATOR, "base_url": "https://b"},
            "https://b",
        ),
    ],
)
def test_the_options_say_where(given: dict[str, str], endpoint: str) -> None:
    assert read(**given).endpoint == endpoint


def test_a_key_that_names_an_endpoint_counts_more_than_the_variable_of_emulators() -> None:
    key = {"google_service_account_key": OF_EMULATOR}
    variables = {"STORAGE_EMULATOR_HOST": "127.0.0.1:4443"}
    allowed = SPEC.canonical_options({**key, "allow_http": "true"})
    assert read_options(parse_uri("gs://bucket"), allowed, variables).endpoint == "http://a:1"
    with pytest.raises(InvalidInputError, match=r"endpoint at a is not encrypted.*allow_http"):
        read_options(parse_uri("gs://bucket"), SPEC.canonical_options(key), variables)


@each_case(
    ("given", "text"),
    [
        ({"google_base_url": "http://a.example"}, "allow_http"),
        ({"google_base_url": "ftp://a.example"}, "google_base_url"),
        ({"google_base_url": "https://a.example/path"}, "google_base_url"),
        ({"google_base_url": "https://me:pw@a.example"}, "google_base_url"),
        ({"google_base_url": "https://a.example:port"}, "google_base_url"),
        ({"google_bucket": "other"}, "google_bucket"),
        ({"google_service_account": "f", "google_service_account_key": KEY}, "only one"),
        ({"google_service_account": "not-there.json"}, "google_service_account"),
        ({"google_service_account_key": "{"}, "not a JSON object"),
        ({"google_service_account_key": "[1]"}, "not a JSON object"),
        ({"google_service_account_key": '{"client_email": "a"}'}, "it lacks private_key"),
        ({"google_service_account_key": '{"disable_oauth": "x"}'}, "malformed"),
        ({"google_storage_token": "a", "bearer_token": "b"}, "two values"),
        ({"google_skip_signature": "perhaps"}, "google_skip_signature"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(text)):
        read(**given)


@each_case("uri", ["gs:///path", "gs://me@bucket/a", "gs://Bucket"])
def test_a_url_that_names_no_bucket_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInputError):
        read(uri)


def test_a_parameter_of_a_commit_handler_is_none_of_the_store() -> None:
    assert read("gs+sql://bucket/a?sqlUrl=sqlite").bucket == "bucket"


@each_case(
    ("environment", "given", "who"),
    [
        ({"GOOGLE_STORAGE_TOKEN": "t"}, {}, Token(Secret("t"))),
        ({"GOOGLE_BEARER_TOKEN": "t"}, {}, Token(Secret("t"))),
        ({"GOOGLE_APPLICATION_CREDENTIALS": "f"}, {}, CredentialsFile("f")),
        ({"GOOGLE_SKIP_SIGNATURE": "true"}, {}, Anonymous()),
        ({"GOOGLE_STORAGE_TOKEN": "t"}, {"google_storage_token": "u"}, Token(Secret("u"))),
        ({"GOOGLE_STORAGE_TOKEN": "t"}, {"google_skip_signature": "1"}, Anonymous()),
        ({"GOOGLE_SERVICE_ACCOUNT": "f"}, {"google_storage_token": "u"}, Token(Secret("u"))),
        ({"GOOGLE_UNKNOWN": "x", "GOOGLE_STORAGE_TOKEN": ""}, {}, Ambient()),
        ({"BUCKET": "x", "TIMEOUT": "5s"}, {}, Ambient()),
        ({"BEARER_TOKEN": "t"}, {}, Token(Secret("t"))),
        ({"SKIP_SIGNATURE": "1"}, {}, Anonymous()),
        ({"STORAGE_EMULATOR_HOST": "http://127.0.0.1:4443"}, {}, Anonymous()),
    ],
)
def test_the_environment_is_asked_where_options_are_silent(
    environment: dict[str, str], given: dict[str, str], who: object
) -> None:
    options = SPEC.canonical_options(given)
    assert read_options(parse_uri("gs://bucket"), options, environment).identity == who


@pytest.mark.parametrize("name", ["google_service_account", "service_account_path"])
def test_a_key_is_read_from_a_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / "key.json"
    file.write_text(KEY)
    identity = read(**{name: str(file)}).identity
    assert isinstance(identity, ServiceAccount)
    assert identity.key.reveal() == KEY


@each_case(
    ("endpoint", "expected"),
    [
        ("https://storage.googleapis.com", Guarantee.YES),
        ("https://storage-me.p.googleapis.com", Guarantee.YES),
        ("http://storage.googleapis.com", Guarantee.UNKNOWN),
        ("https://googleapis.com.example.com", Guarantee.UNKNOWN),
        ("http://127.0.0.1:4443", Guarantee.UNKNOWN),
    ],
)
def test_only_google_itself_is_trusted_unseen(endpoint: str, expected: Guarantee) -> None:
    options = {"google_base_url": endpoint, "allow_http": "true", "google_skip_signature": "true"}
    capabilities = open_by_scheme("gs://bucket/a", options).capabilities
    assert capabilities.put_if_absent is expected
    assert capabilities.copy_if_absent is expected
    assert capabilities.multipart_if_absent is expected
