"""The set of files that versions need, with a membership test by path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lance_core.lazy_dataclass import replace
from lance_core.table.file_references import Reference, fragment_references, references
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest.unknown_content import check_fragment_understood, check_understood
from lance_core.table.manifest_parts import BasePath


class Reachable:
    """The files of one table that the versions added so far need, by path from the table's root.

    A base path may refer to this table itself. Its text does not show this reliably (links, host
    aliases), so a reference through a base path counts as a reference to every file of this table
    that it could mean.
    """

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._files_of_bases: set[str] = set()
        self._folders_of_bases: set[str] = set()
        self._seen: set[tuple[tuple[BasePath, ...], bool, bytes]] = set()

    def add(self, file: ManifestFile, own: bool = True) -> None:
        """Add all files of a version; ``own`` is False if the version belongs to another root.

        Raises `UnsupportedFeatureError` if the version may name files unknown to this library, and
        `CorruptFileError` like `references`.
        """
        check_understood(file)
        for reference in self._references(file, own):
            if reference.base_id is None and own:
                (self._folders if reference.is_folder else self._files).add(reference.path)
            elif reference.base_id is not None:
                through = self._folders_of_bases if reference.is_folder else self._files_of_bases
                through.add(reference.path)

    def _references(self, file: ManifestFile, own: bool) -> Iterator[Reference]:
        # Successive versions share nearly all fragments; each fragment is processed once.
        manifest = file.manifest
        for index, raw in enumerate(manifest.fragments.raw):
            key = (manifest.base_paths, own, raw)
            if key not in self._seen:
                self._seen.add(key)
                check_fragment_understood(raw)
                yield from fragment_references(manifest, manifest.fragments[index])
        yield from references(_without_fragments(file))

    def __contains__(self, path: str) -> bool:
        """True if any added version needs the file at ``path``."""
        if path in self._files or not self._folders.isdisjoint(_parents(path)):
            return True
        if not self._files_of_bases and not self._folders_of_bases:
            return False
        return any(
            tail in self._files_of_bases or not self._folders_of_bases.isdisjoint(_parents(tail))
            for tail in _tails(path)
        )


def _without_fragments(file: ManifestFile) -> ManifestFile:
    manifest = replace(file.manifest, fragments=FragmentList())
    return ManifestFile(manifest, file.index_section)


def _parents(path: str) -> Iterable[str]:
    """All parent folders of ``path``."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _tails(path: str) -> Iterable[str]:
    """``path`` and each of its suffixes without leading folders: any of them can be the base."""
    yield path
    while "/" in path:
        path = path.partition("/")[2]
        yield path
