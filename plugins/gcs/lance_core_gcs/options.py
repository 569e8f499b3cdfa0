"""What the storage options and the environment ask for, as one checked value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.store.config import Secret
from lance_core.store.remote.options import take, take_boolean
from lance_core.store.remote.settings import RemoteSettings
from lance_core.store.uri import StoreUrl
from lance_core_gcs.identity import (
    Ambient,
    Anonymous,
    CredentialsFile,
    Identity,
    ServiceAccount,
    Token,
)
from lance_core_gcs.names import CREDENTIALS, IN_ENVIRONMENT

DEFAULT_ENDPOINT = "https://storage.googleapis.com"

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class GcsOptions:
    """``endpoint``: scheme, host and port, without a slash at the end."""

    bucket: str
    endpoint: str
    identity: Identity
    settings: RemoteSettings

    @property
    def is_google(self) -> bool:
        """Whether the endpoint is one of Google's own, and not a server that speaks like it."""
        place = urlsplit(self.endpoint)
        host = place.hostname or ""
        return place.scheme == "https" and host.endswith(".googleapis.com")


def read_options(
    url: StoreUrl, options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> GcsOptions:
    """What to open; options come before ``environment``.

    Raises `InvalidInputError` for what is malformed or contradicts itself, and
    `UnsupportedFeatureError` for what is known and not offered.
    """
    bucket = _bucket(url)
    given = {**_of_environment(options, environment), **options}
    settings = RemoteSettings.of(given)
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
    checked = _endpoint(endpoint or own_endpoint or DEFAULT_ENDPOINT, settings)
    return GcsOptions(bucket, checked, identity, settings)


def _of_environment(
    options: Mapping[str, object], environment: Mapping[str, str]
) -> dict[str, str | Secret]:
    """What the environment says; of credentials nothing if there are any among ``options``."""
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
        raise InvalidInputError(f"{url} names no bucket: write gs://bucket/path")
    return url.netloc


def _endpoint(text: str, settings: RemoteSettings) -> str:
    try:
        place = urlsplit(text)
        port = place.port
    except ValueError:
        raise InvalidInputError("option 'google_base_url' is no URL") from None
    host = place.hostname
    if place.scheme not in {"http", "https"} or not host or place.query or place.fragment:
        raise InvalidInputError("option 'google_base_url' must be like 'https://host:port'")
    if "@" in place.netloc or place.path.strip("/"):
        raise InvalidInputError("option 'google_base_url' holds no path and no user")
    if place.scheme == "http" and not settings.allow_http:
        raise InvalidInputError(
            f"the endpoint at {host} is not encrypted: use https://, or option allow_http='true'"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{place.scheme}://{shown}{'' if port is None else f':{port}'}"


def _identity(given: dict[str, str | Secret]) -> tuple[Identity, str | None]:
    """Who asks, and the endpoint that a service account's key names, if it does."""
    token = take(given, "google_storage_token")
    is_anonymous = take_boolean(given, "google_skip_signature")
    path, key = take(given, "google_service_account"), take(given, "google_service_account_key")
    file = take(given, "google_application_credentials")
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
