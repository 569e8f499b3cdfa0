"""The files in a table's folders that Lance writes, by kind; cleanup ignores all others."""

from __future__ import annotations

import enum
import itertools
import uuid
from collections.abc import Collection, Iterable, Iterator

from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectMeta, ObjectStore
from lance_core.table.paths import (
    DATA,
    DELETIONS,
    INDICES,
    TRANSACTIONS,
    VERSIONS,
    parse_manifest_name,
)
from lance_core.table.refs import REFS

UNFINISHED = ".tmp"
"""Prefix of the names of files that this library or another one is still writing."""


class FileKind(enum.Enum):
    """The kind of a table's file; the values are the names that other libraries use."""

    DATA = "data"
    DELETION = "deletion"
    TRANSACTION = "transaction"
    INDEX = "index"
    MANIFEST = "manifest"
    TEMPORARY = "temporary_manifest"


_KINDS = {
    DATA: FileKind.DATA,
    DELETIONS: FileKind.DELETION,
    TRANSACTIONS: FileKind.TRANSACTION,
    INDICES: FileKind.INDEX,
    VERSIONS: FileKind.TEMPORARY,
    REFS: FileKind.TEMPORARY,
}
_ENDINGS = {
    DATA: (".lance", ".blob"),
    DELETIONS: (".arrow", ".bin"),
    TRANSACTIONS: (".txn",),
}


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of the table other than a manifest, tag or branch."""

    kind: FileKind
    meta: ObjectMeta

    @property
    def path(self) -> str:
        """The path relative to the table's root."""
        return self.meta.path


def own_files(
    store: ObjectStore, manifests: Iterable[ObjectMeta], within: Collection[str]
) -> Iterator[OwnFile]:
    """Yield all files that a cleanup may remove, except manifests.

    ``manifests`` is the listing of the folder of manifests. The folders ``within``, relative to the
    table and ending in ``/``, belong to other branches and are skipped.
    """
    folders = (DATA, DELETIONS, TRANSACTIONS, INDICES, REFS)
    listings = itertools.chain.from_iterable(store.list(folder) for folder in folders)
    for meta in itertools.chain(listings, manifests):
        kind = kind_of(meta.path)
        if kind is not None and not meta.path.startswith(tuple(within)):
            yield OwnFile(kind, meta)


def kind_of(path: str) -> FileKind | None:
    """The kind of the file at ``path``; None for manifests and for files of other tools."""
    folder, *between, name = path.split("/")
    kind = _KINDS.get(folder)
    if kind is None or path == folder:
        return None
    if name.startswith(UNFINISHED):
        return kind
    if kind is FileKind.INDEX:
        return kind if between and _is_uuid(between[0]) else None
    if name.endswith(".blob") and not between:
        return None
    return kind if name.endswith(_ENDINGS.get(folder, ())) else None


def staged_version(path: str) -> int | None:
    """The version of the staged manifest at ``path``, or None if ``path`` is not a staged manifest.

    Its name is the final name of the manifest followed by a suffix.
    """
    final, dot, rest = path.removeprefix(f"{VERSIONS}/").partition(".manifest")
    name = parse_manifest_name(final + dot)
    return name.version if rest and name is not None and name.scheme is not None else None


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
