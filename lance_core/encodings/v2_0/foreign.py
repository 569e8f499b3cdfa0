"""Values in an encoding of a plugin (message ``ForeignValues``, inside a ``Flat`` message).

The compression scheme is ``/type/url (pip install distribution): message in base64``. Other readers
reject this unknown scheme and show it to the user. An encoding around this one stores the nulls.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Compression, Flat, Nullable
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.plugin_values.foreign_blocks import (
    ForeignBlocks,
    encode_blocks,
    parse_foreign,
)
from lance_core.encodings.plugin_values.value_encoding import find_value_encoding
from lance_core.encodings.v2_0.base import ArrayPlan, EncodeScope, PlanScope
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows


@dataclass(frozen=True, slots=True)
class ForeignArrayPlan(ArrayPlan):
    """Decodes values with an encoding of a plugin."""

    blocks: ForeignBlocks

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        where = slice(rows.start, rows.stop) if isinstance(rows, RowRange) else rows.values
        return [(yield from self.blocks.decode(where, context.coalesce_gap))]


def decode_foreign(encoding: Flat, scope: PlanScope) -> ArrayPlan:
    """The plan for values of a plugin's encoding.

    Raises `PluginNotFoundError` if no plugin provides it, and `CorruptFileError`.
    """
    foreign = parse_foreign(_message(encoding.compression.scheme))
    spec = find_value_encoding(foreign.type_url, scope.registry, "a page", foreign.distribution)
    if foreign.num_values != scope.num_values:
        raise CorruptFileError(f"a page of {scope.num_values} rows has {foreign.num_values} values")
    return ForeignArrayPlan(
        ForeignBlocks.of(foreign, spec, scope.type, scope.buffer(encoding.buffer))
    )


def _message(scheme: str) -> bytes:
    try:
        return base64.b64decode(scheme.rpartition(": ")[2], validate=True)
    except ValueError as error:
        raise CorruptFileError(
            "the compression scheme has no valid message", field="Compression.scheme"
        ) from error


def encode_foreign(array: pa.Array, key: str, scope: EncodeScope) -> ArrayEncoding:
    """Encode an array with at least one non-null value in the plugin's encoding ``key``."""
    spec = find_value_encoding(key, scope.registry, "a column")
    validity = None
    if array.null_count:
        validity = scope.encode("flat", array.is_valid())
    message, data = encode_blocks(array, spec)
    text = base64.b64encode(message.SerializeToString()).decode()
    # pylance shows the scheme when it cannot read the column, and so the package to install. It
    # would reject the whole file for a page whose message has another type URL.
    scheme = f"{spec.key} (pip install {spec.distribution}): {text}"
    bits = array.type.bit_width if _has_width(array.type) else 8
    compression = Compression(scheme=scheme)
    flat = Flat(bits_per_value=bits, buffer=scope.add(data), compression=compression)
    values = ArrayEncoding(flat=flat)
    if validity is None:
        return ArrayEncoding(nullable=Nullable(no_nulls=Nullable.NoNull(values=values)))
    some_null = Nullable.SomeNull(validity=validity, values=values)
    return ArrayEncoding(nullable=Nullable(some_nulls=some_null))


def _has_width(type_: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(type_) or pa.types.is_fixed_size_binary(type_))
