"""Version 1 blobs in older files of a table whose schema has version 2 blobs.

pylance creates such a table when it appends files of version 2.2 to a table with version 1 blobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.errors import UnsupportedFeatureError
from lance_core.schema import DESCRIPTION_V2, UNASSIGNED, Field
from lance_core.table.fragments.data_file import DataFile

_HAVE_VERSION_1 = frozenset({"2.0", "2.1"})


def as_in_file(file: DataFile, fields: Sequence[Field]) -> list[Field]:
    """``fields`` with the blob descriptions that ``file`` stores.

    A file of version 2.0 or 2.1 stores only position and size. Raises `UnsupportedFeatureError`
    for nested blobs in such a file.
    """
    if file.file_version not in _HAVE_VERSION_1:
        return list(fields)
    return [_older(field) for field in fields]


def as_version_2(column: pa.ChunkedArray, field: Field, stored: Field) -> pa.ChunkedArray:
    """``column`` with version 2 descriptions, as ``field`` has them.

    ``stored`` is the field of ``column``, which `as_in_file` returned for ``field``.
    """
    if stored is field:
        return column
    return pa.chunked_array([_described(chunk) for chunk in column.chunks], DESCRIPTION_V2)


def _older(field: Field) -> Field:
    if not any(_is_described(part) for part in field.walk()):
        return field
    if not _is_described(field):
        raise UnsupportedFeatureError(
            f"field {field.name!r} has nested blobs, which cannot be read from a data file of "
            "version 2.0 or 2.1"
        )
    members = [member for member in field.children if member.name in ("position", "size")]
    return replace(field, children=tuple(replace(member, nullable=True) for member in members))


def _is_described(field: Field) -> bool:
    return (
        len(field.children) == len(DESCRIPTION_V2)
        and all(child.id == UNASSIGNED for child in field.children)
        and field.storage_type == DESCRIPTION_V2
    )


def _described(array: pa.StructArray) -> pa.StructArray:
    """Version 2 descriptions for version 1 ones; position 1 and size 0 also stand for null."""
    position, size = (_numbers(array, member) for member in (0, 1))
    count = len(array)
    missing = ((position == 1) & (size == 0)) | np.asarray(array.is_null())
    members = [
        pa.array(np.zeros(count, np.uint8)),
        pa.array(position),
        pa.array(size),
        pa.array(np.zeros(count, np.uint32)),
        pa.repeat(to_scalar(""), count),
    ]
    mask = pa.array(missing) if missing.any() else None
    return pa.StructArray.from_arrays(members, fields=list(DESCRIPTION_V2), mask=mask)


def _numbers(array: pa.StructArray, member: int) -> npt.NDArray[np.uint64]:
    values: npt.NDArray[np.uint64] = np.asarray(array.field(member).fill_null(0))
    return values
