"""Storage options that all remote stores understand, under the names that pylance uses."""

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
"""Alternative names of `OPTIONS`, with the canonical name of each."""

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
"""The `OPTIONS` whose values must not be shown: the URL of a proxy may contain a password."""


def aliases(prefix: str) -> dict[str, str]:
    """Alternative names with their canonical names: `ALIASES`, and all names with ``prefix``."""
    return {
        **ALIASES,
        **{f"{prefix}{name}": name for name in OPTIONS},
        **{f"{prefix}{other}": name for other, name in ALIASES.items()},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """Settings of a remote store; times in seconds, sizes in bytes.

    The plugin's client applies the first group, `RemoteStore` the others. ``timeout`` limits one
    request including its response, ``connect_timeout`` the time to connect.
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
    """Maximum retries of a request."""
    retry_timeout: float = 180.0
    """Maximum time from the first attempt of a request to its last retry."""
    contact_timeout: float | None = None
    """Like ``retry_timeout``, as long as the service has never responded; None: the limit that
    belongs to the error. A user who states a retry time-out states both."""
    download_retries: int = 3
    """Additional retries of a read beyond ``max_retries``, because its body may break off."""

    parallel: int = 16
    """Maximum parallel requests of one store for reads and uploads, besides those of callers."""
    coalesce_gap: int = 1 << 18
    """Maximum gap between ranges that one request reads. It is about the data that one connection
    transfers in the time that an additional parallel request takes."""
    read_size: int = 8 << 20
    """Longer reads are split into parallel requests."""
    part_size: int = 8 << 20
    """Initial length of the parts of an upload; it grows if there would be too many parts."""
    max_single_put: int = 64 << 20
    """Longer objects are uploaded in parts."""

    @classmethod
    def of(cls, options: Options) -> RemoteSettings:
        """The settings from ``options``; the used options are removed from it.

        Names are those of `OPTIONS` and `ALIASES`. Raises `InvalidInputError` for malformed values.
        """
        default = cls()
        retry = take_seconds(options, "client_retry_timeout", default=-1.0)
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
            retry_timeout=default.retry_timeout if retry < 0 else retry,
            contact_timeout=None if retry < 0 else retry,
            download_retries=take_integer(
                options, "download_retry_count", default=default.download_retries
            ),
        )
