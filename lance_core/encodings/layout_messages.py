"""The messages of pages that those handle who merge stored pages without decoding them."""

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Buffer, ColumnEncoding, SimpleStruct
from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_NULLABLE_ITEM,
    CompressiveEncoding,
    Fsst,
    MiniBlockLayout,
    PageLayout,
)

__all__ = [
    "REPDEF_ALL_VALID_ITEM",
    "REPDEF_NULLABLE_ITEM",
    "ArrayEncoding",
    "Buffer",
    "ColumnEncoding",
    "CompressiveEncoding",
    "Fsst",
    "MiniBlockLayout",
    "PageLayout",
    "SimpleStruct",
]
