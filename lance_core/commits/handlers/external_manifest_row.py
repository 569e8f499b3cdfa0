"""What a row of an external manifest store may say, and what it says.

Rows are data that somebody else wrote: a path that leaves the table, or that belongs to another
version, is refused before anything is read, copied or removed by it.
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
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Row:
    """A row, checked. Paths are relative to the table.

    ``path`` is where the manifest is, by the row; ``final`` is where it belongs. They differ as
    long as the commit is half-finished. ``size`` in bytes is None if the row does not say it.
    """

    version: int
    path: str
    final: str
    naming: NamingScheme
    size: int | None = None

    @property
    def is_staged(self) -> bool:
        """Whether the manifest has still to be brought to where it belongs."""
        return self.path != self.final


def row_of(base_uri: str, entry: ManifestEntry) -> Row:
    """What ``entry`` says; `CorruptFileError` if it names no manifest of its version and table."""
    folder = f"{base_uri}/{VERSIONS}/" if base_uri else f"{VERSIONS}/"
    name = entry.path.removeprefix(folder)
    if name == entry.path or len(name) > _LONGEST_NAME:
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
    """`CorruptFileError` if the manifest in place is certainly not the one that ``row`` is about.

    Rows may be kept by path only: two stores that have tables of the same path then share them.
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
    """The row that says that the manifest of ``version`` is at ``path``, relative to the table."""
    return ManifestEntry(version, f"{base_uri}/{path}" if base_uri else path, size)


def staging_path(candidate: Candidate) -> str:
    """Where a candidate waits.

    The uuid in the name is made of the manifest's bytes: sending a candidate again writes the same
    bytes to the same place, and no other candidate's row can name it.
    """
    digest = hashlib.sha256(candidate.data).digest()
    return f"{candidate.path}-{uuid.UUID(bytes=digest[:16], version=4)}"
