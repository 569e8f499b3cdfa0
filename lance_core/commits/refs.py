"""Reading and writing a table's tags and branches.

``store`` is rooted at the table, not at one of its branches. A ref comes to be in one step: of
several who create the same one, a single one succeeds where the store can put if absent; elsewhere
the last one wins. Changing a ref replaces its file: of several who do so at a time, the last wins.

Whether what a ref points to is there, the caller finds out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    RefConflictError,
    RefNotFoundError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import Guarantee, ObjectStore, PutMode
from lance_core.store.functions import exists, list_paths
from lance_core.table.paths import VERSIONS, parse_manifest_name
from lance_core.table.refs import (
    BRANCHES,
    MAX_REF_BYTES,
    TAGS,
    Branch,
    Tag,
    branch_folder,
    branch_path,
    check_branch_name,
    check_tag_name,
    name_of_branch_file,
    name_of_tag_file,
    tag_path,
)

R = TypeVar("R", Tag, Branch)


@dataclass(frozen=True, slots=True)
class RefTarget:
    """A version as refs name it. ``branch`` is None for main; ``manifest_size`` is in bytes."""

    version: int
    branch: str | None = None
    manifest_size: int = 0


def list_tags(store: ObjectStore) -> dict[str, Tag]:
    """All tags, by name in ascending order; `CorruptFileError` for a file that is none."""
    return _list(store, TAGS, name_of_tag_file, get_tag)


def get_tag(store: ObjectStore, name: str) -> Tag:
    """A tag; `RefNotFoundError` if there is none, `InvalidRefError` if there cannot be."""
    path = tag_path(name)
    return Tag.from_json(_read(store, path, f"tag {name}"), path)


def create_tag(
    store: ObjectStore, name: str, target: RefTarget, environment: Environment = SYSTEM
) -> Tag:
    """Make a tag; `RefConflictError` if there is one of that name."""
    check_tag_name(name, new=True)
    now = environment.clock()
    tag = Tag(target.version, target.branch, target.manifest_size, now, now)
    _create(store, tag_path(name), tag.to_json(), f"tag {name}")
    return tag


def update_tag(
    store: ObjectStore, name: str, target: RefTarget, environment: Environment = SYSTEM
) -> Tag:
    """Let a tag name another version; `RefNotFoundError` if there is no such tag."""
    tag = replace(
        get_tag(store, name),
        version=target.version,
        branch=target.branch,
        manifest_size=target.manifest_size,
        updated_at_ns=environment.clock(),
    )
    store.put(tag_path(name), tag.to_json())
    return tag


def replace_tag_metadata(store: ObjectStore, name: str, metadata: Mapping[str, str]) -> Tag:
    """Give a tag this metadata instead of what it has; `RefNotFoundError` if there is none."""
    tag = replace(get_tag(store, name), metadata=checked_metadata(metadata))
    store.put(tag_path(name), tag.to_json())
    return tag


def delete_tag(store: ObjectStore, name: str) -> None:
    """Remove a tag; `RefNotFoundError` if there is none."""
    path = tag_path(name)
    if not exists(store, path):
        raise RefNotFoundError(f"Ref not found error: tag {name} does not exist")
    store.delete(path)


def list_branches(store: ObjectStore) -> dict[str, Branch]:
    """All branches but main, by name in ascending order; errors as of `list_tags`."""
    return _list(store, BRANCHES, name_of_branch_file, get_branch)


def get_branch(store: ObjectStore, name: str) -> Branch:
    """A branch; `RefNotFoundError` if there is none, `InvalidRefError` if there cannot be."""
    path = branch_path(name)
    return Branch.from_json(_read(store, path, f"branch {name}"), path)


def create_branch(
    store: ObjectStore, name: str, parent: RefTarget, environment: Environment = SYSTEM
) -> Branch:
    """Record a branch whose first version is in place already.

    Raises `RefConflictError` if there is one of that name, `RefNotFoundError` if there is no parent
    branch.
    """
    check_branch_name(name, new=True)
    way = () if parent.branch is None else get_branch(store, parent.branch).identifier
    branch = Branch(
        parent.version,
        parent.branch,
        (*way, (parent.version, environment.new_uuid().hex)),
        environment.clock() // 10**9,
        parent.manifest_size,
    )
    _create(store, branch_path(name), branch.to_json(), f"branch {name}")
    return branch


def replace_branch_metadata(store: ObjectStore, name: str, metadata: Mapping[str, str]) -> Branch:
    """Give a branch this metadata instead of what it has; `RefNotFoundError` if there is none."""
    branch = replace(get_branch(store, name), metadata=checked_metadata(metadata))
    store.put(branch_path(name), branch.to_json())
    return branch


def check_unreferenced(store: ObjectStore, name: str) -> None:
    """Raise `RefConflictError` if a tag or another branch refers to branch ``name``."""
    children = [
        (child, branch.parent_version)
        for child, branch in list_branches(store).items()
        if branch.parent_branch == name
    ]
    if children:
        raise RefConflictError(
            f"Ref conflict error: branch {name} is referenced by branches {children}, "
            "it cannot be deleted"
        )
    tags = [(tag, at.version) for tag, at in list_tags(store).items() if at.branch == name]
    if tags:
        raise RefConflictError(
            f"Ref conflict error: branch {name} is referenced by tags {tags}, it cannot be deleted"
        )


def delete_branch(store: ObjectStore, name: str, *, force: bool = False) -> None:
    """Remove a branch that nothing refers to: its versions, its other files, then its own file.

    The newest version goes last of the versions: whoever looks meanwhile finds all of it or no
    version at all, and until the end nobody can make another branch of that name. An interrupted
    deletion can be repeated. With ``force``, files that stayed behind where there is no such branch
    are removed as well. Otherwise raises `RefNotFoundError` if there is no such branch, and
    `RefConflictError` as `check_unreferenced` does.
    """
    path = branch_path(name)
    if not force and not exists(store, path):
        raise RefNotFoundError(f"Ref not found error: branch {name} does not exist")
    check_unreferenced(store, name)
    manifests = {}
    for found in _files_of(store, name):
        folder, _, file_name = found.rpartition("/")
        parsed = parse_manifest_name(file_name)
        if parsed is not None and folder == f"{branch_folder(name)}/{VERSIONS}":
            manifests[found] = parsed.version
    for manifest in sorted(manifests, key=lambda found: manifests[found]):
        store.delete(manifest)
    for found in _files_of(store, name):
        store.delete(found)
    store.delete(path)


def _files_of(store: ObjectStore, name: str) -> list[str]:
    """All objects of a branch but those of branches whose folders are within its own."""
    folder = branch_folder(name)
    inner = tuple(
        f"{branch_folder(other)}/" for other in list_branches(store) if other.startswith(f"{name}/")
    )
    return [found for found in list_paths(store, folder) if not found.startswith(inner)]


def checked_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """A copy of ``metadata``; `InvalidInputError` unless all of it is text."""
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be a dict, got {type(metadata).__name__}")
    for name, value in metadata.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidInputError(f"metadata {name!r} is not text: {value!r}")
    return dict(metadata)


def _list(
    store: ObjectStore,
    folder: str,
    name_of: Callable[[str], str | None],
    read: Callable[[ObjectStore, str], R],
) -> dict[str, R]:
    names = sorted(filter(None, map(name_of, store.list_names(folder))))
    found: dict[str, R] = {}
    for name in names:
        with contextlib.suppress(RefNotFoundError):  # removed since the listing
            found[name] = read(store, name)
    return found


def _read(store: ObjectStore, path: str, what: str) -> bytes:
    try:
        stored = store.get(path)
    except ObjectNotFoundError:
        raise RefNotFoundError(f"Ref not found error: {what} does not exist") from None
    if stored.size > MAX_REF_BYTES:
        raise CorruptFileError(f"a ref of {stored.size} bytes", path)
    content: bytes = stored.to_pybytes()
    return content


def _create(store: ObjectStore, path: str, content: bytes, what: str) -> None:
    conflict = RefConflictError(f"Ref conflict error: {what} already exists")
    if store.capabilities.put_if_absent is not Guarantee.YES:
        if exists(store, path):
            raise conflict
        store.put(path, content)
        return
    try:
        store.put(path, content, PutMode.create)
    except (ObjectExistsError, OutcomeUnknownError) as error:
        # A response may have been lost and the call sent again: then what is there is ours.
        if _holds(store, path, content):
            return
        if isinstance(error, ObjectExistsError):
            raise conflict from error
        raise


def _holds(store: ObjectStore, path: str, content: bytes) -> bool:
    try:
        return bool(store.get(path).to_pybytes() == content)
    except ObjectNotFoundError:
        return False
