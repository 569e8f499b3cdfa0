"""The storage options for DynamoDB under all their names, and the resulting settings.

The options that select the table follow pylance exactly. If two libraries used different DynamoDB
tables for the same Lance table, they would lose each other's commits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError
from lance_core.hookspecs import StoreUrl
from lance_core.hookspecs.options import Secret, looks_secret, plain, wrap_secrets
from lance_core_remote import settings as shared
from lance_core_remote.aws_keys import ACCESS_KEY, SECRET_KEY, TOKEN, Keys
from lance_core_remote.option_values import GivenOptions, Options, described, take
from lance_core_remote.options import (
    Option,
    ValueForm,
    add_variables,
    refuse_misplaced_secrets,
)
from lance_core_remote.settings import RemoteSettings

ENDPOINT = "dynamodb_endpoint"
REGION = "aws_region"
DEFAULT_REGION = "aws_default_region"
PROFILE = "aws_profile"
SESSION = "aws_session"
"""Name of a registered `boto3.Session`, which then provides all credentials."""

SOURCE = "aws_provider_scheme"
"""The source of credentials: ``token`` (the options), ``ecs`` or ``irsa``."""

WEB_IDENTITY = {
    "aws_web_identity_token_file": "web_identity_token_file",
    "aws_role_arn": "role_arn",
    "aws_role_session_name": "role_session_name",
}
"""Options of the role of a web identity, with their names in an AWS profile."""

TOKEN_EXCHANGE = "aws_endpoint_url_sts"  # noqa: S105  # a name

CONTAINER = (
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
    "aws_container_authorization_token_file",
)
"""Options for container credentials: variables of the container's environment in lower case."""

METADATA = "aws_metadata_endpoint"
METADATA_VERSION_1 = "aws_imdsv1_fallback"

OF_AWS = frozenset(
    {
        *(ACCESS_KEY, SECRET_KEY, TOKEN, REGION, DEFAULT_REGION, PROFILE, SESSION, SOURCE),
        *(TOKEN_EXCHANGE, *WEB_IDENTITY, *CONTAINER, METADATA, METADATA_VERSION_1),
    }
)
OF_S3 = frozenset({"aws_endpoint", "aws_endpoint_url", "endpoint", "endpoint_url"})
"""Options for the location of S3. They are ignored, but often accompany those of DynamoDB."""

SECRETS = frozenset({SECRET_KEY, TOKEN}) | shared.SECRET_OPTIONS


def _names() -> dict[str, str]:
    names = {ENDPOINT: ENDPOINT, "aws_token": TOKEN, "token": TOKEN}
    for name in OF_AWS:
        names |= {name: name, name.removeprefix("aws_"): name}
    plain_names = (name for name in shared.OPTIONS if not name.endswith("*"))
    return names | {name: name for name in plain_names} | shared.aliases("aws_")


NAMES: Mapping[str, str] = _names()
"""All names in lower case, with their canonical names."""


def concerning(options: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """Those of ``options`` that apply to DynamoDB, under canonical names, with secrets wrapped.

    Raises `InvalidInputError` if an option has two values.
    """
    canonical: dict[str, str | Secret] = {}
    for option, value in options.items():
        name = NAMES.get(option.lower())
        if name is not None and canonical.setdefault(name, value) != value:
            raise InvalidInputError(
                f"storage option {name!r} is given twice, under different spellings, with "
                "different values"
            )
    return wrap_secrets(canonical, SECRETS)


TABLE_KEY = "ddbTableName"
"""The only parameter of the URL of a table."""

ENDPOINT_VARIABLE = "DYNAMODB_ENDPOINT"

VARIABLES = {ENDPOINT: [ENDPOINT_VARIABLE], **shared.variables("aws_")}
"""The environment variables of options, besides those that the SDK reads."""

TABLE = (
    Option(ENDPOINT, "Address of another server than Amazon's.", form=ValueForm.ADDRESS),
    *(
        Option(
            name,
            "See S3.",
            form=ValueForm.IDENTIFIER if name == ACCESS_KEY else ValueForm.TEXT,
            is_secret=name in SECRETS,
        )
        for name in sorted(OF_AWS)
    ),
    *shared.TABLE,
)
"""The options that apply to DynamoDB."""

Given: TypeAlias = tuple[tuple[str, str | Secret], ...]
"""Options by name."""

_TABLE = re.compile(
    r"[A-Za-z0-9_.-]{3,255}|arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]+:table/[A-Za-z0-9_.-]{3,255}"
)
_REGION = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class DynamoSettings:
    """A table and its options under canonical names. Pickling preserves secrets."""

    table: str
    given: Given = ()

    def access(self) -> Access:
        """Parse the access settings. Raises `InvalidInputError` for unusable options."""
        options = GivenOptions(dict(self.given))
        is_chosen = not options.keys().isdisjoint(OF_AWS - {REGION, DEFAULT_REGION})
        add_variables(options, VARIABLES, os.environ)
        refuse_misplaced_secrets(options, TABLE)
        secrets = tuple(value for value in options.values() if isinstance(value, Secret))
        named = described(options, ENDPOINT)
        endpoint = take(options, ENDPOINT) or None
        keys = None if is_chosen else Keys.of_environment(os.environ)
        if plain(options.get(SOURCE, "")) not in {"ecs", "irsa"}:
            keys = Keys.of(options) or keys
        access = Access(
            keys=keys,
            region=_region(options, REGION),
            default_region=_region(options, DEFAULT_REGION),
            endpoint=endpoint,
            remote=RemoteSettings.of(options),
            identity={name: text for name in OF_AWS if (text := take(options, name))},
            given=secrets,
        )
        _check_source(access)
        if endpoint is not None:
            _check_endpoint(endpoint, access.remote.allow_http, named)
        return access


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """Credentials and endpoint. Do not store or show them.

    ``keys``: None if ``identity`` (options by name) or the environment provides the keys.
    ``endpoint``: None for the endpoint of the region.
    """

    keys: Keys | None
    region: str | None
    default_region: str | None
    endpoint: str | None
    remote: RemoteSettings
    identity: Mapping[str, str]
    given: tuple[Secret, ...] = ()
    """All secrets that were given."""

    def secrets(self) -> list[str]:
        """The texts that must not be shown."""
        keys = self.keys
        held = [*self.given, *((keys.secret, keys.token) if keys else ())]
        texts = [secret.reveal() for secret in held if secret is not None]
        return [text for text in (*texts, self.remote.proxy_url) if text]


def settings_of(url: StoreUrl, options: Mapping[str, str | Secret]) -> DynamoSettings:
    """The settings for the table that a URL names, with the ``options`` that apply to it.

    Raises `InvalidInputError` for unusable options, and for a URL whose parameters are not exactly
    the one that names the table.
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
    """The settings for the DynamoDB table with this name or ARN."""
    if not _TABLE.fullmatch(table):
        raise InvalidInputError(
            f"parameter {TABLE_KEY} must be the name of a DynamoDB table: 3 to 255 letters, "
            "digits, '_', '-' and '.'"
        )
    applicable = concerning(options)
    settings = DynamoSettings(table, tuple(sorted(applicable.items(), key=lambda item: item[0])))
    if not any(isinstance(value, Secret) and value.is_missing for value in applicable.values()):
        settings.access()
    return settings


def region_of_environment() -> str | None:
    """The value of ``AWS_REGION``. Raises `InvalidInputError` if it is not the name of a region."""
    # No variable holds the value or the environment, which frames of an error would show.
    if not _is_region(os.environ.get("AWS_REGION") or "none"):
        raise InvalidInputError("environment variable AWS_REGION is not the name of a region")
    return os.environ.get("AWS_REGION") or None


def _is_region(text: str) -> bool:
    return bool(_REGION.fullmatch(text)) and not looks_secret(text)


def _region(options: Options, name: str) -> str | None:
    region = take(options, name)
    if region is not None and not _REGION.fullmatch(region):
        raise InvalidInputError(f"{described(options, name)} is not the name of a region")
    return region


def _check_source(access: Access) -> None:
    source = access.identity.get(SOURCE)
    if source not in {None, "token", "ecs", "irsa"} or (source == "token" and not access.keys):
        raise InvalidInputError(
            f"storage option {SOURCE!r} must be 'token' with {ACCESS_KEY!r}, 'ecs' or 'irsa'"
        )
    if SESSION in access.identity and (access.keys or len(access.identity) > 1):
        raise InvalidInputError(
            f"storage option {SESSION!r} provides all credentials: remove the other options for "
            "credentials"
        )


def _check_endpoint(endpoint: str, allow_http: bool, named: str) -> None:
    try:
        parts = urlsplit(endpoint)
        well_formed = parts.scheme in {"http", "https"} and bool(parts.hostname)
        well_formed = well_formed and parts.port != 0
    except ValueError:
        parts, well_formed = urlsplit(""), False
    if not well_formed or "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidInputError(f"{named} must be an address such as https://host:port")
    if parts.scheme == "http" and not allow_http:
        raise InvalidInputError(
            f"{named} is an http:// address: use https://, or allow keys "
            "and rows to be sent without encryption by storage option 'allow_http'"
        )
