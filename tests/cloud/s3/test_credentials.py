"""Where credentials come from, and how they are renewed."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, StoreError
from lance_core_s3 import register_session, unregister_session
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Rule, xml_error
from tests.cloud.s3.places import opened, seen_requests
from tests.servers.keys import running_keys
from tests.servers.moto import Moto

URI = "s3://bucket/table"
PLACE = {"aws_endpoint": "https://host.example", "aws_region": "us-east-1"}


def key_of(**given: str) -> str:
    """The access key that a request is signed with."""
    with opened(URI, PLACE | given) as store, seen_requests(store) as requests:
        store.client.delete("k")
    signature = requests[0].headers["Authorization"]
    text = signature.decode() if isinstance(signature, bytes) else signature
    return text.partition("Credential=")[2].partition("/")[0]


def test_keys_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert key_of() == "of-the-environment"
    assert key_of(access_key_id="given", secret_access_key="s") == "given"


def test_a_profile_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("[mine]\naws_access_key_id = of-mine\naws_secret_access_key = secret\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    assert key_of(aws_profile="mine") == "of-mine"
    with pytest.raises(InvalidInputError, match="nobody"), opened(URI, {"aws_profile": "nobody"}):
        pass


def test_a_container_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    token = tmp_path / "token"
    token.write_text("let me in")
    with running_keys() as (address, asked):
        given = {"container_credentials_full_uri": address}
        assert key_of(**given, container_authorization_token_file=str(token)) == "key1"
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", address)
        assert key_of(aws_provider_scheme="ecs") == "key2"
        assert key_of() == "of-the-environment"
    assert asked == ["let me in", ""]


def test_a_web_identity_takes_a_role(moto: Moto, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a.b.c")
    given = {
        "aws_web_identity_token_file": str(token),
        "aws_role_arn": "arn:aws:iam::123456789012:role/writer",
        "aws_role_session_name": "session",
        "aws_endpoint_url_sts": moto.endpoint,
    }
    with pytest.raises(InvalidInputError, match="allow_http"):
        key_of(**given)
    assert key_of(**given, allow_http="true").startswith("ASIA")


def test_having_no_credentials_is_said_at_once() -> None:
    with opened(URI, PLACE) as store, pytest.raises(StoreError, match="aws_access_key_id"):
        store.get("a")


def test_public_buckets_need_none(moto: Moto, bucket: str) -> None:
    moto.client("s3").put_object(Bucket=bucket, Key="t/a", Body=b"1", ACL="public-read")
    place = {"endpoint": moto.endpoint, "allow_http": "true", "skip_signature": "true"}
    with opened(f"s3://{bucket}/t", place) as store:
        assert bytes(store.get("a")) == b"1"


def test_expired_credentials_are_renewed_once_for_all_threads(moto: Moto, bucket: str) -> None:
    def refuse_all(key: int) -> None:
        while key > 1 and proxy.struck < 4:  # no thread sends its first request with the new key
            time.sleep(0.01)

    with FaultProxy(moto.endpoint) as proxy, running_keys(refuse_all) as (address, asked):
        options = {
            "aws_endpoint": proxy.url,
            "allow_http": "true",
            "container_credentials_full_uri": address,
        }
        with opened(f"s3://{bucket}/t", options) as store, ThreadPoolExecutor(4) as pool:
            store.put("a", b"1")
            assert len(asked) == 1
            proxy.set_rules([Rule(xml_error(400, "ExpiredToken"), "GET", times=4)])
            found = list(pool.map(lambda _: bytes(store.get("a")), range(4)))
            assert found == [b"1"] * 4
            assert proxy.struck == 4
            assert proxy.count("GET") == 8
    assert len(asked) == 2


def test_head_tells_nothing_of_expiry_and_is_sent_again_all_the_same(
    moto: Moto, bucket: str
) -> None:
    with FaultProxy(moto.endpoint) as proxy, running_keys() as (address, asked):
        options = {
            "aws_endpoint": proxy.url,
            "allow_http": "true",
            "container_credentials_full_uri": address,
        }
        with opened(f"s3://{bucket}/t", options) as store:
            store.put("a", b"1")
            expired = Rule(xml_error(400, "ExpiredToken"), "HEAD", f"/{bucket}/t/a", times=1)
            proxy.set_rules([expired])
            assert store.head("a").size == 1
    assert len(asked) == 2


@pytest.fixture
def session() -> Iterator[boto3.Session]:
    """A session that is registered as ``mine``."""
    made = boto3.Session("of-the-session", "secret", region_name="eu-west-3")
    register_session("mine", made)
    yield made
    unregister_session("mine")


@pytest.mark.parametrize("option", ["aws_session", "session"])
def test_a_registered_session_signs_requests(session: boto3.Session, option: str) -> None:
    assert key_of(**{option: "mine"}) == "of-the-session"


def test_a_session_has_a_region_unless_an_option_names_one(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-west-1")
    for given, region in (({}, "eu-west-3"), ({"region": "sa-east-1"}, "sa-east-1")):
        with opened(URI, {"session": "mine"} | given) as store, seen_requests(store) as requests:
            store.client.delete("k")
        assert f".{region}.amazonaws.com" in requests[0].url


@pytest.mark.parametrize(
    "given",
    [
        {"access_key_id": "a", "secret_access_key": "b"},
        {"aws_profile": "mine"},
        {"aws_provider_scheme": "ecs"},
        {"aws_role_arn": "arn:aws:iam::123456789012:role/writer"},
        {"container_credentials_full_uri": "http://host"},
        {"metadata_endpoint": "http://host"},
    ],
    ids=str,
)
def test_a_session_has_all_credentials(session: boto3.Session, given: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="aws_session"):
        key_of(aws_session="mine", **given)


def test_only_sessions_are_registered_and_only_the_registered_are_used() -> None:
    with pytest.raises(InvalidInputError, match=r"must be a boto3\.Session"):
        register_session("mine", boto3)
    with pytest.raises(InvalidInputError, match=r"aws_sessions\.register_session\('mine'"):
        key_of(aws_session="mine")


def test_a_store_follows_the_name_of_its_session(session: boto3.Session) -> None:
    with opened(URI, PLACE | {"session": "mine"}) as store:
        unregister_session("mine")
        with pytest.raises(InvalidInputError, match="registered as 'mine'"):
            store.head("a")
        register_session("mine", boto3.Session("of-another", "secret"))
        with seen_requests(store) as requests:
            store.client.delete("k")
    assert b"Credential=of-another/" in bytes(str(requests[0].headers["Authorization"]), "ascii")


def test_several_threads_open_stores_with_one_session(session: boto3.Session) -> None:
    def open_one(number: int) -> str:
        with opened(f"s3://bucket/t{number}", {"session": "mine"}) as store:
            return store.client.name

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(open_one, range(8))) == {"s3://bucket"}


def test_a_name_does_not_change_from_a_trusted_server_to_another(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text("[profile minio]\nendpoint_url = https://minio.example\nregion = us-east-1\n")
    with opened(URI, {"session": "mine"}) as store:
        unregister_session("mine")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
        register_session("mine", boto3.Session("id", "secret", profile_name="minio"))
        with pytest.raises(InvalidInputError, match="another kind of server"):
            store.get("a")


def test_a_session_does_not_travel_and_its_name_does(
    moto: Moto, bucket: str, session: boto3.Session
) -> None:
    place = {"endpoint": moto.endpoint, "allow_http": "true", "aws_session": "mine"}
    found = lance.write_dataset(pa.table({"a": [1]}), f"s3://{bucket}/t", storage_options=place)
    sent = pickle.dumps(found)
    assert b"of-the-session" not in sent
    assert pickle.loads(sent).count_rows() == 1
    program = (
        "import pickle, sys, lance_core\n"
        "try: pickle.loads(sys.stdin.buffer.read()).count_rows()\n"
        "except lance_core.errors.InvalidInputError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=sent, capture_output=True, check=False
    )
    assert b"no session is registered as 'mine' in this process" in done.stdout, done.stderr
