"""Finding out what became of a commit whose outcome was unknown.

Nothing is written: what is in the table is looked at. Whoever cannot wait for an answer may commit
the same transaction again instead, which ends in the version that it led to if it did.
"""

from __future__ import annotations

from lance_core.commits.ancestry import Doubt, is_in_history
from lance_core.commits.base import CommitHandler
from lance_core.commits.history import Version, find_transaction, find_version
from lance_core.errors import CommitUnknownError, StoreError
from lance_core.store.base import ObjectStore
from lance_core.table.paths import DETACHED


def resolve(
    handler: CommitHandler, store: ObjectStore, unknown: CommitUnknownError
) -> Version | None:
    """The version that the commit led to, or None if it certainly was not applied.

    Raises `CommitUnknownError` again while that cannot be told: nobody has taken the version yet,
    so that a late write may still do so; it cannot be read any more, or not at this moment; or it
    was written so late that the history may have gone on without it.
    """
    try:
        return _resolve(handler, store, unknown)
    except StoreError as error:
        raise unknown from error


def _resolve(
    handler: CommitHandler, store: ObjectStore, unknown: CommitUnknownError
) -> Version | None:
    newest = handler.latest()
    last = unknown.version if newest is None else max(newest.version, unknown.version)
    there = _versions_from(handler, unknown.version)
    is_open = len(there) <= last - unknown.version  # one of them is not there, or not any more
    for number in there:
        version = find_version(handler, store, number)
        committed = None if version is None else find_transaction(store, version)
        if version is None or committed is None:
            is_open = True  # whose it is, or will be, cannot be told
        elif committed.uuid == unknown.transaction_uuid:
            doubt = Doubt.LATE if unknown.stalled else Doubt.PROMPT
            if not is_in_history(handler, store, version, doubt):
                raise unknown
            return version
    if is_open:
        raise unknown
    return None


def _versions_from(handler: CommitHandler, number: int) -> list[int]:
    """``number``, if it may be there, and all later versions that are."""
    if number & DETACHED:
        return [number]
    return [found.version for found in handler.list_versions() if found.version >= number]
