"""The store of a table in a container."""

from __future__ import annotations

import os
from collections.abc import Mapping

from lance_core.store.base import ObjectStore
from lance_core.store.remote.store import RemoteStore
from lance_core.store.secret import Secret
from lance_core.store.uri import StoreUrl
from lance_core_azure.client import AzureClient
from lance_core_azure.credentials import Credentials
from lance_core_azure.redaction import install
from lance_core_azure.settings import settings_of


def open_store(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The objects below ``url``; asks the service nothing yet.

    Raises `InvalidInputError` and `UnsupportedFeatureError` for options that cannot be used.
    """
    install()
    settings = settings_of(url, options, os.environ)

    def renewed() -> Credentials:
        return settings_of(url, options, os.environ).credentials

    return RemoteStore(AzureClient(settings, renewed), url.path, settings.remote)
