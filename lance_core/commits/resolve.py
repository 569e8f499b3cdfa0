"""Find out the outcome of a commit that ended as unknown.

This only reads the table. A caller that cannot wait for the answer may commit the same transaction
again: if it is committed already, this returns its version.
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
    """The version of the commit, or None if it was certainly not applied.

    Raises `CommitUnknownError` again while the outcome is unknown: the version does not exist yet,
    so a late write may still create it; the version cannot be read; or it was published so late
    that the history may have continued without it.
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
    is_open = len(there) <= last - unknown.version  # one of them is missing or was removed
    for number in there:
        version = find_version(handler, store, number)
        committed = None if version is None else find_transaction(store, version)
        if version is None or committed is None:
            is_open = True  # its writer is unknown
        elif committed.uuid == unknown.transaction_uuid:
            doubt = Doubt.LATE if unknown.stalled else Doubt.PROMPT
            if not is_in_history(handler, store, version, doubt):
                raise unknown
            return version
    if is_open:
        raise unknown
    return None


def _versions_from(handler: CommitHandler, number: int) -> list[int]:
    """``number`` if it may exist, and all existing later versions."""
    if number & DETACHED:
        return [number]
    return [location.version for location in handler.list_versions() if location.version >= number]
