"""Clients of google-cloud-storage that the caller made, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core.errors import InvalidInputError
from lance_core.store.remote.sdk_objects import SdkObjects

if TYPE_CHECKING:
    from google.cloud.storage import Client

CLIENTS: SdkObjects[Any] = SdkObjects("client", "lance_core_gcs.register_client")


def register_client(name: str, client: Client) -> str:
    """Give ``client`` a name in this process, and return it: the value of option ``google_client``.

    Stores opened with the option use the client's credentials, endpoint and extra headers. The
    connections are their own, with the time-outs, proxy and certificates of the other options. The
    client is kept until `unregister_client`. It never travels: other processes, but for forked
    children, register one of their own under the name. Raises `InvalidInputError` if the name is
    that of another client.
    """
    from google.cloud.storage import Client

    if not isinstance(client, Client):
        raise InvalidInputError(f"{type(client).__name__} is no google.cloud.storage.Client")
    return CLIENTS.register(name, client)


def unregister_client(name: str) -> None:
    """Forget the client of this name, if there is one; stores that use it fail from then on."""
    CLIENTS.unregister(name)
