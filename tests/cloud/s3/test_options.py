"""Options of S3: by all of pylance's names, from the environment, and what they choose."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.store.base import Guarantee
from lance_core.store.secret import Secret
from lance_core.store.uri import parse_uri
from lance_core_remote.options import Use
from lance_core_remote.settings import RemoteSettings
from lance_core_s3.client import make_client
from lance_core_s3.options import ALIASES, BY_NAME, NAMES, TABLE, S3Settings
from tests.cloud.s3.places import SPEC, opened, seen_requests
from tests.each_case import each_case

URI = "s3://bucket/table.lance"
KEYS = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}
CUSTOMER_KEY = base64.b64encode(bytes(32)).decode()

# What object_store 0.14, in pylance 14, calls the options of S3, with the name it holds canonical.
PYLANCE = """
aws_access_key_id access_key_id
aws_secret_access_key secret_access_key
aws_region region
aws_default_region default_region
aws_bucket aws_bucket_name bucket_name bucket
aws_endpoint aws_endpoint_url endpoint_url endpoint
aws_session_token aws_token session_token token
aws_virtual_hosted_style_request virtual_hosted_style_request
aws_s3_express s3_express
aws_imdsv1_fallback imdsv1_fallback
aws_metadata_endpoint metadata_endpoint
aws_unsigned_payload unsigned_payload
aws_checksum_algorithm checksum_algorithm
aws_container_credentials_relative_uri container_credentials_relative_uri
aws_container_credentials_full_uri container_credentials_full_uri
aws_container_authorization_token_file container_authorization_token_file
aws_web_identity_token_file web_identity_token_file
aws_role_arn role_arn
aws_role_session_name role_session_name
aws_endpoint_url_sts endpoint_url_sts
aws_skip_signature skip_signature
aws_copy_if_not_exists copy_if_not_exists
aws_conditional_put conditional_put
aws_disable_tagging disable_tagging
aws_disable_bulk_delete disable_bulk_delete
aws_request_payer request_payer
aws_server_side_encryption server_side_encryption
aws_sse_kms_key_id sse_kms_key_id
aws_sse_bucket_key_enabled sse_bucket_key_enabled
aws_sse_customer_key_base64 sse_customer_key_base64
aws_provider_scheme
allow_http aws_allow_http
timeout aws_timeout
connect_timeout aws_connect_timeout
proxy_url aws_proxy_url
user_agent aws_user_agent
"""


def settings(uri: str = URI, environment: dict[str, str] | None = None, **given: str) -> S3Settings:
    options = SPEC.canonical_options(given)
    return S3Settings.of(parse_uri(uri), options, environment or {})


def sdk_of(remote: RemoteSettings | None = None, **given: str) -> Any:
    return make_client(settings(**{**KEYS, **given}), remote or RemoteSettings())


@each_case("names", [line.split() for line in PYLANCE.split("\n") if line])
def test_every_name_of_pylance_is_known_in_any_case(names: list[str]) -> None:
    for name in names:
        assert set(SPEC.canonical_options({name.upper(): "x"})) == {names[0]}
    assert names[0] in NAMES


def test_every_option_is_described_once() -> None:
    assert len(BY_NAME) == len(TABLE)
    assert set(ALIASES.values()) == NAMES - {"headers.*"}
    assert all(option.text.endswith(".") for option in TABLE)
    assert SPEC.undeclared_options(dict.fromkeys(NAMES, "x")) == []


@each_case("option", [o for o in TABLE if o.use is Use.IGNORED], ids=lambda o: o.name)
def test_what_is_ignored_changes_nothing(option: Any) -> None:
    assert settings(**{option.name: "true"}) == settings()


@pytest.mark.parametrize("option", [o for o in TABLE if o.use is Use.REFUSED], ids=lambda o: o.name)
def test_what_is_not_done_is_refused_by_name(option: Any) -> None:
    with pytest.raises(UnsupportedFeatureError, match=option.name):
        settings(**{option.name: "true"})
    assert settings(**{option.name: "false"}) == settings()


def test_secrets_are_wrapped_under_every_name() -> None:
    for name, canonical in ALIASES.items():
        if canonical in SPEC.secret_options:
            assert isinstance(SPEC.canonical_options({name: "x"})[canonical], Secret)


@each_case(
    ("environment", "given", "field", "expected"),
    [
        ({"AWS_REGION": "r"}, {}, "region", "r"),
        ({"AWS_DEFAULT_REGION": "d"}, {}, "region", "d"),
        ({"AWS_DEFAULT_REGION": "d", "AWS_REGION": "r"}, {}, "region", "r"),
        ({"AWS_REGION": "r"}, {"region": "given"}, "region", "given"),
        ({"AWS_REGION": ""}, {}, "region", None),
        ({"AWS_ENDPOINT": "https://a"}, {}, "endpoint", "https://a"),
        ({"AWS_ENDPOINT_URL": "https://a/"}, {}, "endpoint", "https://a"),
        (
            {"AWS_ENDPOINT_URL": "https://a", "AWS_ENDPOINT_URL_S3": "https://b"},
            {},
            "endpoint",
            "https://b",
        ),
        ({"AWS_ENDPOINT": "https://a"}, {"endpoint_url": "https://g"}, "endpoint", "https://g"),
        ({"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"}, {}, "virtual_hosted", True),
        ({"AWS_REQUEST_PAYER": "true"}, {}, "requester_pays", True),
        ({"AWS_CONDITIONAL_PUT": "disabled"}, {}, "conditional_put", False),
        ({"REGION": "r"}, {}, "region", "r"),
        ({"REGION": "r", "AWS_REGION": "s"}, {}, "region", "s"),
        ({"ENDPOINT": "https://a"}, {}, "endpoint", "https://a"),
        ({"SKIP_SIGNATURE": "true"}, {}, "credentials", settings(skip_signature="1").credentials),
        ({"REQUEST_PAYER": "true"}, {}, "requester_pays", True),
        ({"TOKEN": "of another service"}, {}, "credentials", settings().credentials),
        ({"AWS_TOKEN": "without keys"}, {}, "credentials", settings().credentials),
        (
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_TOKEN": "c"},
            {},
            "credentials",
            settings(access_key_id="a", secret_access_key="b", token="c").credentials,
        ),
        (
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_TOKEN": "c"},
            {"profile": "p"},
            "credentials",
            settings(profile="p").credentials,
        ),
        ({"AWS_ACCESS_KEY_ID": "of the SDK"}, {}, "credentials", settings().credentials),
    ],
)
def test_the_environment_stands_in_for_options(
    environment: dict[str, str], given: dict[str, str], field: str, expected: object
) -> None:
    assert getattr(settings(environment=environment, **given), field) == expected


@each_case(
    ("given", "named"),
    [
        ({"aws_endpoint": "host:9000"}, "aws_endpoint"),
        ({"aws_endpoint": "https://user:hidden@host"}, "aws_endpoint"),
        ({"aws_endpoint": "ftp://host"}, "aws_endpoint"),
        ({"aws_endpoint": "https://host?a=1"}, "aws_endpoint"),
        ({"aws_endpoint": "https://host#a"}, "aws_endpoint"),
        ({"aws_endpoint": "https://host:99999"}, "aws_endpoint"),
        ({"aws_endpoint": "https://[::1"}, "aws_endpoint"),
        ({"aws_access_key_id": "id"}, "aws_secret_access_key"),
        ({"aws_secret_access_key": "hidden"}, "aws_access_key_id"),
        ({"aws_session_token": "hidden"}, "aws_access_key_id"),
        ({"aws_bucket": "another"}, "aws_bucket"),
        ({"aws_skip_signature": "perhaps"}, "aws_skip_signature"),
        ({"aws_provider_scheme": "guess"}, "aws_provider_scheme"),
        ({"aws_provider_scheme": "token"}, "aws_access_key_id"),
        ({"aws_web_identity_token_file": "/f"}, "aws_role_arn"),
        ({"aws_server_side_encryption": "rot13"}, "aws_server_side_encryption"),
        ({"aws_sse_kms_key_id": "k"}, "aws_server_side_encryption"),
        ({"aws_server_side_encryption": "AES256", "aws_sse_kms_key_id": "k"}, "aws_sse_kms_key_id"),
        ({"aws_server_side_encryption": "sse-c"}, "aws_sse_customer_key_base64"),
        (
            {"aws_server_side_encryption": "sse-c", "sse_customer_key_base64": "hidden"},
            "aws_sse_customer_key_base64",
        ),
        ({"aws_conditional_put": "hope"}, "aws_conditional_put"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(given: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named) as refused:
        settings(**given)
    assert "hidden" not in str(refused.value)


@each_case(
    "uri", ["s3:///table", "s3://a", "s3://id:hidden@bucket/t", "s3://bucket:9000/t", "s3://-b-/t"]
)
def test_what_is_no_bucket_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="bucket") as refused:
        settings(uri)
    assert "hidden" not in str(refused.value)


def test_directory_buckets_are_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="directory bucket"):
        settings("s3://fast--use1-az4--x-s3/table")


def test_dynamodb_is_named_where_pylance_had_it_as_an_option() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"s3\+ddb"):
        settings(aws_conditional_put="dynamo:table")


@each_case(
    ("given", "url"),
    [
        ({"region": "eu-west-1"}, "https://bucket.s3.eu-west-1.amazonaws.com/k"),
        ({"region": "eu-west-1", "virtual_hosted_style_request": "false"},
         "https://s3.eu-west-1.amazonaws.com/bucket/k"),
        ({"endpoint": "https://host:9000"}, "https://host:9000/bucket/k"),
        ({"endpoint": "https://host", "virtual_hosted_style_request": "true"},
         "https://bucket.host/k"),
        ({"endpoint": "https://bucket.host", "virtual_hosted_style_request": "true"},
         "https://bucket.host/k"),
    ],
)  # fmt: skip
def test_requests_go_to(given: dict[str, str], url: str) -> None:
    with opened(URI, {**KEYS, **given}) as store, seen_requests(store) as requests:
        store.client.get("k", None)
    assert [request.url for request in requests] == [url]


@each_case(
    ("given", "guaranteed"),
    [
        ({"region": "eu-west-1"}, Guarantee.YES),
        ({"endpoint": "https://s3.eu-west-1.amazonaws.com"}, Guarantee.YES),
        ({"endpoint": "https://minio.example"}, Guarantee.UNKNOWN),
        ({"endpoint": "https://amazonaws.com.example"}, Guarantee.UNKNOWN),
        # Machines of Amazon's customers, with whatever server they run.
        ({"endpoint": "https://ec2-1-2-3-4.compute-1.amazonaws.com"}, Guarantee.UNKNOWN),
        ({"endpoint": "https://s3-like-1.us-east-1.elb.amazonaws.com"}, Guarantee.UNKNOWN),
        ({"endpoint": "https://b.vpce-0a.s3.us-east-1.vpce.amazonaws.com"}, Guarantee.YES),
        ({"region": "eu-west-1", "conditional_put": "disabled"}, Guarantee.NO),
    ],
)
def test_only_amazon_is_trusted_unseen(given: dict[str, str], guaranteed: Guarantee) -> None:
    with opened(URI, {**KEYS, **given}) as store:
        assert store.capabilities.put_if_absent is guaranteed
        assert store.capabilities.multipart_if_absent is guaranteed
        assert store.capabilities.copy_if_absent is Guarantee.NO


def test_nothing_is_sent_in_the_clear_unless_that_is_allowed() -> None:
    with pytest.raises(InvalidInputError, match="allow_http"):
        sdk_of(endpoint="http://host")
    sdk_of(RemoteSettings(allow_http=True), endpoint="http://host").close()


def test_the_sdk_sends_once_and_waits_as_it_is_told() -> None:
    client = sdk_of(RemoteSettings(timeout=7, connect_timeout=3, parallel=5, user_agent="me/1"))
    config = client.meta.config
    client.close()
    assert config.retries["total_max_attempts"] == 1
    assert (config.read_timeout, config.connect_timeout) == (7, 3)
    assert config.max_pool_connections >= 10
    assert config.user_agent == "me/1"


def test_a_proxy_without_certificates_is_refused() -> None:
    options = {**KEYS, "proxy_ca_certificate": "x"}
    with pytest.raises(InvalidInputError, match="proxy_ca_certificate"), opened(URI, options):
        pass


@each_case(
    ("excludes", "used"),
    [("", True), ("example.com", True), ("amazonaws.com", False), ("*", False)],
)
def test_excluded_hosts_have_no_proxy(excludes: str, used: bool) -> None:
    remote = RemoteSettings(proxy_url="http://127.0.0.1:9", proxy_excludes=excludes)
    client = sdk_of(remote, region="eu-west-1")
    assert bool(client.meta.config.proxies) is used
    client.close()
