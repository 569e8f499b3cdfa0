"""Parse storage options and environment variables into checked settings.

Names are those of pylance and of object_store, the library that it uses. Imports no SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.store.config import Secret
from lance_core.store.remote import settings
from lance_core.store.remote.option_values import take, take_boolean
from lance_core.store.remote.settings import RemoteSettings
from lance_core.store.uri import StoreUrl
from lance_core_gcs.registry import CLIENTS

DEFAULT_ENDPOINT = "https://storage.googleapis.com"

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")

_OWN = {
    "service_account": "google_service_account",
    "google_service_account_path": "google_service_account",
    "service_account_path": "google_service_account",
    "service_account_key": "google_service_account_key",
    "application_credentials": "google_application_credentials",
    "google_bearer_token": "google_storage_token",
    "bearer_token": "google_storage_token",
    "skip_signature": "google_skip_signature",
    "base_url": "google_base_url",
    "google_bucket_name": "google_bucket",
    "bucket": "google_bucket",
    "bucket_name": "google_bucket",
}

CREDENTIALS = frozenset(
    {
        "google_application_credentials",
        "google_client",
        "google_service_account",
        "google_service_account_key",
        "google_skip_signature",
        "google_storage_token",
    }
)
"""Options that select credentials."""

OPTIONS = CREDENTIALS | {"google_base_url", "google_bucket", "use_opendal"} | settings.OPTIONS
"""Canonical names of all options."""

ALIASES = _OWN | settings.aliases("google_")
"""Alternative names, each with its canonical name."""

SECRET_OPTIONS = (
    frozenset({"google_service_account_key", "google_storage_token"}) | settings.SECRET_OPTIONS
)

_OF_CALLS = {"google_bucket", "google_client"}
"""Options that the environment cannot set."""

IN_ENVIRONMENT = {
    **{name.upper(): name for name in OPTIONS - _OF_CALLS if name.startswith("google_")},
    **{alias.upper(): name for alias, name in ALIASES.items() if alias.startswith("google_")},
    "SERVICE_ACCOUNT": "google_service_account",
}
"""Environment variables and the options that they set."""

_REQUIRED = ("client_email", "private_key")
"""Fields that every service account key has."""


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Requests without credentials."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token from the options, which cannot be renewed."""

    text: Secret


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A service account key as JSON text.

    ``endpoint`` and ``is_anonymous``: fields that object_store reads from keys for emulators.
    ``source``: the name of the key in errors.
    """

    key: Secret
    source: str
    endpoint: str | None = None
    is_anonymous: bool = False

    @classmethod
    def read(cls, path: str) -> ServiceAccount:
        """Read a key file. Raises `InvalidInputError` if it is unreadable or not a key."""
        return cls.parse(read_text(path), f"file {path!r}")

    @classmethod
    def parse(cls, text: str, source: str) -> ServiceAccount:
        """Parse JSON text. Raises `InvalidInputError` if it is not a key."""
        fields = json_object(text, source)
        is_anonymous = fields.get("disable_oauth", False)
        endpoint = fields.get("gcs_base_url")
        if not isinstance(is_anonymous, bool) or not isinstance(endpoint, str | None):
            raise InvalidInputError(f"{source} is malformed")
        missing = [name for name in _REQUIRED if not isinstance(fields.get(name), str)]
        if missing and not is_anonymous:
            raise InvalidInputError(
                f"{source} is not the key of a service account: it lacks {' and '.join(missing)}"
            )
        return cls(Secret(text), source, endpoint or None, is_anonymous)


@dataclass(frozen=True, slots=True)
class CredentialsFile:
    """A file of application default credentials, of any type."""

    path: str


@dataclass(frozen=True, slots=True)
class Ambient:
    """Application default credentials of gcloud or of the machine."""


@dataclass(frozen=True, slots=True)
class RegisteredClient:
    """The credentials of a client that the caller registered under ``name``."""

    name: str


Identity: TypeAlias = (
    Anonymous | Token | ServiceAccount | CredentialsFile | Ambient | RegisteredClient
)


def read_text(path: str) -> str:
    """The content of a credentials file. Raises `InvalidInputError` if it is unreadable."""
    try:
        return Path(path).read_text("utf-8")
    except OSError as error:
        raise InvalidInputError(f"{path!r} cannot be read: {error.strerror}") from None
    except ValueError:
        raise InvalidInputError(f"{path!r} does not contain UTF-8 text") from None


def json_object(text: str, source: str) -> dict[str, object]:
    """Parse a JSON object. Raises `InvalidInputError`, which never shows ``text``."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidInputError(f"{source} is not a JSON object")
    return fields


@dataclass(frozen=True, slots=True)
class GcsOptions:
    """The settings of a store. ``endpoint``: scheme, host and port, without a trailing slash."""

    bucket: str
    endpoint: str
    identity: Identity
    settings: RemoteSettings

    @property
    def is_google(self) -> bool:
        """True if the endpoint is Google's own, false for other servers with its API."""
        place = urlsplit(self.endpoint)
        host = place.hostname or ""
        return place.scheme == "https" and host.endswith(".googleapis.com")


def read_options(
    url: StoreUrl, options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> GcsOptions:
    """The settings from ``options``, and from ``environment`` for options that are not given.

    Raises `InvalidInputError` for malformed or contradictory options, and
    `UnsupportedFeatureError` for options that are known but not supported.
    """
    bucket = _bucket(url)
    given = {**_of_environment(options, environment), **options}
    common = RemoteSettings.of(given)
    named = take(given, "google_bucket")
    if named not in {None, bucket}:
        raise InvalidInputError(f"{url} is in bucket {bucket!r}, not in 'google_bucket': {named!r}")
    if take_boolean(given, "use_opendal"):
        raise UnsupportedFeatureError(
            "option 'use_opendal' chooses among parts of pylance; lance-core has one client"
        )
    endpoint = take(given, "google_base_url")
    identity, own_endpoint = _identity(given)
    if given:
        raise InvalidInputError(f"gs:// has no storage option {min(given)!r}")
    if isinstance(identity, RegisteredClient):
        if "google_base_url" in options:
            raise InvalidInputError(
                "storage options 'google_base_url' and 'google_client' cannot be combined"
            )
        endpoint = own_endpoint
    checked = check_endpoint(endpoint or own_endpoint or DEFAULT_ENDPOINT, common)
    return GcsOptions(bucket, checked, identity, common)


def _of_environment(
    options: Mapping[str, object], environment: Mapping[str, str]
) -> dict[str, str | Secret]:
    """Options that the environment sets; credentials only if ``options`` have none."""
    own_credentials = not CREDENTIALS.isdisjoint(options)
    found: dict[str, str | Secret] = {}
    for variable, name in IN_ENVIRONMENT.items():
        value = environment.get(variable)
        if value and name not in options and not (own_credentials and name in CREDENTIALS):
            found.setdefault(name, value)
    return found


def _bucket(url: StoreUrl) -> str:
    if url.query and url.commit_scheme is None:
        raise InvalidInputError(f"{url}: a gs:// URL has no parameters")
    if not _BUCKET.fullmatch(url.netloc):
        raise InvalidInputError(f"{url} does not name a bucket: write gs://bucket/path")
    return url.netloc


def check_endpoint(text: str, settings: RemoteSettings) -> str:
    """The endpoint as scheme, host and port. Raises `InvalidInputError` for other URLs."""
    try:
        place = urlsplit(text)
        port = place.port
    except ValueError:
        raise InvalidInputError("option 'google_base_url' is not a valid URL") from None
    host = place.hostname
    if place.scheme not in {"http", "https"} or not host or place.query or place.fragment:
        raise InvalidInputError("option 'google_base_url' must be like 'https://host:port'")
    if "@" in place.netloc or place.path.strip("/"):
        raise InvalidInputError("option 'google_base_url' must not contain a path or a user name")
    if place.scheme == "http" and not settings.allow_http:
        raise InvalidInputError(
            f"the endpoint at {host} is not encrypted: use https://, or option allow_http='true'"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{place.scheme}://{shown}{'' if port is None else f':{port}'}"


def _identity(given: dict[str, str | Secret]) -> tuple[Identity, str | None]:
    """The credentials to use, and the endpoint if the key or client names one."""
    token, client = take(given, "google_storage_token"), take(given, "google_client")
    is_anonymous = take_boolean(given, "google_skip_signature")
    path, key = take(given, "google_service_account"), take(given, "google_service_account_key")
    file = take(given, "google_application_credentials")
    if client is not None:
        if is_anonymous or any(one is not None for one in (token, path, key, file)):
            raise InvalidInputError(
                "storage option 'google_client' cannot be combined with other credentials"
            )
        return RegisteredClient(client), CLIENTS.get(client).api_endpoint
    if path is not None and key is not None:
        raise InvalidInputError(
            "of 'google_service_account' and 'google_service_account_key' only one can be given"
        )
    account, endpoint = None, None
    if path is not None:
        account = ServiceAccount.read(path)
    elif key is not None:
        account = ServiceAccount.parse(key, "option 'google_service_account_key'")
    if account is not None:
        endpoint = account.endpoint
    if is_anonymous or (account is not None and account.is_anonymous):
        return Anonymous(), endpoint
    if token is not None:
        return Token(Secret(token)), endpoint
    if account is not None:
        return account, endpoint
    return (Ambient() if file is None else CredentialsFile(file)), endpoint
