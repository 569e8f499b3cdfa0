"""Check that the new files of a commit exist before it is published.

A cleanup may remove files that no version names: at an age of 7 days, or at once if its caller
guarantees that no other process writes to the table. A version that names a removed file cannot be
read, nor can any later version. So a commit checks its files unless they are known to be fresh.
Files of a base path are not checked: no cleanup of this table removes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from lance_core.errors import CommitFileMissingError, ObjectNotFoundError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.table.file_references import fragment_references, has_other_files
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.file import ManifestFile


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a version names and its predecessor does not; ``size`` in bytes or None."""

    path: str
    size: int | None = None


Each: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""Applies a function to several files or versions, perhaps to some at the same time; yields the
results in their order, like ``map``."""


def check_new_files(store: ObjectStore, files: Iterable[NewFile], each: Each) -> None:
    """Raise `CommitFileMissingError` if one of the `new_files` is missing or incomplete.

    Sends one request for each file. If the size of a file is unknown, only its existence is
    checked.
    """
    for problem in each(lambda new_file: _problem(store, new_file), files):
        if problem is not None:
            raise problem


def check_existence(store: ObjectStore, files: Sequence[NewFile]) -> None:
    """Raise `CommitFileMissingError` if one of ``files`` is missing.

    For stores that can tell at a lower cost than by `ObjectStore.head`.
    """
    existing = frozenset(store.existing([new_file.path for new_file in files]))
    check_new_files(store, (file for file in files if file.path not in existing), map)


def new_files(file: ManifestFile, before: ManifestFile | None) -> list[NewFile]:
    """Files in the table's folders that the fragments of ``file``, but not of ``before``, name."""
    files: dict[str, NewFile] = {}
    old = FragmentList() if before is None else before.manifest.fragments
    for fragment in file.manifest.fragments.without(old):
        predecessor = _predecessor(before, fragment.id)
        known = {} if predecessor is None else _sizes(before, predecessor)
        for path, size in _sizes(file, fragment).items():
            if path not in known:
                files[path] = NewFile(path, size)
    return list(files.values())


def _predecessor(before: ManifestFile | None, number: int) -> Fragment | None:
    newest = None if before is None else before.manifest.max_fragment_id
    if before is None or newest is None or number > newest:
        return None
    return before.manifest.fragments.by_id(number)


def _sizes(file: ManifestFile | None, fragment: Fragment) -> dict[str, int | None]:
    """The files in the table's folders that a fragment of ``file`` names, and sizes if known."""
    sizes = {
        data_file.store_path(): data_file.trusted_size
        for data_file in fragment.files
        if data_file.base_id is None
    }
    if file is not None and has_other_files(fragment):
        for reference in fragment_references(file.manifest, fragment):
            if not reference.is_folder and reference.base_id is None:
                sizes.setdefault(reference.path)
    return sizes


def _problem(store: ObjectStore, new_file: NewFile) -> CommitFileMissingError | None:
    try:
        size = store.head(new_file.path).size
    except ObjectNotFoundError:
        return CommitFileMissingError(
            f"not committed: {new_file.path!r}, a file of the new version, does not exist. Most "
            "likely a cleanup has removed it: it removes files that no version names after 7 days, "
            "or at once with delete_unverified. Write the rows again",
            new_file.path,
        )
    if new_file.size is None or size == new_file.size:
        return None
    return CommitFileMissingError(
        f"not committed: {new_file.path!r}, a file of the new version, has {size} bytes instead of "
        f"{new_file.size}: another file has taken its place, or a copy of it is incomplete",
        new_file.path,
    )
