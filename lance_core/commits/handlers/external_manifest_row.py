"""Parse and build the rows of an external manifest store.

Rows come from other writers: a path outside the table or of another version is refused before
anything is read, copied or removed.
"""

from __future__ import annotations

import hashlib
import re
import uuid

from lance_core.commits.base import Candidate
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.paths import VERSIONS, NamingScheme, parse_manifest_name

_STAGED = re.compile(r"(?P<final>d?[0-9]{1,20}\.manifest)-[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*", re.ASCII)
_MAX_NAME_BYTES = 255


@dataclass(frozen=True, slots=True)
class Row:
    """A validated row. Paths are relative to the table.

    ``path`` is the manifest's location according to the row; ``final`` is its final location. They
    differ while the commit is half-finished. ``size`` in bytes is None if the row has no size.
    """

    version: int
    path: str
    final: str
    naming: NamingScheme
    size: int | None = None

    @property
    def is_staged(self) -> bool:
        """True if the manifest is not yet copied to its final path."""
        return self.path != self.final


def row_of(base_uri: str, entry: ManifestEntry) -> Row:
    """Parse ``entry``; `CorruptFileError` if it names no manifest of its version and table."""
    folder = f"{base_uri}/{VERSIONS}/" if base_uri else f"{VERSIONS}/"
    name = entry.path.removeprefix(folder)
    if name == entry.path or len(name) > _MAX_NAME_BYTES:
        raise _wrong(entry, "is not in the folder of the table's manifests")
    staged = _STAGED.fullmatch(name)
    final = staged["final"] if staged else name
    parsed = parse_manifest_name(final)
    if parsed is None or parsed.scheme is None:
        raise _wrong(entry, "is not the name of a manifest")
    if parsed.version != entry.version:
        raise _wrong(entry, f"belongs to version {parsed.version}")
    path, final = f"{VERSIONS}/{name}", f"{VERSIONS}/{final}"
    return Row(entry.version, path, final, parsed.scheme, entry.size)


def check_same(row: Row, path: str, size: int | None) -> None:
    """Raise `CorruptFileError` if the manifest in the folder is not the one that ``row`` names.

    Two stores share rows if these are keyed by path only and both have a table of the same path.
    """
    if not row.is_staged and None not in (row.size, size) and row.size != size:
        raise CorruptFileError(
            f"the external manifest store's row of version {row.version} is about a manifest of "
            f"{row.size} bytes, and the one in the folder has {size}: they belong to different "
            "tables, such as tables of the same path in two buckets",
            path=path,
        )


def _wrong(entry: ManifestEntry, reason: str) -> CorruptFileError:
    return CorruptFileError(
        f"the external manifest store's row of version {entry.version} cannot be followed: its "
        f"path {entry.path[:200]!r} {reason}",
        field="path",
    )


def entry_of(base_uri: str, version: int, path: str, size: int | None) -> ManifestEntry:
    """Build the row of the manifest of ``version`` at ``path``, relative to the table."""
    return ManifestEntry(version, f"{base_uri}/{path}" if base_uri else path, size)


def staging_path(candidate: Candidate) -> str:
    """The staging path of a candidate.

    The uuid in the name is derived from the manifest's bytes: sending a candidate again writes the
    same bytes to the same path, and the row of another candidate cannot name this path.
    """
    digest = hashlib.sha256(candidate.data).digest()
    return f"{candidate.path}-{uuid.UUID(bytes=digest[:16], version=4)}"
