"""The context of a cleanup beyond the table's versions: tags, pins and other branches.

All branches of a table are below one root, and their versions name each other's files through base
paths. So a cleanup of one branch must read all branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Protocol, TypeVar

from lance_core.commits.cleanup.pins import is_pin
from lance_core.commits.refs import list_branches, list_tags
from lance_core.commits.store_time import StoreTime
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.table.paths import VERSIONS, parse_manifest_name
from lance_core.table.refs import BRANCHES, REFS, TAGS, TREE, branch_folder, tag_path

T = TypeVar("T")
R = TypeVar("R")


class Each(Protocol):
    """Applies ``work`` to ``items``, perhaps concurrently; yields the results in order."""

    def __call__(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]: ...


def one_by_one(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """`Each` without concurrency."""
    return map(work, items)


@dataclass(frozen=True, slots=True)
class CleanupScope:
    """The position of the cleaned table in its tree of branches.

    ``branch`` is the name of the branch and ``tree`` a store rooted at the main branch; both are
    None for the main branch itself. ``each`` runs many store calls of one kind.
    """

    branch: str | None = None
    tree: ObjectStore | None = None
    each: Each = one_by_one

    @property
    def folder(self) -> str:
        """The folder of the branch in ``tree``, ending in ``/``; "" for the main branch."""
        return "" if self.branch is None else f"{branch_folder(self.branch)}/"


MAIN_SCOPE = CleanupScope()


@dataclass(frozen=True, slots=True)
class NamedVersions:
    """Versions of the table that are kept because they have a name.

    ``tags``: versions by tag. ``branches``: first versions of branches, by branch. ``pinned``:
    versions from which a commit in progress is derived. ``lapsed``: paths of expired pins.
    ``within``: folders, ending in ``/``, of branches that are inside the table's own folder.
    """

    tags: Mapping[str, int]
    branches: Mapping[str, int]
    pinned: frozenset[int]
    lapsed: tuple[str, ...]
    within: tuple[str, ...]

    @property
    def versions(self) -> frozenset[int]:
        """The numbers of all named versions."""
        return self.pinned.union(self.tags.values(), self.branches.values())


def named_versions(
    store: ObjectStore, scope: CleanupScope, time: StoreTime, pin_age: timedelta
) -> NamedVersions:
    """Read the tags and branches; a pin older than ``pin_age`` is expired.

    Raises `CorruptFileError` for a tag or branch that cannot be read, and `UnsupportedFeatureError`
    for references of an unknown kind, because the versions that they protect are unknown.
    """
    tree = scope.tree or store
    dates = {meta.path: meta for meta in store.list(REFS)}
    _check_kinds(dates if tree is store else (meta.path for meta in tree.list(REFS)))
    refs = list_tags(store)
    pinned: set[int] = set()
    lapsed = []
    for name, pin in refs.items():
        if is_pin(name) and pin.branch in {None, scope.branch}:
            path = tag_path(name)
            age = time.age(dates[path]) if path in dates else None
            if age is not None and age > pin_age:
                lapsed.append(path)
            else:
                pinned.add(pin.version)
    tags = {
        name: tag.version
        for name, tag in (refs if tree is store else list_tags(tree)).items()
        if tag.branch == scope.branch and not is_pin(name)
    }
    branches = list_branches(tree)
    return NamedVersions(
        tags,
        {n: b.parent_version for n, b in branches.items() if b.parent_branch == scope.branch},
        frozenset(pinned),
        tuple(lapsed),
        _within(branches, scope),
    )


def _check_kinds(paths: Iterable[str]) -> None:
    """Raise `UnsupportedFeatureError` for a reference that is neither a tag nor a branch."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder not in {REFS, TAGS, BRANCHES} and name.endswith(".json"):
            raise UnsupportedFeatureError(
                f"unsupported kind of reference {path!r}: which versions it protects is not known"
            )


def _within(branches: Iterable[str], scope: CleanupScope) -> tuple[str, ...]:
    if scope.branch is None:
        return ()
    start = f"{scope.branch}/"
    return tuple(f"{name[len(start) :]}/" for name in branches if name.startswith(start))


def other_manifests(store: ObjectStore, scope: CleanupScope) -> list[str]:
    """The paths, in the tree, of all manifests of other branches, including staged ones.

    Branches are found by their folders, because a branch that is being created has no file yet.
    """
    tree = scope.tree or store
    manifests = [meta.path for meta in tree.list(TREE) if _is_manifest(meta.path)]
    if scope.branch is None:
        return manifests
    own = f"{scope.folder}{VERSIONS}/"
    manifests += [meta.path for meta in tree.list(VERSIONS) if _is_manifest(meta.path)]
    return [path for path in manifests if not path.startswith(own)]


def _is_manifest(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    if folder != VERSIONS and not folder.endswith(f"/{VERSIONS}"):
        return False
    # A staged manifest's name is the final name followed by -<uuid>.
    final, dot, _ = name.partition(".manifest")
    return bool(dot) and parse_manifest_name(f"{final}.manifest") is not None
