"""Where and who: what the URL, the options and the environment say together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.store.remote.options import Options, take, take_boolean
from lance_core.store.remote.settings import RemoteSettings
from lance_core.store.secret import Secret, plain
from lance_core.store.uri import StoreUrl
from lance_core_azure.credentials import Credentials, chosen
from lance_core_azure.location import Location, check_account, check_container, location_of
from lance_core_azure.options import ALIASES, BY_NAME, CREDENTIALS, NAMES, SECRETS, TABLE, Use

EMULATOR = "http://127.0.0.1:10000"
EMULATOR_ACCOUNT = "devstoreaccount1"
EMULATOR_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The key of every Azurite in the world."""

_FLAGS = ("use_emulator", "use_fabric_endpoint", "skip_signature", "use_azure_cli")
_OF_THE_CLI = {"azure_storage_account": "account_name", "azure_storage_key": "account_key"}
"""Environment variables that the Azure CLI has other names for."""


@dataclass(frozen=True, slots=True)
class AzureSettings:
    """``endpoint``: URL of ``account``, without a slash at its end."""

    endpoint: str
    account: str
    container: str
    credentials: Credentials
    remote: RemoteSettings

    @property
    def host(self) -> str:
        """The name of the host that requests are sent to."""
        return urlsplit(self.endpoint).hostname or ""


def settings_of(
    url: StoreUrl, options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> AzureSettings:
    """What is to be used; `InvalidInputError` or `UnsupportedFeatureError` if that cannot be.

    ``options`` have canonical names.
    """
    given = with_environment(options, environment)
    _settle_others(given)
    location = location_of(url)
    flags = {name: take_boolean(given, name) for name in _FLAGS}
    if flags["use_emulator"]:
        given["allow_http"] = "true"
        if not CREDENTIALS & given.keys():
            given["account_key"] = EMULATOR_KEY
    remote = RemoteSettings.of(given)
    account = _account(location, take(given, "account_name"), flags["use_emulator"])
    container = take(given, "container_name")
    if container is not None and check_container(container) != location.container:
        raise InvalidInputError(
            f"storage option 'container_name' is {container!r}, and the URL names "
            f"{location.container!r}"
        )
    endpoint = _checked_endpoint(
        _endpoint(location, account, take(given, "endpoint"), flags, environment), remote
    )
    credentials = chosen(given, flags)
    if credentials.kind.is_token and endpoint.startswith("http:"):
        raise InvalidInputError(
            f"the endpoint {endpoint!r} is without TLS: tokens of Entra ID are not sent there"
        )
    return AzureSettings(endpoint, account, location.container, credentials, remote)


def with_environment(
    options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> Options:
    """``options``, and for those not given what variables of their names say (``AZURE_…``)."""
    given = dict(options)
    taken = set(given) | (CREDENTIALS if CREDENTIALS & given.keys() else frozenset())
    refused = {option.name for option in TABLE if option.use is Use.REFUSED}
    for variable, value in sorted(environment.items()):
        name = variable.lower()
        if not name.startswith("azure_") or not value:
            continue
        canonical = ALIASES.get(name) or _OF_THE_CLI.get(name)
        if canonical in NAMES - taken - refused:
            given.setdefault(canonical, Secret(value) if canonical in SECRETS else value)
    return given


def _settle_others(given: Options) -> None:
    """Take out what is ignored, and refuse what cannot be had."""
    for option in TABLE:
        if option.use is Use.HEEDED or option.name not in given:
            continue
        value = plain(given.pop(option.name)).strip().lower()
        if option.use is Use.REFUSED and value not in {"", "false"}:
            raise UnsupportedFeatureError(
                f"storage option {option.name!r} is not supported: {BY_NAME[option.name].text}"
            )


def _account(location: Location, option: str | None, is_emulator: bool) -> str:
    if location.account is None:
        if option is None and is_emulator:
            return EMULATOR_ACCOUNT
        if option is None:
            raise InvalidInputError(
                "which storage account? Give its name as the option 'account_name', in the "
                "environment as AZURE_STORAGE_ACCOUNT_NAME, or in the URL: "
                f"abfss://{location.container}@account.dfs.core.windows.net/path"
            )
        return check_account(option.strip())
    return location.account


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


def _checked_endpoint(text: str, remote: RemoteSettings) -> str:
    try:
        parts = urlsplit(text.strip())
        is_usable = bool(parts.hostname) and parts.scheme in {"http", "https"} and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or parts.username or parts.password or parts.query or parts.fragment:
        # Not shown: it may hold a signature.
        raise InvalidInputError(
            "storage option 'endpoint' must be an address such as "
            "https://account.blob.core.windows.net, without a query or a password"
        )
    if parts.scheme == "http" and not remote.allow_http:
        raise InvalidInputError(
            f"the endpoint {parts.geturl()!r} is without TLS: allow that by the option "
            "allow_http=true, or use https"
        )
    return parts.geturl().rstrip("/")
