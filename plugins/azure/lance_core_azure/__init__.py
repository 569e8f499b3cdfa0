"""Tables in containers of Azure Blob Storage, with azure-storage-blob."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core_azure.credentials import register_credential, unregister_credential

__all__ = ["register_credential", "unregister_credential"]


def __getattr__(name: str) -> object:
    # The plugin lookup imports this package and must not import the slow SDK.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core_azure import credentials

    return getattr(credentials, name)
