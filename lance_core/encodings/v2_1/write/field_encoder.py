"""Encode fields as leaf columns of 2.1 and 2.2 files; only leaves have columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
from google.protobuf.empty_pb2 import Empty

from lance_core._pb.encodings_v2_0_pb2 import ColumnEncoding
from lance_core.encodings.arrow.fixed_width import has_fixed_width
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.blob_payloads import DESCRIPTION
from lance_core.encodings.v2_1.levels.shred import shred
from lance_core.encodings.v2_1.levels.tree import Node, rows_per_slot
from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.encodings.v2_1.write.leaf_encoder import LeafEncoder, PagesOfLeaf
from lance_core.encodings.v2_1.write.page_encoder import PageEncoder
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.schema.align import to_storage
from lance_core.schema.blobs.fields import has_blobs
from lance_core.schema.storable import check_field

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext, FieldEncoder
    from lance_core.encodings.page import EncodedPage
    from lance_core.schema import Field


# Paths and not functions: few tables have blobs.
_BLOB_FIELD_ENCODER = "lance_core.encodings.v2_1.write.blob_encoder:BlobFieldEncoder"
_BLOB_PAGE_ENCODER = "lance_core.encodings.v2_1.write.blob_encoder:BlobPageEncoder"

_VALUES = ColumnEncoding(values=Empty()).SerializeToString()


class TopLevelEncoder:
    """A `FieldEncoder` for a field and all its descendants."""

    def __init__(self, field: Field, root: Node, leaves: Sequence[LeafEncoder]) -> None:
        self._field = field
        self._root = root
        self._leaves = leaves
        self._rows = 0

    @property
    def num_columns(self) -> int:
        """See `FieldEncoder`."""
        return len(self._leaves)

    def write(self, array: pa.Array) -> Iterator[EncodedPage]:
        """See `FieldEncoder`."""
        if array.type != self._root.type:
            array = to_storage(array, self._field)
        if not len(array):
            return
        row, self._rows = self._rows, self._rows + len(array)
        for encoder, leaf in zip(self._leaves, shred(array, self._root), strict=True):
            yield from encoder.write(leaf, row)

    def flush(self) -> Iterable[EncodedPage]:
        """See `FieldEncoder`."""
        return chain.from_iterable(map(LeafEncoder.flush, self._leaves))

    def column_encodings(self) -> Sequence[bytes]:
        """See `FieldEncoder`."""
        return [_VALUES] * len(self._leaves)


@dataclass(frozen=True, slots=True)
class _LeafPlan:
    """What is known of a leaf column before its values; ``scale`` is its rows per row of the field.

    ``is_blob``: True for descriptions of version 1 blobs.
    """

    path: str
    scale: int
    options: FieldOptions
    is_blob: bool


@dataclass(frozen=True, slots=True)
class FieldColumns:
    """What is known of a field before its values: its tree and its leaf columns, in pre-order."""

    root: Node
    leaves: tuple[_LeafPlan, ...]


def field_encoder(field: Field, context: EncodeContext) -> FieldEncoder:
    """The 2.1 and 2.2 implementation of `lance_core.encodings.dispatch.field_encoder`."""
    version = context.version.value
    if field.derived(f"has payloads in {version}", lambda: _has_payloads(field, version)):
        encoder: FieldEncoder
        encoder = context.registry.resolved(_BLOB_FIELD_ENCODER)(field, context, plain_encoder)
        return encoder
    return plain_encoder(field, context)


def _has_payloads(field: Field, version: str) -> bool:
    """True if the field has blobs; raises `UnsupportedFeatureError` if it cannot be stored."""
    check_field(field, version)
    return has_blobs(field)


def plain_encoder(field: Field, context: EncodeContext) -> TopLevelEncoder:
    """The encoder of a field without payloads outside of pages.

    Packed structs that describe blob payloads are encoded like other packed structs. Raises
    `UnsupportedFeatureError` for types without an encoding.
    """
    plan = field.derived("columns of 2.1", lambda: _plan(field))
    encoders = []
    for column, leaf in enumerate(plan.leaves):
        encoder: PagesOfLeaf
        if leaf.is_blob:
            encoder = context.registry.resolved(_BLOB_PAGE_ENCODER)(context)
        else:
            encoder = PageEncoder(leaf.options, context)
        encoders.append(LeafEncoder(column, leaf.path, leaf.scale, encoder, context))
    return TopLevelEncoder(field, plan.root, encoders)


def field_columns(field: Field, version: str) -> FieldColumns | None:
    """The columns of a field; None if it has payloads. Raises the errors of `field_encoder`."""
    if field.derived(f"has payloads in {version}", lambda: _has_payloads(field, version)):
        return None
    return field.derived("columns of 2.1", lambda: _plan(field))


def _plan(field: Field) -> FieldColumns:
    root = _node(field)
    leaves = []
    for nodes, (path, leaf) in zip(root.paths(), _leaf_fields(field, field.name), strict=True):
        _check_leaf(leaf, path)
        # The descriptions of version 2 have more members, and pages like any packed struct.
        is_blob = leaf.is_blob and leaf.storage_type == DESCRIPTION
        options = FieldOptions.of_leaf(leaf, field)
        leaves.append(_LeafPlan(path, _scale(nodes, path), options, is_blob))
    return FieldColumns(root, tuple(leaves))


def _has_column(field: Field) -> bool:
    """True if a field is stored in one column, with all its descendants."""
    return field.is_packed_struct or field.is_blob or not field.children


def _node(field: Field) -> Node:
    if _has_column(field):
        return Node(field.storage_type, is_leaf=True)
    return Node(field.storage_type, tuple(_node(child) for child in field.children))


def _leaf_fields(field: Field, path: str) -> Iterator[tuple[str, Field]]:
    """The leaves in pre-order, with their paths."""
    if _has_column(field):
        yield path, field
        return
    for child in field.children:
        yield from _leaf_fields(child, f"{path}.{child.name}")


def _scale(nodes: Sequence[Node], path: str) -> int:
    """The number of rows of a leaf's column per row of the field."""
    try:
        return rows_per_slot(nodes)
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(f"field {path!r}: {error}") from error


def _check_leaf(field: Field, path: str) -> None:
    type_ = field.storage_type
    if pa.types.is_dictionary(type_):
        items = type_.value_type
        if not (has_fixed_width(items) or is_variable(items) or pa.types.is_null(items)):
            raise UnsupportedFeatureError(
                f"field {path!r}: dictionaries of {items} cannot be written"
            )
