"""`Branches`: separate histories that start from a version of their parent.

The creation first writes the record of the branch and then its first version. So only one of
several concurrent writers creates a branch of a given name, and a cleanup of the parent keeps the
version that the branch starts from. An interrupted creation leaves a branch without versions, which
can be deleted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.commits import refs
from lance_core.dataset.maintenance.clone import clone_to, with_handler_of
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.open_table import Reference
from lance_core.dataset.snapshot.snapshot import HasSnapshot, Snapshot, TableRoot
from lance_core.dataset.tags import by_number, target_of
from lance_core.errors import (
    CommitUnknownError,
    DatasetExistsError,
    LanceError,
    RefConflictError,
)
from lance_core.plugins.handler_choice import MARKER
from lance_core.store.base import ObjectStore
from lance_core.table.refs import Branch, branch_path, check_branch_name

if TYPE_CHECKING:
    from lance_core.dataset.values import listings


@short_tracebacks
class Branches:
    """The branches of a table except the main one; `LanceDataset.create_branch` creates them."""

    def __init__(self, dataset: HasSnapshot) -> None:
        self._dataset = dataset

    def list(self) -> dict[str, listings.Branch]:
        """Each branch by name: its parent (None: main), the parent's version, time and metadata."""
        return {name: _described(b) for name, b in refs.list_branches(self._store).items()}

    def list_ordered(self, order: str | None = None) -> Sequence[tuple[str, listings.Branch]]:
        """The branches by the version they start from, highest first unless ``order`` is "asc"."""
        every = refs.list_branches(self._store)
        ordered = by_number(every, lambda branch: branch.parent_version, order)
        return [(name, _described(branch)) for name, branch in ordered]

    def delete(self, branch: str, *, force: bool = False) -> None:
        """Remove a branch with all its versions and files.

        No process may write to the branch at the same time.

        ``force``: if the branch does not exist, remove the files that an interrupted creation or
        deletion (by any library) left. Raises `RefNotFoundError`, and `RefConflictError` if a tag
        or another branch references the branch.
        """
        snapshot = self._dataset.snapshot
        table = open_table.table_of(snapshot.root)
        inherited = snapshot.manifest.config.get(MARKER)
        root = open_table.with_newest_versions_handler(
            open_table.branch_root(table, check_branch_name(branch)), inherited
        )
        refs.delete_branch(table.store, branch, force=force)
        root.handler.forget()

    def replace_metadata(self, branch: str, metadata: Mapping[str, str]) -> None:
        """Replace the metadata of a branch; raises `RefNotFoundError` if it does not exist."""
        refs.replace_branch_metadata(self._store, branch, metadata)

    @property
    def _store(self) -> ObjectStore:
        return open_table.table_of(self._dataset.snapshot.root).store


def create_branch(snapshot: Snapshot, name: str, reference: Reference = None) -> Snapshot:
    """Create a branch that starts from a version, and open it.

    ``reference`` has the meaning of `Tags.create`. Raises `InvalidRefError`, `RefConflictError` if
    the branch exists or a former one left files, `DatasetNotFoundError` if the version does not
    exist, and `CommitUnknownError`. After any other error than the last nothing of the branch
    remains.
    """
    check_branch_name(name, new=True)
    target = target_of(snapshot, reference)
    table = open_table.table_of(snapshot.root)
    root = open_table.branch_root(table, name)
    if reference is not None:
        start = open_table.branch_root(table, target.branch)
        snapshot = open_table.open_version(start, target.version)
    root = with_handler_of(root, snapshot)
    root.check_can_commit()
    refs.create_branch(table.store, name, target)
    try:
        # A cleanup that did not see the branch's record may have removed the version by now.
        open_table.locate(snapshot.root, target.version)
        _refuse_leftovers(root, name)
        return clone_to(root, snapshot, target.branch, name)
    except CommitUnknownError:
        raise
    except LanceError as error:
        with contextlib.suppress(LanceError):
            table.store.delete(branch_path(name))
        if isinstance(error, DatasetExistsError):
            raise _leftovers(name) from error
        raise


def _refuse_leftovers(root: TableRoot, name: str) -> None:
    if root.handler.latest() is not None:
        raise _leftovers(name)


def _leftovers(name: str) -> RefConflictError:
    return RefConflictError(
        f"Ref conflict error: there are versions of a former branch {name}, whose deletion or "
        f"creation was interrupted; branches.delete({name!r}, force=True) removes them"
    )


def _described(branch: Branch) -> listings.Branch:
    return {
        "parent_branch": branch.parent_branch,
        "branch_identifier": list(branch.identifier),
        "parent_version": branch.parent_version,
        "create_at": branch.created_at,
        "manifest_size": branch.manifest_size,
        "metadata": dict(branch.metadata),
    }
