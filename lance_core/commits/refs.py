"""Read and write a table's tags and branches.

``store`` is rooted at the table, not at one of its branches. Creating a ref is atomic: if the store
guarantees put-if-absent, one of several concurrent creations succeeds; otherwise the last one wins.
Changing a ref replaces its file; the last of several concurrent changes wins. The caller checks
that the version of a ref exists.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
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
from lance_core.lazy_dataclass import dataclass, replace
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
    """The version that a ref names. ``branch`` is None for main; ``manifest_size`` is in bytes."""

    version: int
    branch: str | None = None
    manifest_size: int = 0


def list_tags(store: ObjectStore) -> dict[str, Tag]:
    """All tags by name, in ascending order; raises `CorruptFileError` for an invalid file."""
    return _list(store, TAGS, name_of_tag_file, get_tag)


def get_tag(store: ObjectStore, name: str) -> Tag:
    """A tag; `RefNotFoundError` if there is none, `InvalidRefError` for an invalid name."""
    path = tag_path(name)
    return Tag.from_json(_read(store, path, f"tag {name}"), path)


def create_tag(
    store: ObjectStore, name: str, target: RefTarget, environment: Environment = SYSTEM
) -> Tag:
    """Create a tag and return it; raises `RefConflictError` if the name is in use."""
    check_tag_name(name, new=True)
    now = environment.clock()
    tag = Tag(target.version, target.branch, target.manifest_size, now, now)
    _create(store, tag_path(name), tag.to_json(), f"tag {name}")
    return tag


def update_tag(
    store: ObjectStore, name: str, target: RefTarget, environment: Environment = SYSTEM
) -> Tag:
    """Move a tag to another version; `RefNotFoundError` if there is no such tag."""
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
    """Replace the metadata of a tag; `RefNotFoundError` if there is no such tag."""
    tag = replace(get_tag(store, name), metadata=checked_metadata(metadata))
    store.put(tag_path(name), tag.to_json())
    return tag


def delete_tag(store: ObjectStore, name: str) -> None:
    """Remove a tag; `RefNotFoundError` if there is no such tag."""
    path = tag_path(name)
    if not exists(store, path):
        raise RefNotFoundError(f"Ref not found error: tag {name} does not exist")
    store.delete(path)


def list_branches(store: ObjectStore) -> dict[str, Branch]:
    """All branches except main, by name in ascending order; errors like `list_tags`."""
    return _list(store, BRANCHES, name_of_branch_file, get_branch)


def get_branch(store: ObjectStore, name: str) -> Branch:
    """A branch; `RefNotFoundError` if there is none, `InvalidRefError` for an invalid name."""
    path = branch_path(name)
    return Branch.from_json(_read(store, path, f"branch {name}"), path)


def create_branch(
    store: ObjectStore, name: str, parent: RefTarget, environment: Environment = SYSTEM
) -> Branch:
    """Record a branch whose first version exists already.

    Raises `RefConflictError` if the name is in use, `RefNotFoundError` if the parent branch does
    not exist.
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
    """Replace the metadata of a branch; raises `RefNotFoundError` if it does not exist."""
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
    """Remove an unreferenced branch: its versions, its other files, then its own file.

    The newest version is the last version to be removed: a concurrent reader finds the whole branch
    or no version, and the name is in use until the end. An interrupted deletion can be repeated.
    ``force`` also removes files in the folder of a branch that does not exist. Without it, raises
    `RefNotFoundError` if the branch does not exist. Raises `RefConflictError` like
    `check_unreferenced`.
    """
    path = branch_path(name)
    if not force and not exists(store, path):
        raise RefNotFoundError(f"Ref not found error: branch {name} does not exist")
    check_unreferenced(store, name)
    manifests = {}
    for file in _files_of(store, name):
        folder, _, file_name = file.rpartition("/")
        parsed = parse_manifest_name(file_name)
        if parsed is not None and folder == f"{branch_folder(name)}/{VERSIONS}":
            manifests[file] = parsed.version
    for manifest in sorted(manifests, key=lambda manifest: manifests[manifest]):
        store.delete(manifest)
    for file in _files_of(store, name):
        store.delete(file)
    store.delete(path)


def _files_of(store: ObjectStore, name: str) -> list[str]:
    """All objects of a branch, except those of branches inside its folder."""
    folder = branch_folder(name)
    inner = tuple(
        f"{branch_folder(other)}/" for other in list_branches(store) if other.startswith(f"{name}/")
    )
    return [path for path in list_paths(store, folder) if not path.startswith(inner)]


def checked_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """A copy of ``metadata``; `InvalidInputError` unless all keys and values are text."""
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
    refs: dict[str, R] = {}
    for name in names:
        with contextlib.suppress(RefNotFoundError):  # removed after the listing
            refs[name] = read(store, name)
    return refs


def _read(store: ObjectStore, path: str, what: str) -> bytes:
    try:
        stored = store.get(path)
    except ObjectNotFoundError:
        raise RefNotFoundError(f"Ref not found error: {what} does not exist") from None
    if stored.size > MAX_REF_BYTES:
        raise CorruptFileError(
            f"the ref has {stored.size} bytes; the limit is {MAX_REF_BYTES}", path
        )
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
        # If a response was lost and the call sent again, the existing file is ours.
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
