"""Whether a version is part of the history that the newest version continues.

It normally is, by its number alone: a version is only built on the one before it. But numbers that
a cleanup has freed can be taken again. A writer that was stopped for long, and then publishes what
it had prepared, may find its number free although others have long gone past it: its version is
there, and no later version contains it.
"""

from __future__ import annotations

from lance_core.commits.base import CommitHandler
from lance_core.commits.history import Version, read_latest
from lance_core.store.base import ObjectStore
from lance_core.table.manifest_file import ManifestFile
from lance_core.table.references import Reference, ReferenceKind, references


def is_continued(
    handler: CommitHandler, store: ObjectStore, ours: Version, base: ManifestFile | None
) -> bool:
    """Whether the newest version certainly is ``ours`` or contains what ``ours`` did to ``base``.

    The evidence is a file that only ``ours`` can have brought in and that the newest version names.
    False does not prove the opposite: later changes may have replaced all of them. Never raises
    for what cannot be read: that is no evidence.
    """
    try:
        newest = read_latest(handler, store)
        if newest is None or newest.location.version < ours.location.version:
            return False
        if newest.location.version == ours.location.version:
            return newest.file.transaction == ours.file.transaction
        return not _brought(ours.file, base).isdisjoint(_content(newest.file))
    except Exception:  # whatever a plugin raises: the version was written all the same
        return False


def _brought(file: ManifestFile, base: ManifestFile | None) -> set[Reference]:
    """Files that ``file`` names and ``base`` does not."""
    brought = _content(file)
    return brought if base is None else brought - _content(base)


def _content(file: ManifestFile) -> set[Reference]:
    """All files that a version needs, but for the transaction's, which no other version names."""
    return {found for found in references(file) if found.kind is not ReferenceKind.TRANSACTION}
