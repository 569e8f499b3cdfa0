"""Open the store of a table in a container."""

from __future__ import annotations

import os
from collections.abc import Mapping

from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import ObjectStore, StoreUrl
from lance_core_azure.client import AzureClient
from lance_core_azure.credentials import Credentials
from lance_core_azure.errors import shown_error
from lance_core_azure.settings import read_settings
from lance_core_remote.log_redaction import LogRedaction
from lance_core_remote.store import RemoteStore

SDK_LOGS = LogRedaction("azure", "msal", "urllib3", redact=shown_error)
"""urllib3 logs whole URLs at DEBUG level, including shared access signatures; azure-identity logs
the values of the variables that it cannot use."""


def open_store(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The objects below ``url``. Sends no request.

    Raises `InvalidInputError` and `UnsupportedFeatureError` for unusable options.
    """
    settings = read_settings(url, options, os.environ)

    def renewed() -> Credentials:
        return read_settings(url, options, os.environ).credentials

    client = AzureClient(settings, renewed)
    SDK_LOGS.attach()  # to the loggers of azure-identity, too, which the client may have imported
    return RemoteStore(client, url.path, settings.remote)
