"""The messages of pages that those handle who merge stored pages without decoding them."""

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding, SimpleStruct
from lance_core._pb.encodings_v2_1_pb2 import MiniBlockLayout, PageLayout

__all__ = ["ArrayEncoding", "ColumnEncoding", "MiniBlockLayout", "PageLayout", "SimpleStruct"]
