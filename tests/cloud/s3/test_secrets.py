"""What must stay secret shows nowhere."""

from __future__ import annotations

import base64
import logging
import pickle

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, LanceError
from lance_core.store.base import PutMode
from lance_core.store.config import StoreConfig
from lance_core_s3.options import ALIASES, SECRETS
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Reset, Rule, xml_error
from tests.cloud.s3.places import opened
from tests.cloud.surfaces import everything
from tests.servers.moto import Moto

CANARY = "canary-5f0c"
CUSTOMER_KEY = base64.b64encode(b"canary-of-exactly-32-bytes-here!").decode()

SECRET_NAMES = sorted(name for name, canonical in ALIASES.items() if canonical in SECRETS)
UNKNOWN_NAMES = [
    *("aws_secret", "aws_secret_key", "s3_secret_access_key", "secret", "secret_key", "password"),
    *("aws_security_token", "sas_token", "account_key", "fs.s3a.secret.key", "private_key"),
]


def options_of(moto: Moto, name: str) -> dict[str, str]:
    """Options with a canary under this name, and what it needs beside it."""
    options = moto.options
    canonical = ALIASES[name]
    if canonical == "aws_sse_customer_key_base64":
        return options | {name: CUSTOMER_KEY, "aws_server_side_encryption": "sse-c"}
    if canonical == "proxy_url":
        never = {"client_max_retries": "0", "download_retry_count": "0"}
        return options | never | {name: f"http://user:{CANARY}@127.0.0.1:9"}
    options.pop(canonical, None)
    return options | {name: CANARY}


def is_clean(text: str) -> bool:
    raw = base64.b64decode(CUSTOMER_KEY).decode()
    return not any(secret in text for secret in (CANARY, CUSTOMER_KEY, raw))


def test_there_are_enough_names() -> None:
    assert len(SECRET_NAMES) + len(UNKNOWN_NAMES) >= 20


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_no_secret_is_shown_by_stores_errors_or_logs(
    moto: Moto, bucket: str, name: str, logged: list[str]
) -> None:
    options = options_of(moto, name)
    texts: list[str] = []
    with FaultProxy(moto.endpoint) as proxy:
        if ALIASES[name] != "proxy_url":
            options["aws_endpoint"] = proxy.url
        with opened(f"s3://{bucket}/t", options) as store:
            client = store.client
            texts += [repr(store), str(store), f"{store}", repr(client), repr(vars(client))]
            texts += [repr(vars(store)), repr(store.capabilities), client.name]
            for rule in (None, Rule(xml_error(403, "AccessDenied")), Rule(Reset(), times=1)):
                proxy.set_rules([rule] if rule else [])
                for call in (
                    lambda: store.put("a", bytes(400_000)),
                    lambda: store.put("a", b"1", PutMode.create),
                    lambda: store.get("a"),
                    lambda: store.get("missing"),
                    lambda: store.head("a"),
                    lambda: list(store.list("")),
                    lambda: store.copy("a", "b"),
                ):
                    try:
                        call()
                    except LanceError as error:
                        texts.append(everything(error))
    texts += logged
    assert len(texts) > 30
    assert all(map(is_clean, texts)), [text for text in texts if not is_clean(text)][:3]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_no_secret_travels_in_a_pickle(moto: Moto, name: str) -> None:
    config = StoreConfig("s3://bucket/t", options_of(moto, name))
    assert is_clean(pickle.dumps(config).decode("latin-1"))
    assert is_clean(repr(config))


@pytest.mark.parametrize("name", UNKNOWN_NAMES)
def test_an_unknown_option_is_refused_without_its_value(moto: Moto, name: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        lance.dataset("s3://bucket/t", storage_options=moto.options | {name: CANARY})
    assert name in str(refused.value)
    assert is_clean(everything(refused.value))


def test_the_sdk_still_logs_what_others_do(caplog: pytest.LogCaptureFixture, moto: Moto) -> None:
    with opened("s3://bucket/t", moto.options):
        caplog.set_level(logging.DEBUG)
        moto.client("s3").list_buckets()
    assert any(record.name == "botocore.endpoint" for record in caplog.records)


def test_no_secret_is_written_into_a_table(moto: Moto, bucket: str) -> None:
    options = moto.options | {"aws_session_token": CANARY, "aws_secret_access_key": CANARY}
    for _ in range(2):
        lance.write_dataset(
            pa.table({"a": [1]}), f"s3://{bucket}/t", mode="append", storage_options=options
        )
    found = lance.dataset(f"s3://{bucket}/t", storage_options=options)
    assert is_clean(repr(found))
    assert is_clean(repr(found.schema.metadata))
    listed = moto.client("s3").list_objects_v2(Bucket=bucket)["Contents"]
    assert len(listed) >= 6
    for one in listed:
        body = moto.client("s3").get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
        assert is_clean(body.decode("latin-1") + one["Key"])
