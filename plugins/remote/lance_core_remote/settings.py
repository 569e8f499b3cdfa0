"""Storage options that all remote stores understand: those of pylance's HTTP client.

The names are those of object_store's client options, which pylance uses, and of pylance itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret
from lance_core_remote.option_values import (
    Options,
    described,
    take,
    take_boolean,
    take_integer,
    take_seconds,
)
from lance_core_remote.options import Option, Use, ValueForm, drop_unused

HEADERS = "headers."
"""Prefix of options that add a header to each request; the rest of the name is the header's."""


def _ignored(name: str, text: str, form: ValueForm = ValueForm.SECONDS) -> Option:
    return Option(name, text, form=form, use=Use.IGNORED)


_HTTP_1 = "The SDKs send all requests by HTTP/1.1."

TABLE = (
    Option("allow_http", "Allow addresses without TLS (`http://`).", form=ValueForm.BOOLEAN),
    Option(
        "allow_invalid_certificates",
        "Do not check the server's certificate.",
        form=ValueForm.BOOLEAN,
    ),
    Option("client_max_retries", "Maximum retries of a request (10).", form=ValueForm.INTEGER),
    Option(
        "client_retry_timeout",
        "Maximum time from the first attempt of a request to its last retry (180 s).",
        form=ValueForm.SECONDS,
    ),
    Option("connect_timeout", "Maximum time to connect (5 s).", form=ValueForm.SECONDS),
    Option("default_content_type", "Content type of written objects."),
    Option(
        "download_retry_count",
        "Additional retries of a read, beyond the others (3).",
        form=ValueForm.INTEGER,
    ),
    Option(
        "headers.*",
        "Additional header of each request: `headers.X-Mine` is the header `X-Mine`. Headers that "
        "the client sets itself keep their values.",
        is_secret=True,
    ),
    Option(
        "pool_max_idle_per_host", "Maximum idle connections that are kept.", form=ValueForm.INTEGER
    ),
    Option("proxy_ca_certificate", "Certificates in PEM form, trusted for the proxy."),
    Option(
        "proxy_excludes",
        "Hosts that are reached without the proxy: names of hosts and domains, addresses and "
        "networks (`10.0.0.0/8`), separated by commas.",
    ),
    Option(
        "proxy_url",
        "Proxy for all requests, `http://user:password@host:port`.",
        form=ValueForm.PROXY,
        is_secret=True,
    ),
    Option("read_timeout", "Maximum time without a byte of a response.", form=ValueForm.SECONDS),
    Option(
        "timeout",
        "Maximum time of one request, with its whole response (30 s).",
        ("request_timeout",),
        form=ValueForm.SECONDS,
    ),
    Option("user_agent", "User agent of the requests."),
    _ignored("http1_only", _HTTP_1, ValueForm.BOOLEAN),
    _ignored("http2_only", _HTTP_1, ValueForm.BOOLEAN),
    _ignored("http2_keep_alive_interval", _HTTP_1),
    _ignored("http2_keep_alive_timeout", _HTTP_1),
    _ignored("http2_keep_alive_while_idle", _HTTP_1, ValueForm.BOOLEAN),
    _ignored("http2_max_frame_size", _HTTP_1, ValueForm.INTEGER),
    _ignored("pool_idle_timeout", "Idle connections are kept until the server closes them."),
    _ignored(
        "randomize_addresses",
        "The operating system chooses among the addresses of a host.",
        ValueForm.BOOLEAN,
    ),
)
"""The options, in the order of the documentation: those with an effect come first."""

ALIASES = {other: option.name for option in TABLE for other in option.others}
"""Alternative names of `OPTIONS`, with the canonical name of each."""

OPTIONS = frozenset(option.name for option in TABLE)
"""Canonical names of the storage options that every remote store understands."""

SECRET_OPTIONS = frozenset(option.name for option in TABLE if option.is_secret)
"""The `OPTIONS` whose values must not be shown: headers, and the URL of a proxy, which may contain
a password."""


def aliases(prefix: str) -> dict[str, str]:
    """Alternative names with their canonical names: `ALIASES`, and all names with ``prefix``."""
    return {
        **ALIASES,
        **{f"{prefix}{name}": name for name in OPTIONS if not name.endswith("*")},
        **{f"{prefix}{other}": name for other, name in ALIASES.items()},
    }


def variables(prefix: str) -> dict[str, list[str]]:
    """The environment variables of each option of a store, whose names have this ``prefix``.

    `AWS_TIMEOUT` precedes `TIMEOUT`. Headers have none.
    """
    return {
        option.name: [f"{before}{name}".upper() for before in (prefix, "") for name in option.names]
        for option in TABLE
        if not option.name.endswith("*")
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """Settings of a remote store; times in seconds, sizes in bytes.

    The plugin's client applies the first group, `RemoteStore` the others. ``timeout`` limits one
    request including its response, ``connect_timeout`` the time to connect, ``read_timeout`` the
    time without a byte of the response.
    """

    allow_http: bool = False
    allow_invalid_certificates: bool = False
    timeout: float = 30.0
    connect_timeout: float = 5.0
    read_timeout: float | None = None
    user_agent: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, Secret], ...] = field(default=(), repr=False)
    content_type: str | None = field(default=None, repr=False)
    max_idle: int | None = None
    """Maximum idle connections that are kept; None for the store's own number."""
    proxy_url: str | None = field(default=None, repr=False)
    proxy_ca_certificate: str | None = field(default=None, repr=False)
    proxy_excludes: str | None = field(default=None, repr=False)

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
    part_size: int = 10 << 20
    """Length of the parts of an upload, unless the object is known to have too many of them. 10,000
    parts of 10 MiB hold more than the default maximum of a data file, 90 GiB."""
    max_single_put: int = 64 << 20
    """Longer objects are uploaded in parts."""

    @classmethod
    def of(cls, options: Options) -> RemoteSettings:
        """The settings from ``options``; the used options are removed from it.

        Names are those of `OPTIONS` and `ALIASES`. Raises `InvalidInputError` for malformed values.
        """
        default = cls()
        retry = take_seconds(options, "client_retry_timeout", default=-1.0)
        drop_unused(options, TABLE)
        return cls(
            allow_http=take_boolean(options, "allow_http"),
            allow_invalid_certificates=take_boolean(options, "allow_invalid_certificates"),
            timeout=take_seconds(options, "timeout", "request_timeout", default=default.timeout),
            connect_timeout=take_seconds(
                options, "connect_timeout", default=default.connect_timeout
            ),
            read_timeout=take_seconds(options, "read_timeout", default=0.0) or None,
            user_agent=_header_value(options, "user_agent"),
            headers=_headers(options),
            content_type=_header_value(options, "default_content_type"),
            max_idle=max(1, take_integer(options, "pool_max_idle_per_host", default=0))
            if "pool_max_idle_per_host" in options
            else None,
            proxy_url=_proxy_url(options),
            proxy_ca_certificate=take(options, "proxy_ca_certificate"),
            proxy_excludes=take(options, "proxy_excludes"),
            max_retries=take_integer(options, "client_max_retries", default=default.max_retries),
            retry_timeout=default.retry_timeout if retry < 0 else retry,
            contact_timeout=None if retry < 0 else retry,
            download_retries=take_integer(
                options, "download_retry_count", default=default.download_retries
            ),
        )


def _proxy_url(options: Options) -> str | None:
    """The URL of the proxy; without a scheme, ``host:port`` is one that is reached by HTTP."""
    text = take(options, "proxy_url")
    if text is None:
        return None
    url = text.strip()
    if "://" not in url and url.rpartition(":")[2].isdecimal():
        url = f"http://{url}"
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise InvalidInputError(
            f"{described(options, 'proxy_url')} must be the URL of a proxy, http://host:port"
        )
    return url


_FIXED = frozenset(
    {
        *("connection", "content-length", "content-range", "expect", "host", "range", "te"),
        *("trailer", "transfer-encoding", "upgrade"),
    }
)
"""Headers without which a request would have another meaning, besides conditions (`If-…`)."""


def _headers(options: Options) -> tuple[tuple[str, Secret], ...]:
    """The additional headers in ``options``, sorted. Raises `InvalidInputError` if malformed."""
    headers = {}
    for option in [name for name in options if name.lower().startswith(HEADERS)]:
        name = option[len(HEADERS) :]
        value = take(options, option) or ""
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise InvalidInputError(
                f"the name of a storage option that begins with {HEADERS!r} must end in the name "
                "of an HTTP header"
            )
        if name.lower() in _FIXED or name.lower().startswith("if-"):
            raise InvalidInputError(
                f"storage option {option!r}: the client itself must set this header"
            )
        if not _is_header_value(value):
            raise InvalidInputError(
                f"storage option {option!r} must be a text of one line in ASCII"
            )
        headers[name] = Secret(value)
    return tuple(sorted(headers.items(), key=lambda item: item[0]))


def _header_value(options: Options, name: str) -> str | None:
    text = take(options, name)
    if text is not None and not _is_header_value(text):
        raise InvalidInputError(f"{described(options, name)} must be a text of one line in ASCII")
    return text


def _is_header_value(text: str) -> bool:
    return text.isascii() and text.isprintable()
