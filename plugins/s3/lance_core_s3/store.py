"""Opening a place in a bucket."""

from __future__ import annotations

from collections.abc import Mapping

from lance_core.errors import UnsupportedFeatureError
from lance_core.store.remote.settings import RemoteSettings
from lance_core.store.remote.store import RemoteStore
from lance_core.store.secret import Secret
from lance_core.store.uri import StoreUrl
from lance_core_s3.client import S3Client
from lance_core_s3.settings import S3Settings


def open_store(url: StoreUrl, options: Mapping[str, str | Secret]) -> RemoteStore:
    """The objects below ``url``; a `StoreFactory`. Nothing is asked of the service yet.

    What of ``options`` is not of S3 belongs to others, such as the way of committing.
    """
    left = dict(options)
    settings = S3Settings.of(url, left)
    remote = RemoteSettings.of(left)
    if remote.proxy_ca_certificate is not None or remote.proxy_excludes is not None:
        raise UnsupportedFeatureError(
            "storage options 'proxy_ca_certificate' and 'proxy_excludes' are not heeded for S3: "
            "set the environment variables AWS_CA_BUNDLE and NO_PROXY"
        )
    return RemoteStore(S3Client(settings, remote), url.path, remote)
