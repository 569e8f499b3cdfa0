from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Buffer: TypeAlias = bytes | bytearray | memoryview | np.ndarray[Any, Any] | pa.Buffer

INTERFACE: int

class Failing:
    def __init__(self, kind: type[Exception], /) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object, /
    ) -> None: ...

def contiguous(
    convert: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
    array: np.ndarray[Any, Any],
    /,
) -> np.ndarray[Any, Any]: ...
def aligned(
    convert: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
    array: np.ndarray[Any, Any],
    /,
) -> np.ndarray[Any, Any]: ...
def crc32c(buffers: list[Buffer], /) -> list[int]: ...
def unpack_fastlanes(
    packed: Buffer, width: int, bits: int, chunks: int, values: Buffer, /
) -> int: ...
def pack_fastlanes(
    values: Buffer, width: int, bits: int, chunks: int, packed: Buffer, /
) -> int: ...
def unpack_inline(
    data: Buffer, starts: Buffer, sizes: Buffer, counts: Buffer, bits: int, values: Buffer, /
) -> int: ...
def pick_inline(
    data: Buffer,
    starts: Buffer,
    sizes: Buffer,
    counts: Buffer,
    chunk: Buffer,
    position: Buffer,
    bits: int,
    values: Buffer,
    /,
) -> int: ...
def find_inline(
    data: Buffer,
    starts: Buffer,
    sizes: Buffer,
    counts: Buffer,
    bits: int,
    members: Buffer,
    is_used: Buffer,
    owners: Buffer,
    is_shared: Buffer,
    rows: Buffer,
    numbers: Buffer,
    /,
) -> int: ...
def dictionary_codes(
    data: Buffer,
    edges: Buffer,
    places: Buffer,
    most: int,
    slots: Buffer,
    codes: Buffer,
    counts: Buffer,
    firsts: Buffer,
    /,
) -> int: ...
def find_integers(
    values: Buffer,
    members: Buffer,
    is_used: Buffer,
    owners: Buffer,
    is_shared: Buffer,
    rows: Buffer,
    numbers: Buffer,
    /,
) -> int: ...
def unpack_levels(
    data: Buffer, starts: Buffer, sizes: Buffer, counts: Buffer, width: int, levels: Buffer, /
) -> int: ...
def chunk_widths(values: Buffer, bits: int, widths: Buffer, /) -> int: ...
def pack_inline(values: Buffer, bits: int, widths: Buffer, packed: Buffer, /) -> int: ...
def expand_runs(
    data: Buffer, starts: Buffer, sizes: Buffer, counts: Buffer, width: int, values: Buffer, /
) -> int: ...
def count_runs(words: Buffer, width: int, per_chunk: int, runs: Buffer, /) -> int: ...
def encode_runs(
    words: Buffer,
    width: int,
    most: int,
    least: int,
    room: int,
    values: Buffer,
    lengths: Buffer,
    counts: Buffer,
    runs: Buffer,
    /,
) -> tuple[int, int]: ...
def join_streams(
    data: Buffer, starts: Buffer, sizes: Buffer, counts: Buffer, width: int, values: Buffer, /
) -> int: ...
def split_streams(values: Buffer, width: int, per_chunk: int, streams: Buffer, /) -> int: ...
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
def fsst_chunks_bound(
    data: Buffer,
    starts: Buffer,
    sizes: Buffer,
    counts: Buffer,
    width: int,
    symbols: Buffer,
    lengths: Buffer,
    table_sizes: Buffer,
    edges: Buffer,
    keeps_escapes: bool,
    /,
) -> int: ...
def fsst_decode_chunks(
    data: Buffer,
    starts: Buffer,
    sizes: Buffer,
    counts: Buffer,
    width: int,
    symbols: Buffer,
    lengths: Buffer,
    table_sizes: Buffer,
    edges: Buffer,
    keeps_escapes: bool,
    text: Buffer,
    offsets: Buffer,
    offset_width: int,
    /,
) -> tuple[int, bool]: ...
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
def variable_total(
    data: Buffer, starts: Buffer, sizes: Buffer, counts: Buffer, width: int, /
) -> int: ...
def join_variable(
    data: Buffer,
    starts: Buffer,
    sizes: Buffer,
    counts: Buffer,
    width: int,
    text: Buffer,
    offsets: Buffer,
    offset_width: int,
    /,
) -> int: ...
def variable_edges(
    text: Buffer, offsets: Buffer, columns: int, width: int, limit: int, edges: Buffer, /
) -> int: ...
def split_variable(
    text: Buffer, offsets: Buffer, edges: Buffer, width: int, chunks: Buffer, /
) -> int: ...
def locate_rows(
    edges: Buffer, rows: Buffer, used: Buffer, which: Buffer, position: Buffer, /
) -> int: ...
def join_slices(
    buffers: list[pa.Buffer], owners: Buffer, starts: Buffer, stops: Buffer, out: Buffer, /
) -> int: ...
def copy_ranges(ranges: Buffer, target: int, room: Buffer, /) -> int: ...
def repack_chunks(
    buffers: list[pa.Buffer],
    owners: Buffer,
    starts: Buffer,
    stops: Buffer,
    counts: Buffer,
    bits: int,
    large: int,
    out: Buffer,
    sizes: Buffer,
    /,
) -> int: ...
def pick_spans(
    data: Buffer,
    starts: Buffer,
    sizes: Buffer,
    counts: Buffer,
    width: int,
    chunk: Buffer,
    position: Buffer,
    span_starts: Buffer,
    span_stops: Buffer,
    /,
) -> int: ...
def taken_total(text: Buffer, offsets: Buffer, places: Buffer, place_width: int, /) -> int: ...
def take_strings(
    text: Buffer,
    offsets: Buffer,
    places: Buffer,
    place_width: int,
    taken: Buffer,
    taken_offsets: Buffer,
    offset_width: int,
    /,
) -> int: ...
def gather_variable(
    data: Buffer, starts: Buffer, stops: Buffer, text: Buffer, offsets: Buffer, /
) -> int: ...
def place_pieces(
    data: Buffer, sizes: Buffer, places: Buffer, align: int, fill: int, out: Buffer, /
) -> int: ...
def check_levels(
    repetition: Buffer, definition: Buffer, count: int, most: int, least: Buffer, /
) -> int: ...
def layer_slots(
    repetition: Buffer,
    definition: Buffer,
    count: int,
    rank: int,
    limit: int,
    top: int,
    also: int,
    bitmap: Buffer,
    /,
) -> tuple[int, int]: ...
def layer_offsets(
    repetition: Buffer,
    definition: Buffer,
    count: int,
    rank: int,
    limit: int,
    base: int,
    lists: int,
    wide: bool,
    offsets: Buffer,
    /,
) -> int: ...
def rank_levels(levels: Buffer, top: int, edges: Buffer, counts: Buffer, /) -> int: ...
def select_levels(levels: Buffer, least: int, numbers: Buffer, places: Buffer, /) -> int: ...
def chunk_edges(
    words: Buffer, large: bool, num_values: int, num_bytes: int, edges: Buffer, values: Buffer, /
) -> int: ...
def chunk_headers(
    data: Buffer,
    starts: Buffer,
    sizes: Buffer,
    levels: int,
    buffers: int,
    large: bool,
    table: Buffer,
    /,
) -> int: ...
def zipped_places(
    data: Buffer,
    starts: Buffer,
    stops: Buffer,
    word: int,
    bits: int,
    limit: int,
    value: int,
    length: int,
    single: int,
    places: Buffer,
    /,
) -> int: ...
def encode_json(
    texts: Buffer, offsets: Buffer, out: Buffer, edges: Buffer, rest: Buffer, /
) -> int: ...
def decode_json(
    documents: Buffer, offsets: Buffer, out: Buffer, edges: Buffer, rest: Buffer, /
) -> int: ...
