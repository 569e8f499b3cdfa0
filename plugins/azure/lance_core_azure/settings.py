"""The account, container and credentials that a URL, options and the environment select."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.store.remote.option_values import Options, take, take_boolean
from lance_core.store.remote.settings import RemoteSettings
from lance_core.store.secret import Secret, plain
from lance_core.store.uri import StoreUrl
from lance_core_azure.credentials import Credentials, choose_credentials
from lance_core_azure.options import ALIASES, BY_NAME, CREDENTIALS, NAMES, SECRETS, TABLE, Use

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
_OF_THE_CLI = {"azure_storage_account": "account_name", "azure_storage_key": "account_key"}
"""Environment variables of the Azure CLI whose names differ from those of options."""


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
    _drop_unused(given)
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
            f"the credential {plain(given['identity'])!r} is of the account "
            f"{credentials.account!r}, not of {account!r}"
        )
    container = take(given, "container_name")
    if container is not None and _check_container(container) != location.container:
        raise InvalidInputError(
            f"storage option 'container_name' is {container!r}, and the URL names "
            f"{location.container!r}"
        )
    endpoint = _check_endpoint(
        _endpoint(location, account, take(given, "endpoint"), flags, environment), remote
    )
    if credentials.kind.is_token and endpoint.startswith("http:"):
        raise InvalidInputError(
            f"the endpoint {endpoint!r} does not use TLS: tokens of Entra ID are sent to https:// "
            "endpoints only"
        )
    return AzureSettings(endpoint, account, location.container, credentials, remote)


def _with_environment(
    options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> Options:
    """``options``, completed by environment variables of their names (``AZURE_…``)."""
    given = dict(options)
    taken = set(given) | (CREDENTIALS if CREDENTIALS & given.keys() else {"identity"})
    refused = {option.name for option in TABLE if option.use is Use.REFUSED}
    for variable, value in sorted(environment.items()):
        name = variable.lower()
        if not name.startswith("azure_") or not value:
            continue
        canonical = ALIASES.get(name) or _OF_THE_CLI.get(name)
        if canonical in NAMES - taken - refused:
            given.setdefault(canonical, Secret(value) if canonical in SECRETS else value)
    return given


def _drop_unused(given: Options) -> None:
    """Remove ignored options. Raises `UnsupportedFeatureError` for unsupported ones."""
    for option in TABLE:
        if option.use is Use.APPLIED or option.name not in given:
            continue
        value = plain(given.pop(option.name)).strip().lower()
        if option.use is Use.REFUSED and value not in {"", "false"}:
            raise UnsupportedFeatureError(
                f"storage option {option.name!r} is not supported: {BY_NAME[option.name].text}"
            )


def _location(url: StoreUrl) -> Location:
    """The container that ``url`` names. Raises `InvalidInputError` for other URLs.

    Forms: ``az://container/path``, ``abfss://container@account.dfs.core.windows.net/path``.
    """
    if url.query:
        raise InvalidInputError(f"{url}: a URL of Azure has no parameters; use storage options")
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
        raise InvalidInputError(f"{name[:80]!r} cannot be the name of a storage account")
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
            f"the endpoint {parts.geturl()!r} does not use TLS: use https, or set storage option "
            "allow_http=true"
        )
    return parts.geturl().rstrip("/")
