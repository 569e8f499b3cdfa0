"""Connections to the endpoint: TLS, proxies, deadlines and pool size."""

from __future__ import annotations

import os
import ssl
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import urllib3
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

from lance_core.errors import InvalidInputError
from lance_core_azure.settings import AzureSettings
from lance_core_remote.ca_files import check_ca_variables
from lance_core_remote.proxies import is_excluded, trust_certificates
from lance_core_remote.request_deadline import timed_pools
from lance_core_remote.settings import RemoteSettings

CALLERS = 16
"""Number of caller threads that may send requests in parallel, besides the store's own threads."""


def make_pool(settings: AzureSettings) -> urllib3.PoolManager:
    """A pool without open connections. Raises `InvalidInputError` for an unusable proxy."""
    remote = settings.remote
    size = remote.max_idle or remote.parallel + CALLERS
    proxy = _proxy(settings)
    context = _tls(remote) if settings.endpoint.startswith("https:") else None
    if proxy is None:
        pool = urllib3.PoolManager(num_pools=2, maxsize=size, ssl_context=context)
    else:
        pool = _through(proxy, remote, size, context)
    pool.pool_classes_by_scheme = timed_pools(
        remote.timeout, HTTPConnectionPool, HTTPSConnectionPool, remote.read_timeout
    )
    return pool


def _through(
    proxy: str, remote: RemoteSettings, size: int, context: ssl.SSLContext | None
) -> urllib3.ProxyManager:
    """A pool of connections through ``proxy``, whose URL may contain a password."""
    parts = urlsplit(proxy)
    headers = None
    if parts.username is not None:
        login = f"{parts.username}:{parts.password or ''}"
        headers = urllib3.make_headers(proxy_basic_auth=login)
    try:
        return urllib3.ProxyManager(
            parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl(),
            num_pools=2,
            maxsize=size,
            proxy_headers=headers,
            ssl_context=context,
            proxy_ssl_context=_tls(remote, remote.proxy_ca_certificate),
        )
    except (urllib3.exceptions.HTTPError, ValueError):
        raise InvalidInputError("storage option 'proxy_url' is not the URL of a proxy") from None


def _proxy(settings: AzureSettings) -> str | None:
    """The proxy for the endpoint, from the option or else from the environment."""
    remote, host = settings.remote, settings.host
    if remote.proxy_url is not None:
        return None if is_excluded(host, remote.proxy_excludes) else remote.proxy_url
    if proxy_bypass(host):
        return None
    return getproxies().get(urlsplit(settings.endpoint).scheme)


def _tls(remote: RemoteSettings, trusted: str | None = None) -> ssl.SSLContext:
    check_ca_variables()
    context = ssl.create_default_context(cafile=os.environ.get("REQUESTS_CA_BUNDLE") or None)
    if not os.environ.get("REQUESTS_CA_BUNDLE"):
        context.load_verify_locations(certifi.where())
    if trusted is not None:
        trust_certificates(context, trusted)
    if remote.allow_invalid_certificates:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
