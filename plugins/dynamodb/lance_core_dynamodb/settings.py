"""Which DynamoDB table, and how to get in: what users say, checked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs import StoreUrl
from lance_core.store.config import Secret
from lance_core.store.remote.options import Options, take
from lance_core.store.remote.settings import RemoteSettings
from lance_core_dynamodb import options as names

TABLE_KEY = "ddbTableName"
"""The only parameter that the URL of a table has."""

ENDPOINT_VARIABLE = "DYNAMODB_ENDPOINT"
ALLOW_HTTP_VARIABLE = "AWS_ALLOW_HTTP"

Given: TypeAlias = tuple[tuple[str, str | Secret], ...]
"""Options, by name."""

_TABLE = re.compile(
    r"[A-Za-z0-9_.-]{3,255}|arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]+:table/[A-Za-z0-9_.-]{3,255}"
)
_REGION = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class DynamoSettings:
    """A table and the options that concern it, by canonical names. Secrets stay when pickled."""

    table: str
    given: Given = ()

    def access(self) -> Access:
        """How to get in; `InvalidInputError` if the options cannot be used."""
        options = dict(self.given)
        if "allow_http" not in options and os.environ.get(ALLOW_HTTP_VARIABLE):
            options["allow_http"] = os.environ[ALLOW_HTTP_VARIABLE]
        endpoint = take(options, names.ENDPOINT) or os.environ.get(ENDPOINT_VARIABLE) or None
        access = Access(
            keys=_keys(options) if options.get(names.SOURCE) not in {"ecs", "irsa"} else None,
            region=_region(options, names.REGION),
            default_region=_region(options, names.DEFAULT_REGION),
            endpoint=endpoint,
            remote=RemoteSettings.of(options),
            identity={name: text for name in names.OF_AWS if (text := take(options, name))},
        )
        _check_source(access)
        if endpoint is not None:
            _check_endpoint(endpoint, access.remote.allow_http)
        if access.remote.proxy_ca_certificate is not None or access.remote.proxy_excludes:
            raise UnsupportedFeatureError(
                "storage options 'proxy_ca_certificate' and 'proxy_excludes' are not heeded for "
                "DynamoDB: set the environment variables AWS_CA_BUNDLE and NO_PROXY"
            )
        return access


@dataclass(frozen=True, slots=True)
class Keys:
    """A pair of keys, with a token if they are temporary."""

    access: str
    secret: Secret
    token: Secret | None


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """How to get in; not to be kept or shown.

    ``keys``: None for those that ``identity`` (options by their names) or the environment leads to.
    ``endpoint``: None for that of the region.
    """

    keys: Keys | None
    region: str | None
    default_region: str | None
    endpoint: str | None
    remote: RemoteSettings
    identity: Mapping[str, str]

    def secrets(self) -> list[str]:
        """Texts that nobody may see."""
        keys = self.keys
        held = [keys.secret, keys.token] if keys else []
        texts = [secret.reveal() for secret in held if secret is not None]
        return [text for text in (*texts, self.remote.proxy_url) if text]


def settings_of(url: StoreUrl, options: Mapping[str, str | Secret]) -> DynamoSettings:
    """The table that a URL names, with what concerns it of ``options``.

    Raises `InvalidInputError` for a URL without exactly the one parameter that names the table, and
    for options that cannot be used.
    """
    if not url.path.strip("/"):
        raise InvalidInputError(f"{url}: rows name a table by its path, and there is none")
    if list(url.query) != [TABLE_KEY]:
        raise InvalidInputError(
            f"{url}: the URL needs the parameter {TABLE_KEY} and no other, such as "
            f"s3+ddb://bucket/table.lance?{TABLE_KEY}=commits"
        )
    return named(url.query[TABLE_KEY], options)


def named(table: str, options: Mapping[str, str | Secret]) -> DynamoSettings:
    """The settings for the DynamoDB table of that name or ARN."""
    if not _TABLE.fullmatch(table):
        raise InvalidInputError(
            f"{table[:80]!r} cannot be the name of a DynamoDB table: 3 to 255 letters, digits, "
            "'_', '-' and '.'"
        )
    given = names.concerning(options)
    settings = DynamoSettings(table, tuple(sorted(given.items(), key=lambda item: item[0])))
    if not any(isinstance(value, Secret) and value.is_missing for value in given.values()):
        settings.access()
    return settings


def _keys(options: Options) -> Keys | None:
    access = take(options, names.ACCESS_KEY)
    secret = take(options, names.SECRET_KEY)
    token = take(options, names.TOKEN)
    if access is None and secret is None and token is None:
        return None
    if not access or not secret:
        raise InvalidInputError(
            f"storage options {names.ACCESS_KEY!r} and {names.SECRET_KEY!r} belong together, and "
            f"{names.TOKEN!r} to both"
        )
    return Keys(access, Secret(secret), Secret(token) if token else None)


def _region(options: Options, name: str) -> str | None:
    region = take(options, name)
    if region is not None and not _REGION.fullmatch(region):
        raise InvalidInputError(f"storage option {name!r} is not the name of a region")
    return region


def _check_source(access: Access) -> None:
    source = access.identity.get(names.SOURCE)
    if source not in {None, "token", "ecs", "irsa"} or (source == "token" and not access.keys):
        raise InvalidInputError(
            f"storage option {names.SOURCE!r} must be 'token' with {names.ACCESS_KEY!r}, 'ecs' or "
            "'irsa'"
        )


def _check_endpoint(endpoint: str, allow_http: bool) -> None:
    try:
        parts = urlsplit(endpoint)
        well_formed = parts.scheme in {"http", "https"} and bool(parts.hostname)
        well_formed = well_formed and parts.port != 0
    except ValueError:
        parts, well_formed = urlsplit(""), False
    if not well_formed or "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidInputError(
            f"storage option {names.ENDPOINT!r} must be an address such as https://host:port"
        )
    if parts.scheme == "http" and not allow_http:
        raise InvalidInputError(
            f"storage option {names.ENDPOINT!r} is an http:// address: use https://, or allow keys "
            "and rows to be sent without encryption by storage option 'allow_http'"
        )
