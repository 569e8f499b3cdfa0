"""The services that tables are put in: emulators, each a process of its own.

The options vouch for conditional writes, as is so at the providers themselves: else the first write
would first try out whether the server heeds conditions.
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
"""How environment variables begin that change how a cloud's SDK behaves."""

DDB_TABLE = "commits"
_VOUCHED = {"put_if_absent": "yes", "multipart_if_absent": "yes"}


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in a running service."""

    name: str
    origin: str
    """Where the service listens: scheme, host and port."""
    pattern: str
    """The URI of a table, but for its name."""
    options_at: Callable[[str], dict[str, str]]
    """Storage options, as both libraries know them, given the origin of the service or a proxy."""
    vouched: dict[str, str]
    """Options that only this library has."""
    has_rows: bool = False
    """Whether commits are rows of DynamoDB, which `requests` counts apart."""

    def uri(self, table: str) -> str:
        """The address of a table of this name."""
        return self.pattern.format(table)

    def options(self, ours: bool, origin: str | None = None) -> dict[str, str]:
        """Storage options of this library or pylance; ``origin``: of a proxy, if there is one."""
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
    """Let nothing of who runs the benchmarks reach the emulators, nor ask a cloud for it."""
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
