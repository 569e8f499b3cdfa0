"""Open ``gs://`` URLs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import ObjectStore, StoreUrl
from lance_core_gcs.capabilities import OF_GOOGLE, OF_OTHERS
from lance_core_gcs.client import MAX_MULTIPART, GcsClient
from lance_core_gcs.options import read_options
from lance_core_remote.store import RemoteStore


def open_store(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The store rooted at ``url``. Sends no request.

    Raises `InvalidInputError` and `UnsupportedFeatureError` for unusable options.
    """
    read = read_options(url, options, os.environ)
    client = GcsClient(read, OF_GOOGLE if read.is_google else OF_OTHERS)
    # An object of one part is written with one request, with a checksum.
    return RemoteStore(client, url.path, replace(read.settings, part_size=MAX_MULTIPART))
