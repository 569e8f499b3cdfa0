"""Options, URL parameters and values that belong elsewhere: the error names the right place."""

from __future__ import annotations

import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, LanceError
from tests.each_case import each_case

OF_AZURE = {"account_name": "a"}


@each_case(
    ("uri", "options", "right"),
    [
        ("s3://bucket/t?ddbTableName=commits", {}, "s3+ddb://bucket/t?ddbTableName=commits"),
        ("gs://bucket/t?ddbTableName=commits", {}, "gs+ddb://bucket/t?ddbTableName=commits"),
        ("file:///t?ddbTableName=commits", {}, "file+ddb:///t?ddbTableName=commits"),
        ("https://host/t?ddbTableName=c-1", {}, "https+ddb://host/t?ddbTableName=c-1"),
        ("az://c/t?sqlUrl=postgresql://u:pa55@h/d", OF_AZURE, "az+sql://c/t?sqlUrl=***"),
        ("memory://t?lease_duration=5", {}, "memory+lease://t?lease_duration=***"),
    ],
)
def test_a_parameter_of_a_commit_handler_needs_its_scheme(
    uri: str, options: dict[str, str], right: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        lance.dataset(uri, storage_options=options)
    assert f"write {right}" in str(caught.value)
    assert "pa55" not in str(caught.value)


@each_case("uri", ["s3://b/t", "gs://bucket/t", "az://c/t", "file:///t", "memory://t", "ftp://h/t"])
def test_an_unknown_parameter_is_refused_by_every_store_alike(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="has no parameter") as caught:
        lance.dataset(f"{uri}?mine=canary", storage_options={})
    assert "canary" not in str(caught.value)


def test_a_handler_that_an_option_names_takes_its_parameter() -> None:
    options = {"commit_handler": "ddb", "dynamodb_endpoint": "http://127.0.0.1:9"}
    with pytest.raises(InvalidInputError, match="allow_http"):  # an option of DynamoDB
        lance.dataset("s3://bucket/t?ddbTableName=commits", storage_options=options)


@each_case(
    ("uri", "option", "text"),
    [
        ("gs://bucket/t", "endpoint", "which is an option of 'azure' and 's3'; known: "),
        ("s3://bucket/t", "account_name", "which is an option of 'azure'"),
        ("s3://bucket/t", "aws_regoin", "did you mean 'aws_region'?"),
        ("s3+ddb://bucket/t?ddbTableName=x", "dynamodb_endpont", "mean 'dynamodb_endpoint'?"),
        ("s3://bucket/t", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "which is not shown"),
    ],
)
def test_an_unknown_option_is_told_with_its_owner_or_the_nearest_own_name(
    uri: str, option: str, text: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        lance.dataset(uri, storage_options={option: "x"})
    assert text in str(caught.value)


@each_case(
    ("uri", "options", "text"),
    [
        (
            "https://account.blob.core.windows.net/container/a/t",
            OF_AZURE,
            "write az://container/a/t with storage option account_name='account'",
        ),
        ("https://b.s3.eu-west-1.amazonaws.com/a/t", {"aws_region": "x"}, "write s3://b/a/t"),
        ("https://s3.amazonaws.com/b/t", {"allow_http": True}, "write s3://b/t"),
        ("https://x.r2.cloudflarestorage.com/b/t", {"region": "auto"}, "write s3://b/t with"),
        ("https://storage.googleapis.com/b/t", {"service_account": "k"}, "write gs://b/t"),
        ("http://127.0.0.1:9/t", {"aws_access_key_id": "k"}, "write s3://bucket/path"),
        ("http://127.0.0.1:9/t", {"timout": 3}, "did you mean 'timeout'?"),
        ("http://127.0.0.1:9/t", {"timeout": "5s"}, "'timeout' of http:// must be a number"),
        ("http://127.0.0.1:9/t", {"headers": "a: b"}, "'headers' of http:// must be an object"),
        ("http://127.0.0.1:9/t", {"proxy": 5}, "with these options: TypeError"),
    ],
)
def test_a_web_server_has_no_options_of_buckets(
    uri: str, options: dict[str, str], text: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        lance.dataset(uri, storage_options=options)
    assert text in str(caught.value)


@each_case("value", [True, "true", "1", "True", "on"])
@each_case(
    ("uri", "options"),
    [
        ("s3://bucket/t", {"aws_endpoint": "http://127.0.0.1:9", "aws_skip_signature": True}),
        ("gs://bucket/t", {"google_base_url": "http://127.0.0.1:9", "skip_signature": 1}),
        ("az://c/t", {"account_name": "a", "endpoint": "http://127.0.0.1:9/a", "account_key": None,
                      "skip_signature": "yes"}),
    ],
)  # fmt: skip
def test_values_are_accepted_as_users_write_them(
    uri: str, options: dict[str, object], value: object
) -> None:
    given = {**options, "allow_http": value, "client_max_retries": 0, "download_retry_count": 0}
    given |= {"client_retry_timeout": 0.2, "timeout": 2, "user_agent": None}
    with pytest.raises(LanceError) as caught:
        lance.dataset(uri, storage_options=given)  # type: ignore[arg-type]  # as users do
    assert not isinstance(caught.value, InvalidInputError)
