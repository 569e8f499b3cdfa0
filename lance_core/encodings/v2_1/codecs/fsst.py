"""Strings as codes of symbols (message ``Fsst``), which another encoding stores.

See `lance_core.encodings.compression.fsst`. One table serves a page.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Fsst
from lance_core.encodings.compression import fsst
from lance_core.encodings.kernels.numpy.fsst_train import fsst_sample
from lance_core.encodings.v2_1.codecs.base import MiniBlockChunks, decode, encode
from lance_core.encodings.v2_1.codecs.values import VariableWidth, as_variable
from lance_core.encodings.v2_1.codecs.values_take import downcast_offsets
from lance_core.encodings.v2_1.codecs.variable import offset_bits, variable_chunks
from lance_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.codecs.base import Encoded, Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_LEAST_TEXT = 32 << 10


def decode_fsst(message: Fsst, source: Source, context: DecodeContext) -> VariableWidth:
    """`CompressiveDecoder` of ``fsst``; offsets stay as wide as they are if the text allows."""
    stored = message.values
    is_variable = stored.WhichOneof("compression") == "variable"
    table = parsed_table(message.symbol_table)
    if table is None or not is_variable or not isinstance(source, MiniBlockChunks):
        return expanded(message, as_variable(decode(stored, source, context)), context)
    if stored.variable.HasField("values"):
        raise UnsupportedFeatureError("codes of strings that are compressed themselves")
    chunks = variable_chunks(source, offset_bits(stored.variable) // 8)
    data, offsets = context.kernels.fsst_decode_chunks(chunks, *table)
    return VariableWidth(offsets, data)


def expanded(message: Fsst, codes: VariableWidth, context: DecodeContext) -> VariableWidth:
    """The strings that ``codes`` stand for."""
    table = parsed_table(message.symbol_table)
    if table is None:
        return codes
    offsets = codes.offsets.astype(np.int64)
    data, ends = context.kernels.fsst_decode(codes.octets(), offsets, *table)
    return VariableWidth(downcast_offsets(ends, codes.offset_bits), data)


@lru_cache(64)
def parsed_table(stored: bytes) -> tuple[bytes, bytes] | None:
    """Symbols and lengths as `kernels` take them; None if the bytes are stored as they are."""
    table = fsst.parse_table(stored)
    return table.packed if table.active else None


def encode_fsst(values: Values, target: Target) -> Encoded:
    """`CompressiveEncoder` of ``fsst``: the symbols are found in a sample of the values.

    Less than 32 KiB of values, and those that would get longer, are stored as they are.
    """
    if not isinstance(values, VariableWidth):
        raise UnsupportedFeatureError("FSST of values of a fixed width")
    table = fsst.SymbolTable((), active=False)
    if values.offsets[-1] >= _LEAST_TEXT:
        values, table = _with_symbols(values, table, target.kernels)
    inner = encode(values, target)
    message = Fsst(symbol_table=table.to_bytes(), values=inner.encoding)
    return inner.within(CompressiveEncoding(fsst=message))


def _with_symbols(
    values: VariableWidth, unused: fsst.SymbolTable, kernels: Kernels
) -> tuple[VariableWidth, fsst.SymbolTable]:
    """Codes of the values and their table; the values and ``unused`` if codes are no shorter."""
    offsets = values.offsets.astype(np.int64)
    sample = fsst_sample(values.data, offsets[:-1], offsets[1:])
    table = fsst.SymbolTable(kernels.fsst_train(sample))
    codes, ends = kernels.fsst_encode(values.octets(), offsets[:-1], offsets[1:], *table.packed)
    if codes.size >= offsets[-1]:
        return values, unused
    return VariableWidth(ends.astype(np.int32) if values.offset_bits == 32 else ends, codes), table
