"""Who asks: the credentials that options name, and what the SDK needs of them."""

from __future__ import annotations

import base64
import binascii
import enum
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from azure.core.credentials import AccessToken, AzureSasCredential

from lance_core.errors import InvalidInputError, PluginLoadError
from lance_core.store.secret import Secret

SCOPE = "https://storage.azure.com/.default"
"""What tokens of Entra ID are asked for."""

_NOT_IN_A_TOKEN = re.compile(r"[^\x21-\x7e]")


class Kind(enum.Enum):
    """How requests are authorized; the values are those of the option ``credential_type``."""

    KEY = "access_key"
    SIGNATURE = "sas_token"
    TOKEN = "bearer_token"  # noqa: S105 (what the option is called)
    PRINCIPAL = "client_secret"
    WORKLOAD = "workload_identity"
    CLI = "azure_cli"
    MANAGED = "managed_identity"
    DEFAULT = "default"
    """Whatever Azure's own library finds in the environment."""
    NOBODY = "nobody"

    @property
    def is_token(self) -> bool:
        """Whether a token is sent, which only TLS keeps from being copied."""
        return self not in {Kind.KEY, Kind.SIGNATURE, Kind.NOBODY}


@dataclass(frozen=True, slots=True)
class Credentials:
    """What was chosen. ``secret``: key, signature or token; ``identity``: options for the rest."""

    kind: Kind
    secret: Secret = field(default_factory=Secret.missing)
    identity: tuple[tuple[str, str | Secret], ...] = ()

    def for_sdk(self, account: str) -> Any:
        """What the SDK takes as a credential. `PluginLoadError` if a package is missing."""
        if self.kind is Kind.NOBODY:
            return None
        if self.kind is Kind.KEY:
            return {"account_name": account, "account_key": self.secret.reveal()}
        if self.kind is Kind.SIGNATURE:
            return AzureSasCredential(self.secret.reveal())
        if self.kind is Kind.TOKEN:
            return FixedToken(self.secret)
        return _of_entra(self.kind, dict(self.identity))

    @property
    def expiry(self) -> datetime | None:
        """When a shared access signature ends; None where that is not known."""
        if self.kind is not Kind.SIGNATURE:
            return None
        try:
            end = datetime.fromisoformat(dict(parse_qsl(self.secret.reveal())).get("se", ""))
        except ValueError:
            return None
        return end if end.tzinfo else end.replace(tzinfo=UTC)


class FixedToken:
    """A token that was given as it is, in the form in which the SDK asks for one."""

    def __init__(self, token: Secret) -> None:
        self._token = token

    def get_token(self, *scopes: str, **_: object) -> AccessToken:
        """The token, said to be good for another hour: only the service knows."""
        return AccessToken(self._token.reveal(), int(time.time()) + 3600)


def chosen(given: Mapping[str, str | Secret], flags: Mapping[str, bool]) -> Credentials:
    """The credentials that options say; `InvalidInputError` if they cannot be meant.

    ``given``: texts of the options by canonical name; ``flags``: the boolean ones.
    """
    if flags["skip_signature"]:
        return Credentials(Kind.NOBODY)
    kind = _kind(given, flags["use_azure_cli"])
    identity = tuple((name, given[name]) for name in _IDENTITY if name in given)
    if kind is Kind.KEY:
        return Credentials(kind, _checked_key(_needed(given, kind, "account_key")))
    if kind is Kind.SIGNATURE:
        return Credentials(kind, _signature(_needed(given, kind, "sas_token")))
    if kind is Kind.TOKEN:
        token = _needed(given, kind, "bearer_token")
        if _NOT_IN_A_TOKEN.search(token):
            raise InvalidInputError("storage option 'bearer_token' is not a token")
        return Credentials(kind, Secret(token))
    for name in _NEEDED.get(kind, ()):
        _needed(given, kind, name)
    return Credentials(kind, identity=identity)


_IDENTITY = (
    *("authority_host", "client_id", "client_secret", "federated_token_file", "msi_resource_id"),
    *("object_id", "tenant_id"),
)
_NEEDED = {
    Kind.WORKLOAD: ("client_id", "tenant_id", "federated_token_file"),
    Kind.PRINCIPAL: ("client_id", "tenant_id", "client_secret"),
}


def _kind(given: Mapping[str, str | Secret], use_cli: bool) -> Kind:
    wanted = _text(given.get("credential_type", "auto")).strip().lower()
    if wanted != "auto":
        types = {kind.value: kind for kind in Kind if kind not in {Kind.DEFAULT, Kind.NOBODY}}
        if wanted not in types:
            raise InvalidInputError(
                f"storage option 'credential_type' must be one of auto, {', '.join(types)}, "
                f"not {wanted[:40]!r}"
            )
        return types[wanted]
    if "bearer_token" in given:
        return Kind.TOKEN
    if "account_key" in given:
        return Kind.KEY
    for kind in (Kind.WORKLOAD, Kind.PRINCIPAL):
        if all(name in given for name in _NEEDED[kind]):
            return kind
    if "sas_token" in given:
        return Kind.SIGNATURE
    if use_cli:
        return Kind.CLI
    return Kind.MANAGED if {"object_id", "msi_resource_id"} & given.keys() else Kind.DEFAULT


def _needed(given: Mapping[str, str | Secret], kind: Kind, name: str) -> str:
    if name not in given:
        raise InvalidInputError(f"credentials of type {kind.value} need the option {name!r}")
    return _text(given[name]).strip()


def _text(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _checked_key(key: str) -> Secret:
    try:
        base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError("storage option 'account_key' is not a key: no base64") from None
    return Secret(key)


def _signature(text: str) -> Secret:
    """A shared access signature as it stands in URLs, whether its values were quoted or not."""
    parts = [part.partition("=") for part in text.lstrip("?").split("&") if part]
    if "sig" not in {name for name, _, _ in parts} or not text.isprintable():
        raise InvalidInputError("storage option 'sas_token' is no shared access signature")
    quoted = (f"{quote(name)}={quote(unquote(value), '')}" for name, _, value in parts)
    return Secret("&".join(quoted))


# The store asks again by itself, until its own deadline. Seconds.
_PATIENCE: dict[str, Any] = {"retry_total": 0, "connection_timeout": 5, "read_timeout": 20}


def _of_entra(kind: Kind, given: dict[str, str | Secret]) -> Any:
    try:
        entra: Any = import_module("azure.identity")
    except ImportError:
        raise PluginLoadError(
            "no key, shared access signature or token is given for the storage account, and "
            "tokens of Entra ID need the package azure-identity: "
            'pip install "lance-core-azure[identity]", or give one of the options account_key, '
            "sas_token, bearer_token, or skip_signature for what is public"
        ) from None
    text = {name: _text(value) for name, value in given.items()}
    host: dict[str, Any] = {}
    if "authority_host" in text:
        host["authority"] = text["authority_host"]
    client, tenant = text.get("client_id"), text.get("tenant_id")
    if kind is Kind.PRINCIPAL:
        secret = text["client_secret"]
        return entra.ClientSecretCredential(tenant, client, secret, **host, **_PATIENCE)
    if kind is Kind.WORKLOAD:
        file = text["federated_token_file"]
        return entra.WorkloadIdentityCredential(
            tenant_id=tenant, client_id=client, token_file_path=file, **host, **_PATIENCE
        )
    if kind is Kind.CLI:
        return entra.AzureCliCredential(**({"tenant_id": tenant} if tenant else {}))
    if kind is Kind.MANAGED:
        names = {"object_id": "object_id", "msi_resource_id": "resource_id"}
        who = {names[name]: text[name] for name in names if name in text}
        return entra.ManagedIdentityCredential(
            client_id=client, **({"identity_config": who} if who else {})
        )
    return entra.DefaultAzureCredential(
        managed_identity_client_id=client, workload_identity_client_id=client, **host
    )
