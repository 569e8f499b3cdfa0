"""Row counts and file sizes of all fragments of a version, without `Fragment` objects."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from lance_core._pb import frames_pb2, table_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.fragment import MAX_FRAGMENT_ID, check_fragment_id
from lance_core.table.unknown_fields import parse
from lance_core.table.wire_scan import Int64Array, MessageRanges, UnusualMessageError, scan_fields

MANY = 128
"""Fragments from which on numpy reads faster than protobuf."""

_MAX = (1 << 63) - 1

_FRAGMENT = table_pb2.DataFragment
_ID, _ROWS = _FRAGMENT.ID_FIELD_NUMBER, _FRAGMENT.PHYSICAL_ROWS_FIELD_NUMBER
_FILES, _DELETION_FILE = _FRAGMENT.FILES_FIELD_NUMBER, _FRAGMENT.DELETION_FILE_FIELD_NUMBER
_FILE_SIZE = table_pb2.DataFile.FILE_SIZE_BYTES_FIELD_NUMBER
_DELETED_ROWS = table_pb2.DeletionFile.NUM_DELETED_ROWS_FIELD_NUMBER


class Count(IntEnum):
    """The rows of `FragmentCounts.table`."""

    IDS = 0
    PHYSICAL_ROWS = 1
    DELETED_ROWS = 2
    DELETION_FILES = 3
    DATA_FILES = 4
    DATA_BYTES = 5


@dataclass(frozen=True, slots=True, eq=False)
class FragmentCounts:
    """Counts of fragments; 0 for counts that a manifest does not record.

    ``table`` has a row for each `Count` and a column for each fragment, in list order. Physical
    rows include deleted ones. A fragment has 1 or 0 deletion files. Data bytes are the recorded
    sizes of the data files. Numbers from 2^63 on, which no valid table has, are negative.
    """

    table: Int64Array
    # Caches: a scan asks for the number of its rows several times.
    _totals: tuple[int, ...] = ()
    _live: tuple[Int64Array | None, ...] = ()
    _max_rows: int = -1

    @classmethod
    def of(cls, raw: Sequence[bytes]) -> FragmentCounts:
        """The counts in serialized ``DataFragment`` messages, as they are stored.

        Raises `CorruptFileError` for bytes that are not fragments. Parts that have no counts, such
        as paths, are not checked.
        """
        if len(raw) >= MANY:
            try:
                return cls(_scanned(MessageRanges.of(raw)))
            except UnusualMessageError:
                pass
        return cls(*_parsed(raw))

    def __getitem__(self, fragments: slice | npt.NDArray[np.bool_]) -> FragmentCounts:
        """The counts of some fragments."""
        return FragmentCounts(self.table[:, fragments])

    def __add__(self, other: FragmentCounts) -> FragmentCounts:
        return FragmentCounts(np.concatenate([self.table, other.table], axis=1))

    def checked(self) -> FragmentCounts:
        """These counts; raises `CorruptFileError` for impossible ids and counts."""
        is_beyond = self.table.min(initial=0) < 0 or self.ids.max(initial=0) > MAX_FRAGMENT_ID
        wrong = self.deleted_rows > self.physical_rows
        if not is_beyond and not wrong.any():
            return self
        wrong = (wrong & (self.physical_rows > 0)) | (self.table < 0).any(axis=0)
        unsigned = self.table.view(np.uint64)
        check_fragment_id(int(unsigned[Count.IDS].max()))
        if not wrong.any():
            return self
        number = int(np.argmax(wrong))
        rows, deleted = unsigned[[Count.PHYSICAL_ROWS, Count.DELETED_ROWS], number].tolist()
        raise CorruptFileError(
            f"invalid fragment row counts: {rows} physical, {deleted} deleted",
            field=f"Manifest.fragments[{number}]",
        )

    @property
    def ids(self) -> Int64Array:
        return self._of(Count.IDS)

    @property
    def physical_rows(self) -> Int64Array:
        return self._of(Count.PHYSICAL_ROWS)

    @property
    def deleted_rows(self) -> Int64Array:
        return self._of(Count.DELETED_ROWS)

    @property
    def data_files(self) -> Int64Array:
        return self._of(Count.DATA_FILES)

    @property
    def data_bytes(self) -> Int64Array:
        return self._of(Count.DATA_BYTES)

    def _of(self, count: Count) -> Int64Array:
        """One count of each fragment."""
        row: Int64Array = self.table[count]
        return row

    @property
    def has_deletion_files(self) -> bool:
        return bool(self._of(Count.DELETION_FILES).any())

    @property
    def are_known(self) -> npt.NDArray[np.bool_]:
        """True for each fragment whose rows and deleted rows are recorded."""
        known: npt.NDArray[np.bool_] = self.physical_rows != 0
        if self.has_deletion_files:
            known &= (self.deleted_rows != 0) | (self._of(Count.DELETION_FILES) == 0)
        return known

    @property
    def live_rows(self) -> Int64Array | None:
        """The rows of each fragment that are not deleted, None if the count of one is unknown."""
        if not self._live:
            known = self.are_known.all()
            live = self.physical_rows - self.deleted_rows if known else None
            object.__setattr__(self, "_live", (live,))
        return self._live[0]

    @property
    def max_rows(self) -> int:
        """The maximum of the physical rows; 0 if those of one fragment are unknown."""
        if self._max_rows < 0:
            rows = self.physical_rows
            most = int(rows.max(initial=0)) if rows.all() else 0
            object.__setattr__(self, "_max_rows", most)
        return self._max_rows

    @property
    def num_rows(self) -> int | None:
        """The number of rows that are not deleted, None if the count of one fragment is unknown."""
        if self.live_rows is None:
            return None
        totals = self.totals()
        return totals[Count.PHYSICAL_ROWS] - totals[Count.DELETED_ROWS]

    def totals(self) -> tuple[int, ...]:
        """The exact sum of each `Count`, which may exceed 64 bits."""
        if not self._totals:
            object.__setattr__(self, "_totals", self._sums())
        return self._totals

    def _sums(self) -> tuple[int, ...]:
        bound = max(int(self.table.max(initial=0)), -int(self.table.min(initial=0)))
        if self.table.shape[1] * bound <= _MAX:
            return tuple(self.table.sum(axis=1).tolist())
        return tuple(sum(row.tolist()) for row in self.table)


def _scanned(fragments: MessageRanges) -> Int64Array:
    """The table of `FragmentCounts`. Raises `UnusualMessageError`, see `scan_fields`."""
    count = len(fragments.starts)
    fields = scan_fields(fragments, (_ID, _ROWS), (_FILES, _DELETION_FILE))
    files, deletions = fields[_FILES], fields[_DELETION_FILE]
    sizes = scan_fields(files.contents(fragments.data), (_FILE_SIZE,))[_FILE_SIZE]
    deleted = scan_fields(deletions.contents(fragments.data), (_DELETED_ROWS,))[_DELETED_ROWS]
    table = np.zeros((len(Count), count), np.int64)
    table[Count.IDS] = fields[_ID].numbers(count)
    table[Count.PHYSICAL_ROWS] = fields[_ROWS].numbers(count)
    table[Count.DELETED_ROWS, deletions.owners] = deleted.numbers(len(deletions.owners))
    table[Count.DELETION_FILES] = np.bincount(deletions.owners, minlength=count)
    table[Count.DATA_FILES] = np.bincount(files.owners, minlength=count)
    file_bytes = sizes.numbers(len(files.owners))
    np.add.at(table[Count.DATA_BYTES], files.owners, file_bytes)
    # A second deletion file is merged with the first one. Larger files might overflow the sum.
    if (table[Count.DELETION_FILES] > 1).any() or (file_bytes >> 48).any():
        raise UnusualMessageError
    return table


def fragment_messages(raw: Sequence[bytes]) -> Sequence[table_pb2.DataFragment]:
    """The messages of fragments; raises `CorruptFileError` for bytes that are none."""
    joined = frames_pb2.ManifestFrame(fragments=raw).SerializeToString()
    try:
        return parse(table_pb2.Manifest, joined, "Manifest.fragments").fragments
    except CorruptFileError:
        for number, data in enumerate(raw):
            parse(_FRAGMENT, data, f"Manifest.fragments[{number}]")
        raise


def _parsed(raw: Sequence[bytes]) -> tuple[Int64Array, tuple[int, ...]]:
    """The table of `FragmentCounts`, and its sums: of few fragments, Python adds them faster."""
    counts = [
        (
            message.id,
            message.physical_rows,
            message.deletion_file.num_deleted_rows,
            message.HasField("deletion_file"),
            len(message.files),
            min(_MAX, sum([file.file_size_bytes for file in message.files])),
        )
        for message in fragment_messages(raw)
    ]
    table = np.array(counts, np.uint64).reshape(-1, len(Count)).T.astype(np.int64, "C")
    return table, tuple(map(sum, zip(*counts, strict=True)))
