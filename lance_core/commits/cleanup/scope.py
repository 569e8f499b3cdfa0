"""What a cleanup has to look at besides the versions of the table: names for them, other branches.

All branches of a table are below one root, and their versions name files of each other by base
paths. So whoever cleans up one of them has to see all of them.
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
    """``work`` on each of ``items``, results in their order; perhaps several at a time."""

    def __call__(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]: ...


def one_by_one(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The simplest `Each`."""
    return map(work, items)


@dataclass(frozen=True, slots=True)
class CleanupScope:
    """Where the table that is cleaned up stands in the tree of its branches.

    ``branch`` and ``tree``: the name of the branch and a store rooted at the main branch; None if
    it is the main branch itself. ``each`` does many store calls of a kind.
    """

    branch: str | None = None
    tree: ObjectStore | None = None
    each: Each = one_by_one

    @property
    def folder(self) -> str:
        """Where the branch is in the tree, ending in ``/``, "" for the main branch."""
        return "" if self.branch is None else f"{branch_folder(self.branch)}/"


MAIN_SCOPE = CleanupScope()


@dataclass(frozen=True, slots=True)
class Named:
    """Versions of the table that have a name, and so stay.

    ``tags``: by tag. ``branches``: where branches begin, by branch. ``pinned``: that something is
    being made of at this moment. ``lapsed``: paths of pins that their makers left behind.
    ``within``: folders, ending in ``/``, of branches that lie in the table's own folder.
    """

    tags: Mapping[str, int]
    branches: Mapping[str, int]
    pinned: frozenset[int]
    lapsed: tuple[str, ...]
    within: tuple[str, ...]

    @property
    def versions(self) -> frozenset[int]:
        """All of them."""
        return self.pinned.union(self.tags.values(), self.branches.values())


def named_versions(
    store: ObjectStore, scope: CleanupScope, time: StoreTime, pin_age: timedelta
) -> Named:
    """Read the tags and branches. A pin that is older than ``pin_age`` counts no more.

    Raises `CorruptFileError` for a tag or branch that cannot be read, and `UnsupportedFeatureError`
    for names of another kind: which versions they are for is not known.
    """
    tree = scope.tree or store
    dates = {meta.path: meta for meta in store.list(REFS)}
    _check_kinds(dates if tree is store else (meta.path for meta in tree.list(REFS)))
    found = list_tags(store)
    pinned: set[int] = set()
    lapsed = []
    for name, pin in found.items():
        if is_pin(name) and pin.branch in {None, scope.branch}:
            path = tag_path(name)
            age = time.age(dates[path]) if path in dates else None
            if age is not None and age > pin_age:
                lapsed.append(path)
            else:
                pinned.add(pin.version)
    tags = {
        name: tag.version
        for name, tag in (found if tree is store else list_tags(tree)).items()
        if tag.branch == scope.branch and not is_pin(name)
    }
    branches = list_branches(tree)
    return Named(
        tags,
        {n: b.parent_version for n, b in branches.items() if b.parent_branch == scope.branch},
        frozenset(pinned),
        tuple(lapsed),
        _within(branches, scope),
    )


def _check_kinds(paths: Iterable[str]) -> None:
    """Raise `UnsupportedFeatureError` for a name that is neither a tag nor a branch."""
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
    """Paths in the tree of all manifests of other branches, finished or not.

    Branches are found by their folders: one that is being created has no file yet.
    """
    tree = scope.tree or store
    found = [meta.path for meta in tree.list(TREE) if _is_manifest(meta.path)]
    if scope.branch is None:
        return found
    own = f"{scope.folder}{VERSIONS}/"
    found += [meta.path for meta in tree.list(VERSIONS) if _is_manifest(meta.path)]
    return [path for path in found if not path.startswith(own)]


def _is_manifest(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    if folder != VERSIONS and not folder.endswith(f"/{VERSIONS}"):
        return False
    # Of the name of a staged manifest, what follows the final name is made of -<uuid>.
    final, dot, _ = name.partition(".manifest")
    return bool(dot) and parse_manifest_name(f"{final}.manifest") is not None
