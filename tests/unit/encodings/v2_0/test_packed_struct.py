"""Packed structs: damage is found before memory is used."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_0_pb2 import (
    ArrayEncoding,
    Buffer,
    FixedSizeList,
    Flat,
    PackedStruct,
)
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.registry import EncodingRegistry
from lance_core.errors import CorruptFileError
from lance_core_testing.encodings.stored_array import StoredArray


@pytest.mark.parametrize("dimension", [1 << 10, (1 << 31) - 1])
def test_members_wider_than_the_file_are_corruption(
    registry: EncodingRegistry, dimension: int
) -> None:
    items = ArrayEncoding(flat=Flat(bits_per_value=64, buffer=Buffer()))
    wide = ArrayEncoding(fixed_size_list=FixedSizeList(dimension=dimension, items=items))
    type_ = pa.struct([("a", pa.list_(pa.int64(), dimension)), ("b", pa.int64())])
    encoding = ArrayEncoding(packed_struct=PackedStruct(inner=[wide, items], buffer=Buffer()))
    stored = StoredArray.of([bytes(100)], encoding, type_, 1)
    with pytest.raises(CorruptFileError, match="cannot hold 1 packed"):
        stored.decode(RowRange(0, 1), registry)
