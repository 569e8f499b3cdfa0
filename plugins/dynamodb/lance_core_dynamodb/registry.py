"""Named boto3 sessions that the caller has created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core.errors import InvalidInputError
from lance_core.store.remote.sdk_objects import SdkObjects

if TYPE_CHECKING:
    from boto3 import Session

SESSIONS: SdkObjects[Any] = SdkObjects(
    "boto3.Session", "lance_core_dynamodb.register_session", is_shared=True
)
"""The registered sessions; the S3 plugin uses the same registry."""


def register_session(name: str, session: Session) -> str:
    """Register ``session`` under ``name`` and return the name, the value of option ``aws_session``.

    Tables of rows that are opened with this option use the session's credentials, region and
    configuration. The session is kept until `unregister_session`. It is never sent to other
    processes; these must register their own session under the name, except forked children. Raises
    `InvalidInputError` if the name is malformed or belongs to another session.
    """
    from boto3 import Session

    if not isinstance(session, Session):
        raise InvalidInputError(
            f"the session must be a boto3.Session, got {type(session).__name__}"
        )
    return SESSIONS.register(name, session)


def unregister_session(name: str) -> None:
    """Remove the session of this name, if it exists; its users fail afterwards."""
    SESSIONS.unregister(name)
