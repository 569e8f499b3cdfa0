"""FSST-compressed strings (message ``Fsst``); another encoding stores their codes.

A page has one symbol table, see `lance_core.encodings.compression.fsst`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Fsst
from lance_core.encodings.arrow.decode_budget import spend
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.compression import fsst
from lance_core.encodings.kernels.numpy.fsst_decode import ESCAPE, SymbolTables, decode_by_table
from lance_core.encodings.kernels.numpy.fsst_train import fsst_sample
from lance_core.encodings.v2_1.codecs.base import (
    ChunkPositions,
    Codec,
    MiniBlockChunks,
    Place,
    ScalarAt,
    decode,
    encode,
    scalar_at,
    take,
)
from lance_core.encodings.v2_1.codecs.values import VariableWidth, as_variable
from lance_core.encodings.v2_1.codecs.values_take import downcast_offsets
from lance_core.encodings.v2_1.codecs.variable import offset_bits, variable_chunks
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.codecs.base import Encoded, Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values

_MIN_TEXT = 32 << 10
EXPANSION = 2
"""Bytes that a code counts beside itself in a budget: text has about three times its codes, and at
most eight times."""

_MAX_SHORT = 256
"""Maximum bytes of codes to decode in Python; for more, a kernel call is faster."""


class FsstCodec(Codec):
    """Stores strings as codes; trains the symbols on a sample of the values.

    Values of less than 32 KiB, and values that would not get shorter, are stored unchanged. Offsets
    of decoded strings keep the width of the codes' offsets if the text allows it.
    """

    key = "fsst"

    def decode(self, message: Fsst, source: Source, context: DecodeContext) -> VariableWidth:
        """See `Codec`."""
        table = fsst.packed_symbols(message.symbol_table)
        if table is None or not isinstance(source, MiniBlockChunks):
            return _expanded(message, as_variable(decode(message.values, source, context)), context)
        edges = np.array([0, len(source.counts)])
        tables = SymbolTables(*table, np.array([len(table[1])]), edges)
        return decode_with_tables(message, source, tables, context)

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if not isinstance(values, VariableWidth):
            raise UnsupportedFeatureError("FSST needs values of variable width")
        table = fsst.SymbolTable((), active=False)
        if values.offsets[-1] >= _MIN_TEXT:
            values, table = _with_symbols(values, table, target.kernels)
        inner = encode(values, target)
        message = Fsst(symbol_table=table.to_bytes(), values=inner.encoding)
        return inner.within(CompressiveEncoding(fsst=message))

    def take(
        self, message: Fsst, chunks: MiniBlockChunks, at: ChunkPositions, context: DecodeContext
    ) -> VariableWidth:
        """See `Codec`."""
        return _expanded(message, as_variable(take(message.values, chunks, at, context)), context)

    def scalar_at(
        self, message: Fsst, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        inner = scalar_at(message.values, place, context, depth)
        table = fsst.packed_symbols(message.symbol_table)
        if inner is None or table is None:
            return inner
        symbols = _Symbols(*table, context.kernels)
        return lambda chunk, position: symbols.joined(inner(chunk, position))


def tables_of_pages(messages: Sequence[Fsst], num_chunks: Sequence[int]) -> SymbolTables:
    """The symbols of pages, each of which has its own and ``num_chunks`` chunks."""
    tables = [fsst.packed_symbols(message.symbol_table) for message in messages]
    sizes = [-1 if table is None else len(table[1]) for table in tables]
    symbols = b"".join([table[0] for table in tables if table is not None])
    lengths = b"".join([table[1] for table in tables if table is not None])
    return SymbolTables(symbols, lengths, np.array(sizes), np.cumsum([0, *num_chunks]))


def decode_with_tables(
    message: Fsst, source: MiniBlockChunks, tables: SymbolTables, context: DecodeContext
) -> VariableWidth:
    """The strings of chunks of several pages, whose tables replace that of ``message``."""
    stored = message.values
    if stored.WhichOneof("compression") != "variable":
        values = edges_of(source.counts)[tables.edges]
        codes = as_variable(decode(stored, source, context))
        return expand(codes, tables._replace(edges=values), context.kernels)
    if stored.variable.HasField("values"):
        raise UnsupportedFeatureError("codes of strings that are compressed themselves")
    chunks = variable_chunks(source, offset_bits(stored.variable) // 8)
    spend(EXPANSION * int(np.add.reduce(chunks.sizes)))
    data, offsets, is_ascii = context.kernels.fsst_decode_chunks(chunks, tables)
    return VariableWidth(offsets, data, is_ascii)


def expand(codes: VariableWidth, tables: SymbolTables, kernels: Kernels) -> VariableWidth:
    """The strings of ``codes``; the edges of ``tables`` are numbers of strings."""
    offsets = codes.offsets.astype(np.int64)
    spend(EXPANSION * int(offsets[-1]))
    data, ends = decode_by_table(codes.octets(), offsets, tables, kernels.fsst_decode)
    return VariableWidth(downcast_offsets(ends, codes.offset_bits), data)


def _expanded(message: Fsst, codes: VariableWidth, context: DecodeContext) -> VariableWidth:
    """The strings encoded by ``codes``."""
    table = fsst.packed_symbols(message.symbol_table)
    if table is None:
        return codes
    offsets = codes.offsets.astype(np.int64)
    spend(EXPANSION * int(offsets[-1]))
    data, ends = context.kernels.fsst_decode(codes.octets(), offsets, *table)
    return VariableWidth(downcast_offsets(ends, codes.offset_bits), data)


def _with_symbols(
    values: VariableWidth, unused: fsst.SymbolTable, kernels: Kernels
) -> tuple[VariableWidth, fsst.SymbolTable]:
    """The encoded values and their table; ``values`` and ``unused`` if codes are not shorter."""
    offsets = values.offsets.astype(np.int64)
    sample = fsst_sample(values.data, offsets[:-1], offsets[1:])
    table = fsst.SymbolTable(kernels.fsst_train(sample))
    codes, ends = kernels.fsst_encode(values.octets(), offsets[:-1], offsets[1:], *table.packed)
    if codes.size >= offsets[-1]:
        return values, unused
    return VariableWidth(ends.astype(np.int32) if values.offset_bits == 32 else ends, codes), table


class _Symbols:
    """FSST symbols by code."""

    __slots__ = ("_kernels", "_lengths", "_symbols", "_texts")

    def __init__(self, texts: bytes, lengths: bytes, kernels: Kernels) -> None:
        self._texts, self._lengths, self._kernels = texts, lengths, kernels
        self._symbols = [texts[8 * code : 8 * code + size] for code, size in enumerate(lengths)]

    def joined(self, codes: bytes | memoryview) -> bytes | memoryview:
        """The string encoded by ``codes``."""
        if len(codes) > _MAX_SHORT:
            octets = np.frombuffer(codes, np.uint8)
            edges = np.array([0, len(octets)])
            text, _ = self._kernels.fsst_decode(octets, edges, self._texts, self._lengths)
            return memoryview(text)
        symbols, parts, escaped = self._symbols, [], False
        for code in bytes(codes):  # iterating over a view of an Arrow buffer gives signed integers
            if escaped:
                parts.append(bytes((code,)))
                escaped = False
            elif code == ESCAPE:
                escaped = True
            elif code >= len(symbols):
                raise CorruptFileError(f"an FSST code has no symbol among {len(symbols)}")
            else:
                parts.append(symbols[code])
        if escaped:
            raise CorruptFileError("an FSST string ends within an escape")
        return b"".join(parts)
