"""The highest field id in the data files of fragments, without decoding each fragment."""

from __future__ import annotations

from collections.abc import Sequence

from lance_core._pb import table_pb2
from lance_core.table.fragments.data_file import TOMBSTONE
from lance_core.table.unknown_fields import parse
from lance_core.table.wire_scan import MessageRanges, UnusualMessageError, scan_fields

_FILES = table_pb2.DataFragment.FILES_FIELD_NUMBER
_FIELDS = table_pb2.DataFile.FIELDS_FIELD_NUMBER


def max_field_id(raw: Sequence[bytes]) -> int:
    """The highest id in serialized ``DataFragment`` messages, `TOMBSTONE` or less if there is none.

    The files of a table have few distinct lists of fields, each of which is decoded once. Raises
    `UnusualMessageError`, see `scan_fields`.
    """
    fragments = MessageRanges.of(raw)
    files = scan_fields(fragments, (), (_FILES,))[_FILES].contents(fragments.data)
    fields = scan_fields(files, (), (_FIELDS,))[_FIELDS]
    if len(fields.owners) != len(files.starts) or (fields.owners[1:] == fields.owners[:-1]).any():
        raise UnusualMessageError  # ids that are not packed, or in several parts
    data, lists = fragments.data.tobytes(), fields.contents(fragments.data)
    ranges = zip(lists.starts.tolist(), lists.ends.tolist(), strict=True)
    # One file for each list of fields.
    owners = {data[start:end]: owner for owner, (start, end) in enumerate(ranges)}
    highest = TOMBSTONE
    for owner in owners.values():
        file = data[int(files.starts[owner]) : int(files.ends[owner])]
        ids = parse(table_pb2.DataFile, file, "DataFragment.files").fields
        highest = max(highest, *ids) if ids else highest
    return highest
