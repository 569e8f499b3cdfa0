"""Credential objects of Azure's SDKs that the caller made, by name."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeAlias

from lance_core.errors import InvalidInputError
from lance_core.store.remote.sdk_objects import SdkObjects

if TYPE_CHECKING:
    from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential, TokenCredential

    Credential: TypeAlias = AzureNamedKeyCredential | AzureSasCredential | TokenCredential

CREDENTIAL_OBJECTS: SdkObjects[Any] = SdkObjects(
    "credential", "lance_core_azure.register_credential"
)


def register_credential(name: str, credential: Credential) -> str:
    """Give ``credential`` a name in this process, and return it: the value of option ``identity``.

    ``credential``: an `AzureNamedKeyCredential`, an `AzureSasCredential`, or any object with the
    ``get_token`` of a `TokenCredential`, such as those of azure-identity. It is kept until
    `unregister_credential`. It never travels: other processes, but for forked children, register
    one of their own under the name. Raises `InvalidInputError` for any other object, and if the
    name is that of another credential.
    """
    from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential

    if not isinstance(credential, AzureNamedKeyCredential | AzureSasCredential):
        get_token = getattr(credential, "get_token", None)
        if not callable(get_token) or inspect.iscoroutinefunction(get_token):
            raise InvalidInputError(
                f"{type(credential).__name__} is no AzureNamedKeyCredential, AzureSasCredential or "
                "TokenCredential (asynchronous ones cannot be used)"
            )
    return CREDENTIAL_OBJECTS.register(name, credential)


def unregister_credential(name: str) -> None:
    """Forget the credential of this name, if there is one; stores that use it fail from then on."""
    CREDENTIAL_OBJECTS.unregister(name)
