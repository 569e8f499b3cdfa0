"""Whether a version is part of the history that the newest version continues.

It normally is, by its number alone: a version is only built on the one before it. But numbers that
a cleanup has freed can be taken again. A writer that was stopped for long, and then publishes what
it had prepared, may find its number free although others have long gone past it: its version is
there, and no later version contains it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lance_core.commits.base import CommitHandler
from lance_core.commits.history import Version, read_latest
from lance_core.store.base import ObjectStore
from lance_core.table.data_file import DataFile
from lance_core.table.manifest_file import ManifestFile
from lance_core.table.operations import Append, DataReplacement, Overwrite, Rewrite, Update
from lance_core.table.operations.base import Operation
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


def names_files_of(file: ManifestFile, operation: Operation) -> bool:
    """Whether a version names a data file that ``operation`` brings in: then it has been applied.

    False does not prove the opposite, as above.
    """
    new = {(found.base_id, found.path) for found in _new_files(operation)}
    if not new:
        return False
    files = (found for fragment in file.manifest.fragments for found in fragment.files)
    return any((found.base_id, found.path) in new for found in files)


def _new_files(operation: Operation) -> Iterator[DataFile]:
    match operation:
        case Append() | Overwrite():
            fragments = list(operation.fragments)
        case Update():
            fragments = list(operation.new_fragments)
        case Rewrite():
            fragments = [part for group in operation.groups for part in group.new_fragments]
        case DataReplacement():
            yield from (group.new_file for group in operation.replacements)
            return
        case _:
            return
    for fragment in fragments:
        yield from fragment.files


def _brought(file: ManifestFile, base: ManifestFile | None) -> set[Reference]:
    """Files that ``file`` names and ``base`` does not."""
    brought = _content(file)
    return brought if base is None else brought - _content(base)


def _content(file: ManifestFile) -> set[Reference]:
    """All files that a version needs, but for the transaction's, which no other version names."""
    return {found for found in references(file) if found.kind is not ReferenceKind.TRANSACTION}
