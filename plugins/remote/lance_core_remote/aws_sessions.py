"""Named boto3 sessions that the caller has created; the plugins of S3 and DynamoDB share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core_remote.sdk_objects import SdkObjects

if TYPE_CHECKING:
    from boto3 import Session

SESSIONS: SdkObjects[Any] = SdkObjects(
    "session", "lance_core_remote.aws_sessions.register_session", sdk_class="boto3.Session"
)
"""The registered sessions."""


def register_session(name: str, session: Session) -> str:
    """Register ``session`` under ``name`` and return the name, the value of option ``aws_session``.

    Stores, and DynamoDB tables of versions, that are opened with this option use the session's
    credentials, region and configuration; stores also use its endpoint. The session is kept until
    `unregister_session`. It is never sent to other processes; these must register their own session
    under the name, except forked children. Raises `InvalidInputError` if the name is malformed or
    belongs to another session, and for any other object.
    """
    return SESSIONS.register(name, session)


def unregister_session(name: str) -> None:
    """Remove the session of this name, if it exists; stores and tables that use it then fail."""
    SESSIONS.unregister(name)
