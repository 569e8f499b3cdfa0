"""``DataFragment`` (``table.proto``): a set of rows, stored in files with different columns."""

from __future__ import annotations

from lance_core._pb import table_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.data_file import TOMBSTONE, DataFile, ExternalFile
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.unknown_fields import all_known, parse, unknown_fields

MAX_FRAGMENT_ID = (1 << 32) - 1
"""A row address has 32 bits for the fragment id."""

Sequence = bytes | ExternalFile | None
"""A sequence with one entry per row: serialized bytes, a part of a file, or None if absent."""


def check_fragment_id(number: int) -> None:
    """Raise `CorruptFileError` if the id is above `MAX_FRAGMENT_ID`."""
    if number > MAX_FRAGMENT_ID:
        raise CorruptFileError(
            f"fragment id {number} is above {MAX_FRAGMENT_ID}", field="DataFragment.id"
        )


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment of a version.

    ``physical_rows`` includes deleted rows; None if unknown (tables of 0.8 and earlier).
    ``row_ids`` is a ``RowIdSequence``, the two version sequences are
    ``RowDatasetVersionSequence``; each has one entry per physical row. ``overlays`` are undecoded
    ``DataOverlayFile`` messages; a feature flag rejects tables that have any.
    """

    id: int
    files: tuple[DataFile, ...] = ()
    deletion_file: DeletionFile | None = None
    physical_rows: int | None = None
    row_ids: Sequence = None
    last_updated_at_versions: Sequence = None
    created_at_versions: Sequence = None
    overlays: tuple[bytes, ...] = ()
    unknown: bytes = b""

    @property
    def num_deleted_rows(self) -> int | None:
        """Number of deleted rows in the manifest; None if unknown."""
        return 0 if self.deletion_file is None else self.deletion_file.num_deleted_rows

    @property
    def num_rows(self) -> int | None:
        """Number of rows without deleted ones; None if unknown. `CorruptFileError` if negative."""
        deleted = self.num_deleted_rows
        if self.physical_rows is None or deleted is None:
            return None
        if deleted > self.physical_rows:
            raise CorruptFileError(
                f"fragment {self.id} has {deleted} deleted of {self.physical_rows} rows",
                field="DeletionFile.num_deleted_rows",
            )
        return self.physical_rows - deleted

    def file_of_field(self) -> dict[int, int]:
        """Index in ``files`` of the file that stores a field, by field id.

        The last file that lists an id counts: release 0.10 repaired tables by adding a file.
        """
        return {
            field: number
            for number, file in enumerate(self.files)
            for field in file.fields
            if field != TOMBSTONE
        }

    @classmethod
    def from_bytes(cls, data: bytes) -> Fragment:
        """Decode a serialized ``DataFragment``. Raises `CorruptFileError` for other bytes."""
        message = parse(table_pb2.DataFragment, data, "Manifest.fragments")
        if all_known(message, len(data)):
            return cls.from_proto(message, keep_unknown=False)
        return cls.from_proto(parse(table_pb2.DataFragment, data, "Manifest.fragments"))

    def to_bytes(self) -> bytes:
        """The serialized ``DataFragment``."""
        return self.to_proto().SerializeToString()

    @classmethod
    def from_proto(cls, message: table_pb2.DataFragment, keep_unknown: bool = True) -> Fragment:
        """Decode a message; pass ``keep_unknown=False`` only if it has no unknown fields."""
        arms = (
            message.WhichOneof("row_id_sequence"),
            message.WhichOneof("last_updated_at_version_sequence"),
            message.WhichOneof("created_at_version_sequence"),
        )
        row_ids, updated, created = [arm and _sequence(message, arm) for arm in arms]
        overlays = message.overlays
        return cls(
            id=message.id,
            files=tuple([DataFile.from_proto(file, keep_unknown) for file in message.files]),
            deletion_file=(
                DeletionFile.from_proto(message.deletion_file, keep_unknown)
                if message.HasField("deletion_file")
                else None
            ),
            physical_rows=message.physical_rows or None,
            row_ids=row_ids,
            last_updated_at_versions=updated,
            created_at_versions=created,
            overlays=tuple([part.SerializeToString() for part in overlays]) if overlays else (),
            unknown=unknown_fields(message) if keep_unknown else b"",
        )

    def to_proto(self) -> table_pb2.DataFragment:
        message = table_pb2.DataFragment(
            id=self.id,
            files=[file.to_proto() for file in self.files],
            deletion_file=None if self.deletion_file is None else self.deletion_file.to_proto(),
            physical_rows=self.physical_rows or 0,
        )
        sequences: tuple[tuple[str, Sequence], ...] = (
            ("row_ids", self.row_ids),
            ("last_updated_at_versions", self.last_updated_at_versions),
            ("created_at_versions", self.created_at_versions),
        )
        for name, sequence in sequences:
            if isinstance(sequence, bytes):
                setattr(message, f"inline_{name}", sequence)
            elif sequence is not None:
                getattr(message, f"external_{name}").CopyFrom(sequence.to_proto())
        for overlay in self.overlays:
            message.overlays.add().MergeFromString(overlay)
        if self.unknown:
            message.MergeFromString(self.unknown)
        return message


def _sequence(message: table_pb2.DataFragment, arm: str) -> Sequence:
    value = getattr(message, arm)
    return value if isinstance(value, bytes) else ExternalFile.from_proto(value)
