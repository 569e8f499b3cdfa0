"""Merge mini-block pages of FSST codes: codes are replaced by those of one table of symbols.

Every page has its own symbols. A symbol that the new table does not have becomes several codes, so
no string is decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import Int64Array, edges_of
from lance_core.hookspecs.file_versions import DecodeContext
from lance_core.hookspecs.kernels import Kernels, SymbolTables
from lance_core.hookspecs.stored_pages import (
    MAX_SYMBOLS,
    CompressiveEncoding,
    Encoded,
    Fsst,
    MiniBlockLayout,
    Place,
    Target,
    VariableWidth,
    encode_values,
    offset_bits,
    packed_symbols,
    stored_symbols,
    variable_chunks,
)
from lance_core_compaction.page_copy.stored_pages import UnpackedPages, can_unpack

_MAX_GROWTH = 1.05
"""Maximum size of the codes of a merged page, relative to those of its pages."""

_SAMPLE = 2048
"""Maximum codes of a page that are counted to choose symbols."""

_MAX_CODES = 8
"""Maximum codes that a code can become: kernels write eight bytes at once."""

_FACTORS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


class SharedCodes(NamedTuple):
    """Strings as codes of a stored symbol table."""

    codes: VariableWidth
    symbol_table: bytes

    def encoded(self, context: DecodeContext) -> Encoded:
        """The codes in the chunks of a page."""
        target = Target(Place.MINI_BLOCK, context.registry, ("variable",))
        inner = encode_values(self.codes, target)
        message = Fsst(symbol_table=self.symbol_table, values=inner.encoding)
        return inner.within(CompressiveEncoding(fsst=message))


class _Symbols(NamedTuple):
    """The distinct symbols of several tables: 8 bytes each, padded with zeros, and their lengths.

    ``of_code``: which of them each symbol of each table is, one table after the other.
    """

    words: npt.NDArray[np.uint64]
    lengths: Int64Array
    of_code: Int64Array


class _SharedTable(NamedTuple):
    """One table for all symbols, as kernels take it, and what stands for each of the symbols.

    Symbol i becomes the first ``sizes[i]`` bytes of ``codes[i]``.
    """

    texts: bytes
    lengths: bytes
    codes: npt.NDArray[np.uint64]
    sizes: Int64Array


def symbols_of(page: MiniBlockLayout) -> bytes | None:
    """The stored symbol table of a page of FSST codes; None for other pages.

    Also None for pages with lists and pages whose codes are compressed.
    """
    values = page.value_compression
    if not can_unpack(page) or values.WhichOneof("compression") != "fsst":
        return None
    inner = values.fsst.values
    if inner.WhichOneof("compression") != "variable" or inner.variable.HasField("values"):
        return None
    return values.fsst.symbol_table


def shared_codes(
    pages: UnpackedPages, stored: Sequence[bytes], context: DecodeContext
) -> SharedCodes | None:
    """The values of ``pages``, whose symbol tables are ``stored``, as codes of one table.

    None if codes of one table would take more space, or if a page stores strings without codes.
    Raises `CorruptFileError` if the bytes contradict the message.
    """
    tables = [packed_symbols(table) for table in stored]
    packed = [table for table in tables if table is not None]
    if len(packed) < len(tables):
        return None
    sizes = np.array([len(lengths) for _, lengths in packed])
    symbols = _distinct(
        b"".join(table[0] for table in packed), b"".join(table[1] for table in packed)
    )
    if symbols is None or not len(symbols.words):
        return None
    width = offset_bits(pages.message.value_compression.fsst.values.variable) // 8
    weights = _weights(pages, symbols, sizes, width)
    table = _shared_table(symbols, weights, context.kernels)
    if table is None:
        return None
    recoded = SymbolTables(
        table.codes[symbols.of_code].tobytes(),
        table.sizes[symbols.of_code].astype(np.uint8).tobytes(),
        sizes,
        edges_of(pages.num_chunks),
        keeps_escapes=True,
    )
    chunks = variable_chunks(pages.values, width)
    data, offsets, _ = context.kernels.fsst_decode_chunks(chunks, recoded)
    symbol_table = stored_symbols(table.texts, table.lengths)
    return SharedCodes(VariableWidth(offsets, data), symbol_table)


def _distinct(texts: bytes, lengths: bytes) -> _Symbols | None:
    """The symbols of several tables; None if two of them have the same hash."""
    size = np.frombuffer(lengths, np.uint8).astype(np.int64)
    words = np.frombuffer(texts, "<u8") & (~np.uint64(0) >> (64 - 8 * size).astype(np.uint64))
    keys = words * _FACTORS[0] + size.astype(np.uint64) * _FACTORS[1]
    _, first, of_code = np.unique(keys, return_index=True, return_inverse=True)
    symbols = _Symbols(words[first], size[first], of_code)
    same = (symbols.words[of_code] == words) & (symbols.lengths[of_code] == size)
    return symbols if same.all() else None


def _weights(
    pages: UnpackedPages, symbols: _Symbols, sizes: Int64Array, width: int
) -> npt.NDArray[np.float64]:
    """How often each symbol occurs, estimated from the first codes of each page."""
    firsts = np.cumsum(pages.num_chunks) - pages.num_chunks
    heads = (pages.table.counts[firsts] + 1) * width
    num_bytes = pages.parts.sizes[0][firsts] - heads
    count = min(_SAMPLE, int(num_bytes.min()))
    if count < 0:
        raise CorruptFileError("a chunk has fewer bytes than the offsets of its values")
    positions = (pages.parts.starts[0][firsts] + heads)[:, None] + np.arange(count)
    numbers = np.arange(len(firsts))
    codes = pages.parts.data[positions] + (numbers << 8)[:, None]
    counts = np.bincount(codes.ravel(), minlength=len(firsts) << 8)
    within = np.arange(len(symbols.of_code)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # Symbols that the sample lacks are rare, but not absent.
    occurrences = 1 + counts[np.repeat(numbers << 8, sizes) + within]
    weights = np.bincount(symbols.of_code, occurrences, len(symbols.words))
    return weights.astype(np.float64)


def _shared_table(
    symbols: _Symbols, weights: npt.NDArray[np.float64], kernels: Kernels
) -> _SharedTable | None:
    """The symbols that save most, and all bytes that occur in symbols.

    None if a symbol would take too many codes, or all together more space.
    """
    octets = symbols.words.view(np.uint8).reshape(-1, 8)
    used = octets[np.arange(8) < symbols.lengths[:, None]]
    singles = np.flatnonzero(np.bincount(used, minlength=256))[:MAX_SYMBOLS]
    longer = np.flatnonzero(symbols.lengths > 1)
    saved = (weights * symbols.lengths)[longer]
    chosen = longer[np.argsort(-saved, kind="stable")[: MAX_SYMBOLS - len(singles)]]
    texts = np.concatenate([singles.astype(np.uint64), symbols.words[chosen]]).tobytes()
    lengths = np.concatenate([np.ones_like(singles), symbols.lengths[chosen]])
    packed = lengths.astype(np.uint8).tobytes()
    starts = 8 * np.arange(len(octets))
    stops = starts + symbols.lengths
    data, ends = kernels.fsst_encode(octets.ravel(), starts, stops, texts, packed)
    sizes = np.diff(ends)
    sizes[chosen] = 1
    if int(sizes.max()) > _MAX_CODES or weights @ sizes > _MAX_GROWTH * weights.sum():
        return None
    padded = np.concatenate([np.frombuffer(data, np.uint8), np.zeros(_MAX_CODES, np.uint8)])
    codes = padded[ends[:-1, None] + np.arange(_MAX_CODES)]
    codes[chosen, 0] = np.arange(len(singles), len(lengths))
    return _SharedTable(texts, packed, codes.view("<u8").ravel(), sizes)
