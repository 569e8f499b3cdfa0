"""Keys and tokens are used, and shown nowhere."""

from __future__ import annotations

import json
import logging
import pickle
import subprocess
import sys
from pathlib import Path

import botocore.session
import pytest

from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import LanceError
from lance_core.store.config import Secret
from lance_core_dynamodb.client import client_of
from lance_core_dynamodb.options import named
from lance_core_dynamodb.store import DynamoManifestStore
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Rule
from tests.cloud.surfaces import everything
from tests.servers.moto import Moto

KEY = "s3cr3tC4n4ryKey"
TOKEN = "s3cr3tC4n4ryToken"
CANARY = "s3cr3tC4n4ry"


def entry(base_uri: str) -> ManifestEntry:
    return ManifestEntry(1, f"{base_uri}/_versions/1.manifest-0", 1)


@pytest.fixture(params=["plain", "Secret", "environment"])
def rows(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    proxy: FaultProxy,
    ddb_table: str,
) -> DynamoManifestStore:
    options: dict[str, str | Secret] = {
        "aws_region": "us-east-1",
        "allow_http": "true",
        "dynamodb_endpoint": proxy.url,
        "client_max_retries": "0",
        "download_retry_count": "0",
    }
    if request.param == "environment":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AK")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
        monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    else:
        wrap = Secret if request.param == "Secret" else str
        options |= {
            "aws_access_key_id": "AK",
            "aws_secret_access_key": wrap(KEY),
            "aws_session_token": wrap(TOKEN),
        }
    return DynamoManifestStore(named(ddb_table, options))


def answer(code: str, message: str) -> Answer:
    body = json.dumps({"__type": f"x#{code}", "message": message})
    return Answer(400, body.encode(), {"Content-Type": "application/x-amz-json-1.0"})


SIGNATURE = (
    "The request signature we calculated does not match.\n\nThe Canonical String for this request "
    f"should have been\n'POST\n/\nx-amz-security-token:{TOKEN}\n'"
)
FAULTS = [
    answer("InvalidSignatureException", SIGNATURE),
    answer("AccessDeniedException", "not allowed"),
    Answer(500, b"<html>"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=["signature", "denied", "nonsense"])
def test_no_secret_is_in_errors_logs_representations_and_pickles(
    rows: DynamoManifestStore,
    proxy: FaultProxy,
    base_uri: str,
    logged: list[str],
    fault: Answer,
) -> None:
    rows.put_if_absent(base_uri, entry(base_uri))
    assert rows.get(base_uri, 1) == entry(base_uri)
    proxy.set_rules([Rule(fault)])
    told = []
    for call in (
        lambda: rows.get(base_uri, 1),
        lambda: rows.put_if_absent(base_uri, entry(base_uri)),
        lambda: rows.delete(base_uri),
    ):
        with pytest.raises(LanceError) as caught:
            call()
        told.append(everything(caught.value))
    told += [repr(rows), str(rows), repr(vars(rows)), repr(rows.settings), repr(client_of)]
    told += [repr(rows.settings.access()), client_of(rows.settings).name]
    told += [repr(pickle.dumps(rows)), *logged]
    # There is logging, and it is looked at.
    assert any(text.startswith("lance_core.remote") for text in logged)
    assert CANARY not in "\n".join(told)


def test_a_password_of_a_proxy_is_not_shown(
    options: dict[str, str], ddb_table: str, logged: list[str]
) -> None:
    given = {**options, "proxy_url": f"http://me:{KEY}@127.0.0.1:9", "client_max_retries": "0"}
    rows = DynamoManifestStore(named(ddb_table, {**given, "download_retry_count": "0"}))
    with pytest.raises(LanceError, match="no connection") as caught:
        rows.get("t", 1)
    told = [everything(caught.value), repr(rows.settings), *logged]
    assert CANARY not in "\n".join(told)
    assert CANARY.encode() not in pickle.dumps(rows)


def test_calls_that_others_make_with_the_sdk_are_logged_as_ever(
    options: dict[str, str], base_uri: str, ddb_table: str, caplog: pytest.LogCaptureFixture
) -> None:
    DynamoManifestStore(named(ddb_table, options)).get(base_uri, 1)
    caplog.set_level(logging.DEBUG, "botocore")
    client = botocore.session.Session().create_client(
        "dynamodb",
        endpoint_url=options["dynamodb_endpoint"],
        aws_access_key_id="AK",
        aws_secret_access_key="SK",
        region_name="us-east-1",
    )
    client.list_tables()
    client.close()
    assert "ListTables" in caplog.text


PROGRAM = """
import json, logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
logging.captureWarnings(True)
from lance_core_dynamodb.options import named
from lance_core_dynamodb.store import DynamoManifestStore
rows = DynamoManifestStore(named(sys.argv[1], json.loads(sys.argv[2])))
rows.get("t", 1)
from lance_core_dynamodb.client import client_of
sdk = client_of(rows.settings)._connection.sdk
frozen = sdk._request_signer._credentials.get_frozen_credentials()
sys.stdout.write(json.dumps([frozen.secret_key, frozen.token]))
"""


def test_tokens_of_a_web_identity_are_not_logged(
    moto: Moto, options: dict[str, str], ddb_table: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(f"head.{TOKEN}.tail")
    given = {
        "aws_web_identity_token_file": str(tmp_path / "token"),
        "aws_role_arn": "arn:aws:iam::123456789012:role/writer",
        "aws_role_session_name": "session",
        "aws_endpoint_url_sts": moto.endpoint,
        **{name: options[name] for name in ("aws_region", "allow_http", "dynamodb_endpoint")},
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ddb_table, json.dumps(given)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    secret, token = json.loads(done.stdout)
    assert secret
    assert token
    for canary in (secret, token, TOKEN):
        assert canary not in done.stderr
