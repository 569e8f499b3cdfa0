"""Connection pools: proxy, certificates and deadlines."""

from __future__ import annotations

import os
import ssl
from typing import Any
from urllib.parse import urlsplit
from urllib.request import (  # type: ignore[attr-defined]  # typeshed leaves one of them out
    getproxies_environment,
    proxy_bypass_environment,
)

import urllib3
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

from lance_core.errors import InvalidInputError
from lance_core_remote.ca_files import check_ca_variables
from lance_core_remote.proxies import is_excluded, trust_certificates
from lance_core_remote.request_deadline import timed_pools
from lance_core_remote.settings import RemoteSettings


def make_pool(endpoint: str, settings: RemoteSettings) -> urllib3.PoolManager:
    """A pool of connections to ``endpoint``, through the proxy of the settings or the environment.

    Raises `InvalidInputError` for unusable settings.
    """
    common: dict[str, Any] = {
        "maxsize": settings.max_idle or settings.parallel + 16,
        "timeout": urllib3.Timeout(connect=settings.connect_timeout, read=settings.timeout),
    }
    context = _tls(settings)
    if endpoint.startswith("https://") or context is not None:
        common["ssl_context"] = context or _trusting()
    proxy = _proxy(endpoint, settings)
    pool = urllib3.PoolManager(**common) if proxy is None else _through(proxy, common)
    pool.pool_classes_by_scheme = timed_pools(
        settings.timeout, HTTPConnectionPool, HTTPSConnectionPool, settings.read_timeout
    )
    return pool


def direct(seconds: float) -> urllib3.PoolManager:
    """A pool of connections without a proxy."""
    pool = urllib3.PoolManager()
    pool.pool_classes_by_scheme = timed_pools(seconds, HTTPConnectionPool, HTTPSConnectionPool)
    return pool


def _through(proxy: str, common: dict[str, Any]) -> urllib3.ProxyManager:
    """A pool of connections through ``proxy``, whose URL may contain a password."""
    try:
        parts = urllib3.util.parse_url(proxy)
        headers = urllib3.make_headers(proxy_basic_auth=parts.auth) if parts.auth else None
        plain = parts._replace(auth=None).url
        return urllib3.ProxyManager(plain, proxy_headers=headers, **common)
    except (HTTPError, ValueError, AssertionError):
        pass
    raise InvalidInputError("the URL of the proxy (proxy_url) cannot be used")


def _tls(settings: RemoteSettings) -> ssl.SSLContext | None:
    """A TLS context for certificate settings; None for the default checks."""
    if not settings.allow_invalid_certificates and settings.proxy_ca_certificate is None:
        return None
    context = _trusting()
    if settings.proxy_ca_certificate is not None:
        trust_certificates(context, settings.proxy_ca_certificate)
    if settings.allow_invalid_certificates:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _trusting() -> ssl.SSLContext:
    """A TLS context that trusts the certificates of the environment's file, or the machine's.

    Raises `InvalidInputError` if the environment names a file that cannot be used.
    """
    check_ca_variables()
    return ssl.create_default_context(cafile=os.environ.get("REQUESTS_CA_BUNDLE") or None)


def _proxy(endpoint: str, settings: RemoteSettings) -> str | None:
    """The URL of the proxy for ``endpoint``; None for no proxy."""
    parts = urlsplit(endpoint)
    if settings.proxy_url is not None:
        is_direct = is_excluded(parts.hostname or "", settings.proxy_excludes)
        return None if is_direct else settings.proxy_url
    known = getproxies_environment()
    if proxy_bypass_environment(parts.netloc, known):
        return None
    return known.get(parts.scheme, known.get("all"))
