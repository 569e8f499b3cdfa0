"""The services that hold the tables: emulators, each in a separate process.

The options declare conditional writes, which the real services support. Otherwise the first write
would first test the server's support for conditions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tests.servers.azurite import Azurite, running_azurite
from tests.servers.gcs import GcsServer, running_gcs
from tests.servers.moto import Moto, running_moto

OF_CLOUDS = ("AWS_", "AZURE_", "GCLOUD_", "GOOGLE_", "DYNAMODB_")
"""Prefixes of the environment variables that change the behaviour of a cloud's SDK."""

DDB_TABLE = "commits"
_VOUCHED = {"put_if_absent": "yes", "multipart_if_absent": "yes"}


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in a running service."""

    name: str
    origin: str
    """The address of the service: scheme, host and port."""
    pattern: str
    """The URI of a table without its name."""
    options_at: Callable[[str], dict[str, str]]
    """The storage options of both libraries for the address of the service or of a proxy."""
    vouched: dict[str, str]
    """Options that only this library has."""
    has_rows: bool = False
    """True if commits are rows in DynamoDB, whose requests `requests` counts separately."""

    def uri(self, table: str) -> str:
        """The URI of the table with this name."""
        return self.pattern.format(table)

    def options(self, ours: bool, origin: str | None = None) -> dict[str, str]:
        """Storage options for this library or pylance; ``origin``: the address of a proxy."""
        return self.options_at(origin or self.origin) | (self.vouched if ours else {})


@contextmanager
def _s3() -> Iterator[Place]:
    with running_moto() as moto:
        uri = f"s3://{moto.new_bucket()}/{{}}.lance"
        yield Place("s3", moto.endpoint, uri, lambda origin: Moto(origin).options, _VOUCHED)


@contextmanager
def _dynamodb() -> Iterator[Place]:
    import lance_core_dynamodb

    with running_moto() as moto:

        def options(origin: str) -> dict[str, str]:
            return {**Moto(origin).options, "dynamodb_endpoint": origin}

        lance_core_dynamodb.create_table(DDB_TABLE, options(moto.endpoint))
        uri = f"s3+ddb://{moto.new_bucket()}/{{}}.lance?ddbTableName={DDB_TABLE}"
        yield Place("s3+ddb", moto.endpoint, uri, options, {}, has_rows=True)


@contextmanager
def _azure() -> Iterator[Place]:
    with running_azurite() as azurite:
        uri = f"az://{azurite.new_container()}/{{}}.lance"
        yield Place("az", azurite.origin, uri, lambda origin: Azurite(origin).options, {})


@contextmanager
def _gcs() -> Iterator[Place]:
    with running_gcs() as gcs:
        uri = f"gs://{gcs.new_bucket()}/{{}}.lance"
        vouched = _VOUCHED | {"copy_if_absent": "yes"}
        yield Place("gs", gcs.endpoint, uri, lambda origin: GcsServer(origin).options, vouched)


PLACES: dict[str, Callable[[], AbstractContextManager[Place]]] = {
    "s3": _s3,
    "s3+ddb": _dynamodb,
    "az": _azure,
    "gs": _gcs,
}


def forget_clouds() -> None:
    """Remove cloud credentials and settings from the environment, and disable their look-up."""
    for name in list(os.environ):
        if name.startswith(OF_CLOUDS):
            del os.environ[name]
    os.environ |= {
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CLOUDSDK_CONFIG": os.devnull,
        "NO_GCE_CHECK": "true",
    }
