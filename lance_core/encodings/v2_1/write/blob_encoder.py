"""Write blob fields of 2.1 and 2.2 files: first the payloads, then their descriptions as pages.

Structs and lists around a blob stay unchanged. Version 1 blobs become (position, size); version 2
blobs become `DESCRIPTION_V2`, an ordinary packed struct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import BlobLayout, PageLayout
from lance_core.encodings.blob_payloads import DESCRIPTION, encode_blobs
from lance_core.encodings.v2_1.levels.repdef import ItemLayer, ravel
from lance_core.encodings.v2_1.levels.shred import Leaf
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage, layers_of
from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.encodings.v2_1.write.blob_v2 import describe_given, describe_prepared
from lance_core.encodings.v2_1.write.page_encoder import PageEncoder
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema import (
    BLOB_KEY,
    UNASSIGNED,
    BlobThresholds,
    Field,
    described_in_file,
    given_to_files,
    has_blobs,
    is_blob_v2,
    to_storage,
)
from lance_core.schema.blobs.fields import PREPARED_V2
from lance_core.schema.rebuild import visible_children

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext, FieldEncoder
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.page import EncodedPage
    from lance_core.encodings.v2_1.levels.repdef import Levels


class BlobFieldEncoder:
    """A `FieldEncoder` for a field that contains blobs."""

    def __init__(
        self,
        field: Field,
        context: EncodeContext,
        encoder_of: Callable[[Field, EncodeContext], FieldEncoder],
    ) -> None:
        """``encoder_of`` makes the encoder of a field of descriptions.

        Raises `UnsupportedFeatureError` for fields that cannot be stored.
        """
        self._describe = _describer(field, context, field.name, in_list=False)
        self._inner = encoder_of(described(field), context)

    @property
    def num_columns(self) -> int:
        """See `FieldEncoder`."""
        return self._inner.num_columns

    def write(self, array: pa.Array) -> Iterable[EncodedPage]:
        """See `FieldEncoder`."""
        return self._inner.write(self._describe(array)) if len(array) else ()

    def flush(self) -> Iterable[EncodedPage]:
        """See `FieldEncoder`."""
        return self._inner.flush()

    def column_encodings(self) -> Sequence[bytes]:
        """See `FieldEncoder`."""
        return self._inner.column_encodings()


def described(field: Field) -> Field:
    """``field`` with packed structs of descriptions in place of blobs, still marked as blobs."""
    if is_blob_v2(field):
        return described_in_file(field)
    if not field.is_blob:
        return field.with_children(tuple(map(described, field.children)))
    members = tuple(
        Field(name=member.name, logical_type="uint64", nullable=False, parent_id=UNASSIGNED)
        for member in DESCRIPTION
    )
    marks = {BLOB_KEY: "true", "lance-encoding:packed": "true"}
    return replace(field, logical_type="struct", children=members, metadata=marks)


_Describer = Callable[[pa.Array], pa.Array]


def _describer(field: Field, context: EncodeContext, path: str, in_list: bool) -> _Describer:
    """A function that writes the payloads of an array of ``field`` and returns its descriptions."""
    if is_blob_v2(field) and field.storage_type == PREPARED_V2:
        return lambda array: describe_prepared(to_storage(array, field), path, context)
    if is_blob_v2(field):
        thresholds, input_field = BlobThresholds.of(field), given_to_files(field)
        return lambda array: describe_given(
            to_storage(array, input_field), path, thresholds, context
        )
    if field.is_blob:
        return _describer_v1(field, context, path, in_list)
    if not has_blobs(field):
        return lambda array: array
    if pa.types.is_fixed_size_list(field.storage_type):
        raise UnsupportedFeatureError(f"field {path!r}: blobs in lists of fixed size")
    in_list = in_list or not field.is_struct
    parts = [
        _describer(child, context, f"{path}.{child.name}", in_list) for child in field.children
    ]
    described_type = described(field).storage_type
    if field.is_struct:
        return lambda array: _struct(array, described_type, parts)
    return lambda array: _lists(array, described_type, parts[0])


def _describer_v1(field: Field, context: EncodeContext, path: str, in_list: bool) -> _Describer:
    if not pa.types.is_large_binary(field.storage_type):
        raise UnsupportedFeatureError(
            f"field {path!r}: blobs must be of type large_binary, not {field.storage_type}"
        )
    if in_list:
        raise UnsupportedFeatureError(
            f"field {path!r}: blobs in lists cannot be stored in files of version "
            f"{context.version.value} (tables of version 2.0 and 2.2 can)"
        )

    def describe(array: pa.Array) -> pa.Array:
        descriptions = encode_blobs(array, context.write_buffer)
        if not array.null_count:
            return descriptions
        members = [descriptions.field(number) for number in range(2)]
        return pa.StructArray.from_arrays(members, fields=list(DESCRIPTION), mask=array.is_null())

    return describe


def _struct(array: pa.Array, type_: pa.DataType, parts: Sequence[_Describer]) -> pa.Array:
    """Describe the members of a struct; blobs inside null structs become null."""
    children = visible_children(array)
    mask = array.is_null() if array.null_count else None
    if mask is not None:
        children = [_hidden(child, mask) for child in children]
    members = [part(child) for part, child in zip(parts, children, strict=True)]
    return pa.StructArray.from_arrays(members, fields=list(type_), mask=mask)


def _hidden(array: pa.Array, mask: pa.BooleanArray) -> pa.Array:
    """``array`` with nulls where ``mask`` is set, if it is a binary or struct array."""
    if not (pa.types.is_large_binary(array.type) or pa.types.is_struct(array.type)):
        return array
    valid = np.asarray(array.is_valid()) & ~np.asarray(mask)
    if pa.types.is_struct(array.type):
        children = visible_children(array)
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=pa.array(~valid))
    offset, data = array.offset, array.buffers()[1:]
    # The bitmap shares the offset of the other buffers; nobody reads the bits before it.
    bits = np.concatenate([np.zeros(offset, np.bool_), valid])
    bitmap = pa.py_buffer(np.packbits(bits, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [bitmap, *data], -1, offset)


def _lists(array: pa.Array, type_: pa.DataType, part: _Describer) -> pa.Array:
    """Describe the items of lists or maps; items outside of all lists are ignored."""
    count = len(array)
    bitmap = None
    if array.null_count:
        bitmap = pa.py_buffer(np.packbits(np.asarray(array.is_valid()), bitorder="little"))
    offsets = _list_offsets(array)
    first, last = int(offsets[0]), int(offsets[-1])
    items = part(array.values.slice(first, last - first))
    moved = pa.py_buffer(offsets - offsets[0])
    return pa.Array.from_buffers(type_, count, [bitmap, moved], array.null_count, children=[items])


def _list_offsets(array: pa.Array) -> Int64Array:
    width = np.dtype(np.int64 if pa.types.is_large_list(array.type) else np.int32)
    return np.frombuffer(array.buffers()[1], width, len(array) + 1, array.offset * width.itemsize)


@dataclass(frozen=True, slots=True)
class BlobPageEncoder:
    """Encodes pages of version 1 blobs (message ``BlobLayout``) that are not inside a list."""

    context: EncodeContext

    def pages(self, leaf: Leaf) -> Iterator[tuple[LayoutPage, int]]:
        """See `PageEncoder.pages`. A null stores its levels in place of a position."""
        levels = ravel(leaf.layers)
        values = _with_levels(leaf.values, levels)
        inner = PageEncoder(FieldOptions(), self.context)
        for page, rows in inner.pages(Leaf(values, (ItemLayer(len(values), None),))):
            message = BlobLayout(inner_layout=page.layout, layers=layers_of(levels))
            yield LayoutPage(PageLayout(blob_layout=message), page.buffers), rows


def _with_levels(values: pa.StructArray, levels: Levels) -> pa.StructArray:
    positions, sizes = (np.asarray(values.field(number)) for number in range(2))
    if levels.definition is not None:
        missing = levels.definition > 0
        positions = np.where(missing, levels.definition.astype(np.uint64) << 16, positions)
        sizes = np.where(missing, np.uint64(0), sizes)
    return pa.StructArray.from_arrays(
        [pa.array(positions), pa.array(sizes)], fields=list(DESCRIPTION)
    )
