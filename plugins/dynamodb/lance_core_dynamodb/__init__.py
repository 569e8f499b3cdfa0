"""Rows of an external manifest store in DynamoDB: ``s3+ddb://bucket/path?ddbTableName=T``."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core_dynamodb.creation import create_table
    from lance_core_dynamodb.credentials import register_session, unregister_session

__all__ = ["create_table", "register_session", "unregister_session"]


def __getattr__(name: str) -> object:
    # Looking up plugins imports this package and must not wait for the SDK.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core_dynamodb import creation, credentials

    return getattr(creation if name == "create_table" else credentials, name)
