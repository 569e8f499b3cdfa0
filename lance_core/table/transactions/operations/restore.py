"""``Transaction.Restore``: commit the content of an old version as the newest version."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class Restore(Operation):
    """Restores ``version``. `apply` needs this version as `Draft.source`."""

    version: int
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.RESTORE,)

    def apply(self, draft: Draft) -> Draft:
        """The draft with the old content; ids that later versions used are not used again."""
        if draft.source is None or draft.is_new_table:
            raise InvalidInputError(
                f"version {self.version}, which is to be restored, does not exist"
            )
        old = Draft.following(draft.source.manifest, draft.source.index_section)
        used = [id_ for id_ in (old.max_fragment_id, draft.max_fragment_id) if id_ is not None]
        return replace(
            old,
            version=draft.version,
            max_fragment_id=max(used, default=None),
            next_row_id=max(old.next_row_id, draft.next_row_id),
            branch=draft.branch,
            mixed_file_versions=old.mixed_file_versions or draft.mixed_file_versions,
            carried=old.carried.after(draft.carried),
        )

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Restore) -> Restore:
        return cls(message.version, unknown_fields(message))

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.Restore(version=self.version)
        body.MergeFromString(self.unknown)
        message.restore.CopyFrom(body)
