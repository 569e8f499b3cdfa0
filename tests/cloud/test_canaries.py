"""No secret shows anywhere: every store, every name that a secret may have, every surface."""

from __future__ import annotations

import json
import logging
import uuid
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field

import pyarrow as pa
import pytest

import lance_core as lance
import lance_core_dynamodb
from lance_core.cli import main
from lance_core.errors import InvalidInputError, LanceError
from lance_core.plugins.store_cache import open_store
from lance_core.store.config import StoreConfig
from lance_core.store.secret import Secret
from lance_core_remote.settings import RemoteSettings
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Reset, Rule, Truncated
from tests.cloud.surfaces import all_logs, leaks, of_error, of_pickle, of_value
from tests.servers.azurite import ACCOUNT, KEY, Azurite
from tests.servers.gcs import GcsServer
from tests.servers.moto import Moto
from tests.servers.webdav import running_webdav

CANARY = "canary8f1eQ3zT7c9Kd2"

TRIES = {"client_max_retries": "0", "download_retry_count": "0", "client_retry_timeout": "1s"}
NOBODY = "127.0.0.1:9"

AWS = {"aws_access_key_id": "AKIAX", "aws_region": "us-east-1", "allow_http": "true", **TRIES}
UNREACHABLE: dict[str, tuple[str, dict[str, str]]] = {
    "s3": (
        "s3://bucket/table",
        {**AWS, "aws_endpoint": f"http://{NOBODY}", "aws_secret_access_key": "x"},
    ),
    "dynamodb": (
        "file+ddb:///nowhere/table?ddbTableName=rows",
        {**AWS, "dynamodb_endpoint": f"http://{NOBODY}", "aws_secret_access_key": "x"},
    ),
    "gcs": ("gs://bucket/table", {"base_url": f"http://{NOBODY}", "allow_http": "true", **TRIES}),
    "azure": (
        "az://container/table",
        {"account_name": "a", "endpoint": f"http://{NOBODY}/a", "allow_http": "true", **TRIES},
    ),
    "fsspec": (f"ftp://{NOBODY}/table", {"timeout": "1"}),
    "webdav": (f"webdav://{NOBODY}/table", {"allow_http": "true", **TRIES}),
}
"""A table of each kind at an address where nobody listens, and what it needs besides a secret."""

NAMES = (
    *("aws_secret_access_key", "secret_access_key", "AWS_SECRET_ACCESS_KEY", "aws_session_token"),
    *("token", "aws_token", "session_token", "aws_sse_customer_key_base64", "fs.s3a.secret.key"),
    *("google_service_account_key", "service_account_key", "google_storage_token", "bearer_token"),
    *("google_bearer_token", "account_key", "azure_storage_account_key", "access_key"),
    *("sas_token", "sas_key", "client_secret", "azure_client_secret", "encryption_key"),
    *("fabric_session_token", "webdav_password", "password", "passwd", "secret", "api_key"),
    *("passphrase", "private_key", "credential", "signature", "proxy_url", "aws_proxy_url"),
)
"""What a secret is called by some store, some of its tools, or by who errs."""


def value_of(name: str) -> str:
    """A value of an option that holds the canary."""
    return f"http://me:{CANARY}@{NOBODY}" if name.endswith("proxy_url") else CANARY


def outcome(call: Callable[[], object]) -> Iterator[tuple[str, str]]:
    """What the result of ``call``, or its error, shows."""
    try:
        result = call()
    except LanceError as error:
        yield from of_error(error)
    else:
        yield from of_value(result)


def test_what_is_shown_would_be_found() -> None:
    assert len(NAMES) >= 20
    error = InvalidInputError("innocent")
    error.__cause__ = ValueError(f"Basic {b64encode(f'me:{CANARY}'.encode()).decode()}")
    remembering = RemoteSettings(user_agent=CANARY)
    for shown in (of_error(error), of_value(remembering), of_pickle(remembering)):
        assert leaks(CANARY, shown)
    with all_logs() as logged:
        logging.getLogger("urllib3").debug("sent %s", CANARY.encode().hex())
        warnings.warn(CANARY, stacklevel=1)
    assert len([text for text in logged if leaks(CANARY, [("log", text)])]) == 2


@pytest.mark.parametrize("kind", UNREACHABLE)
def test_no_name_of_an_option_gives_its_value_away(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    uri, common = UNREACHABLE[kind]
    found = {}
    with all_logs() as logged:
        for name in NAMES:
            given = {**common, name: value_of(name)}
            options = {**common, name: Secret(value_of(name))}
            config = StoreConfig(uri, given)
            shown = [*of_value(config), *of_pickle(config), ("asdict", repr(asdict(config)))]
            for call in (
                lambda options=options: open_store(uri, options).head("object"),
                lambda options=options: lance.dataset(uri, storage_options=options),
                lambda given=given: open_store(uri, given).head("object"),
            ):
                shown += outcome(call)
            with pytest.raises(LanceError) as caught:
                lance.dataset(uri, storage_options=given)
            shown += of_error(caught.value)
            found[name] = leaks(CANARY, shown)
        assert main(["versions", uri, *_flags(given)]) == 1
    printed = capsys.readouterr()
    found["any"] = leaks(CANARY, [("command", printed.out + printed.err)])
    assert {name: where for name, where in found.items() if where} == {}
    assert [text for text in logged if leaks(CANARY, [("log", text)])] == []


def _flags(options: Mapping[str, str]) -> Iterator[str]:
    for name, value in options.items():
        yield from ("--option", f"{name}={value}")


URIS = (
    "{scheme}://me:{canary}@127.0.0.1/table",
    "{scheme}://{canary}@127.0.0.1/table?password={canary}",
    "{scheme}://127.0.0.1/table?sig={canary}",
    "{scheme}://127.0.0.1/table?token={canary}&x=1",
    "{scheme}://127.0.0.1/table?aws_secret_access_key={canary}#fragment",
    "{scheme}://me:pass/{canary}@127.0.0.1/table",
    "{scheme}://127.0.0.1:{canary}/table",
)
SCHEMES = {
    **dict.fromkeys(("s3", "s3+ddb"), "s3"),
    **dict.fromkeys(("az", "abfss"), "azure"),
    **dict.fromkeys(("ftp", "sftp"), "fsspec"),
    "gs": "gcs",
    "webdav": "webdav",
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_part_of_a_uri_that_may_be_secret_is_shown(
    scheme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = UNREACHABLE[SCHEMES[scheme]][1]
    found = {}
    with all_logs() as logged:
        for form in URIS:
            uri = form.format(scheme=scheme, canary=CANARY)
            shown = [
                one
                for call in (
                    lambda uri=uri: repr(StoreConfig(uri)),
                    lambda uri=uri: lance.dataset(uri, storage_options=options),
                )
                for one in outcome(call)
                if one[0] != "locals"
            ]
            assert main(["schema", uri, *_flags(options)]) == 1
            printed = capsys.readouterr()
            found[form] = leaks(CANARY, [*shown, ("command", printed.out + printed.err)])
    assert {form: where for form, where in found.items() if where} == {}
    assert [text for text in logged if leaks(CANARY, [("log", text)])] == []


@dataclass(frozen=True)
class Used:
    """A place where a secret is in use.

    ``service``: where its requests go; ``at``: the options for another address.
    """

    uri: str
    options: Mapping[str, str]
    secrets: tuple[str, ...]
    service: str = ""
    at: Callable[[str], Mapping[str, str]] = field(default=lambda address: {})

    def through(self, address: str) -> tuple[str, dict[str, str]]:
        """URI and options with the service at another address."""
        host = self.service.removeprefix("http://"), address.removeprefix("http://")
        return self.uri.replace(*host), {**self.options, **TRIES, **self.at(address)}


def of_s3(moto: Moto) -> Used:
    secret = {"aws_secret_access_key": CANARY, "aws_session_token": f"{CANARY}-token"}
    return Used(
        f"s3://{moto.new_bucket()}/{uuid.uuid4().hex}",
        moto.options | secret,
        (CANARY,),
        moto.endpoint,
        lambda address: {"aws_endpoint": address},
    )


def of_dynamodb(moto: Moto) -> Used:
    place = of_s3(moto)
    options = {**place.options, "dynamodb_endpoint": moto.endpoint}
    lance_core_dynamodb.create_table("canaries", options)
    uri = f"{place.uri.replace('s3:', 's3+ddb:')}?ddbTableName=canaries"
    return Used(
        uri,
        options,
        (CANARY,),
        moto.endpoint,
        lambda address: {"aws_endpoint": address, "dynamodb_endpoint": address},
    )


def of_gcs(gcs: GcsServer) -> Used:
    options = {"base_url": gcs.endpoint, "allow_http": "true", "google_storage_token": CANARY}
    return Used(
        f"gs://{gcs.new_bucket()}/table",
        options,
        (CANARY,),
        gcs.endpoint,
        lambda address: {"base_url": address},
    )


def of_azure(azurite: Azurite) -> Used:
    return Used(
        f"az://{azurite.new_container()}/table",
        azurite.options,
        (KEY,),
        azurite.origin,
        lambda address: {"endpoint": f"{address}/{ACCOUNT}"},
    )


@pytest.fixture(scope="module")
def webdav() -> Iterator[Used]:
    with running_webdav("--login", f"me:{CANARY}") as host:
        options = {"allow_http": "true", "webdav_user": "me", "webdav_password": CANARY}
        yield Used(f"webdav://{host}/table", options, (CANARY,), f"http://{host}")


@pytest.fixture(params=["s3", "dynamodb", "gcs", "azure", "webdav"])
def used(request: pytest.FixtureRequest) -> Used:
    kind = request.param
    if kind == "webdav":
        found: Used = request.getfixturevalue(kind)
        return found
    server, make = {
        "s3": ("moto", of_s3),
        "dynamodb": ("moto", of_dynamodb),
        "gcs": ("gcs", of_gcs),
        "azure": ("azurite", of_azure),
    }[kind]
    return make(request.getfixturevalue(server))


def all_leaks(used: Used, shown: list[tuple[str, str]]) -> list[str]:
    return [where for secret in used.secrets for where in leaks(secret, shown)]


def test_a_secret_in_use_is_seen_neither_in_memory_nor_in_the_table(
    used: Used, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[tuple[str, str]] = []
    with all_logs() as logged:
        for _ in range(2):
            dataset = lance.write_dataset(
                pa.table({"x": [1, 2]}), used.uri, mode="append", storage_options=used.options
            )
        dataset.update_config({"owner": "me"})
        dataset = lance.dataset(used.uri, storage_options=used.options)
        assert dataset.to_table().num_rows == 4
        store = open_store(used.uri, used.options)
        (fragment, _) = dataset.get_fragments()
        for value in (dataset, fragment, dataset.scanner(), dataset.snapshot, store):
            shown += of_value(value)
        shown += of_value(store.client)  # type: ignore[attr-defined]  # all are remote stores
        for value in (dataset, fragment, dataset.schema, dataset.versions(), dataset.config()):
            shown += of_pickle(value)
        objects = [found.path for found in store.list("")]
        assert len(objects) >= 7
        shown += [(path, path + bytes(store.get(path)).decode("latin-1")) for path in objects]
        flags = list(_flags(used.options))
        for command in ("versions", "schema", "files"):
            assert main([command, used.uri, *flags]) == 0
        main(["plugins"])
    printed = capsys.readouterr()
    shown += [("command", printed.out + printed.err), *(("log", text) for text in logged)]
    assert len({name for name, _ in shown}) >= 15
    assert all_leaks(used, shown) == []


FAILURES: dict[str, list[Rule]] = {
    "wrong credentials": [Rule(Answer(403, b"<Error><Code>AccessDenied</Code></Error>"))],
    "no credentials": [Rule(Answer(401))],
    "a missing bucket": [Rule(Answer(404, b"<Error><Code>NoSuchBucket</Code></Error>"))],
    "a busy service": [Rule(Answer(503))],
    "a lost answer": [Rule(Reset(after=True))],
    "a body that breaks off": [Rule(Truncated())],
    "another place": [Rule(Answer(307, b"", {"Location": f"http://{NOBODY}/elsewhere"}))],
    "nonsense": [Rule(Answer(200, json.dumps({"x": "\0"}).encode()))],
}


def test_no_failure_gives_a_secret_away(used: Used, capsys: pytest.CaptureFixture[str]) -> None:
    lance.write_dataset(
        pa.table({"x": [0]}), used.uri, mode="append", storage_options=dict(used.options)
    )
    found = {}
    # One block for all: at its end, what is left open says so in a warning, which takes a while.
    with all_logs() as logged, FaultProxy(used.service) as proxy:
        uri, options = used.through(proxy.url)
        given = dict(options)
        for failure, rules in FAILURES.items():
            logged_before = len(logged)
            proxy.set_rules([])
            dataset = lance.dataset(uri, storage_options=given)
            proxy.set_rules(rules)
            shown = []
            for call in (
                lambda: lance.dataset(uri, storage_options=given),
                dataset.to_table,
                lambda: lance.write_dataset(
                    pa.table({"x": [0]}), uri, mode="append", storage_options=given
                ),
                dataset.cleanup_old_versions,
            ):
                shown += outcome(call)
            assert proxy.struck > 0
            shown += (("log", text) for text in logged[logged_before:])
            found[failure] = all_leaks(used, shown)
    found["any"] = all_leaks(used, [("log", text) for text in logged])
    assert {failure: where for failure, where in found.items() if where} == {}
