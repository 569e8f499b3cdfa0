"""Named boto3 sessions that the caller has created; the plugins of S3 and DynamoDB share them.

They also share the service descriptions that their own sessions read.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
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


@functools.cache
def shared_loader(loaders: Any, data_path: str | None) -> Any:
    """A loader of service descriptions, for the component ``data_loader`` of all sessions.

    Reading the descriptions dominates the creation of a session, so it is done once. ``loaders``:
    the module of botocore. ``data_path``: the variable of the session.
    """

    class SharedLoader(loaders.Loader):  # type: ignore[misc]  # botocore has no types
        @property
        def search_paths(self) -> list[str]:
            """A copy of the paths: each new boto3 session appends to them."""
            return [*super().search_paths]

    paths = [Path(path).expanduser() for path in (data_path or "").split(os.pathsep) if path]
    return SharedLoader(extra_search_paths=[str(path) for path in paths])
