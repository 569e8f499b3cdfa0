"""Which files in a table's folders are the table's own, by kind; all others are left alone."""

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
"""What names begin with of files that are still being written, by this library and others."""


class FileKind(enum.Enum):
    """What a file is to a table, by the names that other libraries use."""

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
    """A file of the table, manifests and names for versions aside."""

    kind: FileKind
    meta: ObjectMeta

    @property
    def path(self) -> str:
        """From the table's root."""
        return self.meta.path


def own_files(
    store: ObjectStore, manifests: Iterable[ObjectMeta], within: Collection[str]
) -> Iterator[OwnFile]:
    """All files that a cleanup may remove, except manifests.

    ``manifests`` is the listing of their folder. What is in the folders ``within``, relative and
    ending in ``/``, belongs to other branches.
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
    """The version that a manifest was staged for, if ``path`` is that of a staged manifest.

    Its name is that of the version's manifest with something behind it.
    """
    final, dot, rest = path.removeprefix(f"{VERSIONS}/").partition(".manifest")
    name = parse_manifest_name(final + dot)
    return name.version if rest and name is not None and name.scheme is not None else None


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
