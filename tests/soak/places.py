"""Where a soak puts its table: a server of each kind, and how both libraries reach it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.servers.azurite import Azurite, running_azurite
from tests.servers.gcs import GcsServer, running_gcs
from tests.servers.moto import Moto, running_moto
from tests.servers.webdav import running_webdav

DDB_TABLE = "soak-commits"


@dataclass(frozen=True, slots=True)
class Place:
    """A table that is not there yet, on a server at ``endpoint``.

    ``uri`` and ``options`` tell how it is reached, given the address that requests are sent to:
    that of the server, or that of a proxy before it. They are for pylance, too, if it
    ``has_peers``.
    """

    name: str
    endpoint: str
    uri: Callable[[str], str]
    options: Callable[[str], dict[str, str]]
    has_peers: bool = True

    def with_options(self, more: Mapping[str, str]) -> Place:
        """The same place, reached with more options."""

        def options(address: str) -> dict[str, str]:
            return self.options(address) | dict(more)

        return Place(self.name, self.endpoint, self.uri, options, self.has_peers)


def _path() -> str:
    """A path that nothing else uses."""
    return f"soak/{uuid.uuid4().hex}.lance"


def on_s3(moto: Moto) -> Place:
    uri = f"s3://{moto.new_bucket()}/{_path()}"
    return Place("s3", moto.endpoint, lambda _: uri, lambda address: Moto(address).options)


def on_dynamodb(moto: Moto) -> Place:
    import lance_core_dynamodb

    def options(address: str) -> dict[str, str]:
        return Moto(address).options | {"dynamodb_endpoint": address}

    tables = moto.client("dynamodb").list_tables()["TableNames"]
    if DDB_TABLE not in tables:
        lance_core_dynamodb.create_table(DDB_TABLE, options(moto.endpoint))
    uri = f"s3+ddb://{moto.new_bucket()}/{_path()}?ddbTableName={DDB_TABLE}"
    return Place("s3+ddb", moto.endpoint, lambda _: uri, options)


def on_gcs(gcs: GcsServer) -> Place:
    uri = f"gs://{gcs.new_bucket()}/{_path()}"
    return Place("gs", gcs.endpoint, lambda _: uri, lambda address: GcsServer(address).options)


def on_azure(azurite: Azurite) -> Place:
    uri = f"az://{azurite.new_container()}/{_path()}"
    return Place("az", azurite.origin, lambda _: uri, lambda address: Azurite(address).options)


def on_webdav(host: str) -> Place:
    path = _path()

    def uri(address: str) -> str:
        return f"webdav://{address.removeprefix('http://')}/{path}"

    return Place("webdav", f"http://{host}", uri, lambda _: {"allow_http": "true"}, has_peers=False)


@contextmanager
def running(name: str) -> Iterator[Callable[[], Place]]:
    """A server for the places of one kind; each call of what is given makes a new place."""
    if name in {"s3", "s3+ddb"}:
        with running_moto() as moto:
            yield lambda: on_s3(moto) if name == "s3" else on_dynamodb(moto)
    elif name == "gs":
        with running_gcs() as gcs:
            yield lambda: on_gcs(gcs)
    elif name == "az":
        with running_azurite() as azurite:
            yield lambda: on_azure(azurite)
    else:
        with running_webdav() as host:
            yield lambda: on_webdav(host)


NAMES = ("s3", "s3+ddb", "gs", "az", "webdav")
"""Kinds of places."""
