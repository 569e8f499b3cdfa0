"""Named google-cloud-storage clients that the caller has created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core.errors import InvalidInputError
from lance_core.store.remote.sdk_objects import SdkObjects

if TYPE_CHECKING:
    from google.cloud.storage import Client

CLIENTS: SdkObjects[Any] = SdkObjects("client", "lance_core_gcs.register_client")


def register_client(name: str, client: Client) -> str:
    """Register ``client`` as ``name`` and return the name, the value of option ``google_client``.

    Stores that are opened with this option use the client's credentials, endpoint and extra
    headers. They open their own connections, with the time-outs, proxy and certificates of the
    other options. The client is kept until `unregister_client`. It is never sent to other
    processes; these must register their own client under the name, except forked children. Raises
    `InvalidInputError` if the name is malformed or belongs to another client.
    """
    from google.cloud.storage import Client

    if not isinstance(client, Client):
        raise InvalidInputError(
            f"the client must be a google.cloud.storage.Client, got {type(client).__name__}"
        )
    return CLIENTS.register(name, client)


def unregister_client(name: str) -> None:
    """Remove the client of this name, if it exists; stores that use it fail afterwards."""
    CLIENTS.unregister(name)
