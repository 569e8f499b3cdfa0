"""Sessions of boto3 that the caller made, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core.errors import InvalidInputError
from lance_core.store.remote.sdk_objects import SdkObjects

if TYPE_CHECKING:
    from boto3 import Session

SESSIONS: SdkObjects[Any] = SdkObjects(
    "boto3.Session", "lance_core_dynamodb.register_session", is_shared=True
)
"""The sessions that callers made; the plugin of S3 knows them as well."""


def register_session(name: str, session: Session) -> str:
    """Give ``session`` a name in this process, and return it: the value of option ``aws_session``.

    Tables of rows that are opened with this option use the session's credentials, region and
    configuration. The session is kept until `unregister_session`. It never travels: other
    processes, except for forked children, register one of their own under the name. Raises
    `InvalidInputError` if the name is malformed or that of another session.
    """
    from boto3 import Session

    if not isinstance(session, Session):
        raise InvalidInputError(f"{type(session).__name__} is no boto3.Session")
    return SESSIONS.register(name, session)


def unregister_session(name: str) -> None:
    """Forget the session of this name, if there is one; what uses it fails from then on."""
    SESSIONS.unregister(name)
