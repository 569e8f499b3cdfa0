"""Remove the files that a change has written, if and only if the change has certainly failed.

Before the commit starts, no version can reference the files, so any failure removes them. After
that, only an error that guarantees that nothing was committed removes them. After an unknown
outcome, an interruption, or an error after the commit, the files stay, because a version may
reference them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field

from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.dataset.write.commit import commit
from lance_core.dataset.write.target_bases import TargetBase
from lance_core.errors import CommitUnknownError, LanceError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.functions import list_paths
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.transactions.transaction import Transaction


@dataclass(slots=True)
class NewFiles:
    """The files that a change has written so far, mostly as the fragments that reference them.

    ``data``: fragments with new data files and their blobs. ``deletions``: fragments with new
    deletion files. ``others``: paths of other files. ``targets``: the locations of data files in
    base paths. ``is_sent``: True from the start of the commit
    on. ``is_committed``: True after its success; then nothing removes the files.
    """

    root: TableRoot
    data: list[Fragment] = field(default_factory=list)
    deletions: list[Fragment] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    targets: Sequence[TargetBase] = ()
    is_sent: bool = False
    is_committed: bool = False

    def commit(
        self, base: Snapshot | None, transaction: Transaction, options: CommitOptions
    ) -> Snapshot:
        """Commit a version that references the files; see `commit.commit`.

        Deletion files that the commit has merged into newer ones are removed.
        """
        self.is_sent = True
        made = commit(self.root, base, transaction, options)
        self.is_committed = True
        discard_deletion_files(self.root, self._superseded(made))
        return made

    def _superseded(self, made: Snapshot) -> Iterator[Fragment]:
        """The fragments whose deletion files a merge with concurrent deletes has replaced."""
        for fragment in self.deletions:
            current = made.manifest.fragments.by_id(fragment.id)
            if current is None or current.deletion_file != fragment.deletion_file:
                yield fragment

    def discard_others(self, is_unused: Callable[[str], bool]) -> None:
        """Remove those of ``others`` that the committed version does not name."""
        for path in filter(is_unused, self.others):
            with contextlib.suppress(Exception):
                self.root.store.delete(path)

    def discard(self) -> None:
        """Remove all these files."""
        discard_data_files(self.root, self.data, self.targets)
        discard_deletion_files(self.root, self.deletions)
        self.discard_others(lambda _: True)


@contextlib.contextmanager
def discard_on_failure(root: TableRoot, targets: Sequence[TargetBase] = ()) -> Iterator[NewFiles]:
    """A context for a change of ``root``, which adds its files to `NewFiles` and may commit them.

    ``targets``: the locations of its data files, if some are in base paths. If the change has
    certainly failed, the files are removed.
    """
    files = NewFiles(root, targets=targets)
    try:
        yield files
    except CommitUnknownError:
        raise
    except BaseException as error:
        has_failed = not files.is_sent or isinstance(error, LanceError)
        if has_failed and not files.is_committed:
            files.discard()
        raise


def discard_data_files(
    root: TableRoot, fragments: Iterable[Fragment], targets: Sequence[TargetBase] = ()
) -> None:
    """Remove the data files of ``fragments``; the caller ensures that no version references them.

    Files in base paths that ``targets`` does not have are left. A file that cannot be removed stays
    unreferenced until a cleanup removes it.
    """
    by_id = {None: TargetBase(root.store), **{target.base_id: target for target in targets}}
    for fragment in fragments:
        for file in fragment.files:
            with contextlib.suppress(Exception):
                target = by_id[file.base_id]
                path = target.data_file_path(file.path)
                target.store.delete(path)
                if file.version_facts.stores.blobs_v2:
                    for blobs in list_paths(target.store, path.removesuffix(".lance")):
                        target.store.delete(blobs)


def discard_deletion_files(root: TableRoot, fragments: Iterable[Fragment]) -> None:
    """Remove the deletion files of ``fragments``; see `discard_data_files` for the conditions."""
    for fragment in fragments:
        if fragment.deletion_file is not None:
            with contextlib.suppress(Exception):
                root.store.delete(fragment.deletion_file.store_path(fragment.id))
