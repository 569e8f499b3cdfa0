"""Select credentials from options, and create the SDK's objects for them."""

from __future__ import annotations

import base64
import binascii
import enum
import inspect
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, unquote

from azure.core.credentials import (
    AccessToken,
    AzureNamedKeyCredential,
    AzureSasCredential,
    TokenCredential,
)
from azure.core.exceptions import AzureError

from lance_core.errors import InvalidInputError, PluginLoadError
from lance_core.hookspecs.options import Secret, plain
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.sdk_objects import SdkObjects

SCOPE = "https://storage.azure.com/.default"
"""The scope of the tokens that are requested from Entra ID."""

_NOT_IN_A_TOKEN = re.compile(r"[^\x21-\x7e]")


Credential: TypeAlias = AzureNamedKeyCredential | AzureSasCredential | TokenCredential

CREDENTIAL_OBJECTS: SdkObjects[Any] = SdkObjects(
    "credential", "lance_core_azure.register_credential"
)


def register_credential(name: str, credential: Credential) -> str:
    """Register ``credential`` under ``name`` and return the name, the value of option ``identity``.

    ``credential``: an `AzureNamedKeyCredential`, an `AzureSasCredential`, or any object with the
    ``get_token`` of a `TokenCredential`, such as those of azure-identity. It is kept until
    `unregister_credential`. It is never sent to other processes; these must register their own
    credential under the name, except forked children. Raises `InvalidInputError` for any other
    object, and if the name is malformed or belongs to another credential.
    """
    if not isinstance(credential, AzureNamedKeyCredential | AzureSasCredential):
        get_token = getattr(credential, "get_token", None)
        if not callable(get_token) or inspect.iscoroutinefunction(get_token):
            raise InvalidInputError(
                "the credential must be an AzureNamedKeyCredential, AzureSasCredential or "
                f"TokenCredential (not an asynchronous one), got {type(credential).__name__}"
            )
    return CREDENTIAL_OBJECTS.register(name, credential)


def unregister_credential(name: str) -> None:
    """Remove the credential of this name, if it exists; stores that use it fail afterwards."""
    CREDENTIAL_OBJECTS.unregister(name)


class Kind(enum.Enum):
    """The method of authorization; the values are those of the option ``credential_type``."""

    KEY = "access_key"
    SIGNATURE = "sas_token"
    TOKEN = "bearer_token"  # noqa: S105 (a name of an option)
    PRINCIPAL = "client_secret"
    WORKLOAD = "workload_identity"
    CLI = "azure_cli"
    MANAGED = "managed_identity"
    DEFAULT = "default"
    """azure-identity's `DefaultAzureCredential`."""
    REGISTERED = "registered"
    """Tokens of a credential object that the caller registered."""
    ANONYMOUS = "anonymous"

    @property
    def is_token(self) -> bool:
        """True if requests carry a token, which only TLS protects from being copied."""
        return self not in {Kind.KEY, Kind.SIGNATURE, Kind.ANONYMOUS}

    @property
    def is_fixed(self) -> bool:
        """True if the source of the credentials always returns the same ones."""
        return not self.is_token or self is Kind.TOKEN


@dataclass(frozen=True, slots=True)
class Credentials:
    """Selected credentials: a ``secret`` (key, signature or token), or options of an ``identity``.

    ``registered``: the name of a credential object, and the object itself.
    """

    kind: Kind
    secret: Secret = field(default_factory=Secret.missing)
    identity: tuple[tuple[str, str | Secret], ...] = ()
    registered: tuple[str, Any] | None = field(default=None, repr=False)

    def for_sdk(self, account: str) -> Any:
        """A credential for the SDK. Raises `PluginLoadError` if a package is missing."""
        if self.kind is Kind.ANONYMOUS:
            return None
        if self.kind is Kind.KEY:
            return {"account_name": account, "account_key": self.reveal()}
        if self.registered is not None:
            credential = self.registered[1]
            return TokenSource(credential) if self.kind.is_token else credential
        if self.kind is Kind.SIGNATURE:
            return AzureSasCredential(self.reveal())
        if self.kind is Kind.TOKEN:
            return FixedToken(self.secret)
        return _of_entra(self.kind, dict(self.identity))

    def reveal(self) -> str:
        """The key or signature; for a registered object its current value, which may change."""
        if self.registered is None:
            return self.secret.reveal()
        credential = self.registered[1]
        key: str = (
            credential.named_key.key if self.kind is Kind.KEY else credential.signature.lstrip("?")
        )
        return key

    @property
    def account(self) -> str | None:
        """The account of a registered key; None if the credentials may be for any account."""
        if self.registered is None or self.kind is not Kind.KEY:
            return None
        name: str = self.registered[1].named_key.name
        return name

    @property
    def is_current(self) -> bool:
        """True unless another credential object has been registered under the name.

        Raises `InvalidInputError` if no object is registered under the name any more.
        """
        if self.registered is None:
            return True
        name, credential = self.registered
        return CREDENTIAL_OBJECTS.get(name) is credential

    @property
    def expiry(self) -> datetime | None:
        """The expiry of a shared access signature; None if it is unknown."""
        if self.kind is not Kind.SIGNATURE:
            return None
        try:
            end = datetime.fromisoformat(dict(parse_qsl(self.reveal())).get("se", ""))
        except ValueError:
            return None
        return end if end.tzinfo else end.replace(tzinfo=UTC)


class FixedToken:
    """A bearer token from the options, with the interface that the SDK expects."""

    def __init__(self, token: Secret) -> None:
        self._token = token

    def get_token(self, *scopes: str, **_: object) -> Any:
        """The token with an expiry in an hour; only the service knows the real expiry."""
        return AccessToken(self._token.reveal(), int(time.time()) + 3600)


class TokenSource:
    """The tokens of a registered object, which may raise any error."""

    def __init__(self, credential: Any) -> None:
        self._credential = credential

    def get_token(self, *scopes: str, **options: Any) -> Any:
        """The object's token. Errors other than those of the SDK become a `RequestError`."""
        try:
            return self._credential.get_token(*scopes, **options)
        except AzureError:
            raise
        except Exception as error:
            reason = type(error).__name__
        # Do not reference the error, whose text may contain a secret. The request was not sent.
        raise RequestError(Failure.REFUSED, f"the registered credential fails with {reason}")


def choose_credentials(
    options: Mapping[str, str | Secret], flags: Mapping[str, bool]
) -> Credentials:
    """The credentials that options select. Raises `InvalidInputError` if they are malformed.

    ``options``: options by canonical name; ``flags``: the boolean options.
    """
    if "identity" in options:
        return _registered(options, flags)
    if flags["skip_signature"]:
        return Credentials(Kind.ANONYMOUS)
    kind = _kind(options, flags["use_azure_cli"])
    identity = tuple((name, options[name]) for name in _IDENTITY if name in options)
    if kind is Kind.KEY:
        return Credentials(kind, _check_key(_needed(options, kind, "account_key")))
    if kind is Kind.SIGNATURE:
        return Credentials(kind, _signature(_needed(options, kind, "sas_token")))
    if kind is Kind.TOKEN:
        token = _needed(options, kind, "bearer_token")
        if _NOT_IN_A_TOKEN.search(token):
            raise InvalidInputError("storage option 'bearer_token' is not a token")
        return Credentials(kind, Secret(token))
    for name in _NEEDED.get(kind, ()):
        _needed(options, kind, name)
    return Credentials(kind, identity=identity)


def _registered(options: Mapping[str, str | Secret], flags: Mapping[str, bool]) -> Credentials:
    others = sorted({*_OTHERS & options.keys(), *(name for name in _FLAGS if flags[name])})
    if others:
        raise InvalidInputError(f"storage options 'identity' and {others[0]!r} cannot be combined")
    name = plain(options["identity"])
    credential = CREDENTIAL_OBJECTS.get(name)
    kind = Kind.REGISTERED
    if isinstance(credential, AzureNamedKeyCredential):
        kind = Kind.KEY
    elif isinstance(credential, AzureSasCredential):
        kind = Kind.SIGNATURE
    return Credentials(kind, registered=(name, credential))


_IDENTITY = (
    *("authority_host", "client_id", "client_secret", "federated_token_file", "msi_resource_id"),
    *("object_id", "tenant_id"),
)
_OTHERS = frozenset({*_IDENTITY, "account_key", "bearer_token", "credential_type", "sas_token"})
_FLAGS = ("skip_signature", "use_azure_cli")
"""Other options that select credentials."""

_NEEDED = {
    Kind.WORKLOAD: ("client_id", "tenant_id", "federated_token_file"),
    Kind.PRINCIPAL: ("client_id", "tenant_id", "client_secret"),
}


_UNNAMED = frozenset({Kind.ANONYMOUS, Kind.DEFAULT, Kind.REGISTERED})
"""Kinds that are not values of the option ``credential_type``."""


def _kind(options: Mapping[str, str | Secret], use_cli: bool) -> Kind:
    text = plain(options.get("credential_type", "auto")).strip().lower()
    if text != "auto":
        types = {kind.value: kind for kind in Kind if kind not in _UNNAMED}
        if text not in types:
            raise InvalidInputError(
                f"storage option 'credential_type' must be one of auto, {', '.join(types)}"
            )
        return types[text]
    if "bearer_token" in options:
        return Kind.TOKEN
    if "account_key" in options:
        return Kind.KEY
    for kind in (Kind.WORKLOAD, Kind.PRINCIPAL):
        if all(name in options for name in _NEEDED[kind]):
            return kind
    if "sas_token" in options:
        return Kind.SIGNATURE
    if use_cli:
        return Kind.CLI
    return Kind.MANAGED if {"object_id", "msi_resource_id"} & options.keys() else Kind.DEFAULT


def _needed(options: Mapping[str, str | Secret], kind: Kind, name: str) -> str:
    if name not in options:
        raise InvalidInputError(f"credentials of type {kind.value} need the option {name!r}")
    return plain(options[name]).strip()


def _check_key(key: str) -> Secret:
    try:
        base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError("storage option 'account_key' is not valid base64") from None
    return Secret(key)


def _signature(text: str) -> Secret:
    """A shared access signature for URLs, with quoted values; the input may be quoted or not."""
    parts = [part.partition("=") for part in text.lstrip("?").split("&") if part]
    if "sig" not in {name for name, _, _ in parts} or not text.isprintable():
        raise InvalidInputError("storage option 'sas_token' must be printable and contain 'sig='")
    quoted = (f"{quote(name)}={quote(unquote(value), '')}" for name, _, value in parts)
    return Secret("&".join(quoted))


# The store retries requests, within a deadline. In seconds.
_ONE_TRY: dict[str, Any] = {"retry_total": 0, "connection_timeout": 5, "read_timeout": 20}


def _of_entra(kind: Kind, options: dict[str, str | Secret]) -> Any:
    try:
        entra: Any = import_module("azure.identity")
    except ImportError:
        raise PluginLoadError(
            "no key, shared access signature or token is given for the storage account, and "
            "tokens of Entra ID need the package azure-identity: "
            'pip install "lance-core-azure[identity]", or give one of the options account_key, '
            "sas_token, bearer_token, or skip_signature for what is public"
        ) from None
    text = {name: plain(value) for name, value in options.items()}
    host: dict[str, Any] = {}
    if "authority_host" in text:
        host["authority"] = text["authority_host"]
    client, tenant = text.get("client_id"), text.get("tenant_id")
    if kind is Kind.PRINCIPAL:
        secret = text["client_secret"]
        return entra.ClientSecretCredential(tenant, client, secret, **host, **_ONE_TRY)
    if kind is Kind.WORKLOAD:
        file = text["federated_token_file"]
        return entra.WorkloadIdentityCredential(
            tenant_id=tenant, client_id=client, token_file_path=file, **host, **_ONE_TRY
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
