"""Whatever a server says of rows, a call ends in time and by an error of the store."""

from __future__ import annotations

import json

import pytest

from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import OutcomeUnknownError, PluginError, StoreError
from lance_core_dynamodb.options import named
from lance_core_dynamodb.response import bound_responses
from lance_core_dynamodb.schema import KEY_SCHEMA, KEY_TYPES
from lance_core_dynamodb.store import DynamoManifestStore
from tests.each_case import each_case
from tests.patience import ends_within
from tests.servers.raw import http, saying, trickling

ONCE = {
    "aws_access_key_id": "a",
    "aws_secret_access_key": "b",
    "aws_region": "us-east-1",
    "allow_http": "true",
    "dynamodb_endpoint": "http://dynamodb.invalid",
    "timeout": "500ms",
    "client_max_retries": "0",
    "download_retry_count": "0",
}
DESCRIBED = http(
    200,
    json.dumps({"Table": {"KeySchema": KEY_SCHEMA, "AttributeDefinitions": KEY_TYPES}}).encode(),
)
ENTRY = ManifestEntry(1, "t/_versions/1.manifest-0", 7)


@each_case("through", ["dynamodb_endpoint", "proxy_url"])
@each_case("more", [b"x: ", b"content-length: 99\r\n\r\n"], ids=["head", "body"])
def test_an_answer_that_trickles_is_given_up(more: bytes, through: str) -> None:
    slowly = trickling(b"HTTP/1.1 200 OK\r\n" + more)
    with saying(DESCRIBED, slowly, slowly, slowly) as server:
        rows = DynamoManifestStore(named("commits", ONCE | {through: server.url}))
        with ends_within(1), pytest.raises(StoreError) as unread:
            rows.get("t", 1)
        assert type(unread.value) is StoreError
        with ends_within(3), pytest.raises(OutcomeUnknownError):
            rows.put_if_absent("t", ENTRY)  # which looks for the row afterwards
        assert len(server.requests) == 4


def test_a_client_that_cannot_be_bounded_in_time_is_refused() -> None:
    with pytest.raises(PluginError, match="cannot be bounded in time"):
        bound_responses(object(), 1.0)
