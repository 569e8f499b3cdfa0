"""``Transaction.Clone``: create a table or branch from a version of another."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema import has_blobs_v2
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.manifest_parts import BasePath, next_base_id
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class Clone(Operation):
    """The first transaction of a copy of version ``ref_version`` of the table at ``ref_path``.

    A shallow clone refers to the files of the source. ``ref_name`` is the branch of the source,
    None for the main branch; ``branch_name`` is the new branch, None if the clone is a new table.
    `apply` needs the cloned version as `Draft.source`.
    """

    is_shallow: bool
    ref_name: str | None
    ref_version: int
    ref_path: str
    branch_name: str | None = None
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.CLONE,)

    def apply(self, draft: Draft) -> Draft:
        """The draft of the clone; a shallow clone refers to all files through base paths.

        A deep clone has copies of the files.
        """
        source = draft.source
        if not draft.is_new_table:
            raise InvalidInputError("a clone must be the first version of a table, but one exists")
        if source is None or source.manifest.version != self.ref_version:
            raise InvalidInputError(
                f"version {self.ref_version}, which is to be cloned, does not exist"
            )
        old = Draft.following(source.manifest, source.index_section)
        base_paths = old.base_paths if self.is_shallow else _bases_of_blobs(old)
        base_id = None
        if self.is_shallow:
            base_id = next_base_id(base_paths, first=0)
            root = BasePath(base_id, self.ref_path, is_dataset_root=True, name=self.ref_name)
            base_paths = (*base_paths, root)
        location = _Place(base_id, self.is_shallow)
        moved = replace(
            old,
            version=self.ref_version,
            fragments=FragmentList.of(location.fragment(fragment) for fragment in old.fragments),
            base_paths=base_paths,
            branch=self.branch_name,
            source=source,
        )
        return moved.with_indices(
            tuple(
                replace(index, base_id=location.base_id_of(index.base_id)) for index in old.indices
            )
        )

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Clone) -> Clone:
        return cls(
            message.is_shallow,
            message.ref_name if message.HasField("ref_name") else None,
            message.ref_version,
            message.ref_path,
            message.branch_name if message.HasField("branch_name") else None,
            unknown_fields(message),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.Clone(
            is_shallow=self.is_shallow,
            ref_name=self.ref_name,
            ref_version=self.ref_version,
            ref_path=self.ref_path,
            branch_name=self.branch_name,
        )
        body.MergeFromString(self.unknown)
        message.clone.CopyFrom(body)


def _bases_of_blobs(draft: Draft) -> tuple[BasePath, ...]:
    """The base paths that external blobs may refer to; copied files keep these references."""
    if not has_blobs_v2(draft.schema.fields):
        return ()
    return tuple(base for base in draft.base_paths if not base.is_dataset_root)


@dataclass(frozen=True, slots=True)
class _Place:
    """Translation of base ids from the source to the clone.

    ``base_id`` is the base path of the source's root, None if the clone has copies of its files.
    """

    base_id: int | None
    keeps_bases: bool

    def base_id_of(self, current: int | None) -> int | None:
        return current if self.keeps_bases and current is not None else self.base_id

    def fragment(self, fragment: Fragment) -> Fragment:
        deletions = fragment.deletion_file
        if deletions is not None:
            deletions = replace(deletions, base_id=self.base_id_of(deletions.base_id))
        return replace(
            fragment,
            files=tuple(
                replace(file, base_id=self.base_id_of(file.base_id)) for file in fragment.files
            ),
            deletion_file=deletions,
        )
