"""FSST decoding: Arrow takes the symbols of all codes of all strings with one call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.arrow.strings import is_ascii
from lance_core.encodings.decoding import Int64Array, Offsets
from lance_core.encodings.kernels.numpy.variable_chunks import (
    VariableChunks,
    join_variable,
)
from lance_core.errors import CorruptFileError, LanceError

ESCAPE = 255
"""The code that marks the next byte as a literal."""

LENGTHS = bytes(range(1, 9))
"""All lengths in bytes that a symbol may have."""


class SymbolTables(NamedTuple):
    """The symbols of several tables, each of which is used for consecutive chunks.

    Table t has the next ``sizes[t]`` symbols of all, which take 8 bytes each in ``symbols`` and one
    in ``lengths``; -1 means that strings are stored unchanged. It decodes the chunks ``edges[t]``
    to ``edges[t + 1]``. ``keeps_escapes``: True if symbols are codes of another table; then escapes
    stay before their literals.
    """

    symbols: bytes
    lengths: bytes
    sizes: Int64Array
    edges: Int64Array
    keeps_escapes: bool = False


def fsst_decode(
    codes: npt.NDArray[np.uint8], offsets: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.fsst_decode`."""
    return _decoded(codes, offsets, symbols, lengths, keeps_escapes=False)


def _decoded(
    codes: npt.NDArray[np.uint8],
    offsets: Int64Array,
    symbols: bytes,
    lengths: bytes,
    *,
    keeps_escapes: bool,
) -> tuple[pa.Buffer, Int64Array]:
    """`fsst_decode`; ``keeps_escapes``: see `SymbolTables`."""
    check_symbols(symbols, lengths, CorruptFileError)
    if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(codes):
        raise CorruptFileError("offsets of FSST strings are not within the codes")
    if (offsets[1:] < offsets[:-1]).any():
        raise CorruptFileError("offsets of FSST strings descend")
    ends = offsets - offsets[0]
    codes = codes[offsets[0] : offsets[-1]]
    if not len(codes):
        return pa.py_buffer(b""), ends
    escapes = escaped_places(codes)
    indices: npt.NDArray[np.uint16] = codes.astype(np.uint16)
    if len(escapes):
        # Remove the escape codes and map the literals after them to the items from 256 on.
        # ``before`` is the number of escapes before each string end, so ends move back by it.
        before = np.searchsorted(escapes, ends)
        is_cut = (before > 0) & (escapes[before - 1] == ends - 1)
        if escapes[-1] + 1 == len(codes) or is_cut.any():
            raise CorruptFileError("an FSST string ends within an escape")
        indices[escapes + 1] += 256
        ends = ends - before
        indices = np.delete(indices, escapes)
    if ((indices >= len(lengths)) & (indices < 256)).any():
        raise CorruptFileError(f"an FSST code has no symbol among {len(lengths)}")
    # Arrow's take gathers and concatenates the symbols in one pass.
    taken = _lookup_table(symbols, lengths, keeps_escapes).take(from_numpy(indices))
    _, edge_bytes, data = taken.buffers()
    edges = np.frombuffer(edge_bytes, np.int64, len(taken) + 1)
    return data.slice(0, int(edges[-1])), edges.take(ends)


def fsst_decode_chunks(
    chunks: VariableChunks, tables: SymbolTables
) -> tuple[pa.Buffer, Offsets, bool]:
    """See `lance_core.encodings.kernels.Kernels.fsst_decode_chunks`."""
    check_tables(tables, len(chunks.counts))
    offsets, codes = join_variable(chunks)
    values = edges_of(chunks.counts)[tables.edges]
    octets = np.frombuffer(codes, np.uint8)
    text, ends = decode_by_table(
        octets,
        offsets.astype(np.int64, copy=False),
        tables._replace(edges=values),
        partial(_decoded, keeps_escapes=tables.keeps_escapes),
    )
    edges: Offsets = ends
    if chunks.width == 4 and ends[-1] <= MAX_OFFSET:
        edges = ends.astype(np.int32)
    return text, edges, is_ascii(text)


def decode_by_table(
    codes: npt.NDArray[np.uint8],
    offsets: Int64Array,
    tables: SymbolTables,
    decode: Callable[..., tuple[pa.Buffer, Int64Array]],
) -> tuple[pa.Buffer, Int64Array]:
    """Call ``decode`` (`fsst_decode`) for each of ``tables``, whose edges are numbers of strings.

    Returns the bytes and offsets of all strings.
    """
    texts: list[npt.NDArray[np.uint8]] = []
    ends = np.zeros(len(offsets), np.int64)
    size = symbol = 0
    spans = pairwise(tables.edges.tolist())
    for count, (first, stop) in zip(tables.sizes.tolist(), spans, strict=True):
        end = symbol + max(count, 0)
        symbols, lengths = tables.symbols[8 * symbol : 8 * end], tables.lengths[symbol:end]
        symbol = end
        if first == stop:
            continue
        inner = offsets[first : stop + 1] - offsets[first]
        text = codes[offsets[first] : offsets[stop]]
        if count >= 0:
            data, inner = decode(text, inner, symbols, lengths)
            text = np.frombuffer(data, np.uint8)[: int(inner[-1])]
        np.add(inner[1:], size, out=ends[first + 1 : stop + 1])
        texts.append(text)
        size += len(text)
    if len(texts) == 1:
        return pa.py_buffer(texts[0]), ends
    return pa.py_buffer(np.concatenate(texts) if texts else b""), ends


def check_tables(tables: SymbolTables, chunks: int) -> None:
    """Raise `CorruptFileError` unless the tables have their symbols and decode all ``chunks``."""
    symbols, lengths, sizes, edges, _ = tables
    sizes = np.maximum(sizes, 0)
    if len(edges) != len(sizes) + 1 or edges[0] != 0 or edges[-1] != chunks:
        raise CorruptFileError("FSST tables are not for all chunks")
    if np.logical_or.reduce(edges[1:] < edges[:-1]):
        raise CorruptFileError("edges of FSST tables descend")
    are_few = not np.logical_or.reduce(sizes > ESCAPE)
    if len(symbols) != 8 * len(lengths) or not are_few or np.add.reduce(sizes) != len(lengths):
        raise CorruptFileError("FSST tables have more or fewer symbols than there are")
    check_lengths(lengths, CorruptFileError)


def check_symbols(symbols: bytes, lengths: bytes, error: type[LanceError]) -> None:
    """Raises ``error`` unless these are at most 255 symbols of 1 to 8 bytes each."""
    if len(lengths) > ESCAPE or len(symbols) != 8 * len(lengths):
        raise error(f"{len(lengths)} FSST symbols in {len(symbols)} bytes")
    check_lengths(lengths, error)


def check_lengths(lengths: bytes, error: type[LanceError]) -> None:
    """Raises ``error`` unless these are lengths of symbols."""
    if lengths.translate(None, LENGTHS):
        raise error("an FSST symbol is not 1 to 8 bytes long")


def escaped_places(codes: npt.NDArray[np.uint8]) -> Int64Array:
    """The positions of escapes. In a run of 255s every second 255 is a literal, not an escape."""
    positions: Int64Array = np.flatnonzero(codes == ESCAPE)
    if len(positions) < 2:
        return positions
    new_run = np.concatenate([[True], np.diff(positions) != 1])
    numbers = np.arange(len(positions))
    # Position of each 255 within its run: its index minus the index at which the run starts.
    within = numbers - np.maximum.accumulate(np.where(new_run, numbers, 0))
    starts: Int64Array = positions[within % 2 == 0]
    return starts


@lru_cache(16)
def _lookup_table(symbols: bytes, lengths: bytes, keeps_escapes: bool) -> pa.Array:
    """Items 0 to 255: the symbols by code. Items 256 to 511: the single bytes, for literals."""
    texts = [symbols[8 * code : 8 * code + length] for code, length in enumerate(lengths)]
    before = bytes([ESCAPE]) if keeps_escapes else b""
    literals = [before + bytes([byte]) for byte in range(256)]
    sizes = np.full(512, 1 + len(before), np.int64)
    sizes[:256] = [*lengths, *[0] * (256 - len(lengths))]
    edges = edges_of(sizes)
    data = b"".join([*texts, *literals])
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), buffers, 0)
