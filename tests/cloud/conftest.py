"""Servers of cloud services: one of each for a run of the tests, on the loopback interface.

Nothing in the environment of who runs the tests reaches them, nor do they reach a cloud.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from lance_core_testing.network.fault_proxy import FaultProxy
from tests.cloud.surfaces import logs
from tests.servers.azurite import Azurite, running_azurite
from tests.servers.gcs import GcsServer, running_gcs
from tests.servers.moto import Moto, running_moto
from tests.servers.webdav import running_webdav
from tests.soak.places import Place, on_azure, on_dynamodb, on_gcs, on_s3, on_webdav

OF_CLOUDS = ("AWS_", "AZURE_", "GCLOUD_", "GOOGLE_", "DYNAMODB_")
"""How environment variables begin that change how a cloud's SDK behaves."""


@pytest.fixture(autouse=True)
def _no_clouds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(OF_CLOUDS):
            monkeypatch.delenv(name)
    # Neither the files of a developer nor the address of a machine in a cloud are asked.
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", os.devnull)
    monkeypatch.setenv("NO_GCE_CHECK", "true")


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Everything that anybody logs, with the attributes of each record."""
    with logs() as texts:
        yield texts


@pytest.fixture(scope="session")
def moto() -> Iterator[Moto]:
    """S3 and DynamoDB, without rights: any key will do."""
    with running_moto() as server:
        yield server


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    """Azure Blob Storage, with the rights of one account."""
    with running_azurite() as server:
        yield server


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsServer]:
    """Google Cloud Storage, without rights; copies of more than 300 KB take several requests."""
    with running_gcs("--rewrite-bytes", "300000") as server:
        yield server


@pytest.fixture
def bucket(moto: Moto) -> str:
    """The name of an empty bucket of this test."""
    return moto.new_bucket()


@pytest.fixture
def proxy(moto: Moto) -> Iterator[FaultProxy]:
    """What makes chosen requests to `moto` fail, and counts them all."""
    with FaultProxy(moto.endpoint) as running:
        yield running


@pytest.fixture
def container(azurite: Azurite) -> Iterator[str]:
    """The name of an empty container of this test."""
    name = azurite.new_container()
    yield name
    azurite.delete_container(name)


@pytest.fixture(scope="session")
def webdav() -> Iterator[str]:
    """``host:port`` of a WebDAV server, without rights."""
    with running_webdav() as host:
        yield host


@pytest.fixture
def new_place(request: pytest.FixtureRequest) -> Callable[[str], Place]:
    """Makes a place of one of the kinds of `tests.soak.places`; its server runs from then on."""
    make = {
        "s3": lambda: on_s3(request.getfixturevalue("moto")),
        "s3+ddb": lambda: on_dynamodb(request.getfixturevalue("moto")),
        "gs": lambda: on_gcs(request.getfixturevalue("gcs")),
        "az": lambda: on_azure(request.getfixturevalue("azurite")),
        "webdav": lambda: on_webdav(request.getfixturevalue("webdav")),
    }
    return lambda kind: make[kind]()
