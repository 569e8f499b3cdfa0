"""Fixed-width values (message ``Flat``) in a compressed buffer, which is always read whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_core.byte_ranges import ByteRange
from lance_core.encodings.compression import general
from lance_core.encodings.decoding import decode_in_memory
from lance_core.encodings.v2_0.base import ArrayPlan
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows


@dataclass(frozen=True, slots=True)
class CompressedPlan(ArrayPlan):
    """Decompresses a buffer to ``size`` bytes and lets ``plain`` decode from them."""

    byte_range: ByteRange
    scheme: str
    size: int
    plain: ArrayPlan

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        (data,) = yield [self.byte_range]
        plain = general.decompress(self.scheme, data)
        if plain.size < self.size:
            raise CorruptFileError(
                f"a compressed buffer holds {plain.size} bytes where {self.size} are needed",
                offset=self.byte_range.start,
            )
        return decode_in_memory(self.plain.decode(rows, context), plain)
