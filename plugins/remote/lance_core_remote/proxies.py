"""Proxies of the storage options: which hosts bypass them, and which certificates they have."""

from __future__ import annotations

import atexit
import functools
import ipaddress
import os
import shutil
import ssl
import tempfile
from pathlib import Path

from lance_core.errors import InvalidInputError
from lance_core_remote.settings import RemoteSettings


def is_excluded(host: str, excludes: str | None) -> bool:
    """True if ``host`` matches ``excludes``, the value of the option ``proxy_excludes``.

    A name matches the host itself and those of its domain, ``*`` matches all hosts, a network all
    of its addresses.
    """
    name = host.lower().strip("[]").rstrip(".")
    rules = (rule.strip().lower() for rule in (excludes or "").split(","))
    return any(_matches(name, rule) for rule in rules if rule)


def _matches(host: str, rule: str) -> bool:
    if rule == "*":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        domain = rule.removeprefix("*").strip(".").rpartition(":")[0] or rule.removeprefix("*")
        return f".{host}".endswith(f".{domain.strip('.')}")
    try:
        return address in ipaddress.ip_network(rule.strip("[]"), strict=False)
    except ValueError:
        return rule.rpartition(":")[0].strip("[]") == host  # with a port


def proxies_of(remote: RemoteSettings, host: str) -> dict[str, str] | None:
    """The proxies for requests to ``host`` by scheme, as botocore takes them.

    None leaves the choice to the environment. The name of the proxy's user is part of its URL.
    """
    if remote.proxy_url is None:
        return None
    if is_excluded(host, remote.proxy_excludes):
        return {}
    return {"http": remote.proxy_url, "https": remote.proxy_url}


def certificates_file(pem: str) -> str:
    """The path of a file with these certificates, for SDKs that only take files.

    The file exists until this process ends. Raises `InvalidInputError` if ``pem`` holds none.
    """
    trust_certificates(ssl.create_default_context(), pem)
    return _written(os.getpid(), pem)


def trust_certificates(context: ssl.SSLContext, pem: str) -> None:
    """Let ``context`` trust the certificates. Raises `InvalidInputError` if ``pem`` holds none."""
    try:
        context.load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise InvalidInputError(
            "storage option 'proxy_ca_certificate' must be certificates in PEM form"
        ) from None


@functools.lru_cache(maxsize=16)
def _written(process: int, pem: str) -> str:
    # A forked child has files of its own: those of its parent may be removed at any time.
    folder = tempfile.mkdtemp(prefix="lance-core-")
    atexit.register(_remove, process, folder)
    file = Path(folder) / "proxy.pem"
    file.write_text(pem, "utf-8")
    return str(file)


def _remove(process: int, folder: str) -> None:
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
