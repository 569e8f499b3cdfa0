"""Write the payloads of version 2 blobs and describe where they are.

The size of a blob decides whether it is stored in the data file, in a shared side file or in a side
file of its own. A blob given as a URI is not copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.blob_payloads import offsets_of, sizes_of, write_payloads
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import DESCRIPTION_V2, BlobKind
from lance_core.schema.blobs.fields import PREPARED_V2

if TYPE_CHECKING:
    from lance_core.encodings.context import BlobPlaces, EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.schema import BlobThresholds

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Given:
    """The checked members of an array of `GIVEN_V2`."""

    valid: BoolArray
    data: pa.Array
    uri: pa.Array
    position: npt.NDArray[np.uint64]
    size: npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """The place of each blob: the columns of `DESCRIPTION_V2`, filled in step by step."""

    kinds: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint64]
    sizes: npt.NDArray[np.uint64]
    ids: npt.NDArray[np.uint32]

    def described(self, uris: pa.Array, valid: BoolArray) -> pa.StructArray:
        """The descriptions as an array; ``uris`` may have nulls."""
        columns = [pa.array(x) for x in (self.kinds, self.positions, self.sizes, self.ids)]
        mask = None if valid.all() else pa.array(~valid)
        texts = pc.fill_null(uris, "") if uris.null_count else uris
        return pa.StructArray.from_arrays([*columns, texts], fields=list(DESCRIPTION_V2), mask=mask)


def describe_given(
    array: pa.StructArray, path: str, thresholds: BlobThresholds, context: EncodeContext
) -> pa.StructArray:
    """Write the payloads of an array of `GIVEN_V2` and describe where they are.

    Raises `InvalidInputError` for values that are neither bytes nor a URI.
    """
    blobs = _checked(array, path)
    count = len(array)
    sizes = sizes_of(blobs.data)
    sizes[~blobs.valid] = 0
    kinds = np.full(count, BlobKind.INLINE, np.uint8)
    # In this order: a blob above both thresholds gets a file of its own.
    kinds[sizes > thresholds.inline] = BlobKind.PACKED
    kinds[sizes > thresholds.dedicated] = BlobKind.DEDICATED
    descriptions = _Places(
        kinds,
        np.zeros(count, np.uint64),
        sizes.astype(np.uint64),
        np.zeros(count, np.uint32),
    )
    inline = np.flatnonzero((kinds == BlobKind.INLINE) & (sizes > 0))
    written = write_payloads(blobs.data, inline, sizes[inline], context.write_buffer)
    descriptions.positions[inline] = written.astype(np.uint64)
    outside = np.flatnonzero(kinds != BlobKind.INLINE)
    if len(outside):
        _write_outside(
            blobs.data, outside, sizes, descriptions, thresholds, _outside(context, path)
        )
    if blobs.uri.null_count == count:
        return descriptions.described(blobs.uri, blobs.valid)
    return _referring(blobs, descriptions, path, _outside(context, path))


def describe_prepared(array: pa.StructArray, path: str, context: EncodeContext) -> pa.StructArray:
    """Describe the blobs of an array of `PREPARED_V2`, and write those that are bytes.

    Raises `InvalidInputError` for values that say neither a place nor bytes, and
    `UnsupportedFeatureError` for managed blobs.
    """
    valid = np.asarray(array.is_valid())
    names = ("kind", "position", "blob_size", "blob_id")
    members = [array.field(PREPARED_V2.get_field_index(name)) for name in names]
    columns: list[Any] = [_numbers(each, valid & np.asarray(each.is_valid())) for each in members]
    places = _Places(*columns)
    if (places.kinds > BlobKind.EXTERNAL).any():
        raise UnsupportedFeatureError(f"field {path!r}: managed blobs are not supported")
    data = array.field(PREPARED_V2.get_field_index("data"))
    is_inline, has_data = places.kinds == BlobKind.INLINE, np.asarray(data.is_valid())
    _refuse(
        valid & (places.kinds == BlobKind.EXTERNAL), path, "is neither bytes nor in a side file"
    )
    _refuse(valid & (is_inline != has_data), path, "is of a kind that does not fit its bytes")
    _refuse(valid & ~is_inline & (places.ids == 0), path, "names no side file")
    sizes = sizes_of(data)
    sizes[~(valid & is_inline)] = 0
    rows = np.flatnonzero(sizes)
    written = write_payloads(data, rows, sizes[rows], context.write_buffer)
    places.positions[rows] = written.astype(np.uint64)
    places.sizes[valid & is_inline] = sizes[valid & is_inline]
    return places.described(pa.nulls(len(array), pa.string()), valid)


def _referring(
    blobs: _Given, descriptions: _Places, path: str, outside: BlobPlaces
) -> pa.StructArray:
    """The descriptions of an array that contains URIs."""
    external = np.asarray(blobs.uri.is_valid())
    ids, uris = outside.refer(blobs.uri, path)
    descriptions.kinds[external] = BlobKind.EXTERNAL
    descriptions.positions[external] = blobs.position[external]
    descriptions.sizes[external] = blobs.size[external]
    descriptions.ids[external] = ids[external]
    return descriptions.described(uris, blobs.valid)


def _outside(context: EncodeContext, path: str) -> BlobPlaces:
    if context.blobs is None:
        raise UnsupportedFeatureError(
            f"field {path!r}: a file outside of a table can only store blobs inline; write blobs "
            "of other kinds to a table"
        )
    return context.blobs


def _write_outside(
    data: pa.Array,
    rows: Int64Array,
    sizes: Int64Array,
    descriptions: _Places,
    thresholds: BlobThresholds,
    outside: BlobPlaces,
) -> None:
    """Write side files in row order, so that their numbers ascend with the rows."""
    starts = offsets_of(data)
    alone = np.flatnonzero(descriptions.kinds[rows] == BlobKind.DEDICATED)
    # Only the first part does not begin with a blob that gets a file of its own.
    for part in np.split(rows, alone):
        packed = part
        if len(part) and descriptions.kinds[part[0]] == BlobKind.DEDICATED:
            row, packed = int(part[0]), part[1:]
            payload = data.buffers()[2].slice(int(starts[row]), int(sizes[row]))
            descriptions.ids[row] = outside.dedicate(payload)
        if len(packed):
            ids, positions = outside.pack(data, packed, sizes[packed], thresholds.pack)
            descriptions.ids[packed] = ids
            descriptions.positions[packed] = positions


def _checked(array: pa.StructArray, path: str) -> _Given:
    valid = np.asarray(array.is_valid())
    data, uri, position, size = (array.field(number) for number in range(4))
    has_data, has_uri, starts, ends = (
        np.asarray(member.is_valid()) & valid for member in (data, uri, position, size)
    )
    _refuse(valid & (has_data == has_uri), path, "must have either data or a uri")
    _refuse(starts != ends, path, "must have both position and size, or neither")
    _refuse(starts & ~has_uri, path, "has a position and a size but no uri")
    if not has_uri.any():
        nothing = np.zeros(0, np.uint64)
        return _Given(valid, data, pa.nulls(len(array), pa.string()), nothing, nothing)
    firsts, lengths = (_numbers(member, starts) for member in (position, size))
    _refuse(starts & (lengths == 0), path, "refers to a range of size 0")
    # ~n is 2**64 - 1 - n; the sum of both could wrap around.
    _refuse(firsts > ~lengths, path, "refers to a range that ends past 2**64")
    if (np.asarray(uri.is_valid()) & ~valid).any():
        uri = pc.if_else(pa.array(has_uri), uri, None)
    return _Given(valid, data, uri, firsts, lengths)


def _numbers(member: pa.Array, known: BoolArray) -> npt.NDArray[np.uint64]:
    numbers = np.asarray(member.fill_null(0) if member.null_count else member).copy()
    numbers[~known] = 0
    return numbers


def _refuse(wrong: BoolArray, path: str, reason: str) -> None:
    if wrong.any():
        raise InvalidInputError(f"field {path!r}: blob {int(np.argmax(wrong))} {reason}")
