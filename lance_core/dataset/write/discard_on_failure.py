"""Removing the files that a change has written, if it certainly fails, and never otherwise.

Until the commit begins, no version can name the files, and any failure discards them. From then on
an error discards them only if it says that nothing was committed. After an unknown outcome the
files may be part of a version; after an interruption nobody knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import field

from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.dataset.write.commit import commit
from lance_core.encodings.version import FileVersion
from lance_core.errors import CommitUnknownError, LanceError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.functions import list_paths
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.paths import data_file_path
from lance_core.table.transactions.transaction import Transaction


@dataclass(slots=True)
class NewFiles:
    """What a change has written so far, by the fragments that name it.

    ``data``: fragments whose data files, with their blobs, are new. ``deletions``: fragments whose
    deletion files are new.
    """

    root: TableRoot
    data: list[Fragment] = field(default_factory=list)
    deletions: list[Fragment] = field(default_factory=list)
    is_sent: bool = False

    def commit(
        self, base: Snapshot | None, transaction: Transaction, options: CommitOptions
    ) -> Snapshot:
        """Make a version that names the files; as `lance_core.dataset.write.commit.commit`."""
        self.is_sent = True
        return commit(self.root, base, transaction, options)

    def discard(self) -> None:
        """Remove all of them."""
        discard_data_files(self.root, self.data)
        discard_deletion_files(self.root, self.deletions)


@contextlib.contextmanager
def discard_on_failure(root: TableRoot) -> Iterator[NewFiles]:
    """A block that writes files of ``root``, tells `NewFiles` of them, and may commit them.

    If it certainly fails, they are removed.
    """
    files = NewFiles(root)
    try:
        yield files
    except CommitUnknownError:
        raise
    except BaseException as error:
        if not files.is_sent or isinstance(error, LanceError):
            files.discard()
        raise


def discard_data_files(root: TableRoot, fragments: Iterable[Fragment]) -> None:
    """Remove the data files of fragments that no version names and none ever will.

    A file that cannot be removed stays, unreferenced; a cleanup removes it.
    """
    for fragment in fragments:
        for file in fragment.files:
            with contextlib.suppress(Exception):
                path = data_file_path(file.path)
                root.store.delete(path)
                if file.file_version >= FileVersion.V2_2.value:
                    for blobs in list_paths(root.store, path.removesuffix(".lance")):
                        root.store.delete(blobs)


def discard_deletion_files(root: TableRoot, fragments: Iterable[Fragment]) -> None:
    """Remove the deletion files of fragments; the rest as `discard_data_files`."""
    for fragment in fragments:
        if fragment.deletion_file is not None:
            with contextlib.suppress(Exception):
                root.store.delete(fragment.deletion_file.store_path(fragment.id))
