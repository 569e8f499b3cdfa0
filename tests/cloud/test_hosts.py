"""Requests, and the credentials in them, go to the host that the caller named and to no other."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import BasePathRefusedError, LanceError
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Rule
from tests.cloud.test_confinement import HOSTILE
from tests.servers.azurite import ACCOUNT, Azurite
from tests.servers.gcs import GcsServer
from tests.servers.moto import Moto
from tests.servers.webdav import running_webdav
from tests.table_surgery import edit_fragment

TABLE = pa.table({"x": [1, 2]})
ONCE = {"client_max_retries": "0", "download_retry_count": "0", "client_retry_timeout": "1s"}


@pytest.fixture(scope="module")
def webdav() -> Iterator[str]:
    with running_webdav() as host:
        yield f"http://{host}"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("kind", ["s3", "dynamodb", "gcs", "azure", "webdav"])
def test_no_redirection_is_followed(request: pytest.FixtureRequest, kind: str, status: int) -> None:
    """Whoever answers for a service does not get credentials sent to a host of their choice."""
    fixture = {"s3": "moto", "dynamodb": "moto", "azure": "azurite"}.get(kind, kind)
    server = request.getfixturevalue(fixture)
    service = server if isinstance(server, str) else getattr(server, "origin", None)
    with FaultProxy(service or server.endpoint) as named, FaultProxy(named.url) as other:
        uri, options = _place(kind, named.url, server)
        headers = {"Location": f"{other.url}/elsewhere"}
        named.set_rules([Rule(Answer(status, b"", headers))])
        with pytest.raises(LanceError):
            lance.dataset(uri, storage_options=options)
        with pytest.raises(LanceError):
            lance.write_dataset(TABLE, uri, storage_options=options)
        assert named.struck >= 2
        assert other.requests == []


def _place(kind: str, url: str, server: object) -> tuple[str, dict[str, str]]:
    common = {"allow_http": "true", **ONCE}
    if isinstance(server, Moto):
        options = {**server.options, **common, "aws_endpoint": url}
        if kind == "s3":
            return "s3://bucket/table", options
        options["dynamodb_endpoint"] = url
        return "s3+ddb://bucket/table?ddbTableName=redirected", options
    if isinstance(server, GcsServer):
        return "gs://bucket/table", {**common, "base_url": url, "google_storage_token": "token"}
    if isinstance(server, Azurite):
        return "az://container/table", {**server.options, **common, "endpoint": f"{url}/{ACCOUNT}"}
    login = {"webdav_user": "me", "webdav_password": "secret"}
    return f"webdav://{url.removeprefix('http://')}/table", {**common, **login}


def test_a_clone_in_another_bucket_is_read_with_the_same_options_once_it_is_allowed(
    moto: Moto,
) -> None:
    source, target = (f"s3://{moto.new_bucket()}/folder/table" for _ in range(2))
    original = lance.write_dataset(TABLE, source, storage_options=moto.options)
    clone = original.shallow_clone(target, original.version, storage_options=moto.options)
    assert clone.to_table().equals(TABLE)
    with pytest.raises(BasePathRefusedError, match="allow_base_paths"):
        lance.dataset(target, storage_options=moto.options).to_table()
    for allowed in (source, "yes"):
        opened = lance.dataset(target, storage_options=moto.options, allow_base_paths=allowed)
        assert opened.to_table().equals(TABLE)


def test_no_hostile_name_of_a_data_file_reaches_another_key_of_a_bucket(
    moto: Moto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the requests are, after the SDK and HTTP have had their way with the name."""
    bucket, refused = moto.new_bucket(), 0
    uri = f"s3://{bucket}/folder/table"
    for name, value in moto.options.items():
        monkeypatch.setenv(
            name.upper() if name.startswith("aws_") else f"AWS_{name.upper()}", value
        )
    with FaultProxy(moto.endpoint) as proxy:
        options = {**moto.options, "aws_endpoint": proxy.url}
        dataset = lance.write_dataset(TABLE, uri, storage_options=moto.options)
        for name in [text for text in HOSTILE if text.isprintable() and len(text) < 200]:
            edit_fragment(
                dataset, lambda fragment, name=name: setattr(fragment.files[0], "path", name)
            )
            with pytest.raises(LanceError):
                lance.dataset(uri, storage_options=options).to_table()
            refused += 1
        asked = {one.path for one in proxy.requests}
    assert refused > 150
    assert all(
        path.startswith(f"/{bucket}/folder/table/") or path == f"/{bucket}" for path in asked
    )
