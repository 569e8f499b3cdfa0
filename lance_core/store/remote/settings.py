"""What can be chosen for every remote store, by the names that pylance has for it."""

from __future__ import annotations

from dataclasses import field

from lance_core.lazy_dataclass import dataclass
from lance_core.store.remote.option_values import (
    Options,
    take,
    take_boolean,
    take_integer,
    take_seconds,
)

ALIASES = {"request_timeout": "timeout"}
"""Other names of `OPTIONS`, with the canonical name of each."""

OPTIONS = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "client_max_retries",
        "client_retry_timeout",
        "connect_timeout",
        "download_retry_count",
        "proxy_ca_certificate",
        "proxy_excludes",
        "proxy_url",
        "timeout",
        "user_agent",
    }
)
"""Canonical names of the storage options that every remote store understands."""

SECRET_OPTIONS = frozenset({"proxy_url"})
"""Those of `OPTIONS` that must not be shown: a URL of a proxy may hold a password."""


def aliases(prefix: str) -> dict[str, str]:
    """Other names of `OPTIONS`, with the canonical name of each: `ALIASES`, and all by a prefix."""
    return {
        **ALIASES,
        **{f"{prefix}{name}": name for name in OPTIONS},
        **{f"{prefix}{other}": name for other, name in ALIASES.items()},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """Settings of a remote store; times in seconds, sizes in bytes.

    The plugin's client heeds the first group, `RemoteStore` the others. ``timeout`` bounds one
    request with its answer, ``connect_timeout`` the making of a connection.
    """

    allow_http: bool = False
    allow_invalid_certificates: bool = False
    timeout: float = 30.0
    connect_timeout: float = 5.0
    user_agent: str | None = None
    proxy_url: str | None = field(default=None, repr=False)
    proxy_ca_certificate: str | None = None
    proxy_excludes: str | None = None

    max_retries: int = 10
    """How often a request is sent again."""
    retry_timeout: float = 180.0
    """A request is not sent again later than this after it was sent first."""
    download_retries: int = 3
    """How often a read is sent again beyond ``max_retries``, because its body may break off."""

    parallel: int = 16
    """Requests that one store has under way for reads and uploads, besides the callers' own."""
    coalesce_gap: int = 1 << 18
    """Ranges less than this apart are read by one request: about what arrives, over one connection,
    in the time that a request of its own takes when others are under way."""
    read_size: int = 8 << 20
    """Reads of more are split into requests that run in parallel."""
    part_size: int = 8 << 20
    """Length of the parts of an upload, until there would be too many of them."""
    max_single_put: int = 64 << 20
    """More than this is uploaded in parts."""

    @classmethod
    def of(cls, options: Options) -> RemoteSettings:
        """The settings that ``options`` name, which are taken out of it.

        Names are those of `OPTIONS` and `ALIASES`. Raises `InvalidInputError` for malformed values.
        """
        default = cls()
        return cls(
            allow_http=take_boolean(options, "allow_http"),
            allow_invalid_certificates=take_boolean(options, "allow_invalid_certificates"),
            timeout=take_seconds(options, "timeout", "request_timeout", default=default.timeout),
            connect_timeout=take_seconds(
                options, "connect_timeout", default=default.connect_timeout
            ),
            user_agent=take(options, "user_agent"),
            proxy_url=take(options, "proxy_url"),
            proxy_ca_certificate=take(options, "proxy_ca_certificate"),
            proxy_excludes=take(options, "proxy_excludes"),
            max_retries=take_integer(options, "client_max_retries", default=default.max_retries),
            retry_timeout=take_seconds(
                options, "client_retry_timeout", default=default.retry_timeout
            ),
            download_retries=take_integer(
                options, "download_retry_count", default=default.download_retries
            ),
        )
