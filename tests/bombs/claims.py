"""Files that cannot hold what they claim."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.bombs.build import (
    LISTS,
    MOST,
    ONE,
    ONE_WORD,
    VALID,
    VARIABLE,
    chunk,
    constant,
    dictionary,
    file_of,
    flat,
    general,
    ints,
    levels,
    lists,
    lz4,
    mini_block,
    nested,
    one_chunk,
    one_text_chunk,
    schema_of,
    texts,
    u32,
    u64,
    vectors,
    words,
    zeros_frame,
    zipped,
    zstd,
)

RUNS = "rle { values { flat { bits_per_value: 16 } } run_lengths { flat { bits_per_value: 8 } } }"
STREAMS = "byte_stream_split { values { flat { bits_per_value: 32 } } }"

CHUNKS: dict[str, Callable[[], bytes]] = {
    "more values than addresses": lambda: ints(mini_block(flat(32), MOST), ONE_WORD, ONE),
    "2^48 values in a chunk": lambda: ints(
        mini_block(flat(32), 1 << 48), ONE_WORD, ONE, rows=1 << 48
    ),
    "2^47 rows of no bits": lambda: ints(mini_block(flat(0), 1 << 47), ONE_WORD, ONE, rows=1 << 47),
    "chunk of 4 GiB": lambda: ints(mini_block(flat(32), 16), u32(0xFFFFFFF0), ONE),
    "a million chunks without bytes": lambda: ints(
        mini_block(flat(32), 32768 * 20000), u32(15) * 20000, ONE, rows=32768 * 20000
    ),
    "value buffer of 4 GiB": lambda: ints(
        mini_block(flat(32), 16), ONE_WORD, bytes(4) + b"\xff" * 4 + ONE[8:]
    ),
    "2^63 value buffers": lambda: ints(
        mini_block(flat(32), 16, more="num_buffers: 9223372036854775808"), ONE_WORD, ONE
    ),
    "values of 2^40 bits": lambda: one_chunk(flat(1 << 40), bytes(64)),
    "values of 2^35 bits": lambda: one_chunk(flat(1 << 35), bytes(64)),
    "values packed to 255 bits": lambda: one_chunk(
        "inline_bitpacking { uncompressed_bits_per_value: 32 }", u32(255) + bytes(60)
    ),
    "values packed to 2^32 bits": lambda: one_chunk(
        "inline_bitpacking { uncompressed_bits_per_value: 64 }", u64(1 << 32) + bytes(60)
    ),
    "runs longer than the chunk": lambda: one_chunk(
        RUNS.replace("16", "32"), u32(1) * 2000, b"\xff" * 2000
    ),
    "streams of 2^31 values": lambda: one_chunk(STREAMS, bytes(64), rows=1 << 31),
    "offsets that go back": lambda: one_text_chunk(VARIABLE, u32(68, *[1 << 31] * 16)),
    "offsets of 4 GiB": lambda: one_text_chunk(VARIABLE, u32(68, *[0xFFFFFFFF] * 16)),
    "structs of 2^63 bits": lambda: file_of(
        "packed structs",
        "2.2",
        mini_block(
            f"packed_struct {{ bits_per_value: {1 << 63} bits_per_value: 64 "
            f"values {{ {flat(96)} }} }}",
            16,
        ),
        (ONE_WORD, ONE),
        16,
    ),
    "lists of 2^63 items": lambda: file_of(
        "vectors",
        "2.2",
        mini_block(f"fixed_size_list {{ items_per_value: {1 << 63} values {{ {flat(32)} }} }}", 16),
        (ONE_WORD, ONE),
        16,
    ),
    "lists of lists of 2^32 items": lambda: file_of(
        "vectors of vectors",
        "2.2",
        mini_block(
            f"fixed_size_list {{ items_per_value: {1 << 32} values {{ fixed_size_list {{ "
            f"items_per_value: {1 << 32} values {{ {flat(16)} }} }} }} }}",
            16,
        ),
        (ONE_WORD, ONE),
        16,
    ),
}
COMPRESSED: dict[str, Callable[[], bytes]] = {
    "lz4 of 4 GiB": lambda: one_chunk(general("lz4", flat(32)), lz4(64, 0xFFFFFFFF)),
    "zstd of 2^63 bytes": lambda: one_chunk(general("zstd", flat(32)), zstd(64, 1 << 63)),
    "zstd of 2^64 - 1 bytes": lambda: one_chunk(general("zstd", flat(32)), zstd(64, MOST)),
    "zstd of 1 GiB": lambda: one_chunk(general("zstd", flat(32)), zstd(64, 1 << 30)),
    "zstd of 60 MiB in each of 100 chunks": lambda: ints(
        mini_block(general("zstd", flat(32)), 200),
        words("2.2", *[(len(part := chunk("2.2", zstd(64, 60 << 20))), 1)] * 99, (len(part), 0)),
        part * 100,
        rows=200,
    ),
    "frame without a size": lambda: one_chunk(general("zstd", flat(32)), zeros_frame(512)),
    "lz4 dictionary of 4 GiB": lambda: dictionary(general("lz4", VARIABLE), 5, lz4(99, 0xFFFFFFFF)),
    "zstd dictionary of 2^62 bytes": lambda: dictionary(
        general("zstd", VARIABLE), 5, zstd(99, 1 << 62)
    ),
    "zstd dictionary frame without a size": lambda: dictionary(
        general("zstd", VARIABLE), 5, zeros_frame(512)
    ),
    "zipped zstd of 2^62 bytes": lambda: texts(
        zipped(general("zstd", VARIABLE), 1, "bits_per_offset: 32"),
        (value := u32(len(zstd(9))) + zstd(9, 1 << 62)),
        np.array([0, len(value)], "u1").tobytes(),
        rows=1,
    ),
    "compression within compression": lambda: one_chunk(
        general("zstd", general("zstd", general("zstd", general("zstd", flat(32))))),
        zstd(64, 1 << 20),
    ),
}
DICTIONARIES: dict[str, Callable[[], bytes]] = {
    "2^63 items of no bits": lambda: dictionary(flat(0), 1 << 63, b"", "dictionary of integers"),
    "2^40 equal items": lambda: dictionary(
        'constant { value: "12345678" }', 1 << 40, b"", "dictionary of integers"
    ),
    "2^60 items packed to no bits": lambda: dictionary(
        "out_of_line_bitpacking { uncompressed_bits_per_value: 64 values { flat { } } }",
        1 << 60,
        b"",
        "dictionary of integers",
    ),
    "2^32 texts": lambda: dictionary(VARIABLE, 1 << 32, u32(32, 12, 0, 0, 0)),
    "2^62 texts": lambda: dictionary(VARIABLE, 1 << 62, u32(32, 12, 0, 0, 0)),
    "2^60 items in runs": lambda: dictionary(
        RUNS.replace("16", "64"), 1 << 60, u64(8, 1) + b"\xff", "dictionary of integers"
    ),
    "runs of 2^64 bytes": lambda: dictionary(
        RUNS.replace("16", "64"), 255, u64(MOST, 1) + b"\xff", "dictionary of integers"
    ),
    "text beyond the dictionary": lambda: dictionary(VARIABLE, 1, u32(32, 16, 0, 1 << 31)),
    "an index beyond the dictionary": lambda: file_of(
        "dictionary of strings",
        "2.2",
        mini_block(flat(32), 16, more=f"dictionary {{ {VARIABLE} }} num_dictionary_items: 1"),
        (ONE_WORD, chunk("2.2", u32(0xFFFFFFFF) * 16), u32(32, 16, 0, 1) + b"x"),
        16,
    ),
}
LEVELS: dict[str, Callable[[], bytes]] = {
    "2^62 levels in runs": lambda: levels(RUNS, 1 << 62, u64(2) + b"\1\0" + b"\xff"),
    "2^62 equal levels": lambda: levels('constant { value: "\\001\\000" }', 1 << 62, b"x"),
    "2^60 levels packed to no bits": lambda: levels(
        "out_of_line_bitpacking { uncompressed_bits_per_value: 16 values { flat { } } }",
        1 << 60,
        b"x",
    ),
    "2^61 flat levels": lambda: levels(flat(16), 1 << 61, bytes(64)),
    "20,000 layers": lambda: ints(
        f"constant_layout {{ layers: [{', '.join(['REPDEF_NULLABLE_ITEM'] * 20_000)}] }}"
    ),
    "rows that no level starts": lambda: lists(
        mini_block(
            flat(8), 16, more=f"{LISTS} rep_compression {{ {flat(16)} }} repetition_index_depth: 1"
        ),
        ONE_WORD,
        ONE,
        u64(MOST, MOST),
    ),
    "index of depth 2^31": lambda: lists(
        mini_block(
            flat(8),
            16,
            more=f"{LISTS} rep_compression {{ {flat(16)} }} repetition_index_depth: {1 << 31}",
        ),
        ONE_WORD,
        ONE,
        u64(16, 0),
    ),
    "lists of nulls without levels": lambda: lists(f"constant_layout {{ {LISTS} }}", rows=1 << 40),
}
ZIPPED: dict[str, Callable[[], bytes]] = {
    "values of 2^31 bytes": lambda: vectors(flat(32), f"bits_per_value: {(1 << 32) - 8}"),
    "2^48 rows of zipped values": lambda: vectors(flat(32), "bits_per_value: 96", rows=1 << 48),
    "control words of 2^31 bits": lambda: vectors(
        flat(32), f"bits_per_value: 96 bits_rep: {1 << 31} bits_def: {1 << 31}"
    ),
    "lengths of 2^64": lambda: texts(
        zipped(VARIABLE.replace("32", "64"), 1, "bits_per_offset: 64"), u64(MOST), b"\0\x08", rows=1
    ),
    "rows that end at 2^64": lambda: texts(
        zipped(VARIABLE, 1, "bits_per_offset: 32"), u32(4, 4), u64(0, MOST), rows=1
    ),
    "index of 2^48 rows": lambda: texts(
        zipped(VARIABLE, 1, "bits_per_offset: 32"), u32(4, 4), b"\0\x08", rows=(1 << 48) - 1
    ),
    "zipped lists of 2^31 items": lambda: vectors(
        f"fixed_size_list {{ items_per_value: {1 << 31} values {{ {flat(1)} }} }}",
        "bits_per_value: 96",
    ),
    "a packed text of 2^64 bytes": lambda: file_of(
        "zipped structs",
        "2.2",
        zipped(
            f"variable_packed_struct {{ fields {{ value {{ {flat(16)} }} bits_per_value: 16 }} "
            f"fields {{ value {{ {VARIABLE} }} bits_per_length: 64 }} "
            f"fields {{ value {{ {flat(64)} }} bits_per_value: 64 }} }}",
            1,
            "bits_per_offset: 32",
        ),
        (u32(18) + b"\0\0" + u64(MOST, 1), b"\0\x16"),
        1,
    ),
    "packed children of 2^62 bits": lambda: file_of(
        "zipped structs",
        "2.2",
        zipped(
            f"variable_packed_struct {{ fields {{ value {{ {flat(1 << 62)} }} "
            f"bits_per_value: {1 << 62} }} }}",
            1,
            "bits_per_offset: 32",
        ),
        (u32(18) + bytes(18), b"\0\x16"),
        1,
    ),
}
CONSTANTS: dict[str, Callable[[], bytes]] = {
    "2^63 rows": lambda: constant(1 << 63),
    "2^48 + 1 rows": lambda: constant((1 << 48) + 1),
    "a constant of 4 GiB": lambda: texts(
        f"constant_layout {{ {VALID} }}", u32(2, 8, 0xFFFFFFFF) + bytes(16), rows=1
    ),
    "a constant of 2^32 buffers": lambda: texts(
        f"constant_layout {{ {VALID} }}", u32(0xFFFFFFFF, 8) + bytes(16), rows=1
    ),
}
SCHEMAS: dict[str, Callable[[], bytes]] = {
    "5,000 encodings within each other": lambda: nested(5000),
    "30 encodings within each other": lambda: nested(30),
    "5,000 structs within each other": lambda: schema_of(5000, lambda number: number - 1),
    "100 structs within each other": lambda: schema_of(100, lambda number: number - 1),
    "a struct within itself": lambda: schema_of(3, lambda number: max(number, 1) if number else -1),
}
CLAIMS = {**SCHEMAS, **CHUNKS, **COMPRESSED, **DICTIONARIES, **LEVELS, **ZIPPED, **CONSTANTS}
