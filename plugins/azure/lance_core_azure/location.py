"""Which container of which account a URL means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lance_core.errors import InvalidInputError
from lance_core.store.uri import StoreUrl

_HOSTS = {
    **{
        f"{kind}.core.{cloud}": f"blob.core.{cloud}"
        for kind in ("blob", "dfs")
        for cloud in ("windows.net", "usgovcloudapi.net", "chinacloudapi.cn")
    },
    "blob.fabric.microsoft.com": "blob.fabric.microsoft.com",
    "dfs.fabric.microsoft.com": "blob.fabric.microsoft.com",
}
"""What follows the account in the name of a host, and where its blobs are. Credentials are sent to
no other host that a URL names, since URLs may come from the table itself."""

_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.IGNORECASE)
_CONTAINER = re.compile(r"\$?[A-Za-z0-9][A-Za-z0-9-]{0,62}")


@dataclass(frozen=True, slots=True)
class Location:
    """``container`` of ``account``, whose blobs are at the host ``account.domain``.

    None: the URL does not say; options do.
    """

    container: str
    account: str | None = None
    domain: str | None = None


def location_of(url: StoreUrl) -> Location:
    """What ``url`` means; `InvalidInputError` if that is not a container of Azure.

    ``az://container/path``, ``abfss://container@account.dfs.core.windows.net/path``.
    """
    if url.query:
        raise InvalidInputError(f"{url}: a URL of Azure has no parameters; use storage options")
    container, at, host = url.netloc.rpartition("@")
    if not at:
        return Location(check_container(host))
    account, _, suffix = host.partition(".")
    domain = _HOSTS.get(suffix.lower()) if suffix else None
    if (suffix and domain is None) or not _ACCOUNT.fullmatch(account):
        raise InvalidInputError(
            f"{str(url)!r} names no storage account: write container@account.dfs.core.windows.net, "
            "or give the address of another server as the option 'endpoint'"
        )
    return Location(check_container(container), account.lower(), domain)


def check_container(name: str) -> str:
    """``name``, or `InvalidInputError` if no container can have it."""
    if not _CONTAINER.fullmatch(name):
        # Not shown: what stands before an "@" may be a password.
        raise InvalidInputError(
            "a URL of Azure begins with a container, az://container/path or "
            "abfss://container@account.dfs.core.windows.net/path: up to 63 letters, digits and -"
        )
    return name


def check_account(name: str) -> str:
    """``name``, or `InvalidInputError` if no account can have it."""
    if not _ACCOUNT.fullmatch(name):
        raise InvalidInputError(f"{name[:80]!r} cannot be the name of a storage account")
    return name
