"""The interface of kernels, and the table with one implementation per kernel.

Kernels are the inner loops of decoders and encoders. numpy and Arrow implement all of them; plugins
may provide faster ones (`lance_kernels`). All implementations take the same arguments and give the
same results and errors, bit for bit. Arrays have one dimension and are contiguous; integers are
little-endian, as in files. Every kernel checks its arguments against each other before it allocates
memory; inconsistent data from files raises `CorruptFileError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

from lance_core.errors import PluginConflictError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.byte_ranges import CopyRanges
    from lance_core.checksums.crc32c import Crc32c
    from lance_core.encodings.arrow.coalesced_take import Places
    from lance_core.encodings.decoding import Int64Array, Offsets, ValueMatches
    from lance_core.encodings.kernels.numpy.bitpacking import Words
    from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
    from lance_core.encodings.kernels.numpy.dictionary_codes import Codes
    from lance_core.encodings.kernels.numpy.fsst_decode import SymbolTables
    from lance_core.encodings.kernels.numpy.full_zip_offsets import ZippedForm
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
    from lance_core.encodings.kernels.numpy.levels import LevelArray, Slots
    from lance_core.encodings.kernels.numpy.repacked_chunks import PackedSlices
    from lance_core.encodings.kernels.numpy.runs import RunRule
    from lance_core.encodings.kernels.numpy.single_packed import PackedPositions
    from lance_core.encodings.kernels.numpy.variable_chunks import VariableChunks
    from lance_core.schema.json.loops import JsonLoop


class Kernels(Protocol):
    """A complete set of kernels."""

    def unpack_fastlanes(self, data: Bytes, width: int, bits: int, chunks: int) -> Words:
        """The values of ``chunks`` chunks of 1024 values of ``bits`` bits, concatenated.

        ``bits`` is 8, 16, 32 or 64, and each packed value takes ``width`` bits, 0 to ``bits``.
        Raises `CorruptFileError` unless ``data`` has exactly the bytes of the chunks.
        """

    def pack_fastlanes(self, values: Words, width: int) -> Bytes:
        """Pack whole chunks of 1024 values below ``1 << width``; the inverse of `unpack_fastlanes`.

        A chunk takes ``128 * width`` bytes. Raises `InvalidInputError` for larger values, and
        unless ``len(values)`` is a multiple of 1024.
        """

    def unpack_inline(
        self, data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
    ) -> Words:
        """The values of chunks that each consist of a width word and packed values.

        Chunk i has ``counts[i]`` values, at most 1024. The width word has ``bits`` bits, as the
        values have. Raises `CorruptFileError` for widths above ``bits``, for chunks that are not
        within ``data`` and for chunks that are too small for their values.
        """

    def pick_inline(
        self,
        data: Bytes,
        starts: Int64Array,
        sizes: Int64Array,
        counts: Int64Array,
        picked: PackedPositions,
        bits: int,
    ) -> Words:
        """Picked values out of those that `unpack_inline` returns; raises as it does.

        Also raises `CorruptFileError` for a position that its chunk does not have.
        """

    def find_inline(
        self,
        data: Bytes,
        starts: Int64Array,
        sizes: Int64Array,
        counts: Int64Array,
        bits: int,
        index: IntegerIndex,
    ) -> ValueMatches:
        """Those values of `unpack_inline` that are in ``index``, where they are signed integers.

        Returns their positions in ascending order. Raises as `unpack_inline` does.
        """

    def find_integers(self, values: Int64Array, index: IntegerIndex) -> ValueMatches:
        """The values that are in ``index``, by ascending position."""

    def chunk_widths(self, words: Words) -> Int64Array:
        """The bit length of the largest value of each 1024 ``words``; no words make one chunk."""

    def pack_inline(self, words: Words) -> tuple[Bytes, Int64Array]:
        """Pack words into chunks for `unpack_inline`; returns their bytes and sizes.

        Each chunk has the width of `chunk_widths`. The last chunk is padded with zeros.
        """

    def unpack_levels(
        self, data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
    ) -> LevelArray:
        """The ``counts[i]`` levels of each chunk i, packed to ``width`` bits.

        A chunk consists of packed units of 1024 levels. The remaining levels are either raw (2
        bytes each) or packed like a unit; the size of the chunk tells which. Raises
        `CorruptFileError` for any other size.
        """

    def pick_levels(
        self,
        data: Bytes,
        starts: Int64Array,
        sizes: Int64Array,
        counts: Int64Array,
        picked: PackedPositions,
        width: int,
    ) -> LevelArray:
        """Picked levels out of those that `unpack_levels` returns; raises as it does.

        Also raises `CorruptFileError` for a position that its chunk does not have.
        """

    def fsst_decode(
        self, codes: Bytes, offsets: Int64Array, symbols: bytes, lengths: bytes
    ) -> tuple[pa.Buffer, Int64Array]:
        """Decode the strings whose codes lie between ``offsets``; returns their bytes and offsets.

        n strings have n + 1 offsets; the returned offsets start at 0. ``symbols`` has 8 bytes per
        symbol, padded, and ``lengths`` one byte. Raises `CorruptFileError` for a code without a
        symbol, for a string that ends within an escape, and for offsets that descend or are not
        within the codes.
        """

    def fsst_decode_chunks(
        self, chunks: VariableChunks, tables: SymbolTables
    ) -> tuple[pa.Buffer, Offsets, bool]:
        """The strings that `fsst_decode` with ``tables`` gives for those of `join_variable`.

        Returns their bytes, their offsets, and whether all bytes are ASCII. With
        ``tables.keeps_escapes``, escapes stay before their literals.
        Offsets are int64 if the chunks have 64-bit offsets or the text has 2 GiB or more. Raises
        as these kernels do, and `CorruptFileError` if the tables do not have exactly the given
        symbols or do not decode exactly the given chunks.
        """

    def fsst_encode(
        self, data: Bytes, starts: Int64Array, stops: Int64Array, symbols: bytes, lengths: bytes
    ) -> tuple[pa.Buffer, Int64Array]:
        """Encode the strings ``starts[i]`` to ``stops[i]`` of ``data``; returns codes and offsets.

        Encoding is greedy: it takes the longest symbol at each place. No symbol crosses the end of
        a segment of 256 bytes. Among symbols of three or more bytes whose first three bytes have
        the same hash, only the first one is used. ``symbols`` and ``lengths`` are as in
        `fsst_decode`. n strings give n + 1 offsets, starting at 0. Raises `InvalidInputError` for
        strings outside of ``data``.
        """

    def fsst_train(self, sample: Sequence[bytes]) -> tuple[bytes, ...]:
        """At most 255 symbols of 1 to 8 bytes that shorten the texts of ``sample``, best first.

        No two symbols of three or more bytes share their first three bytes, so an encoder needs to
        try only one of them at each place. The result is deterministic.
        """

    def join_variable(self, chunks: VariableChunks) -> tuple[Offsets, pa.Buffer]:
        """The values of all chunks: their offsets, starting at 0, and their bytes.

        Offsets are int64 if the chunks have 64-bit offsets or the values have 2 GiB or more. Raises
        `CorruptFileError` for chunks that are not within the data, for a first offset that is not
        the end of the offsets, and for offsets that descend or exceed their chunk.
        """

    def split_variable(
        self, octets: Bytes, offsets: Int64Array, width: int, limit: int, columns: int = 1
    ) -> tuple[pa.Buffer, Int64Array, Int64Array]:
        """Split the strings of ``columns`` of equal length into chunks for `join_variable`.

        The strings of a column follow those of the one before, and have chunks of their own.

        Returns the bytes of all chunks, and the size and the number of values of each. The number
        of values doubles, from 2 to 2048, while their offsets and bytes take at most ``limit``
        bytes. The last chunk of a column takes all remaining values if these are fewer than 4096
        and fit. No strings make one chunk. Raises `InvalidInputError` for offsets that descend or
        are not within ``octets``, and for columns whose lengths differ.
        """

    def interleave_chunks(
        self, buffers: Sequence[Bytes], sizes: Int64Array, align: int, fill: int
    ) -> tuple[pa.Buffer, Int64Array]:
        """Write chunk by chunk one piece of each buffer; returns the bytes and the chunk sizes.

        The piece of buffer b in chunk c has ``sizes[b, c]`` bytes, padded with the byte ``fill`` to
        a multiple of ``align``. Raises `InvalidInputError` unless the pieces of a buffer add up to
        it.
        """

    def expand_runs(
        self, data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
    ) -> Words:
        """The ``counts[i]`` values of each chunk of runs.

        The run values of chunk i, of ``bits`` bits each, are the ``sizes[0, i]`` bytes at
        ``starts[0, i]``; the run lengths, one byte each, are the ``sizes[1, i]`` bytes at
        ``starts[1, i]``. Raises `CorruptFileError` for chunks that are not within ``data``, for
        different numbers of run values and lengths, and for lengths that do not add up to the
        count.
        """

    def count_runs(self, words: Words, per_chunk: int) -> Int64Array:
        """The number of runs of equal values, of any length, in each ``per_chunk`` of ``words``."""

    def encode_runs(
        self, words: Words, rule: RunRule
    ) -> tuple[Words, Bytes, Int64Array, Int64Array]:
        """Run-length encode ``words`` in chunks, whose sizes follow ``rule``.

        Returns run values, run lengths (1 to 255), and the number of runs and of values per chunk.
        """

    def join_streams(
        self, data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
    ) -> Bytes:
        """The ``counts[i]`` values of chunks that store a separate stream for each byte of a value.

        A value has ``width`` bytes, 4 or 8. Raises `CorruptFileError` for chunks that are not
        within ``data`` or are too small.
        """

    def split_streams(self, octets: Bytes, width: int, per_chunk: int) -> Bytes:
        """Split chunks of ``per_chunk`` values, and one of the rest, for `join_streams`."""

    def check_levels(
        self,
        repetition: LevelArray | None,
        definition: LevelArray | None,
        most: int,
        least: LevelArray,
    ) -> None:
        """Raise `CorruptFileError` for levels that cannot belong to any rows.

        The first repetition level must be ``most``, and none may exceed it. A definition level d
        requires a repetition level of at least ``least[d]``. Absent (None) levels count as valid
        zeros.
        """

    def layer_slots(
        self,
        repetition: LevelArray | None,
        definition: LevelArray,
        slots: Slots,
        top: int,
        also: int,
    ) -> tuple[int, int, pa.Buffer | None]:
        """The number of slots of a layer, the number of nulls, and the bitmap of valid slots.

        A slot is valid if its definition is at most ``top`` or equals ``also`` (ignored unless
        above ``top``). The bitmap is None if no slot is null. Absent repetition levels count as 0.
        Raises `CorruptFileError` if the numbers of levels differ.
        """

    def layer_offsets(
        self,
        repetition: LevelArray,
        definition: LevelArray | None,
        slots: Slots,
        base: int,
        lists: int,
    ) -> Offsets:
        """Offsets of ``lists`` lists, which start at ``slots``; int64 only for 2^31 or more levels.

        The items are the slots of rank ``slots.rank - 1`` with definition at most ``base``. Raises
        `CorruptFileError` if the numbers of levels differ, or if there are more or fewer lists.
        """

    def gather_variable(
        self, data: Bytes, starts: Int64Array, stops: Int64Array
    ) -> tuple[pa.Buffer, Int64Array]:
        """The bytes ``starts[i]`` to ``stops[i]`` of ``data``, concatenated, and n + 1 offsets.

        Raises `CorruptFileError` for spans that descend, overlap or are not within ``data``.
        """

    def join_slices(
        self,
        buffers: Sequence[pa.Buffer],
        owners: Int64Array,
        starts: Int64Array,
        stops: Int64Array,
    ) -> Bytes:
        """The bytes ``starts[i]`` to ``stops[i]`` of ``buffers[owners[i]]``, concatenated.

        Raises `CorruptFileError` for slices that are not within their buffer.
        """

    def repack_chunks(
        self, chunks: PackedSlices, bits: int, large: bool
    ) -> tuple[pa.Buffer, Int64Array]:
        """The values of mini-block chunks in chunks of 1024; returns their bytes and sizes.

        A chunk has a header, in which the size of its only value buffer takes 4 bytes if ``large``,
        no levels, and values as for `unpack_inline`. The result has such chunks as `pack_inline`
        makes, with headers and padding. Raises `CorruptFileError` as `join_slices`,
        `chunk_headers` and `unpack_inline` do.
        """

    def pick_spans(
        self, chunks: VariableChunks, picked: PackedPositions
    ) -> tuple[Int64Array, Int64Array]:
        """The start and stop in ``chunks.data`` of the bytes of each picked value.

        Raises `CorruptFileError` for chunks that are not within their data or are too small for
        their offsets, for positions that a chunk does not have, and for values that exceed their
        chunk.
        """

    def take_variable(
        self, data: Bytes, offsets: Int64Array, places: Places
    ) -> tuple[pa.Buffer, Offsets]:
        """The values ``data[offsets[p]:offsets[p + 1]]`` for each p of ``places``, in order.

        Places are integers of any size. Returns the bytes of the values, concatenated, and their
        offsets, which are int32 if they fit. Raises `CorruptFileError` if there are no offsets, if
        a place has no value, and if offsets between the lowest and the highest place descend or are
        not within ``data``.
        """

    def dictionary_codes(
        self, data: Bytes, edges: Int64Array, columns: int, places: Int64Array, most: int
    ) -> tuple[Codes, Int64Array, Int64Array]:
        """Dictionary-encode columns of equal length: codes, numbers of items, and their positions.

        Each of ``columns`` columns has the next n + 1 of ``edges``, and the values between these
        edges of ``data``, of which those at ``places`` are encoded. The items of a column are its
        distinct values in the order of first occurrence; their positions are indices of ``edges``.
        A column with more than ``most`` distinct values has ``most + 1`` as its number of items,
        codes of 0 and no positions. Raises `InvalidInputError` for edges that descend or are not
        within ``data``, for places that a column does not have, and if the numbers do not fit.
        """

    def rank_levels(self, levels: LevelArray, top: int, edges: Int64Array) -> Int64Array:
        """The number of ``levels`` up to ``top`` between each of the ``edges`` and the next one.

        Raises `CorruptFileError` for edges that descend or are not within the levels.
        """

    def select_levels(self, levels: LevelArray, least: int, numbers: Int64Array) -> Int64Array:
        """The positions of picked levels among those that are at least ``least``.

        The result has for each n of ``numbers`` the position of the n-th such level, counted from
        0. If there are k such levels, k is valid, too, and gives the number of all levels. Raises
        `CorruptFileError` for numbers that descend or exceed k.
        """

    def locate_rows(
        self, edges: Int64Array, rows: Int64Array
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Locate ascending ``rows`` in chunks. Chunk c has rows ``edges[c]`` to ``edges[c + 1]``.

        Returns the ascending numbers of the chunks in use, and for each row the index into these
        numbers and its position within the chunk. Raises `CorruptFileError` for rows that descend
        or are not within the edges, and if there are no edges.
        """

    def chunk_edges(
        self, words: pa.Buffer, large: bool, num_values: int, num_bytes: int
    ) -> tuple[Int64Array, Int64Array]:
        """The byte positions and the first values of chunks by their words, each with the total.

        ``large``: True if words have 4 bytes instead of 2. Raises `CorruptFileError` unless the
        chunks have exactly ``num_values`` values, and at most ``num_bytes`` bytes.
        """

    def chunk_headers(
        self,
        data: Bytes,
        starts: Int64Array,
        sizes: Int64Array,
        levels: int,
        buffers: int,
        large: bool,
    ) -> Int64Array:
        """The contents of mini-block chunk headers, as consecutive tables with an entry per chunk.

        The tables are: the number of levels; the start in ``data`` of each part (``levels`` kinds
        of levels, then ``buffers`` value buffers); the size of each part. ``large``: True if the
        sizes of value buffers take 4 bytes. Raises `CorruptFileError` for chunks that are not
        within ``data``, and for parts that exceed their chunk.
        """

    def zipped_places(
        self, data: Bytes, starts: Int64Array, stops: Int64Array, form: ZippedForm
    ) -> Int64Array:
        """Byte positions in ``data`` of all levels of the rows from ``starts[i]`` to ``stops[i]``.

        Raises `CorruptFileError` for rows that descend, overlap or are not within ``data``, and for
        rows whose last value does not end at the end of the row.
        """

    copy_ranges: CopyRanges | None
    """Copies ranges of open files to another, without Python's lock; a local store calls it.

    Its arguments: for each range the descriptor of its file, its start, its length, and its place
    in the other file; the descriptor of that file; and a buffer, which limits how many bytes are
    read at once. Raises `OSError`, also if a file ends before a range. None if no plugin has it.
    """

    crc32c: Crc32c | None
    """The CRC-32C of each buffer of a list. None if no plugin has it: then numpy computes it."""

    encode_json: JsonLoop | None
    """Converts JSON text, in UTF-8, to binary JSON. None if no plugin has it.

    Leaves out what is not JSON text, repeats a key of an object, has a lone surrogate or an integer
    of more than 64 bits, or is nested deeply. Raises `InvalidInputError` for offsets that descend
    or are not within the bytes.
    """

    decode_json: JsonLoop | None
    """Converts binary JSON to JSON text; leaves out and raises as `encode_json` does."""


LOOPS = tuple(name for name in vars(Kernels) if not name.startswith("_"))
"""The names of all kernels that numpy provides too."""

OPTIONAL_LOOPS = ("copy_ranges", "crc32c", "encode_json", "decode_json")
"""The names of the other kernels."""

ALL_LOOPS = (*LOOPS, *OPTIONAL_LOOPS)
"""The names of all kernels."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelSpec:
    """Kernels of one plugin, under the names of the methods of `Kernels`. Immutable.

    If several plugins provide a kernel, the one with the highest ``rank`` is used; numpy's kernels
    have rank 0. ``note``: a sentence that `lance-core plugins` shows, such as why there are no
    loops.
    """

    name: str
    loops: Mapping[str, Callable[..., Any]]
    rank: int = 1
    note: str = ""

    @classmethod
    def of(cls, name: str, *modules: ModuleType, rank: int = 1) -> KernelSpec:
        """A spec with each function in ``modules`` whose name is that of a kernel."""
        loops = {
            loop: function
            for module in modules
            for loop in ALL_LOOPS
            if (function := getattr(module, loop, None)) is not None
            and function.__module__ == module.__name__
        }
        return cls(name, MappingProxyType(loops), rank)


class _Table:
    """One function per kernel. Immutable."""

    __slots__ = ALL_LOOPS

    def __init__(self, loops: Mapping[str, Callable[..., Any] | None]) -> None:
        for name in ALL_LOOPS:
            object.__setattr__(self, name, loops[name])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"the table of kernels cannot be changed: {name}")


def kernel_table(offered: Iterable[tuple[str, KernelSpec]]) -> Kernels:
    """The kernel table for the specs of plugins, given as (provider's name, spec) pairs.

    A kernel with two providers of the same rank raises `PluginConflictError` when it is called; a
    kernel without a provider raises `UnsupportedFeatureError`, or is None if it is optional.
    """
    best: dict[str, list[tuple[str, KernelSpec]]] = {name: [] for name in ALL_LOOPS}
    for provider, spec in offered:
        for name in spec.loops:
            rivals = best[name]
            if not rivals or rivals[0][1].rank < spec.rank:
                best[name] = [(provider, spec)]
            elif rivals[0][1].rank == spec.rank:
                rivals.append((provider, spec))
    return cast("Kernels", _Table({name: _only(name, rivals) for name, rivals in best.items()}))


def _only(name: str, offers: Sequence[tuple[str, KernelSpec]]) -> Callable[..., Any] | None:
    if len(offers) == 1:
        return offers[0][1].loops[name]
    if name in OPTIONAL_LOOPS and not offers:
        return None

    # Not at once: what needs neither of the plugins still works.
    def refuse(*_: object, **__: object) -> None:
        if not offers:
            raise UnsupportedFeatureError(f"no plugin has the kernel {name!r}")
        names = " and ".join(f"{spec.name!r} of plugin {provider}" for provider, spec in offers)
        raise PluginConflictError(f"kernel {name!r} is provided by {names}; uninstall one of them")

    return refuse
