"""The storage options of S3: all names that pylance accepts, and the resulting settings."""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import StoreUrl
from lance_core_remote import settings as shared
from lance_core_remote.aws_keys import Keys
from lance_core_remote.option_values import Options, described, take, take_boolean
from lance_core_remote.options import (
    Option,
    Use,
    ValueForm,
    add_variables,
    drop_unused,
    refuse_misplaced_secrets,
)

PREFIX = "aws_"
"""Prefix of option names; every option may be written without it."""


def _env(name: str, text: str, *others: str, form: ValueForm = ValueForm.TEXT) -> Option:
    """An option that is also read from the environment variable of its name."""
    return Option(name, text, others, (name.upper(), name.removeprefix(PREFIX).upper()), form)


def _ignored(name: str, text: str, form: ValueForm = ValueForm.TEXT) -> Option:
    return Option(name, text, form=form, use=Use.IGNORED)


_CREDENTIALS = (
    Option(
        "aws_access_key_id",
        "Key to sign requests with; with `aws_secret_access_key`.",
        form=ValueForm.IDENTIFIER,
    ),
    Option("aws_secret_access_key", "The key's secret.", is_secret=True),
    Option("aws_session_token", "Token of temporary keys.", ("aws_token", "token"), is_secret=True),
    Option(
        "aws_profile",
        "Profile of the AWS configuration files. Not known to pylance.",
        form=ValueForm.NAME,
    ),
    Option(
        "aws_session",
        "Name of a `boto3.Session` of this process, as `register_session` returns it. Not known to "
        "pylance.",
        form=ValueForm.NAME,
    ),
    Option(
        "aws_provider_scheme",
        "Where credentials come from: `token` (keys in the options), `ecs` (a container) or `irsa` "
        "(a web identity); else the first of these that is configured, else the AWS chain.",
        form=ValueForm.NAME,
    ),
    Option(
        "aws_web_identity_token_file", "File with the token of a web identity.", form=ValueForm.PATH
    ),
    Option("aws_role_arn", "Role that the web identity takes.", form=ValueForm.NAME),
    Option("aws_role_session_name", "Name of the web identity's session.", form=ValueForm.NAME),
    Option(
        "aws_endpoint_url_sts",
        "Address of the service that exchanges the token.",
        form=ValueForm.ADDRESS,
    ),
    Option(
        "aws_container_credentials_relative_uri",
        "Path of the key service in a container.",
        form=ValueForm.IDENTIFIER,
    ),
    Option(
        "aws_container_credentials_full_uri",
        "URL of the key service in a container.",
        form=ValueForm.ADDRESS,
    ),
    Option(
        "aws_container_authorization_token_file",
        "File with the token for that address.",
        form=ValueForm.PATH,
    ),
    Option(
        "aws_metadata_endpoint",
        "Address of the metadata service of a machine in EC2.",
        form=ValueForm.ADDRESS,
    ),
    Option(
        "aws_imdsv1_fallback",
        "True to allow version 1 of the metadata service.",
        form=ValueForm.BOOLEAN,
    ),
)

_PLACE = (
    Option(
        "aws_endpoint",
        "URL of another server than Amazon's. Its guarantees are tested before the first commit.",
        ("aws_endpoint_url", "endpoint_url", "aws_endpoint_url_s3", "endpoint_url_s3"),
        ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "ENDPOINT_URL", "ENDPOINT"),
        ValueForm.ADDRESS,
    ),
    Option(
        "aws_region",
        "Region of the bucket.",
        environment=("AWS_REGION", "REGION"),
        form=ValueForm.NAME,
    ),
    Option(
        "aws_default_region",
        "The region if `aws_region` is not given.",
        environment=("AWS_DEFAULT_REGION", "DEFAULT_REGION"),
        form=ValueForm.NAME,
    ),
    _env(
        "aws_virtual_hosted_style_request",
        "True to make the bucket a part of the host name. By default, requests to Amazon use the "
        "form that the bucket name allows, requests to other servers the path.",
        form=ValueForm.BOOLEAN,
    ),
    Option(
        "aws_bucket",
        "The bucket of the URI; another one is an error.",
        ("aws_bucket_name", "bucket_name"),
        form=ValueForm.IDENTIFIER,
    ),
)

_REQUESTS = (
    _env(
        "aws_skip_signature",
        "Send requests without a signature, as to a public bucket.",
        form=ValueForm.BOOLEAN,
    ),
    _env(
        "aws_unsigned_payload",
        "Leave bodies out of signatures, where TLS guards them.",
        form=ValueForm.BOOLEAN,
    ),
    _env(
        "aws_request_payer",
        "Pay for the requests, for a bucket whose owner does not.",
        form=ValueForm.BOOLEAN,
    ),
    _env(
        "aws_server_side_encryption",
        "Encryption of written objects: `AES256`, `sse:kms`, `sse:kms:dsse` (or Amazon's names "
        "`aws:kms`, `aws:kms:dsse`) or `sse-c`.",
    ),
    _env(
        "aws_sse_kms_key_id", "Key of the key service to encrypt with.", form=ValueForm.IDENTIFIER
    ),
    _env(
        "aws_sse_bucket_key_enabled",
        "True to use a bucket key, which reduces requests to the key service.",
        form=ValueForm.BOOLEAN,
    ),
    Option(
        "aws_sse_customer_key_base64",
        "Customer key for `sse-c`: 32 bytes in base64.",
        environment=("AWS_SSE_CUSTOMER_KEY_BASE64", "SSE_CUSTOMER_KEY_BASE64"),
        is_secret=True,
    ),
    _env(
        "aws_conditional_put",
        "`etag` (the default): by `If-None-Match`; `disabled`: the server cannot.",
    ),
)

_OTHERS = (
    _ignored("aws_checksum_algorithm", "Signatures cover the SHA-256 of every body."),
    _ignored("aws_copy_if_not_exists", "Commits do not use conditional copies."),
    _ignored("aws_disable_tagging", "Nothing is tagged.", ValueForm.BOOLEAN),
    _ignored("aws_disable_bulk_delete", "Objects are deleted one by one.", ValueForm.BOOLEAN),
    _ignored("use_opendal", "It chooses between two clients of pylance.", ValueForm.BOOLEAN),
    _ignored("expires_at_millis", "To use other temporary keys, open the table again."),
    _ignored("refresh_offset_millis", "The SDK renews credentials ahead of their end."),
    Option(
        "aws_s3_express",
        "Directory buckets list objects without an order, but finding versions requires one.",
        form=ValueForm.BOOLEAN,
        use=Use.REFUSED,
    ),
)

TABLE = (*_CREDENTIALS, *_PLACE, *_REQUESTS, *_OTHERS)
"""Options of S3 only; `lance_core_remote.settings` has those of all remote stores."""

BY_NAME = {option.name: option for option in TABLE}


def _aliases() -> dict[str, str]:
    names = shared.aliases(PREFIX)
    for option in TABLE:
        for name in (option.name, *option.others):
            names |= {name: option.name, name.removeprefix(PREFIX): option.name}
    return names


ALIASES = _aliases()
"""All option names in lower case, with their canonical names."""

NAMES = frozenset(BY_NAME) | shared.OPTIONS
"""The canonical names of all options."""

SECRETS = frozenset(option.name for option in TABLE if option.is_secret) | shared.SECRET_OPTIONS

VARIABLES = {
    **{option.name: option.environment for option in TABLE},
    **shared.variables(PREFIX),
}
"""The environment variables of each option."""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,254}", re.ASCII)
_REGIONS = ("aws_region", "aws_default_region")
_EXPRESS = "--x-s3"
"""The suffix of the names of directory buckets."""

_ENCRYPTIONS = {
    "aes256": "AES256",
    "sse:kms": "aws:kms",
    "aws:kms": "aws:kms",
    "sse:kms:dsse": "aws:kms:dsse",
    "aws:kms:dsse": "aws:kms:dsse",
    "sse-c": "sse-c",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialSettings:
    """The source of credentials; fields that are None are left to the AWS chain."""

    keys: Keys | None = None
    skip: bool = False
    scheme: str | None = None
    profile: str | None = None
    session: str | None = None
    """Name of a registered `boto3.Session`, which then provides all credentials."""
    token_file: str | None = None
    role: str | None = None
    role_session: str | None = None
    token_exchange: str | None = None
    container: Mapping[str, str]
    """Environment variables of a container."""
    metadata: str | None = None
    metadata_version_1: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Encryption:
    """Server-side encryption; ``kind`` is Amazon's name, or "sse-c" with a ``customer_key``."""

    kind: str
    kms_key: str | None = None
    bucket_key: bool | None = None
    customer_key: Secret | None = None
    """Encoded in base64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Settings:
    """A bucket and the settings for its requests."""

    bucket: str
    credentials: CredentialSettings
    endpoint: str | None = None
    region: str | None = None
    virtual_hosted: bool | None = None
    unsigned_payload: bool = False
    requester_pays: bool = False
    encryption: Encryption | None = None
    conditional_put: bool = True
    secrets: tuple[Secret, ...] = ()
    """All secrets that were given, for removing them from messages."""

    @classmethod
    def of(
        cls, url: StoreUrl, options: Options, environment: Mapping[str, str] = os.environ
    ) -> S3Settings:
        """The settings for ``url``; removes the used options (canonical names) from ``options``.

        Raises `InvalidInputError`, and `UnsupportedFeatureError` for options that are known but not
        supported.
        """
        # A registered session has its own region.
        skipped = _REGIONS if "aws_session" in options else ()
        variables = {name: names for name, names in VARIABLES.items() if name not in skipped}
        add_variables(options, variables, environment)
        refuse_misplaced_secrets(options, (*TABLE, *shared.TABLE))
        _refuse_express(options)
        drop_unused(options, TABLE)
        secrets = tuple(value for value in options.values() if isinstance(value, Secret))
        region, default_region = (_region(options, name) for name in _REGIONS)
        return cls(
            bucket=_bucket(url, take(options, "aws_bucket")),
            credentials=_credentials(options, environment),
            endpoint=_endpoint(options),
            region=region or default_region,
            virtual_hosted=_choice(options, "aws_virtual_hosted_style_request"),
            unsigned_payload=take_boolean(options, "aws_unsigned_payload"),
            requester_pays=take_boolean(options, "aws_request_payer"),
            encryption=_encryption(options),
            conditional_put=_conditional_put(options),
            secrets=secrets,
        )


def _refuse_express(options: Options) -> None:
    """Raise for directory buckets, in words of their own."""
    option = BY_NAME["aws_s3_express"]
    if option.name in options and take_boolean(options, option.name):
        raise UnsupportedFeatureError(
            f"{described(options, option.name)}: {option.text[0].lower()}{option.text[1:]}"
        )


_REGION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", re.ASCII)


def _region(options: Options, name: str) -> str | None:
    region = take(options, name)
    if region is not None and not _REGION.fullmatch(region):
        raise InvalidInputError(f"{described(options, name)} must be the name of a region")
    return region


def _bucket(url: StoreUrl, name: str | None) -> str:
    bucket = url.netloc
    if bucket.startswith("arn:") or (name or "").startswith("arn:"):
        raise UnsupportedFeatureError(
            f"{url!s}: a URL cannot contain an ARN: name an access point by its alias, as in "
            "s3://name-…-s3alias/path, and a bucket by its own name"
        )
    if "@" in bucket or not _BUCKET.fullmatch(bucket):
        raise InvalidInputError(f"{url!s}: a bucket is named like s3://bucket/path")
    if name is not None and name != bucket:
        raise InvalidInputError(f"{url!s}: storage option 'aws_bucket' names another bucket")
    if bucket.endswith(_EXPRESS):
        raise UnsupportedFeatureError(
            f"{url!s} is a directory bucket, which lists objects in no defined order; finding "
            "versions requires an ordered listing"
        )
    return bucket


def _endpoint(options: Options) -> str | None:
    endpoint = take(options, "aws_endpoint")
    if endpoint is None:
        return None
    try:
        parts = urlsplit(endpoint)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    # The text before an "@" is a password; it belongs into the options for keys.
    if not is_address or any(sign in endpoint for sign in "@?# "):
        raise InvalidInputError(
            f"{described(options, 'aws_endpoint')} must be an address like https://host:port"
        )
    return endpoint.rstrip("/")


def _choice(options: Options, name: str) -> bool | None:
    return take_boolean(options, name) if name in options else None


_CHOOSING_CREDENTIALS = frozenset(option.name for option in _CREDENTIALS)


def _credentials(options: Options, environment: Mapping[str, str]) -> CredentialSettings:
    is_chosen = not _CHOOSING_CREDENTIALS.isdisjoint(options)
    scheme = take(options, "aws_provider_scheme")
    if scheme is not None and scheme not in {"token", "ecs", "irsa"}:
        raise InvalidInputError(
            "storage option 'aws_provider_scheme' must be 'token', 'ecs' or 'irsa'"
        )
    keys = Keys.of(options)
    if not is_chosen:
        keys = Keys.of_environment(environment)
    if scheme == "token" and keys is None:
        raise InvalidInputError(
            "storage option 'aws_provider_scheme' is 'token', so it needs 'aws_access_key_id' and "
            "'aws_secret_access_key'"
        )
    credentials = CredentialSettings(
        keys=keys,
        skip=take_boolean(options, "aws_skip_signature"),
        scheme=scheme,
        profile=take(options, "aws_profile"),
        session=take(options, "aws_session"),
        token_file=take(options, "aws_web_identity_token_file"),
        role=take(options, "aws_role_arn"),
        role_session=take(options, "aws_role_session_name"),
        token_exchange=take(options, "aws_endpoint_url_sts"),
        container=_container(options),
        metadata=take(options, "aws_metadata_endpoint"),
        metadata_version_1=_choice(options, "aws_imdsv1_fallback"),
    )
    if credentials.token_file is not None and not (
        credentials.role or environment.get("AWS_ROLE_ARN")
    ):
        raise InvalidInputError(
            "storage option 'aws_web_identity_token_file' needs 'aws_role_arn' beside it"
        )
    alone = CredentialSettings(session=credentials.session, skip=credentials.skip, container={})
    if credentials.session is not None and credentials != alone:
        raise InvalidInputError(
            "storage option 'aws_session' provides all credentials: remove the other options for "
            "credentials"
        )
    return credentials


def _container(options: Options) -> dict[str, str]:
    names = (
        "aws_container_credentials_relative_uri",
        "aws_container_credentials_full_uri",
        "aws_container_authorization_token_file",
    )
    values = {name: take(options, name) for name in names}
    return {name.upper(): value for name, value in values.items() if value is not None}


def _encryption(options: Options) -> Encryption | None:
    algorithm = take(options, "aws_server_side_encryption")
    kms_key = take(options, "aws_sse_kms_key_id")
    bucket_key = _choice(options, "aws_sse_bucket_key_enabled")
    customer_key = take(options, "aws_sse_customer_key_base64")
    if algorithm is None:
        if kms_key is None and bucket_key is None and customer_key is None:
            return None
        raise InvalidInputError(
            "encryption keys need storage option 'aws_server_side_encryption', which is not given"
        )
    known = _ENCRYPTIONS.get(algorithm.strip().lower())
    if known is None:
        raise InvalidInputError(
            f"{described(options, 'aws_server_side_encryption')} must be 'AES256', 'sse:kms', "
            "'sse:kms:dsse' or 'sse-c'"
        )
    if (known == "sse-c") is not (customer_key is not None):
        raise InvalidInputError(
            "storage option 'aws_sse_customer_key_base64' belongs to encryption 'sse-c'"
        )
    if kms_key is not None and not known.startswith("aws:kms"):
        raise InvalidInputError("storage option 'aws_sse_kms_key_id' belongs to 'sse:kms'")
    return Encryption(
        kind=known,
        kms_key=kms_key,
        bucket_key=bucket_key,
        customer_key=None if customer_key is None else _customer_key(customer_key),
    )


def _customer_key(text: str) -> Secret:
    try:
        is_key = len(base64.b64decode(text, validate=True)) == 32
    except (binascii.Error, ValueError):
        is_key = False
    if not is_key:
        raise InvalidInputError(
            "storage option 'aws_sse_customer_key_base64' must be 32 bytes in base64"
        )
    return Secret(text)


def _conditional_put(options: Options) -> bool:
    text = take(options, "aws_conditional_put")
    if text is None:
        return True
    mode = text.strip().lower()
    if mode.startswith("dynamo"):
        raise UnsupportedFeatureError(
            "storage option 'aws_conditional_put' cannot name DynamoDB: open the table as "
            "s3+ddb://, whose commits DynamoDB decides"
        )
    if mode not in {"etag", "disabled"}:
        raise InvalidInputError("storage option 'aws_conditional_put' must be 'etag' or 'disabled'")
    return mode == "etag"
