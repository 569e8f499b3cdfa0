"""The inner loops of decoders and encoders, and the table in which a process has one of each.

Those of numpy and Arrow are always there; a plugin may have faster ones (`lance_kernels`). All take
the same arguments and give the same results and errors, bit for bit. Arrays have one dimension and
are contiguous; integers are little-endian, as in files. Every function checks its arguments against
each other before it allocates; what comes from files and does not fit is a `CorruptFileError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

from lance_core.errors import PluginConflictError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.decoding import Int64Array, Offsets
    from lance_core.encodings.kernels.numpy.bitpacking import Words
    from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
    from lance_core.encodings.kernels.numpy.full_zip_offsets import ZippedForm
    from lance_core.encodings.kernels.numpy.levels import LevelArray, Slots
    from lance_core.encodings.kernels.numpy.runs import RunRule
    from lance_core.encodings.kernels.numpy.single_packed import PackedPositions
    from lance_core.encodings.kernels.numpy.variable_chunks import VariableChunks


class Kernels(Protocol):
    """A complete set of inner loops."""

    def unpack_fastlanes(self, data: Bytes, width: int, bits: int, chunks: int) -> Words:
        """The 1024 values of ``bits`` bits of each of ``chunks`` chunks, one after the other.

        ``bits`` is 8, 16, 32 or 64, and each value takes ``width`` bits, 0 to ``bits``. Raises
        `CorruptFileError` unless ``data`` holds just that.
        """

    def pack_fastlanes(self, values: Words, width: int) -> Bytes:
        """Whole chunks of 1024 values below ``1 << width``, as `unpack_fastlanes` takes them.

        Raises `InvalidInputError` for other values.
        """

    def unpack_inline(
        self, data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
    ) -> Words:
        """The ``counts[i]`` values, at most 1024, of chunks: a word with the width, then packed.

        The word is of ``bits``, as values are. Raises `CorruptFileError` for widths above ``bits``,
        and for chunks that are not within ``data`` or smaller than what they hold.
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
        """Single ones of the values that `unpack_inline` gives; raises as it does.

        Raises `CorruptFileError`, too, for a value that its chunk does not have.
        """

    def chunk_widths(self, words: Words) -> Int64Array:
        """The bits of the largest of each 1024 ``words``; of no words, there is one chunk."""

    def pack_inline(self, words: Words) -> tuple[Bytes, Int64Array]:
        """Chunks as `unpack_inline` takes them, and their sizes.

        Each is as narrow as `chunk_widths` allows; the last one is filled up with zeros.
        """

    def unpack_levels(
        self, data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
    ) -> LevelArray:
        """The ``counts[i]`` levels of each chunk, packed to ``width`` bits.

        What is left of a chunk after units of 1024 is packed like a unit, or is as it was if the
        chunk is just as large as that needs. Raises `CorruptFileError` for chunks of other sizes.
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
        """Single ones of the levels that `unpack_levels` gives; raises as it does.

        Raises `CorruptFileError`, too, for a level that its chunk does not have.
        """

    def fsst_decode(
        self, codes: Bytes, offsets: Int64Array, symbols: bytes, lengths: bytes
    ) -> tuple[pa.Buffer, Int64Array]:
        """The bytes of the strings whose codes are between ``offsets``, and offsets of these.

        Offsets are one more than strings; those returned start at 0. ``symbols`` are padded to 8
        bytes each, ``lengths`` take one. Raises `CorruptFileError` for a code without a symbol, a
        string cut in an escape, and offsets that descend or are not within the codes.
        """

    def fsst_decode_chunks(
        self, chunks: VariableChunks, symbols: bytes, lengths: bytes
    ) -> tuple[pa.Buffer, Offsets]:
        """What `fsst_decode` gives for the codes that `join_variable` would give.

        Offsets are int64 if those of chunks are, or if 2 GiB or more have to be reached.
        """

    def fsst_encode(
        self, data: Bytes, starts: Int64Array, stops: Int64Array, symbols: bytes, lengths: bytes
    ) -> tuple[pa.Buffer, Int64Array]:
        """Codes of the strings at ``starts[i]`` to ``stops[i]`` of ``data``, and offsets of these.

        At each place the longest symbol is taken; none crosses the end of a segment of 256 bytes.
        Of symbols of three bytes and more only the first of those whose first three bytes share a
        hash is found. Raises `InvalidInputError` for strings outside of ``data``.
        """

    def fsst_train(self, sample: Sequence[bytes]) -> tuple[bytes, ...]:
        """At most 255 symbols of 1 to 8 bytes that shorten the texts of ``sample``, the best first.

        No two symbols of three bytes or more begin with the same three bytes, so that an encoder
        needs to try only one of them at each place. The same texts always give the same symbols.
        """

    def join_variable(self, chunks: VariableChunks) -> tuple[Offsets, pa.Buffer]:
        """The values of all chunks: their offsets, which start at 0, and bytes.

        Offsets are int64 if those of chunks are, or if 2 GiB or more have to be reached. Raises
        `CorruptFileError` for chunks that are not within the data, and for offsets that do not
        start at their own end and ascend within their chunk.
        """

    def split_variable(
        self, octets: Bytes, offsets: Int64Array, width: int, limit: int
    ) -> tuple[pa.Buffer, Int64Array, Int64Array]:
        """Strings as chunks that `join_variable` takes; the bytes and the values of each.

        The values of a chunk double, from two to 2048, as long as their offsets and bytes are at
        most ``limit``; the last one takes all that is left, fewer than 4096, if these are. No
        strings make one chunk. Raises `InvalidInputError` for offsets that descend or are not
        within ``octets``.
        """

    def interleave_chunks(
        self, buffers: Sequence[Bytes], sizes: Int64Array, align: int, fill: int
    ) -> tuple[pa.Buffer, Int64Array]:
        """Chunk by chunk a piece of each buffer, and the sizes of chunks.

        ``sizes[b, c]`` are the bytes of buffer b, in order, that chunk c has; ``fill`` follows up
        to a multiple of ``align``. Raises `InvalidInputError` if pieces are not all of a buffer.
        """

    def expand_runs(
        self, data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, bits: int
    ) -> Words:
        """The ``counts[i]`` values of each chunk of runs.

        A chunk's values, of ``bits`` each, have the start ``starts[0, i]`` and the size, its
        lengths, of a byte each, ``starts[1, i]``. Raises `CorruptFileError` for chunks that are not
        within ``data``, and for runs that are not as many as lengths or not as long as values.
        """

    def count_runs(self, words: Words, per_chunk: int) -> Int64Array:
        """How many runs of equal values, of any length, each ``per_chunk`` of ``words`` has."""

    def encode_runs(
        self, words: Words, rule: RunRule
    ) -> tuple[Words, Bytes, Int64Array, Int64Array]:
        """Values and lengths of runs, 1 to 255; the number of runs and of values of each chunk."""

    def join_streams(
        self, data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
    ) -> Bytes:
        """The ``counts[i]`` values, of ``width`` bytes, 4 or 8, of chunks: a stream for each byte.

        Raises `CorruptFileError` for chunks that are not within ``data`` or have fewer bytes.
        """

    def split_streams(self, octets: Bytes, width: int, per_chunk: int) -> Bytes:
        """Chunks of ``per_chunk`` values, and one of the rest, as `join_streams` takes them."""

    def check_levels(
        self,
        repetition: LevelArray | None,
        definition: LevelArray | None,
        most: int,
        least: LevelArray,
    ) -> None:
        """Raise `CorruptFileError` for levels that no rows have.

        The first repetition is ``most``, and none is above; definition levels have a least
        repetition in ``least`` each. Absent levels are 0 and right.
        """

    def layer_slots(
        self,
        repetition: LevelArray | None,
        definition: LevelArray,
        slots: Slots,
        top: int,
        also: int,
    ) -> tuple[int, int, pa.Buffer | None]:
        """The number of slots of a layer and of nulls; a bitmap of the slots, 1 for those not null.

        Slots are not null if their definition is at most ``top``, or ``also`` (above ``top``; if
        not, it says nothing). There is no bitmap if no slot is null. Absent repetition levels are
        0. Raises `CorruptFileError` for levels of different numbers.
        """

    def layer_offsets(
        self,
        repetition: LevelArray,
        definition: LevelArray | None,
        slots: Slots,
        base: int,
        lists: int,
    ) -> Offsets:
        """Offsets of the ``lists`` that are ``slots``, which count items; int64 for 2^31 levels.

        Items are the slots of one rank less up to the definition ``base``. Raises
        `CorruptFileError` for levels of different numbers, and for more or fewer lists.
        """

    def gather_variable(
        self, data: Bytes, starts: Int64Array, stops: Int64Array
    ) -> tuple[pa.Buffer, Int64Array]:
        """The bytes ``starts[i]`` to ``stops[i]`` of ``data`` back to back, and their offsets.

        The spans ascend and do not overlap; raises `CorruptFileError` if not, or if outside of
        ``data``.
        """

    def pick_spans(
        self, chunks: VariableChunks, picked: PackedPositions
    ) -> tuple[Int64Array, Int64Array]:
        """Where in the data of ``chunks`` the bytes of the values that are picked start and stop.

        Raises `CorruptFileError` for chunks that are not within their data or smaller than their
        offsets, for values that they do not have, and for those that are not within their chunk.
        """

    def take_variable(
        self, data: Bytes, offsets: Int64Array, places: Int64Array
    ) -> tuple[pa.Buffer, Int64Array]:
        """The values ``offsets[p]`` to ``offsets[p + 1]`` of ``data`` for ``places`` p, in order.

        Returns their bytes, one after the other, and their offsets. Raises `CorruptFileError` for
        places of no value, for no offsets, and for offsets that descend between the first and the
        last value that is taken or are not within ``data``.
        """

    def rank_levels(self, levels: LevelArray, top: int, edges: Int64Array) -> Int64Array:
        """How many of ``levels`` are at most ``top``, from each of the ``edges`` to the next.

        Raises `CorruptFileError` for edges that descend or are not within the levels.
        """

    def select_levels(self, levels: LevelArray, least: int, numbers: Int64Array) -> Int64Array:
        """Where the ``numbers``-th, from 0, of the levels are that are at least ``least``.

        Behind the last of them is the end of all levels. Raises `CorruptFileError` for numbers that
        descend, and for those of levels that are not there.
        """

    def locate_rows(
        self, edges: Int64Array, rows: Int64Array
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Which chunks ascending ``rows`` are in; chunk c has those from ``edges[c]`` to the next.

        Returns the numbers of the chunks that have some, ascending, and for each row which of these
        it is in, counted from 0, and its position there. Raises `CorruptFileError` for rows that
        descend or are not within the edges, and for no edges.
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
        """What the headers of mini-block chunks say: tables, each with an entry for every chunk.

        The number of levels; then for each part, first those of ``levels`` kinds of levels and then
        the ``buffers`` of values, where in ``data`` it starts; then the size of each part.
        ``large``: whether sizes of buffers take 4 bytes. Raises `CorruptFileError` for chunks that
        are not within ``data``, and for parts that do not fit into their chunk.
        """

    def zipped_places(
        self, data: Bytes, starts: Int64Array, stops: Int64Array, form: ZippedForm
    ) -> Int64Array:
        """Where the levels of the rows from ``starts[i]`` to ``stops[i]`` of ``data`` begin.

        Raises `CorruptFileError` for rows that descend, overlap or are not within ``data``, and
        unless values and rows end together.
        """


LOOPS = tuple(name for name in vars(Kernels) if not name.startswith("_"))
"""The names of all inner loops."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelSpec:
    """Inner loops that a plugin has, by the names of the methods of `Kernels`. Immutable.

    Where several plugins have a loop, the one with the highest ``rank`` is used; numpy's have 0.
    """

    name: str
    loops: Mapping[str, Callable[..., Any]]
    rank: int = 1

    @classmethod
    def of(cls, name: str, *modules: ModuleType, rank: int = 1) -> KernelSpec:
        """What ``modules`` define under the names of loops."""
        loops = {
            loop: found
            for module in modules
            for loop in LOOPS
            if (found := getattr(module, loop, None)) is not None
            and found.__module__ == module.__name__
        }
        return cls(name, MappingProxyType(loops), rank)


class _Table:
    """One function for each loop. Immutable."""

    __slots__ = LOOPS

    def __init__(self, loops: Mapping[str, Callable[..., Any]]) -> None:
        for name in LOOPS:
            object.__setattr__(self, name, loops[name])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"the table of kernels cannot be changed: {name}")


def kernel_table(offered: Iterable[tuple[str, KernelSpec]]) -> Kernels:
    """The loops to use, of (provider's name, spec) pairs.

    A loop that two providers of the same rank have raises `PluginConflictError` when it is called,
    one that nobody has `UnsupportedFeatureError`.
    """
    best: dict[str, list[tuple[str, KernelSpec]]] = {name: [] for name in LOOPS}
    for provider, spec in offered:
        for name in spec.loops:
            rivals = best[name]
            if not rivals or rivals[0][1].rank < spec.rank:
                best[name] = [(provider, spec)]
            elif rivals[0][1].rank == spec.rank:
                rivals.append((provider, spec))
    return cast("Kernels", _Table({name: _only(name, rivals) for name, rivals in best.items()}))


def _only(name: str, offers: Sequence[tuple[str, KernelSpec]]) -> Callable[..., Any]:
    if len(offers) == 1:
        return offers[0][1].loops[name]

    def refuse(*_: object, **__: object) -> None:
        if not offers:
            raise UnsupportedFeatureError(f"no plugin has the kernel {name!r}")
        names = " and ".join(f"{spec.name!r} of plugin {provider}" for provider, spec in offers)
        raise PluginConflictError(f"kernel {name!r} is provided by {names}; uninstall one of them")

    return refuse
