"""Parse storage options and environment variables into checked settings.

Names are those of pylance and of object_store, the library that it uses. Imports no SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret, plain
from lance_core.hookspecs.stores import StoreUrl
from lance_core_remote import settings
from lance_core_remote.option_values import GivenOptions, described, take, take_boolean
from lance_core_remote.options import (
    Option,
    Use,
    ValueForm,
    add_variables,
    drop_unused,
    refuse_misplaced_secrets,
    variables_of,
)
from lance_core_remote.sdk_objects import SdkObjects
from lance_core_remote.settings import RemoteSettings

if TYPE_CHECKING:
    from google.cloud.storage import Client

DEFAULT_ENDPOINT = "https://storage.googleapis.com"

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")

_CREDENTIALS = (
    Option(
        "google_client",
        "Name of a `google.cloud.storage.Client` of this process, as `register_client` returns it. "
        "Not known to pylance.",
        form=ValueForm.NAME,
    ),
    Option(
        "google_skip_signature",
        "Send requests without credentials.",
        ("skip_signature",),
        form=ValueForm.BOOLEAN,
    ),
    Option(
        "google_storage_token",
        "Token from elsewhere; it is not renewed.",
        ("google_bearer_token", "bearer_token"),
        is_secret=True,
    ),
    Option(
        "google_service_account",
        "File with the key of a service account.",
        ("service_account", "google_service_account_path", "service_account_path"),
        form=ValueForm.PATH,
    ),
    Option(
        "google_service_account_key",
        "The content of such a file.",
        ("service_account_key",),
        is_secret=True,
    ),
    Option(
        "google_application_credentials",
        "File of application default credentials, of any type.",
        ("application_credentials",),
        form=ValueForm.PATH,
    ),
)

_OTHERS = (
    Option(
        "google_base_url",
        "Address of another server than Google's, `http://127.0.0.1:4443`. Its guarantees are "
        "tested before the first commit.",
        ("base_url",),
        ("GOOGLE_BASE_URL", "BASE_URL", "STORAGE_EMULATOR_HOST"),
        ValueForm.ADDRESS,
    ),
    Option(
        "google_bucket",
        "The bucket of the URI; another one is an error.",
        ("google_bucket_name", "bucket", "bucket_name"),
        form=ValueForm.NAME,
    ),
    Option(
        "use_opendal",
        "It chooses among parts of pylance; lance-core has one client.",
        form=ValueForm.BOOLEAN,
        use=Use.REFUSED,
    ),
)

PREFIX = "google_"
"""Prefix of option names and, in capitals, of environment variables."""

TABLE = (*_CREDENTIALS, *_OTHERS)
"""Options of Google only; `lance_core_remote.settings` has those of all remote stores."""

CREDENTIALS = frozenset(option.name for option in _CREDENTIALS)
"""Options that select credentials."""

OPTIONS = frozenset(option.name for option in TABLE) | settings.OPTIONS
"""Canonical names of all options."""

ALIASES = {
    **{other: option.name for option in TABLE for other in option.others},
    **settings.aliases(PREFIX),
}
"""Alternative names, each with its canonical name."""

SECRET_OPTIONS = (
    frozenset(option.name for option in TABLE if option.is_secret) | settings.SECRET_OPTIONS
)

EMULATOR_VARIABLE = "STORAGE_EMULATOR_HOST"

_OF_CALLS = {"google_bucket", "google_client", "use_opendal"}
"""Options that the environment cannot set."""

VARIABLES = {
    **{
        option.name: list(variables_of(option, (PREFIX,)))
        for option in TABLE
        if option.name not in _OF_CALLS
    },
    **settings.variables(PREFIX),
}
"""The environment variables of each option, by precedence."""

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
    def read(cls, path: str, source: str) -> ServiceAccount:
        """Read a key file. Raises `InvalidInputError` if it is unreadable or not a key."""
        return cls.parse(read_text(path, source), f"file {path!r}")

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
    """A file of application default credentials, of any type; ``source`` names it in errors."""

    path: str
    source: str = field(default="the file of default credentials", compare=False)


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


def read_text(path: str, source: str) -> str:
    """The content of a credentials file. Raises `InvalidInputError` if it is unreadable.

    ``source`` names the file in errors: the path itself may be a key in the wrong place.
    """
    try:
        return Path(path).read_text("utf-8")
    except OSError as error:
        reason = error.strerror
    except ValueError:
        reason = "it does not contain UTF-8 text"
    raise InvalidInputError(f"{source} cannot be read: {reason}")


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
    secrets: tuple[Secret, ...] = ()
    """All secrets that were given, for removing them from messages."""

    @property
    def is_google(self) -> bool:
        """True if the endpoint is Google's own, false for other servers with its API."""
        parts = urlsplit(self.endpoint)
        host = parts.hostname or ""
        return parts.scheme == "https" and host.endswith(".googleapis.com")


def read_options(
    url: StoreUrl, options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> GcsOptions:
    """The settings from ``options``, and from ``environment`` for options that are not given.

    Raises `InvalidInputError` for malformed or contradictory options, and
    `UnsupportedFeatureError` for options that are known but not supported.
    """
    bucket = _bucket(url)
    given = GivenOptions(options)
    others = CREDENTIALS if CREDENTIALS & given.keys() else frozenset[str]()
    variables = {name: option for name, option in VARIABLES.items() if name not in others}
    add_variables(given, variables, environment)
    refuse_misplaced_secrets(given, (*TABLE, *settings.TABLE))
    drop_unused(given, TABLE)
    _complete_emulator(given)
    secrets = tuple(value for value in given.values() if isinstance(value, Secret))
    common = RemoteSettings.of(given)
    named = take(given, "google_bucket")
    if named not in {None, bucket}:
        raise InvalidInputError(f"{url}: storage option 'google_bucket' names another bucket")
    what = described(given, "google_base_url")
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
    checked = check_endpoint(endpoint or own_endpoint or DEFAULT_ENDPOINT, common, what)
    return GcsOptions(bucket, checked, identity, common, secrets)


def _complete_emulator(given: GivenOptions) -> None:
    """Apply Google's variable for emulators: an address, often without ``http://``.

    As with Google's own libraries, requests to an emulator need neither TLS nor credentials. A key
    that names an endpoint, and a client, are meant for another server.
    """
    if given.variables.get("google_base_url") != EMULATOR_VARIABLE:
        return
    _, own_endpoint = _identity(copy(given))
    if own_endpoint is not None:
        del given["google_base_url"], given.variables["google_base_url"]
        return
    address = plain(given["google_base_url"])
    if "://" not in address:
        given["google_base_url"] = address = f"http://{address}"
    if address.startswith("http://"):
        given.setdefault("allow_http", "true")
    if not CREDENTIALS & given.keys():
        given["google_skip_signature"] = "true"


def _bucket(url: StoreUrl) -> str:
    if not _BUCKET.fullmatch(url.netloc):
        raise InvalidInputError(f"{url} does not name a bucket: write gs://bucket/path")
    return url.netloc


def check_endpoint(
    text: str, settings: RemoteSettings, what: str = "storage option 'google_base_url'"
) -> str:
    """The endpoint as scheme, host and port. Raises `InvalidInputError` for other URLs."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidInputError(f"{what} is not a valid URL") from None
    host = parts.hostname
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        raise InvalidInputError(f"{what} must be like 'https://host:port'")
    if "@" in parts.netloc or parts.path.strip("/"):
        raise InvalidInputError(f"{what} must not contain a path or a user name")
    if parts.scheme == "http" and not settings.allow_http:
        raise InvalidInputError(
            f"the endpoint at {host} is not encrypted: use https://, or option allow_http='true'"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{'' if port is None else f':{port}'}"


CLIENTS: SdkObjects[Any] = SdkObjects(
    "client", "lance_core_gcs.register_client", sdk_class="google.cloud.storage.Client"
)
"""The clients that the caller has created, by name."""


def register_client(name: str, client: Client) -> str:
    """Register ``client`` as ``name`` and return the name, the value of option ``google_client``.

    Stores that are opened with this option use the client's credentials, endpoint and extra
    headers. They open their own connections, with the time-outs, proxy and certificates of the
    other options. The client is kept until `unregister_client`. It is never sent to other
    processes; these must register their own client under the name, except forked children. Raises
    `InvalidInputError` if the name is malformed or belongs to another client, and for any other
    object.
    """
    return CLIENTS.register(name, client)


def unregister_client(name: str) -> None:
    """Remove the client of this name, if it exists; stores that use it fail afterwards."""
    CLIENTS.unregister(name)


def _identity(given: GivenOptions) -> tuple[Identity, str | None]:
    """The credentials to use, and the endpoint if the key or client names one."""
    names = ("google_service_account", "google_service_account_key")
    sources = [f"the file that {described(given, names[0])} names", described(given, names[1])]
    default = f"the file that {described(given, 'google_application_credentials')} names"
    token, client = take(given, "google_storage_token"), take(given, "google_client")
    is_anonymous = take_boolean(given, "google_skip_signature")
    path, key = take(given, "google_service_account"), take(given, "google_service_account_key")
    file = take(given, "google_application_credentials")
    if client is not None:
        if is_anonymous or any(value is not None for value in (token, path, key, file)):
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
        account = ServiceAccount.read(path, sources[0])
    elif key is not None:
        account = ServiceAccount.parse(key, sources[1])
    if account is not None:
        endpoint = account.endpoint
    if is_anonymous or (account is not None and account.is_anonymous):
        return Anonymous(), endpoint
    if token is not None:
        return Token(Secret(token)), endpoint
    if account is not None:
        return account, endpoint
    return (Ambient() if file is None else CredentialsFile(file, default)), endpoint
