"""The external manifest store in DynamoDB: ``s3+ddb://bucket/path?ddbTableName=T``."""

from typing import TYPE_CHECKING

from lance_core_remote.aws_sessions import register_session, unregister_session

if TYPE_CHECKING:
    from lance_core_dynamodb.creation import create_table

__all__ = ["create_table", "register_session", "unregister_session"]


def __getattr__(name: str) -> object:
    # The plugin lookup imports this package and must not import the slow SDK.
    if name == "create_table":
        from lance_core_dynamodb.creation import create_table

        return create_table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
