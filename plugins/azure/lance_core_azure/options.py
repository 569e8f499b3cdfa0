"""The storage options of Azure: every name that pylance knows, and the settings that they give."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.store.remote import settings as shared
from lance_core.store.remote.options import Options, take, take_boolean
from lance_core.store.remote.settings import RemoteSettings
from lance_core.store.secret import Secret, plain
from lance_core.store.uri import StoreUrl
from lance_core_azure.credentials import Credentials, choose_credentials


class Use(enum.Enum):
    """What an option does."""

    APPLIED = "applied"
    IGNORED = "ignored"
    """It changes nothing here, for the reason that its text says."""
    REFUSED = "refused"
    """Setting it raises `UnsupportedFeatureError`, unless it is set to false."""


@dataclass(frozen=True, slots=True)
class Option:
    """A storage option: its canonical ``name``, and ``others`` for the same."""

    name: str
    text: str
    others: tuple[str, ...] = ()
    use: Use = Use.APPLIED
    is_secret: bool = False


_PLACE = (
    Option("account_name", "The storage account.", ("azure_storage_account_name",)),
    Option(
        "container_name",
        "The container of the URI; another one is an error.",
        ("azure_container_name",),
    ),
    Option(
        "endpoint",
        "Address of the account at another server than Azure's, `http://127.0.0.1:10000/account`. "
        "Its guarantees are tested before the first commit.",
        ("azure_storage_endpoint", "azure_endpoint"),
    ),
    Option(
        "use_emulator",
        "Azurite at `AZURITE_BLOB_STORAGE_URL`, else `http://127.0.0.1:10000`, with its account "
        "and key.",
        ("azure_storage_use_emulator", "object_store_use_emulator"),
    ),
    Option(
        "use_fabric_endpoint",
        "OneLake: the account is at `blob.fabric.microsoft.com`.",
        ("azure_use_fabric_endpoint",),
    ),
)

_CREDENTIALS = (
    Option(
        "identity",
        "Name of a credential object of this process, as `register_credential` returns it. Not "
        "known to pylance.",
        ("azure_identity",),
    ),
    Option(
        "account_key",
        "Key of the account.",
        (
            *("azure_storage_account_key", "azure_storage_access_key", "azure_storage_master_key"),
            *("access_key", "master_key"),
        ),
        is_secret=True,
    ),
    Option(
        "sas_token",
        "Shared access signature.",
        ("azure_storage_sas_key", "azure_storage_sas_token", "sas_key"),
        is_secret=True,
    ),
    Option(
        "bearer_token",
        "Token of Entra ID.",
        ("azure_storage_token", "token"),
        is_secret=True,
    ),
    Option(
        "client_id",
        "The service principal, or the managed identity.",
        ("azure_storage_client_id", "azure_client_id"),
    ),
    Option(
        "client_secret",
        "Its secret.",
        ("azure_storage_client_secret", "azure_client_secret"),
        is_secret=True,
    ),
    Option(
        "tenant_id",
        "Its tenant.",
        (
            *("azure_storage_tenant_id", "azure_storage_authority_id", "azure_tenant_id"),
            *("azure_authority_id", "authority_id"),
        ),
    ),
    Option(
        "authority_host",
        "Host of Entra ID, for sovereign clouds.",
        ("azure_storage_authority_host", "azure_authority_host"),
    ),
    Option(
        "federated_token_file",
        "File with the token of a workload identity.",
        ("azure_federated_token_file",),
    ),
    Option("object_id", "The managed identity, by its object.", ("azure_object_id",)),
    Option("msi_resource_id", "The managed identity, by its resource.", ("azure_msi_resource_id",)),
    Option(
        "use_azure_cli",
        "Tokens of the account that is logged in with `az`.",
        ("azure_use_azure_cli",),
    ),
    Option("skip_signature", "Send requests without credentials.", ("azure_skip_signature",)),
    Option(
        "credential_type",
        "`access_key`, `sas_token`, `bearer_token`, `client_secret`, `workload_identity`, "
        "`azure_cli` or `managed_identity`; `auto`: the first of these that is configured.",
        ("azure_credential_type",),
    ),
)

_OTHERS = (
    Option("disable_tagging", "Nothing is tagged.", ("azure_disable_tagging",), Use.IGNORED),
    Option("use_opendal", "It chooses between two clients of pylance.", (), Use.IGNORED),
    Option(
        "expires_at_millis",
        "To replace a token that expires, open the table again.",
        (),
        Use.IGNORED,
    ),
    Option("refresh_offset_millis", "Tokens are renewed before they expire.", (), Use.IGNORED),
    Option(
        "msi_endpoint",
        "azure-identity finds the endpoint of managed identities by itself.",
        ("azure_msi_endpoint", "azure_identity_endpoint", "identity_endpoint"),
        Use.REFUSED,
    ),
    Option(
        "encryption_key",
        "Objects are not encrypted with keys of the client.",
        ("azure_storage_encryption_key",),
        Use.REFUSED,
        is_secret=True,
    ),
    Option(
        "fabric_token_service_url",
        "Tokens of Fabric are not requested: give `bearer_token`.",
        ("azure_fabric_token_service_url",),
        Use.REFUSED,
    ),
    Option("fabric_workload_host", "As above.", ("azure_fabric_workload_host",), Use.REFUSED),
    Option(
        "fabric_session_token",
        "As above.",
        ("azure_fabric_session_token",),
        Use.REFUSED,
        is_secret=True,
    ),
    Option(
        "fabric_cluster_identifier",
        "As above.",
        ("azure_fabric_cluster_identifier",),
        Use.REFUSED,
    ),
)

TABLE = (*_PLACE, *_CREDENTIALS, *_OTHERS)
"""Options of Azure alone; those of all remote stores are in `lance_core.store.remote.settings`."""

BY_NAME = {option.name: option for option in TABLE}

CREDENTIALS = frozenset(option.name for option in _CREDENTIALS)
"""Names of the options that choose credentials. If one of them is given, none comes from the
environment."""


def _aliases() -> dict[str, str]:
    names = shared.aliases("azure_")
    for option in TABLE:
        names |= dict.fromkeys(option.others, option.name)
    return names


ALIASES = _aliases()
"""Other names of options, in lower case, with the canonical one of each."""

NAMES = frozenset(BY_NAME) | shared.OPTIONS
"""The canonical names of all options."""

SECRETS = frozenset(option.name for option in TABLE if option.is_secret) | shared.SECRET_OPTIONS

_HOSTS = {
    **{
        f"{kind}.core.{cloud}": f"blob.core.{cloud}"
        for kind in ("blob", "dfs")
        for cloud in ("windows.net", "usgovcloudapi.net", "chinacloudapi.cn")
    },
    "blob.fabric.microsoft.com": "blob.fabric.microsoft.com",
    "dfs.fabric.microsoft.com": "blob.fabric.microsoft.com",
}
"""The domain that follows an account in a URL, and that of the account's blobs. Credentials are
sent to no other host that a URL names, since URLs may come from the table itself."""

_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.IGNORECASE)
_CONTAINER = re.compile(r"\$?[A-Za-z0-9][A-Za-z0-9-]{0,62}")

EMULATOR = "http://127.0.0.1:10000"
EMULATOR_ACCOUNT = "devstoreaccount1"
EMULATOR_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The key of every Azurite in the world."""

_FLAGS = ("use_emulator", "use_fabric_endpoint", "skip_signature", "use_azure_cli")
_OF_THE_CLI = {"azure_storage_account": "account_name", "azure_storage_key": "account_key"}
"""Environment variables of the Azure CLI that are named otherwise than options."""


@dataclass(frozen=True, slots=True)
class Location:
    """``container`` of ``account``, whose blobs are at the host ``account.domain``.

    None: the options say it, not the URL.
    """

    container: str
    account: str | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class AzureOptions:
    """What to open. ``endpoint``: URL of ``account``, without a slash at its end."""

    endpoint: str
    account: str
    container: str
    credentials: Credentials
    remote: RemoteSettings

    @property
    def host(self) -> str:
        """The name of the host that requests are sent to."""
        return urlsplit(self.endpoint).hostname or ""


def read_options(
    url: StoreUrl, options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> AzureOptions:
    """The values of ``options``, and of ``environment`` for what these do not set.

    ``options`` have canonical names. Raises `InvalidInputError` for what is malformed or
    contradicts itself, and `UnsupportedFeatureError` for what is known and not offered.
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
            f"the endpoint {endpoint!r} is without TLS: tokens of Entra ID are not sent there"
        )
    return AzureOptions(endpoint, account, location.container, credentials, remote)


def _with_environment(
    options: Mapping[str, str | Secret], environment: Mapping[str, str]
) -> Options:
    """``options``, and what variables of their names (``AZURE_…``) say for those not given."""
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
    """Remove options that are ignored, and refuse those that are not offered."""
    for option in TABLE:
        if option.use is Use.APPLIED or option.name not in given:
            continue
        value = plain(given.pop(option.name)).strip().lower()
        if option.use is Use.REFUSED and value not in {"", "false"}:
            raise UnsupportedFeatureError(
                f"storage option {option.name!r} is not supported: {BY_NAME[option.name].text}"
            )


def _location(url: StoreUrl) -> Location:
    """The container that ``url`` names; `InvalidInputError` if it names none of Azure.

    ``az://container/path``, ``abfss://container@account.dfs.core.windows.net/path``.
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
        # Not shown: a password may stand before an "@".
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
