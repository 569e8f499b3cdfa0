"""Opening ``gs://`` URLs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from lance_core.store.base import Guarantee, ObjectStore
from lance_core.store.config import Secret
from lance_core.store.remote.store import RemoteStore
from lance_core.store.uri import StoreUrl
from lance_core_gcs.client import GcsClient
from lance_core_gcs.options import read_options
from lance_core_gcs.plugin import OF_THE_SERVICE

OF_ANOTHER_SERVER = replace(
    OF_THE_SERVICE,
    put_if_absent=Guarantee.UNKNOWN,
    multipart_if_absent=Guarantee.UNKNOWN,
    copy_if_absent=Guarantee.UNKNOWN,
)
"""Of servers that speak like the service: some take conditions and ignore them."""


def open_store(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The store rooted at ``url``; nothing is sent yet.

    Raises `InvalidInputError` and `UnsupportedFeatureError` for options.
    """
    read = read_options(url, options, os.environ)
    client = GcsClient(read, OF_THE_SERVICE if read.is_google else OF_ANOTHER_SERVER)
    return RemoteStore(client, url.path, read.settings)
