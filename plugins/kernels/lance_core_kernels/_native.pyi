from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Buffer: TypeAlias = bytes | bytearray | np.ndarray[Any, Any] | pa.Buffer

def unpack_fastlanes(
    packed: Buffer, width: int, bits: int, chunks: int, values: Buffer, /
) -> int: ...
def pack_fastlanes(
    values: Buffer, width: int, bits: int, chunks: int, packed: Buffer, /
) -> int: ...
def fsst_bound(codes: Buffer, symbols: Buffer, lengths: Buffer, /) -> int: ...
def fsst_decode(
    codes: Buffer,
    offsets: Buffer,
    symbols: Buffer,
    lengths: Buffer,
    text: Buffer,
    text_offsets: Buffer,
    /,
) -> int: ...
def spans_total(data: Buffer, starts: Buffer, stops: Buffer, /) -> int: ...
def fsst_encode(
    data: Buffer,
    starts: Buffer,
    stops: Buffer,
    symbols: Buffer,
    lengths: Buffer,
    codes: Buffer,
    code_offsets: Buffer,
    /,
) -> int: ...
def fsst_train(sample: Buffer, offsets: Buffer, symbols: Buffer, lengths: Buffer, /) -> int: ...
def level_items(
    repetition: Buffer,
    definition: Buffer,
    starts: Buffer,
    depth: int,
    base: int,
    items: Buffer,
    offsets: Buffer,
    /,
) -> int: ...
def gather_variable(
    data: Buffer, starts: Buffer, stops: Buffer, text: Buffer, offsets: Buffer, /
) -> int: ...
