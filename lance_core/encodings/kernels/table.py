"""The inner loops of decoders and encoders, in one place so that they can be exchanged.

Those of numpy and Arrow are always there. A plugin that has faster ones calls `use`; they take the
same arguments and give the same results and errors, bit for bit. Arrays have one dimension and are
contiguous; integers are little-endian, as in files. Every function checks its arguments against
each other before it allocates; what comes from files and does not fit is a `CorruptFileError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import pyarrow as pa

from lance_core.encodings.arrow import coalesced_take
from lance_core.encodings.decoding import Int64Array, Offsets
from lance_core.encodings.kernels.numpy import (
    bitpacking,
    byte_streams,
    chunk_rows,
    chunk_spans,
    levels,
    runs,
    single_packed,
)
from lance_core.encodings.kernels.numpy import chunk_headers as headers
from lance_core.encodings.kernels.numpy import fsst_decode as decoding
from lance_core.encodings.kernels.numpy import fsst_encode as encoding
from lance_core.encodings.kernels.numpy import fsst_train as training
from lance_core.encodings.kernels.numpy import full_zip_offsets as zipped
from lance_core.encodings.kernels.numpy import variable_chunks as variable
from lance_core.encodings.kernels.numpy.bitpacking import Words
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
from lance_core.encodings.kernels.numpy.full_zip_offsets import ZippedForm
from lance_core.encodings.kernels.numpy.levels import LevelArray, Slots
from lance_core.encodings.kernels.numpy.runs import RunRule
from lance_core.encodings.kernels.numpy.single_packed import PackedPositions
from lance_core.encodings.kernels.numpy.variable_chunks import VariableChunks

_Spans = tuple[pa.Buffer, Int64Array]


@dataclass(frozen=True, slots=True)
class Kernels:
    """A complete set of inner loops; each is documented by the function of its name."""

    unpack_fastlanes: Callable[[Bytes, int, int, int], Words]
    pack_fastlanes: Callable[[Words, int], Bytes]
    unpack_inline: Callable[[Bytes, Int64Array, Int64Array, Int64Array, int], Words]
    pick_inline: Callable[[Bytes, Int64Array, Int64Array, Int64Array, PackedPositions, int], Words]
    chunk_widths: Callable[[Words], Int64Array]
    pack_inline: Callable[[Words], tuple[Bytes, Int64Array]]
    unpack_levels: Callable[[Bytes, Int64Array, Int64Array, Int64Array, int], LevelArray]
    fsst_decode: Callable[[Bytes, Int64Array, bytes, bytes], _Spans]
    fsst_decode_chunks: Callable[[VariableChunks, bytes, bytes], tuple[pa.Buffer, Offsets]]
    fsst_encode: Callable[[Bytes, Int64Array, Int64Array, bytes, bytes], _Spans]
    fsst_train: Callable[[Sequence[bytes]], tuple[bytes, ...]]
    join_variable: Callable[[VariableChunks], tuple[Offsets, pa.Buffer]]
    split_variable: Callable[
        [Bytes, Int64Array, int, int], tuple[pa.Buffer, Int64Array, Int64Array]
    ]
    gather_variable: Callable[[Bytes, Int64Array, Int64Array], _Spans]
    pick_spans: Callable[[VariableChunks, PackedPositions], tuple[Int64Array, Int64Array]]
    take_variable: Callable[[Bytes, Int64Array, Int64Array], _Spans]
    interleave_chunks: Callable[[Sequence[Bytes], Int64Array, int, int], _Spans]
    expand_runs: Callable[[Bytes, Int64Array, Int64Array, Int64Array, int], Words]
    count_runs: Callable[[Words, int], Int64Array]
    encode_runs: Callable[[Words, RunRule], tuple[Words, Bytes, Int64Array, Int64Array]]
    join_streams: Callable[[Bytes, Int64Array, Int64Array, Int64Array, int], Bytes]
    split_streams: Callable[[Bytes, int, int], Bytes]
    check_levels: Callable[[LevelArray | None, LevelArray | None, int, LevelArray], None]
    layer_slots: Callable[
        [LevelArray | None, LevelArray, Slots, int, int], tuple[int, int, pa.Buffer | None]
    ]
    layer_offsets: Callable[[LevelArray, LevelArray | None, Slots, int, int], Offsets]
    count_upto: Callable[[LevelArray, int, Int64Array], Int64Array]
    nth_levels: Callable[[LevelArray, int, Int64Array], Int64Array]
    locate_rows: Callable[[Int64Array, Int64Array], tuple[Int64Array, Int64Array, Int64Array]]
    chunk_headers: Callable[[Bytes, Int64Array, Int64Array, int, int, bool], Int64Array]
    zipped_places: Callable[[Bytes, Int64Array, Int64Array, ZippedForm], Int64Array]


NUMPY = Kernels(
    unpack_fastlanes=bitpacking.unpack_fastlanes,
    pack_fastlanes=bitpacking.pack_fastlanes,
    unpack_inline=bitpacking.unpack_inline,
    pick_inline=single_packed.pick_inline,
    chunk_widths=bitpacking.chunk_widths,
    pack_inline=bitpacking.pack_inline,
    unpack_levels=bitpacking.unpack_levels,
    fsst_decode=decoding.fsst_decode,
    fsst_decode_chunks=decoding.fsst_decode_chunks,
    fsst_encode=encoding.fsst_encode,
    fsst_train=training.fsst_train,
    join_variable=variable.join_variable,
    split_variable=variable.split_variable,
    gather_variable=coalesced_take.gather_variable,
    pick_spans=variable.pick_spans,
    take_variable=coalesced_take.take_variable,
    interleave_chunks=chunk_spans.interleave_chunks,
    expand_runs=runs.expand_runs,
    count_runs=runs.count_runs,
    encode_runs=runs.encode_runs,
    join_streams=byte_streams.join_streams,
    split_streams=byte_streams.split_streams,
    check_levels=levels.check_levels,
    layer_slots=levels.layer_slots,
    layer_offsets=levels.layer_offsets,
    count_upto=levels.count_upto,
    nth_levels=levels.nth_levels,
    locate_rows=chunk_rows.locate_rows,
    chunk_headers=headers.chunk_headers,
    zipped_places=zipped.zipped_places,
)

_in_use = NUMPY


def use(offered: object | None) -> None:
    """Use the functions of ``offered``, a module or any object, in the whole process.

    Where it has none of a name, and everywhere if it is None, those of numpy are used.
    """
    global _in_use  # noqa: PLW0603  # one set for the process: which one makes no difference
    names = [field.name for field in fields(Kernels)]
    _in_use = Kernels(*(getattr(offered, name, getattr(NUMPY, name)) for name in names))


def in_use() -> Kernels:
    """The functions that this process uses."""
    return _in_use


def unpack_fastlanes(data: Bytes, width: int, bits: int, chunks: int) -> Words:
    """The 1024 values of ``bits`` bits of each of ``chunks`` chunks, one after the other.

    ``bits`` is 8, 16, 32 or 64, and each value takes ``width`` bits, 0 to ``bits``. Raises
    `CorruptFileError` unless ``data`` holds just that.
    """
    return _in_use.unpack_fastlanes(data, width, bits, chunks)


def pack_fastlanes(values: Words, width: int) -> Bytes:
    """Whole chunks of 1024 values below ``1 << width``, as `unpack_fastlanes` takes them.

    Raises `InvalidInputError` for other values.
    """
    return _in_use.pack_fastlanes(values, width)


def unpack_inline(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
) -> Words:
    """The ``counts[i]`` values, at most 1024, of each chunk: a word with its width, then packed.

    The word is of ``bits``, as values are. Raises `CorruptFileError` for widths above ``bits``,
    and for chunks that are not within ``data`` or smaller than what they hold.
    """
    return _in_use.unpack_inline(data, starts, sizes, counts, bits)


def pick_inline(
    data: Bytes,
    starts: Int64Array,
    sizes: Int64Array,
    counts: Int64Array,
    picked: PackedPositions,
    bits: int,
) -> Words:
    """Single ones of the values that `unpack_inline` gives; raises as it does.

    Raises `CorruptFileError`, too, for a value that its chunk does not have.
    """
    return _in_use.pick_inline(data, starts, sizes, counts, picked, bits)


def chunk_widths(words: Words) -> Int64Array:
    """The bits that the largest of each 1024 ``words`` takes; of no words, there is one chunk."""
    return _in_use.chunk_widths(words)


def pack_inline(words: Words) -> tuple[Bytes, Int64Array]:
    """Chunks as `unpack_inline` takes them, and their sizes.

    Each is as narrow as `chunk_widths` allows; the last one is filled up with zeros.
    """
    return _in_use.pack_inline(words)


def unpack_levels(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
) -> LevelArray:
    """The ``counts[i]`` levels of each chunk, packed to ``width`` bits.

    What is left of a chunk after units of 1024 is packed like a unit, or is as it was if the chunk
    is just as large as that needs. Raises `CorruptFileError` for chunks of other sizes.
    """
    return _in_use.unpack_levels(data, starts, sizes, counts, width)


def fsst_decode(
    codes: Bytes, offsets: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """The bytes of the strings whose codes are between ``offsets``, and offsets of these.

    Offsets are one more than strings; those returned start at 0. ``symbols`` are padded to 8 bytes
    each, ``lengths`` take one. Raises `CorruptFileError` for a code without a symbol, a string cut
    in an escape, and offsets that descend or are not within the codes.
    """
    return _in_use.fsst_decode(codes, offsets, symbols, lengths)


def fsst_decode_chunks(
    chunks: VariableChunks, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Offsets]:
    """What `fsst_decode` gives for the codes that `join_variable` would give.

    Offsets are int64 if those of chunks are, or if 2 GiB or more have to be reached.
    """
    return _in_use.fsst_decode_chunks(chunks, symbols, lengths)


def fsst_encode(
    data: Bytes, starts: Int64Array, stops: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """Codes of the strings at ``starts[i]`` to ``stops[i]`` of ``data``, and offsets of these.

    At each place the longest symbol is taken; none crosses the end of a segment of 256 bytes. Of
    symbols of three bytes and more only the first of those whose first three bytes share a hash
    is found. Raises `InvalidInputError` for strings outside of ``data``.
    """
    return _in_use.fsst_encode(data, starts, stops, symbols, lengths)


def fsst_train(sample: Sequence[bytes]) -> tuple[bytes, ...]:
    """At most 255 symbols of 1 to 8 bytes that shorten the texts of ``sample``, the best first.

    No two symbols of three bytes or more begin with the same three bytes, so that an encoder needs
    to try only one of them at each place. The same texts always give the same symbols.
    """
    return _in_use.fsst_train(sample)


def join_variable(chunks: VariableChunks) -> tuple[Offsets, pa.Buffer]:
    """The values of all chunks: their offsets, which start at 0, and bytes.

    Offsets are int64 if those of chunks are, or if 2 GiB or more have to be reached. Raises
    `CorruptFileError` for chunks that are not within the data, and for offsets that do not start
    at their own end and ascend within their chunk.
    """
    return _in_use.join_variable(chunks)


def split_variable(
    octets: Bytes, offsets: Int64Array, width: int, limit: int
) -> tuple[pa.Buffer, Int64Array, Int64Array]:
    """Strings as chunks that `join_variable` takes; the bytes and the values of each.

    The values of a chunk double, from two to 2048, as long as their offsets and bytes are at most
    ``limit``; the last one takes all that is left, fewer than 4096, if these are. No strings make
    one chunk. Raises `InvalidInputError` for offsets that descend or are not within ``octets``.
    """
    return _in_use.split_variable(octets, offsets, width, limit)


def interleave_chunks(buffers: Sequence[Bytes], sizes: Int64Array, align: int, fill: int) -> _Spans:
    """Chunk by chunk a piece of each buffer, and the sizes of chunks.

    ``sizes[b, c]`` are the bytes of buffer b, in order, that chunk c has; ``fill`` follows up to a
    multiple of ``align``. Raises `InvalidInputError` if pieces are not all of a buffer.
    """
    return _in_use.interleave_chunks(buffers, sizes, align, fill)


def expand_runs(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
) -> Words:
    """The ``counts[i]`` values of each chunk of runs.

    A chunk's values, of ``bits`` each, have the start ``starts[0, i]`` and the size, its lengths,
    of a byte each, ``starts[1, i]``. Raises `CorruptFileError` for chunks that are not within
    ``data``, and for runs that are not as many as lengths or not as long as values.
    """
    return _in_use.expand_runs(data, starts, sizes, counts, bits)


def count_runs(words: Words, per_chunk: int) -> Int64Array:
    """How many runs of equal values, of any length, each ``per_chunk`` of ``words`` has."""
    return _in_use.count_runs(words, per_chunk)


def encode_runs(words: Words, rule: RunRule) -> tuple[Words, Bytes, Int64Array, Int64Array]:
    """Values and lengths of runs, 1 to 255; the number of runs and of values of each chunk."""
    return _in_use.encode_runs(words, rule)


def join_streams(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
) -> Bytes:
    """The ``counts[i]`` values, of ``width`` bytes, 4 or 8, of chunks of one stream for each byte.

    Raises `CorruptFileError` for chunks that are not within ``data`` or have fewer bytes.
    """
    return _in_use.join_streams(data, starts, sizes, counts, width)


def split_streams(octets: Bytes, width: int, per_chunk: int) -> Bytes:
    """Chunks of ``per_chunk`` values, and one of the rest, as `join_streams` takes them."""
    return _in_use.split_streams(octets, width, per_chunk)


def check_levels(
    repetition: LevelArray | None, definition: LevelArray | None, most: int, least: LevelArray
) -> None:
    """Raise `CorruptFileError` for levels that no rows have.

    The first repetition is ``most``, and none is above; definition levels have a least repetition
    in ``least`` each. Absent levels are 0 and right.
    """
    _in_use.check_levels(repetition, definition, most, least)


def layer_slots(
    repetition: LevelArray | None, definition: LevelArray, slots: Slots, top: int, also: int
) -> tuple[int, int, pa.Buffer | None]:
    """The number of slots of a layer and of nulls; a bitmap of the slots, 1 for those not null.

    Slots are not null if their definition is at most ``top``, or ``also`` (above ``top``; if not,
    it says nothing). There is no bitmap if no slot is null. Absent repetition levels are 0. Raises
    `CorruptFileError` for levels of different numbers.
    """
    return _in_use.layer_slots(repetition, definition, slots, top, also)


def layer_offsets(
    repetition: LevelArray, definition: LevelArray | None, slots: Slots, base: int, lists: int
) -> Offsets:
    """Offsets of the ``lists`` that are ``slots``, which count items; of 8 bytes for 2^31 levels.

    Items are the slots of one rank less up to the definition ``base``. Raises `CorruptFileError`
    for levels of different numbers, and for more or fewer lists.
    """
    return _in_use.layer_offsets(repetition, definition, slots, base, lists)


def gather_variable(
    data: Bytes, starts: Int64Array, stops: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """The bytes ``starts[i]`` to ``stops[i]`` of ``data`` one after the other, and their offsets.

    The spans ascend and do not overlap; raises `CorruptFileError` if not, or if outside of
    ``data``.
    """
    return _in_use.gather_variable(data, starts, stops)


def pick_spans(chunks: VariableChunks, picked: PackedPositions) -> tuple[Int64Array, Int64Array]:
    """Where in the data of ``chunks`` the bytes of the values that are picked start and stop.

    Raises `CorruptFileError` for chunks that are not within their data or smaller than their
    offsets, for values that they do not have, and for those that are not within their chunk.
    """
    return _in_use.pick_spans(chunks, picked)


def take_variable(
    data: Bytes, offsets: Int64Array, places: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """The values ``offsets[p]`` to ``offsets[p + 1]`` of ``data`` for ``places`` p, in their order.

    Returns their bytes, one after the other, and their offsets. Raises `CorruptFileError` for
    places of no value, for no offsets, and for offsets that descend between the first and the last
    value that is taken or are not within ``data``.
    """
    return _in_use.take_variable(data, offsets, places)


def count_upto(levels: LevelArray, top: int, edges: Int64Array) -> Int64Array:
    """How many of ``levels`` are at most ``top``, from each of the ``edges`` to the next.

    Raises `CorruptFileError` for edges that descend or are not within the levels.
    """
    return _in_use.count_upto(levels, top, edges)


def nth_levels(levels: LevelArray, least: int, numbers: Int64Array) -> Int64Array:
    """Where the ``numbers``-th, from 0, of the levels are that are at least ``least``.

    Behind the last of them is the end of all levels. Raises `CorruptFileError` for numbers that
    descend, and for those of levels that are not there.
    """
    return _in_use.nth_levels(levels, least, numbers)


def locate_rows(edges: Int64Array, rows: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Which chunks ascending ``rows`` are in; chunk c has those from ``edges[c]`` to the next one.

    Returns the numbers of the chunks that have some, ascending, and for each row which of these it
    is in, counted from 0, and its position there. Raises `CorruptFileError` for rows that descend
    or are not within the edges, and for no edges.
    """
    return _in_use.locate_rows(edges, rows)


def chunk_headers(
    data: Bytes, starts: Int64Array, sizes: Int64Array, levels: int, buffers: int, large: bool
) -> Int64Array:
    """What the headers of mini-block chunks say: tables, each with an entry for every chunk.

    The number of levels; then for each part, first those of ``levels`` kinds of levels and then the
    ``buffers`` of values, where in ``data`` it starts; then the size of each part. ``large``:
    whether sizes of buffers take 4 bytes. Raises `CorruptFileError` for chunks that are not within
    ``data``, and for parts that do not fit into their chunk.
    """
    return _in_use.chunk_headers(data, starts, sizes, levels, buffers, large)


def zipped_places(
    data: Bytes, starts: Int64Array, stops: Int64Array, form: ZippedForm
) -> Int64Array:
    """Where the levels of the rows from ``starts[i]`` to ``stops[i]`` of ``data`` begin.

    Raises `CorruptFileError` for rows that descend, overlap or are not within ``data``, and unless
    values and rows end together.
    """
    return _in_use.zipped_places(data, starts, stops, form)
