"""Which files a set of versions needs, to be asked path by path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from lance_core.table.file_references import Reference, fragment_references, references
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest.unknown_content import check_fragment_understood, check_understood
from lance_core.table.manifest_parts import BasePath


class Reachable:
    """The files of one table, by path from its root, that the versions added so far need.

    References through base paths lead to places that may, or may not, be this very table: which
    one a base path is cannot be told for certain from its text (links, aliases of hosts). They
    count as references to whatever file of this table could be meant.
    """

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._files_of_bases: set[str] = set()
        self._folders_of_bases: set[str] = set()
        self._seen: set[tuple[tuple[BasePath, ...], bool, bytes]] = set()

    def add(self, file: ManifestFile, own: bool = True) -> None:
        """Take in all files of a version; ``own`` is False if it is one of another root.

        Raises `UnsupportedFeatureError` if the version may name files that this library does not
        know of, and `CorruptFileError` as `references` does.
        """
        check_understood(file)
        for reference in self._references(file, own):
            if reference.base_id is None and own:
                (self._folders if reference.is_folder else self._files).add(reference.path)
            elif reference.base_id is not None:
                through = self._folders_of_bases if reference.is_folder else self._files_of_bases
                through.add(reference.path)

    def _references(self, file: ManifestFile, own: bool) -> Iterator[Reference]:
        # Successive versions share nearly all fragments; each is looked at once.
        manifest = file.manifest
        for place, raw in enumerate(manifest.fragments.raw):
            key = (manifest.base_paths, own, raw)
            if key not in self._seen:
                self._seen.add(key)
                check_fragment_understood(raw)
                yield from fragment_references(manifest, manifest.fragments[place])
        yield from references(_without_fragments(file))

    def __contains__(self, path: str) -> bool:
        """Whether some version needs the file at ``path``."""
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
    """All folders that ``path`` is in."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _tails(path: str) -> Iterable[str]:
    """``path`` and what of it is left without its first folders: a base can be any of them."""
    yield path
    while "/" in path:
        path = path.partition("/")[2]
        yield path
