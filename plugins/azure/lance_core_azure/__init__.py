"""Tables in containers of Azure Blob Storage."""

from lance_core_azure.registry import register_credential, unregister_credential

__all__ = ["register_credential", "unregister_credential"]
