"""Looking for the files that a commit brings in, before it is published.

Files that no version names may be removed by a cleanup: at an age of 7 days, or at once if the
caller of the cleanup says that nobody else is at work. A version that names such a file cannot be
read, nor can any version after it. So a commit looks for its files unless they are known to be
fresh. Files of a base path are not looked for: no cleanup of this table removes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from lance_core.errors import CommitFileMissingError, ObjectNotFoundError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.table.file_references import fragment_references
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import ManifestFile


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file of a version that the version before it does not name; ``size`` None if unknown."""

    path: str
    size: int | None = None


Look: TypeAlias = Callable[[NewFile], "CommitFileMissingError | None"]
"""What is wrong with a file, None if nothing is."""

Each: TypeAlias = Callable[[Look, Iterable[NewFile]], Iterator["CommitFileMissingError | None"]]
"""Looks for each of several files; the results come in the order of the files, as of ``map``."""


def check_new_files(
    store: ObjectStore, file: ManifestFile, before: ManifestFile | None, each: Each
) -> None:
    """Raise `CommitFileMissingError` if a file that ``file`` brings in is gone or incomplete.

    One request for each file. A file of which the size is not known only has to be there.
    """
    for problem in each(lambda wanted: _problem(store, wanted), new_files(file, before)):
        if problem is not None:
            raise problem


def new_files(file: ManifestFile, before: ManifestFile | None) -> list[NewFile]:
    """Files in the table's own folders that ``file`` names for its fragments and ``before`` not."""
    found: dict[str, NewFile] = {}
    for fragment in _new_fragments(file, before):
        sizes = {
            one.store_path(): one.trusted_size for one in fragment.files if one.base_id is None
        }
        known = _paths(before, _predecessor(before, fragment.id))
        for path in _paths(file, fragment):
            if path not in known:
                found[path] = NewFile(path, sizes.get(path))
    return list(found.values())


def _new_fragments(file: ManifestFile, before: ManifestFile | None) -> Iterator[Fragment]:
    """Those that ``before`` does not have as they are, compared without being decoded."""
    after = file.manifest.fragments
    old = () if before is None else before.manifest.fragments.raw
    if after.raw[: len(old)] == old:
        yield from after[len(old) :]
        return
    known = frozenset(old)
    for position, raw in enumerate(after.raw):
        if raw not in known:
            yield after[position]


def _predecessor(before: ManifestFile | None, number: int) -> Fragment | None:
    newest = None if before is None else before.manifest.max_fragment_id
    if before is None or newest is None or number > newest:
        return None
    return before.manifest.fragments.by_id(number)


def _paths(file: ManifestFile | None, fragment: Fragment | None) -> set[str]:
    if file is None or fragment is None:
        return set()
    found = fragment_references(file.manifest, fragment)
    return {one.path for one in found if not one.is_folder and one.base_id is None}


def _problem(store: ObjectStore, wanted: NewFile) -> CommitFileMissingError | None:
    try:
        size = store.head(wanted.path).size
    except ObjectNotFoundError:
        return CommitFileMissingError(
            f"not committed: {wanted.path!r}, a file of the new version, is not there. Most likely "
            "a cleanup has removed it: files that no version names go when they are 7 days old, or "
            "at once with delete_unverified. Write the rows again",
            wanted.path,
        )
    if wanted.size is None or size == wanted.size:
        return None
    return CommitFileMissingError(
        f"not committed: {wanted.path!r}, a file of the new version, has {size} bytes instead of "
        f"{wanted.size}: another file has taken its place, or a copy of it is incomplete",
        wanted.path,
    )
