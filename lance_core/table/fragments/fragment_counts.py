"""Row counts and file sizes of all fragments of a version, without `Fragment` objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from lance_core._pb import frames_pb2, table_pb2
from lance_core.errors import CorruptFileError
from lance_core.table.fragments.fragment import check_fragment_id
from lance_core.table.unknown_fields import parse
from lance_core.table.wire_scan import Int64Array, MessageRanges, UnusualMessageError, scan_fields

MANY = 128
"""Fragments from which on numpy reads faster than protobuf."""

_MAX = (1 << 63) - 1

_FRAGMENT = table_pb2.DataFragment
_FILES = _FRAGMENT.FILES_FIELD_NUMBER
_DELETION_FILE = _FRAGMENT.DELETION_FILE_FIELD_NUMBER
_FILE_SIZE = table_pb2.DataFile.FILE_SIZE_BYTES_FIELD_NUMBER
_DELETED_ROWS = table_pb2.DeletionFile.NUM_DELETED_ROWS_FIELD_NUMBER


class FragmentCounts(NamedTuple):
    """One entry for each fragment, in list order; 0 for counts that a manifest does not record.

    ``physical_rows`` includes deleted rows. ``deletion_files``: 1 or 0. ``data_bytes``: the
    recorded sizes of the data files. Numbers from 2^63 on, which no valid table has, are negative.
    """

    ids: Int64Array
    physical_rows: Int64Array
    deleted_rows: Int64Array
    deletion_files: Int64Array
    data_files: Int64Array
    data_bytes: Int64Array

    @classmethod
    def of(cls, raw: Sequence[bytes]) -> Self:
        """The counts in serialized ``DataFragment`` messages, as they are stored.

        Raises `CorruptFileError` for bytes that are not fragments. Parts that have no counts, such
        as paths, are not checked.
        """
        if len(raw) >= MANY:
            try:
                return cls(*_scanned(MessageRanges.of(raw)))
            except UnusualMessageError:
                pass
        return cls(*_parsed(raw))

    def checked(self) -> Self:
        """These counts; raises `CorruptFileError` for impossible ids and counts."""
        unsigned = [
            one.view(np.uint64) for one in (self.ids, self.physical_rows, self.deleted_rows)
        ]
        ids, physical_rows, deleted_rows = unsigned
        check_fragment_id(int(ids.max(initial=0)))
        wrong = (physical_rows > _MAX) | ((deleted_rows > physical_rows) & (physical_rows > 0))
        for number in np.flatnonzero(wrong)[:1].tolist():
            rows, deleted = physical_rows[number], deleted_rows[number]
            raise CorruptFileError(
                f"{rows} physical and {deleted} deleted rows",
                field=f"Manifest.fragments[{number}]",
            )
        return self

    @property
    def has_deletion_files(self) -> bool:
        return bool(self.deletion_files.any())

    @property
    def live_rows(self) -> Int64Array | None:
        """The rows of each fragment that are not deleted, None if the count of one is unknown."""
        if not self.physical_rows.all() or (self.deleted_rows < self.deletion_files).any():
            return None
        return self.physical_rows - self.deleted_rows

    @property
    def num_rows(self) -> int | None:
        """The number of rows that are not deleted, None if the count of one fragment is unknown."""
        live = self.live_rows
        return None if live is None else total(live)


def total(numbers: Int64Array) -> int:
    """The exact sum of ``numbers``, which may exceed 64 bits."""
    bound = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
    if len(numbers) * bound <= _MAX:
        return int(numbers.sum())
    return sum(numbers.tolist())


def _scanned(fragments: MessageRanges) -> tuple[Int64Array, ...]:
    """The arrays of `FragmentCounts`. Raises `UnusualMessageError`, see `scan_fields`."""
    count = len(fragments.starts)
    id_, rows = _FRAGMENT.ID_FIELD_NUMBER, _FRAGMENT.PHYSICAL_ROWS_FIELD_NUMBER
    found = scan_fields(fragments, (id_, rows), (_FILES, _DELETION_FILE))
    files, deletions = found[_FILES], found[_DELETION_FILE]
    sizes = scan_fields(files.contents(fragments.data), (_FILE_SIZE,))[_FILE_SIZE]
    deleted = scan_fields(deletions.contents(fragments.data), (_DELETED_ROWS,))[_DELETED_ROWS]
    deletion_files = np.bincount(deletions.owners, minlength=count)
    file_bytes = sizes.numbers(len(files.owners))
    # A second deletion file is merged with the first one. Larger files might overflow the sum.
    if (deletion_files > 1).any() or (file_bytes >> 48).any():
        raise UnusualMessageError
    data_bytes, deleted_rows = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(data_bytes, files.owners, file_bytes)
    deleted_rows[deletions.owners] = deleted.numbers(len(deletions.owners))
    return (
        found[id_].numbers(count),
        found[rows].numbers(count),
        deleted_rows,
        deletion_files,
        np.bincount(files.owners, minlength=count),
        data_bytes,
    )


def _parsed(raw: Sequence[bytes]) -> list[Int64Array]:
    """The arrays of `FragmentCounts`."""
    joined = frames_pb2.ManifestFrame(fragments=raw).SerializeToString()
    try:
        messages = parse(table_pb2.Manifest, joined, "Manifest.fragments").fragments
    except CorruptFileError:
        for number, data in enumerate(raw):
            parse(_FRAGMENT, data, f"Manifest.fragments[{number}]")
        raise
    rows = [
        (
            message.id,
            message.physical_rows,
            message.deletion_file.num_deleted_rows,
            message.HasField("deletion_file"),
            len(message.files),
            min(_MAX, sum(file.file_size_bytes for file in message.files)),
        )
        for message in messages
    ]
    counts = np.array(rows, np.uint64).reshape(-1, len(FragmentCounts._fields))
    return list(counts.astype(np.int64).T.copy())
