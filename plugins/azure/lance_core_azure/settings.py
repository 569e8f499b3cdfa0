"""The account, container and credentials that a URL, options and the environment select."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import StoreUrl
from lance_core_azure import connection_string
from lance_core_azure.credentials import Credentials, choose_credentials
from lance_core_azure.options import CREDENTIALS, TABLE, VARIABLES
from lance_core_remote import settings as shared
from lance_core_remote.option_values import GivenOptions, described, take, take_boolean
from lance_core_remote.options import add_variables, drop_unused, refuse_misplaced_secrets
from lance_core_remote.settings import RemoteSettings

_HOSTS = {
    **{
        f"{kind}.core.{cloud}": f"blob.core.{cloud}"
        for kind in ("blob", "dfs")
        for cloud in ("windows.net", "usgovcloudapi.net", "chinacloudapi.cn")
    },
    "blob.fabric.microsoft.com": "blob.fabric.microsoft.com",
    "dfs.fabric.microsoft.com": "blob.fabric.microsoft.com",
}
"""Domains that may follow an account in a URL, and the domain of the account's blobs. A URL may
come from the table itself, so credentials are sent to no other host that a URL names."""

_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.IGNORECASE)
_CONTAINER = re.compile(r"\$?[A-Za-z0-9][A-Za-z0-9-]{0,62}")

EMULATOR = "http://127.0.0.1:10000"
EMULATOR_ACCOUNT = "devstoreaccount1"
EMULATOR_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The well-known key of all Azurite servers."""

_FLAGS = ("use_emulator", "use_fabric_endpoint", "skip_signature", "use_azure_cli")


@dataclass(frozen=True, slots=True)
class Location:
    """``container`` of ``account``, whose blobs are at the host ``account.domain``.

    None for a part that the URL does not name; options name it instead.
    """

    container: str
    account: str | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class AzureSettings:
    """The settings of a store. ``endpoint``: URL of ``account``, without a trailing slash."""

    endpoint: str
    account: str
    container: str
    credentials: Credentials
    remote: RemoteSettings
    secrets: tuple[Secret, ...] = ()
    """All secrets that were given, for removing them from messages."""

    @property
    def host(self) -> str:
        """The host that receives the requests."""
        return urlsplit(self.endpoint).hostname or ""


def read_settings(
    url: StoreUrl, options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> AzureSettings:
    """The settings from ``options``, and from ``environment`` for options that are not given.

    ``options`` have canonical names. Raises `InvalidInputError` for malformed or contradictory
    options, and `UnsupportedFeatureError` for options that are known but not supported.
    """
    given = _with_environment(options, environment)
    refuse_misplaced_secrets(given, (*TABLE, *shared.TABLE))
    drop_unused(given, TABLE)
    secrets = tuple(value for value in given.values() if isinstance(value, Secret))
    location = _location(url)
    flags = {name: take_boolean(given, name) for name in _FLAGS}
    if flags["use_emulator"]:
        given["allow_http"] = "true"
        if not CREDENTIALS & given.keys():
            given["account_key"] = EMULATOR_KEY
    remote = RemoteSettings.of(given)
    credentials = choose_credentials(given, flags)
    named = take(given, "account_name") or credentials.account
    account = _account(location, named, flags["use_emulator"])
    if credentials.account not in {None, account}:
        raise InvalidInputError(
            f"the credential that {described(given, 'identity')} names is of the account "
            f"{credentials.account!r}, not of {account!r}"
        )
    container = take(given, "container_name")
    if container is not None and _check_container(container) != location.container:
        raise InvalidInputError(
            f"{described(given, 'container_name')} is not the container of the URL, "
            f"{location.container!r}"
        )
    endpoint = _check_endpoint(
        _endpoint(location, account, take(given, "endpoint"), flags, environment), remote
    )
    if credentials.kind.is_token and endpoint.startswith("http:"):
        raise InvalidInputError(
            f"the endpoint at {urlsplit(endpoint).hostname} does not use TLS: tokens of Entra ID "
            "are sent to https:// endpoints only"
        )
    return AzureSettings(endpoint, account, location.container, credentials, remote, secrets)


def _with_environment(
    options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> GivenOptions:
    """``options``, completed by environment variables, and by the parts of connection strings.

    Options that are set to "" are not given. If an option selects credentials, those of the
    environment are not used.
    """
    given = GivenOptions(options)
    others = {name for name in CREDENTIALS if CREDENTIALS & given.keys()}
    connection_string.expand(given)
    variables = {name: option for name, option in VARIABLES.items() if name not in others}
    add_variables(given, variables, environment)
    connection_string.expand(given)
    return given


def _location(url: StoreUrl) -> Location:
    """The container that ``url`` names. Raises `InvalidInputError` for other URLs.

    Forms: ``az://container/path``, ``abfss://container@account.dfs.core.windows.net/path``.
    """
    container, at, host = url.netloc.rpartition("@")
    if not at:
        return Location(_check_container(host))
    account, _, suffix = host.partition(".")
    domain = _HOSTS.get(suffix.lower()) if suffix else None
    if (suffix and domain is None) or not _ACCOUNT.fullmatch(account):
        raise InvalidInputError(
            f"{str(url)!r} names no storage account: write container@account.dfs.core.windows.net, "
            "or give the address of another server as the option 'endpoint'"
        )
    return Location(_check_container(container), account.lower(), domain)


def _check_container(name: str) -> str:
    if not _CONTAINER.fullmatch(name):
        # Do not show the URL: a password may precede an "@".
        raise InvalidInputError(
            "a URL of Azure begins with a container, az://container/path or "
            "abfss://container@account.dfs.core.windows.net/path: up to 63 letters, digits and -"
        )
    return name


def _account(location: Location, name: str | None, is_emulator: bool) -> str:
    if location.account is not None:
        return location.account
    if name is None and is_emulator:
        return EMULATOR_ACCOUNT
    if name is None:
        raise InvalidInputError(
            "which storage account? Give its name as the option 'account_name', in the "
            "environment as AZURE_STORAGE_ACCOUNT_NAME, or in the URL: "
            f"abfss://{location.container}@account.dfs.core.windows.net/path"
        )
    if not _ACCOUNT.fullmatch(name.strip()):
        raise InvalidInputError(
            "storage option 'account_name' must be the name of an account: letters and digits"
        )
    return name.strip()


def _endpoint(
    location: Location,
    account: str,
    option: str | None,
    flags: Mapping[str, bool],
    environment: Mapping[str, str],
) -> str:
    if option is not None:
        return option
    if flags["use_emulator"]:
        address = environment.get("AZURITE_BLOB_STORAGE_URL", EMULATOR)
        return f"{address.rstrip('/')}/{account}"
    fabric = "blob.fabric.microsoft.com" if flags["use_fabric_endpoint"] else None
    return f"https://{account}.{location.domain or fabric or 'blob.core.windows.net'}"


def _check_endpoint(text: str, remote: RemoteSettings) -> str:
    try:
        parts = urlsplit(text.strip())
        is_usable = bool(parts.hostname) and parts.scheme in {"http", "https"} and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or parts.username or parts.password or parts.query or parts.fragment:
        # Do not show the value: it may contain a signature.
        raise InvalidInputError(
            "storage option 'endpoint' must be an address such as "
            "https://account.blob.core.windows.net, without a query or a password"
        )
    if parts.scheme == "http" and not remote.allow_http:
        raise InvalidInputError(
            f"the endpoint at {parts.hostname} does not use TLS: use https, or set storage option "
            "allow_http=true"
        )
    return parts.geturl().rstrip("/")
